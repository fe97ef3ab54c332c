"""Neural networks with the interface of a scikit-learn classifier."""

from sklearn_superior.neural_network._cnn import CNNClassifier

__all__ = ["CNNClassifier"]
