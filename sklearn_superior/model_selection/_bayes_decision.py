"""A classifier that decides at the least expected cost."""

from copy import deepcopy
from warnings import catch_warnings, simplefilter

import numpy as np
from sklearn import get_config
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    clone,
)
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    process_routing,
)
from sklearn.utils.validation import check_is_fitted

from sklearn_superior.metrics import bayes_decision, get_scorer
from sklearn_superior.metrics._decisions import expected_costs, read_costs
from sklearn_superior.utils._probabilistic import WrapperMixin


class BayesDecisionClassifier(
    WrapperMixin, ClassifierMixin, MetaEstimatorMixin, BaseEstimator
):
    """Predict the decision with the lowest expected cost.

    The decisions follow from the probabilities of the classifier and the costs. Nothing
    is tuned, so no rows are held out for a threshold. The better the probabilities are
    calibrated, the cheaper the decisions.

    Parameters
    ----------
    estimator : estimator
        A classifier with `predict_proba`. To use a fitted one as it is, wrap it in
        `sklearn.frozen.FrozenEstimator`.

    cost_matrix : array-like of shape (n_classes, n_decisions), data frame, dict or None
        Cost of each decision for each true class. The rows of an array follow the
        sorted classes. A pandas data frame has the classes as index and the decisions
        as columns. A dict of dicts, ``{class: {decision: cost}}``, is equivalent to
        ``pd.DataFrame.from_dict(costs, orient="index")``, not to its transpose,
        ``pd.DataFrame(costs)``. For two classes, ``{"false_positive": 1,
        "false_negative": 20}`` is enough; the positive class is the greater one. If
        None, every error costs 1.

    decisions : array-like of shape (n_decisions,), default=None
        Names of the columns of an array. If None, the columns are the classes. A
        decision need not be a class: it can be ``"refer"``, for example.

    Attributes
    ----------
    estimator_ : estimator
        The fitted classifier.

    cost_matrix_ : ndarray of shape (n_classes, n_decisions)
        The costs; rows follow `classes_`, columns follow `decisions_`.

    decisions_ : ndarray of shape (n_decisions,)
        What `predict` returns.

    classes_ : ndarray of shape (n_classes,)
        The class labels.

    n_features_in_ : int
        Number of features.

    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn_superior.metrics.decision_cost : Mean cost of such decisions.
    sklearn.model_selection.TunedThresholdClassifierCV : Tunes a threshold instead.

    Notes
    -----
    To compare models by costs, use ``get_scorer("neg_decision_cost", cost_matrix=C)``
    from `sklearn_superior.metrics`. It makes its own decisions from the probabilities,
    whatever the costs of the model. Costs describe the problem: do not tune them.

    Examples
    --------
    Missing a malignant tumour costs 20 times as much as a false alarm:

    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> from sklearn_superior.model_selection import BayesDecisionClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> y = y.map({0: "malignant", 1: "benign"})
    >>> costs = {
    ...     "malignant": {"treat": 0, "discharge": 20, "refer": 2},
    ...     "benign": {"treat": 1, "discharge": 0, "refer": 0.2},
    ... }
    >>> model = BayesDecisionClassifier(
    ...     HistGradientBoostingClassifier(max_iter=20), costs
    ... )
    >>> model.fit(X[::2], y[::2]).decisions_.tolist()
    ['treat', 'discharge', 'refer']
    >>> model.predict(X[100:103]).tolist()
    ['treat', 'refer', 'refer']
    """

    def __init__(self, estimator, cost_matrix, *, decisions=None):
        self.estimator = estimator
        self.cost_matrix = cost_matrix
        self.decisions = decisions

    def fit(self, X, y, **params):
        """Fit the classifier and check the costs against its classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data.

        y : array-like of shape (n_samples,)
            Class labels.

        **params : dict
            Parameters of the classifier's `fit`, such as `sample_weight`. With metadata
            routing, those that the classifier has requested.

        Returns
        -------
        self : object
        """
        if not hasattr(self.estimator, "predict_proba"):
            raise TypeError(
                "The 'estimator' parameter must be a classifier with predict_proba. "
                f"Got {self.estimator!r}."
            )
        shape = y.shape if hasattr(y, "shape") else np.asarray(y).shape
        if len(shape) > 1 and shape[1] > 1:
            raise ValueError(
                "y must have one output: the costs are those of one decision. Got "
                f"shape {shape}."
            )
        self._check_before_training(y)
        if get_config()["enable_metadata_routing"]:
            params = process_routing(self, "fit", **params).estimator.fit
        estimator = clone(self.estimator).fit(X, y, **params)
        self.cost_matrix_, self.decisions_ = self._check_costs(estimator.classes_)
        # With the names of rows, so that `score` finds that of a class never seen.
        self._costs = deepcopy(self.cost_matrix)
        self._remember_features(X, y)
        self.estimator_ = estimator
        return self

    def _check_before_training(self, y):
        """Raise an error now rather than after training, where that is certain.

        A fitted classifier that is not trained again may know more classes than `y`.
        """
        if self.cost_matrix is not None:
            read_costs(self.cost_matrix)
        try:
            known = [np.unique(np.asarray(y))]
        except TypeError:  # the classifier explains what is wrong with y
            return
        known.append(getattr(self.estimator, "classes_", ()))
        errors = []
        for classes in (own for own in known if len(own) > 1):
            with catch_warnings():
                simplefilter("ignore")  # repeated after training
                try:
                    return self._check_costs(classes)
                except ValueError as exc:
                    errors.append(exc)
        if errors:
            raise errors[0]

    def _check_costs(self, classes):
        """Return costs and names of the decisions, for the classes of the estimator."""
        classes = np.asarray(classes)
        if len(classes) < 2:
            raise ValueError(
                "y must have at least two classes to decide between. Got the class "
                f"{classes.tolist()}."
            )
        if self.cost_matrix is None:
            costs, names = 1.0 - np.eye(len(classes)), None
        else:
            costs, names = read_costs(self.cost_matrix, np.sort(classes))
            costs = costs[np.argsort(np.argsort(classes))]
        if self.decisions is not None:
            given = self._check_decisions()
            if names not in (None, given):
                raise ValueError(
                    "The 'decisions' parameter must be None if cost_matrix names its "
                    f"columns, {names}. Got {given}."
                )
            names = given
        names = np.sort(classes) if names is None else names
        names = [k.item() if isinstance(k, np.generic) else k for k in names]
        if len(names) != costs.shape[1] or len(set(names)) < len(names):
            raise ValueError(
                "The 'decisions' parameter must have a name for each of the "
                f"{costs.shape[1]} columns of cost_matrix, all different, such as "
                f"[0, 1, 'refer']. Got {names}."
            )
        if set(names) <= set(classes.tolist()):
            return costs, np.array(names, dtype=classes.dtype)
        if {type(name) for name in names} in ({str}, {int}):
            return costs, np.array(names)
        decisions = np.empty(len(names), dtype=object)  # NumPy would make text of them
        for k, name in enumerate(names):
            decisions[k] = name
        return costs, decisions

    def _check_decisions(self):
        """Return the names of the decisions as a list."""
        try:
            names = list(self.decisions)
            hash(tuple(names))
            if isinstance(self.decisions, str):
                raise TypeError("A text is not a list.")
        except TypeError as exc:
            raise TypeError(
                "The 'decisions' parameter must be a list of names. Got "
                f"{self.decisions!r}."
            ) from exc
        return names

    @property
    def classes_(self):
        """The class labels."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.classes_

    def predict_proba(self, X):
        """Return the classifier's probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.

        Returns
        -------
        y_proba : ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self, "estimator_")
        self._check_rows(X)
        return self.estimator_.predict_proba(X)

    def expected_cost(self, X):
        """Return the expected cost of each decision.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.

        Returns
        -------
        cost : ndarray of shape (n_samples, n_decisions)
            Columns follow `decisions_`.
        """
        return expected_costs(self.predict_proba(X), self.cost_matrix_)

    def predict(self, X):
        """Return the decision with the lowest expected cost.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.

        Returns
        -------
        decision : ndarray of shape (n_samples,)
            Values of `decisions_`. Among equal costs, the first decision.
        """
        column = bayes_decision(self.predict_proba(X), self.cost_matrix_)
        return self.decisions_[column]

    def score(self, X, y, sample_weight=None):
        """Return the negative mean cost of the decisions; greater is better.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.

        y : array-like of shape (n_samples,)
            True labels.

        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights.

        Returns
        -------
        score : float
        """
        check_is_fitted(self, "estimator_")
        costs = self._costs
        if costs is None:
            costs = 1.0 - np.eye(len(np.union1d(self.classes_, y)))
        scorer = get_scorer("neg_decision_cost", cost_matrix=costs)
        return scorer(self, X, y, sample_weight=sample_weight)

    def get_metadata_routing(self):
        """Return the metadata that the classifier has requested.

        Returns
        -------
        routing : MetadataRouter
        """
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(estimator=self.estimator, method_mapping=mapping)
        )
