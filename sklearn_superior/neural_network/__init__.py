"""Neural networks that train like any classifier of scikit-learn."""

from sklearn_superior.neural_network._cnn import CNNClassifier

__all__ = ["CNNClassifier"]
