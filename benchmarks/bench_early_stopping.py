"""Cost of early stopping by PBS, relative to the libraries' own early stopping.

Run with ``make benchmark`` or ``python benchmarks/bench_early_stopping.py``.
"""

from time import perf_counter

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier
from sklearn.neural_network import MLPClassifier

from sklearn_superior.early_stopping import EarlyStoppingClassifier
from sklearn_superior.metrics import neg_penalized_brier_scorer
from sklearn_superior.model_selection import compare_stopping_rules

NEVER = 10_000  # a patience that does not end
N_STAGES = 200
PLAIN = ["brier", "log_loss", "spherical"]
PENALIZED = PLAIN + [f"penalized_{rule}" for rule in PLAIN]
RULES = PENALIZED + [f"refined_{rule}" for rule in PENALIZED]
# Explicit, so that the figures do not change with a default.
BY_PBS = {
    "scoring": "neg_penalized_brier_score",
    "n_iter_no_change": NEVER,
    "calibration": None,
}


def make_data(n_train, n_val, n_classes=5):
    X, y = make_classification(
        n_train + n_val,
        n_features=20,
        n_informative=10,
        n_classes=n_classes,
        flip_y=0.1,
        random_state=0,
    )
    return X[:n_train], y[:n_train], X[n_train:], y[n_train:]


def ratio(ours, other, rounds=3):
    """Return the median ratio of our time to the other; the two take turns."""
    times = np.empty((rounds, 2))
    for row in times:
        for k, function in enumerate((ours, other)):
            start = perf_counter()
            function()
            row[k] = perf_counter() - start
    return np.median(times[:, 0] / times[:, 1])


def hist_gradient_boosting():
    X, y, X_val, y_val = make_data(20_000, 5_000)
    print(
        "HistGradientBoosting, 20,000 + 5,000 rows, 5 classes: time over the same fit"
    )
    print("without early stopping (goal: at most 1.25), and how many times faster than")
    print("scikit-learn's own scoring=<callable> (goal: at least 5 at 200)\n")
    for n_iter in (100, 200, 400):
        plain = HistGradientBoostingClassifier(
            max_iter=n_iter, early_stopping=False, random_state=0
        )
        ours = EarlyStoppingClassifier(plain, **BY_PBS)
        overhead = ratio(
            lambda m=ours: m.fit(X, y, X_val=X_val, y_val=y_val),
            lambda m=plain: m.fit(X, y),
        )
        line = f"  {n_iter} iterations: {overhead:.2f}"
        if n_iter <= 200:
            native = HistGradientBoostingClassifier(
                max_iter=n_iter,
                early_stopping=True,
                scoring=neg_penalized_brier_scorer,
                n_iter_no_change=NEVER,
                random_state=0,
            )
            share = ratio(
                lambda m=ours: m.fit(X, y, X_val=X_val, y_val=y_val),
                lambda m=native: m.fit(X, y, X_val=X_val, y_val=y_val),
                rounds=1,
            )
            line += f", {1 / share:.1f} times faster than scoring=<callable>"
        print(line, flush=True)


def gradient_boosting():
    X, y, X_val, y_val = make_data(2_000, 500)
    inner = GradientBoostingClassifier(n_estimators=100, random_state=0)
    ours = EarlyStoppingClassifier(inner, **BY_PBS)
    native = GradientBoostingClassifier(
        n_estimators=100, random_state=0, n_iter_no_change=100, validation_fraction=0.2
    )
    return ratio(
        lambda: ours.fit(X, y, X_val=X_val, y_val=y_val),
        lambda: native.fit(np.vstack([X, X_val]), np.r_[y, y_val]),
    )


def hist_against_loss(data, rounds):
    X, y, X_val, y_val = data
    params = {"max_iter": N_STAGES, "random_state": 0}
    ours = EarlyStoppingClassifier(HistGradientBoostingClassifier(**params), **BY_PBS)
    native = HistGradientBoostingClassifier(
        **params, early_stopping=True, n_iter_no_change=NEVER
    )
    return ratio(
        lambda: ours.fit(X, y, X_val=X_val, y_val=y_val),
        lambda: native.fit(X, y, X_val=X_val, y_val=y_val),
        rounds,
    )


def xgboost(data, rounds=3):
    from xgboost import XGBClassifier

    X, y, X_val, y_val = data
    params = {"n_estimators": N_STAGES, "n_jobs": 2}
    ours = EarlyStoppingClassifier(XGBClassifier(**params), **BY_PBS)
    native = XGBClassifier(
        **params, eval_metric="mlogloss", early_stopping_rounds=NEVER
    )
    return ratio(
        lambda: ours.fit(X, y, X_val=X_val, y_val=y_val),
        lambda: native.fit(X, y, eval_set=[(X_val, y_val)], verbose=False),
        rounds,
    )


def lightgbm(data, rounds=3):
    import lightgbm as lgb

    X, y, X_val, y_val = data
    params = {"n_estimators": N_STAGES, "n_jobs": 2, "verbose": -1}
    ours = EarlyStoppingClassifier(lgb.LGBMClassifier(**params), **BY_PBS)
    native = lgb.LGBMClassifier(**params)
    return ratio(
        lambda: ours.fit(X, y, X_val=X_val, y_val=y_val),
        lambda: native.fit(
            X,
            y,
            eval_X=X_val,
            eval_y=y_val,
            callbacks=[lgb.early_stopping(NEVER, verbose=False)],
        ),
        rounds,
    )


def share_of_the_check(estimator, data):
    """Return the share of a fit that the check of the kept model takes.

    `fit` predicts the validation rows once more, with the model that it keeps.
    """
    X, y, X_val, y_val = data
    model = EarlyStoppingClassifier(estimator, **BY_PBS)
    start = perf_counter()
    model.fit(X, y, X_val=X_val, y_val=y_val)
    end = perf_counter()
    model.estimator_.predict_proba(X_val)
    return (perf_counter() - end) / (end - start)


def checks(data):
    from catboost import CatBoostClassifier
    from lightgbm import LGBMClassifier
    from xgboost import XGBClassifier

    print("\nShare of a fit that checks the kept model (goal: at most 2 %)\n")
    for estimator in (
        HistGradientBoostingClassifier(max_iter=N_STAGES),
        XGBClassifier(n_estimators=N_STAGES, n_jobs=2),
        LGBMClassifier(n_estimators=N_STAGES, n_jobs=2, verbose=-1),
        CatBoostClassifier(
            iterations=N_STAGES, thread_count=2, allow_writing_files=False
        ),
        MLPClassifier((50,), max_iter=20),
    ):
        share = share_of_the_check(estimator, data)
        print(f"  {type(estimator).__name__:<32}{share:.1%}", flush=True)


def comparison():
    """Twelve rules against a single one, on the same training."""
    X, y, *_ = make_data(5_000, 0)
    rows = np.arange(5_000)
    parts = rows[:3_200], rows[3_200:4_000], rows[4_000:]
    model = HistGradientBoostingClassifier(max_iter=100, random_state=0)
    one = EarlyStoppingClassifier(model, **BY_PBS)
    train, val, _ = parts

    def compare(rules, scoring="f1_macro"):
        compare_stopping_rules(
            model,
            X,
            y,
            cv=[parts],
            rules=rules,
            scoring=scoring,
            n_iter_no_change=NEVER,
        )

    def fit():
        one.fit(X[train], y[train], X_val=X[val], y_val=y[val])

    return (
        ratio(lambda: compare(RULES), lambda: compare(["penalized_brier"]), 7),
        ratio(lambda: compare(RULES, "log_loss"), fit, 7),
    )


def main():
    with_one, with_fit = comparison()
    print("compare_stopping_rules, HistGradientBoosting, 5,000 rows, 5 classes, 100")
    print(
        "stages, 12 rules: time over the same with one rule (goal: at most 1.1); with"
    )
    print("the log loss as judge over an EarlyStoppingClassifier with one rule, which")
    print("predicts no test part (scikit-learn's F1 takes longer than all rules)")
    print(f"\n  {with_one:.2f}, {with_fit:.2f}\n", flush=True)
    hist_gradient_boosting()
    print("\nTime over native early stopping on log loss (goal: at most 1.15)\n")
    print(f"  GradientBoosting      {gradient_boosting():.2f}", flush=True)
    for size, data, rounds in (
        ("20,000 + 5,000 rows, 5 classes", make_data(20_000, 5_000), 3),
        ("600 + 150 rows, 3 classes", make_data(600, 150, n_classes=3), 15),
    ):
        print(f"  {size}, {N_STAGES} stages:")
        for name, measure in (
            ("XGBoost", xgboost),
            ("LightGBM", lightgbm),
            ("HistGradientBoosting", hist_against_loss),
        ):
            print(f"    {name:<20}{measure(data, rounds):.2f}", flush=True)
    checks(make_data(20_000, 5_000))


if __name__ == "__main__":
    main()
