"""Cost of temperatures and refined rules, and how optimistic refined rules are.

Times are ratios within this process on the same data. Run with ``make benchmark`` or
``python benchmarks/bench_temperature.py``.
"""

from time import perf_counter

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss

from sklearn_superior.early_stopping import EarlyStoppingClassifier
from sklearn_superior.metrics import fit_temperature, get_scorer, scale_temperature


class Known(ClassifierMixin, BaseEstimator):
    """A classifier whose probabilities are its data."""

    def fit(self, X, y):  # noqa: D102
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):  # noqa: D102
        return X


def overconfident(rng, n_samples, n_classes, temperature=2.5):
    """Probabilities that are calibrated by a temperature, and labels."""
    logits = rng.normal(size=(n_samples, n_classes)) * 1.5
    y = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    return y, softmax(logits * temperature, axis=1)


def ratio(ours, other, rounds):
    """Return the median ratio of our time to the other; the two take turns."""
    times = np.empty((rounds, 2))
    for row in times:
        for k, function in enumerate((ours, other)):
            start = perf_counter()
            function()
            row[k] = perf_counter() - start
    return np.median(times[:, 0] / times[:, 1])


def fitting():
    print("fit_temperature: times faster than the temperature of scikit-learn's")
    print("CalibratedClassifierCV, fit alone (goal: at least 2 at 100,000 x 10)\n")
    rng = np.random.default_rng(0)
    for n_samples, n_classes in [(1_000, 3), (5_000, 5), (100_000, 10), (30_000, 100)]:
        y, proba = overconfident(rng, n_samples, n_classes)
        calibrator = find_calibrator(y, proba)
        ours = fit_temperature(y, proba, prior_scale=None)
        theirs = 1 / float(calibrator.fit(proba, y).beta_)
        assert abs(ours / theirs - 1) < 1e-4, (ours, theirs)
        times = [
            1
            / ratio(
                lambda y=y, q=proba, p=p: fit_temperature(y, q, prior_scale=p),
                lambda y=y, q=proba, c=calibrator: c.fit(q, y),
                rounds=7,
            )
            for p in (None, 0.5)
        ]
        print(
            f"  {n_samples:7} x {n_classes:3}: {times[0]:.1f}x, "
            f"with the prior {times[1]:.1f}x"
        )


def find_calibrator(y, proba):
    """Return the scikit-learn calibrator, which has no public name."""
    model = CalibratedClassifierCV(Known(), method="temperature", cv=2)
    return model.fit(proba, y).calibrated_classifiers_[0].calibrators[0]


def early_stopping():
    print(
        "\nEarly stopping of HistGradientBoosting, 20,000 + 5,000 rows, 5 classes, 100"
    )
    print(
        "iterations: time with a refined rule over that with the plain rule (goal: at"
    )
    print("most 1.2)\n")
    X, y = make_classification(
        25_000,
        n_features=20,
        n_informative=10,
        n_classes=5,
        flip_y=0.1,
        random_state=0,
    )
    data = {"X_val": X[20_000:], "y_val": y[20_000:]}

    def fit(scoring):
        EarlyStoppingClassifier(
            HistGradientBoostingClassifier(max_iter=100, random_state=0),
            scoring=scoring,
            n_iter_no_change=1_000,
        ).fit(X[:20_000], y[:20_000], **data)

    for name in ("brier", "penalized_brier", "log_loss", "penalized_log_loss"):
        cost = ratio(
            lambda name=name: fit(get_scorer(f"refined_{name}")),
            lambda name=name: fit(get_scorer(name)),
            rounds=3,
        )
        print(f"  {name:18} {cost:.2f}")


def optimism(n_repeats=400):
    print("\nOptimism: the temperature is fitted on the rows that are scored. How much")
    print("lower the refined log loss is there than on fresh data with the same")
    print("temperature, beside the spread of the log loss over validation parts\n")
    print("     rows  classes  optimism   spread  optimism / spread")
    rng = np.random.default_rng(0)
    truth = 2.5
    for n_rows in (50, 200, 1_000):
        for n_classes in (3, 20):
            gaps, losses = [], []
            labels = np.arange(n_classes)
            for _ in range(n_repeats):
                own = overconfident(rng, n_rows, n_classes, truth)
                fresh = overconfident(rng, 10_000, n_classes, truth)
                temperature = fit_temperature(*own, labels=labels, prior_scale=None)

                def loss(data, temperature, labels=labels):
                    y, proba = data
                    scaled = scale_temperature(proba, temperature)
                    return log_loss(y, scaled, labels=labels)

                # Both beside the true temperature, which takes out most of the noise.
                gain = loss(own, truth) - loss(own, temperature)
                cost = loss(fresh, temperature) - loss(fresh, truth)
                gaps.append(gain + cost)
                losses.append(loss(own, temperature))
            gap, spread = np.mean(gaps), np.std(losses)
            print(
                f"  {n_rows:7}  {n_classes:7}  {gap:8.4f}  {spread:7.4f}"
                f"  {gap / spread:8.2f}"
            )


if __name__ == "__main__":
    fitting()
    early_stopping()
    optimism()
