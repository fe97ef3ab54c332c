"""The public losses, made from the table of rules, so that a new rule has them too."""

import numpy as np

from sklearn_superior.metrics._docstrings import describe
from sklearn_superior.metrics._labels import KnownTargets
from sklearn_superior.metrics._reduce import (
    class_weights,
    conclude,
    loss_findings,
    loss_sums,
    loss_total,
    sample_losses,
)
from sklearn_superior.metrics._rules import RULES
from sklearn_superior.metrics._validation import (
    check_forecast,
    check_normalize,
    check_option,
    check_penalty,
    check_sum_of_weights,
    check_total,
    replace_proba,
)
from sklearn_superior.utils._sklearn_compat import to_numpy

_TIES = ("first", "split", "correct")


def make_loss(rule, mean, template=None):
    """Make the public loss of a scoring rule, which `mean` computes."""

    def scaled(
        y_true,
        y_proba,
        *,
        sample_weight=None,
        labels=None,
        pos_label=None,
        penalty="paper",
        ties="first",
        scale="sum",
    ):
        return mean(
            rule,
            y_true,
            y_proba,
            sample_weight=sample_weight,
            labels=labels,
            pos_label=pos_label,
            penalty=penalty,
            ties=ties,
            scale=scale,
        )

    def plain(
        y_true,
        y_proba,
        *,
        sample_weight=None,
        labels=None,
        pos_label=None,
        penalty="paper",
        ties="first",
        normalize=True,
    ):
        check_normalize(normalize)
        return mean(
            rule,
            y_true,
            y_proba,
            normalize=normalize,
            sample_weight=sample_weight,
            labels=labels,
            pos_label=pos_label,
            penalty=penalty,
            ties=ties,
        )

    function = scaled if rule.scales else plain
    return describe(function, rule, kind="loss", template=template)


def mean_loss(rule, y_true, y_proba, *, normalize=True, **options):
    """Weighted mean of the losses, or their sum."""
    total, weight = weighted_sums(rule, y_true, y_proba, **options)
    check_total(weight)
    return total / weight if normalize else total


def make_samples(rule):
    """Make the public function that gives a rule's loss for every sample."""

    def scaled(
        y_true,
        y_proba,
        *,
        labels=None,
        pos_label=None,
        penalty="paper",
        ties="first",
        scale="sum",
    ):
        check_option("scale", scale, rule.scales)
        forecast = _checked(y_true, y_proba, None, labels, pos_label, penalty, ties)
        losses = sample_losses(forecast, rule, penalty=penalty, ties=ties)
        return losses * rule.scale(scale, forecast.n_classes)

    def plain(
        y_true,
        y_proba,
        *,
        labels=None,
        pos_label=None,
        penalty="paper",
        ties="first",
    ):
        forecast = _checked(y_true, y_proba, None, labels, pos_label, penalty, ties)
        return sample_losses(forecast, rule, penalty=penalty, ties=ties)

    return describe(scaled if rule.scales else plain, rule, kind="samples")


def make_d2(rule):
    """Make the public skill score of a scoring rule."""

    def d2(
        y_true,
        y_proba,
        *,
        sample_weight=None,
        labels=None,
        pos_label=None,
        penalty="paper",
        ties="first",
    ):
        forecast = _checked(
            y_true, y_proba, sample_weight, labels, pos_label, penalty, ties
        )
        total, weight = loss_sums(forecast, rule, penalty=penalty, ties=ties)
        check_total(weight)
        frequency = class_weights(forecast) / weight
        if np.count_nonzero(frequency) == 1:
            raise ValueError(
                f"{rule.d2_name} is not defined when y_true holds a single class: "
                "the class frequencies then are a perfect forecast."
            )
        # The forecast that always gives the frequencies, once for each class.
        reference = check_forecast(
            np.arange(len(frequency)),
            np.tile(frequency, (len(frequency), 1)),
            sample_weight=frequency,
        )
        worst, _ = loss_sums(reference, rule, penalty=penalty, ties=ties)
        return 1 - total / weight / worst

    return describe(d2, rule, kind="d2")


def weighted_sums(rule, y_true, y_proba, **options):
    """Weighted sum of the losses, and the sum of the weights."""
    return conclude(*findings(rule, y_true, y_proba, **options))


def findings(
    rule,
    y_true,
    y_proba,
    *,
    sample_weight=None,
    labels=None,
    pos_label=None,
    penalty="paper",
    ties="first",
    scale=None,
):
    """Find what merges over parts of the data, with what else `conclude` needs."""
    if scale is not None:
        check_option("scale", scale, rule.scales)
    forecast = _checked(
        y_true, y_proba, sample_weight, labels, pos_label, penalty, ties
    )
    found = loss_findings(forecast, rule, penalty=penalty, ties=ties)
    found = to_numpy(found, forecast.xp)
    found[0] *= rule.scale(scale, forecast.n_classes)
    return found, forecast.tolerance, forecast.targets.fault


class PreparedLoss:
    """The mean loss of one forecast after another of the same labels.

    Labels, weights and options are checked once. A call pays for the pass over the
    probabilities, a NumPy array with a column for each of the sorted `labels`, or with
    the second of two alone. The values of the first forecast are checked as well.
    """

    def __init__(
        self,
        rule,
        y_true,
        *,
        labels,
        sample_weight=None,
        penalty="paper",
        ties="first",
        scale=None,
        normalize=True,
    ):
        if scale is not None:
            check_option("scale", scale, rule.scales)
        check_normalize(normalize)
        any_forecast = np.full((len(y_true), len(labels)), 1 / len(labels))
        forecast = _checked(
            y_true, any_forecast, sample_weight, labels, None, penalty, ties
        )
        weight = check_sum_of_weights(forecast.sample_weight, len(y_true))
        index, _ = forecast.targets.read(0, len(y_true))  # raises if one is not valid
        forecast.targets = KnownTargets(index)
        self._forecast, self._rule = forecast, rule
        self._options = {"penalty": rule.penalty(penalty, len(labels)), "ties": ties}
        self._is_first = True
        self._scale = rule.scale(scale, len(labels))
        self._weight = weight if normalize else 1.0

    def __call__(self, y_proba):
        """Return the loss of probabilities for the same rows."""
        replace_proba(self._forecast, y_proba)
        if self._is_first:
            total, _ = loss_sums(self._forecast, self._rule, **self._options)
            self._is_first = False
        else:
            total = loss_total(self._forecast, self._rule, **self._options)
        return total * self._scale / self._weight


def _checked(y_true, y_proba, sample_weight, labels, pos_label, penalty, ties):
    check_penalty(penalty)
    check_option("ties", ties, _TIES)
    return check_forecast(
        y_true,
        y_proba,
        sample_weight=sample_weight,
        labels=labels,
        pos_label=pos_label,
    )


# The public names.
LOSSES = {rule.name: make_loss(rule, mean_loss) for rule in RULES.values()}
SAMPLES = {rule.name: make_samples(rule) for rule in RULES.values()}
D2_SCORES = {rule.name: make_d2(rule) for rule in RULES.values() if rule.d2_name}

_public = [*LOSSES.values(), *SAMPLES.values(), *D2_SCORES.values()]
globals().update({function.__name__: function for function in _public})
__all__ = [function.__name__ for function in _public]
