"""A path of logistic regressions, in the words of any version of scikit-learn."""

from sklearn.linear_model import LogisticRegressionCV


def logistic_path(**params):
    """Return a LogisticRegressionCV that does not warn of what will change."""
    params["l1_ratios"] = (0,)
    if "use_legacy_attributes" in LogisticRegressionCV().get_params():  # from 1.8 on
        params["use_legacy_attributes"] = False
    else:
        del params["l1_ratios"]
    return LogisticRegressionCV(**params)


def path_scores(path):
    """Return the scores of a path, which older versions keep once for each class."""
    scores = path.scores_
    return next(iter(scores.values())) if isinstance(scores, dict) else scores
