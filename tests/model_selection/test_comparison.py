"""Stopping rules compared: brute force, leaks, cost, failures."""

import warnings

import numpy as np
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import load_iris, make_classification
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, brier_score_loss, f1_score, log_loss
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_superior.early_stopping import EarlyStoppingClassifier
from sklearn_superior.metrics import get_scorer, neg_penalized_brier_scorer
from sklearn_superior.model_selection import (
    HBlockSplit,
    StoppingRuleComparison,
    Trajectory,
    compare_stopping_rules,
)
from sklearn_superior.model_selection._comparison_result import Records
from sklearn_superior.neural_network import CNNClassifier

N_STAGES = 8
ALL_RULES = ["brier", "penalized_brier", "log_loss", "penalized_log_loss", "accuracy"]


def make_data(n=240):
    X, y = make_classification(
        n,
        n_features=8,
        n_informative=5,
        n_classes=3,
        flip_y=0.2,
        class_sep=0.7,
        random_state=3,
    )
    return X, np.array(["a", "b", "c"])[y]


def make_hgb():
    return HistGradientBoostingClassifier(
        max_iter=N_STAGES, learning_rate=0.5, max_leaf_nodes=6, max_features=0.5
    )


def make_xgboost():
    xgboost = pytest.importorskip("xgboost")
    return xgboost.XGBClassifier(
        n_estimators=N_STAGES, max_depth=3, learning_rate=0.7, subsample=0.7, n_jobs=1
    )


def make_mlp():
    return MLPClassifier((8,), max_iter=N_STAGES, learning_rate_init=0.05)


def make_cnn():
    pytest.importorskip("torch")
    return CNNClassifier(
        channels=(8,), hidden=16, max_iter=N_STAGES, learning_rate=0.01, device="cpu"
    )


FAMILIES = {
    "hgb": make_hgb,
    "xgboost": make_xgboost,
    "mlp": make_mlp,
    "cnn": make_cnn,
}


def saved_stages(name, seed, X, y, X_seen):
    """Probabilities of every stage, by training anew and saving each of them."""
    model = FAMILIES[name]().set_params(random_state=seed)
    classes, codes = np.unique(y, return_inverse=True)
    if name in ("mlp", "cnn"):
        for _ in range(N_STAGES):
            model.partial_fit(X, y, classes=classes)
            yield model.predict_proba(X_seen)
    elif name == "hgb":
        yield from (
            model.set_params(early_stopping=False)
            .fit(X, y)
            .staged_predict_proba(X_seen)
        )
    else:
        model.fit(X, codes)
        for k in range(N_STAGES):
            yield model.predict_proba(X_seen, iteration_range=(0, k + 1))


def plain_scores(y, proba):
    """Rules and target, by scikit-learn's functions and the identities."""
    classes = np.array(["a", "b", "c"])
    y_pred = classes[proba.argmax(axis=1)]
    accuracy = accuracy_score(y, y_pred)
    proba = proba / proba.sum(axis=1, keepdims=True, dtype=float)
    brier = brier_score_loss(y, proba, labels=classes, scale_by_half=False)
    log = log_loss(y, proba, labels=classes)
    return {
        "brier": -brier,
        "penalized_brier": -(brier + 2 / 3 * (1 - accuracy)),
        "log_loss": -log,
        "penalized_log_loss": -(log + np.log(3) * (1 - accuracy)),
        "accuracy": accuracy,
        "target": f1_score(y, y_pred, average="macro"),
    }


def brute_choice(scores, patience):
    """Best stage of all, and best one before the patience ran out."""
    best = stop = int(np.argmax(scores))
    for k in range(len(scores)):
        so_far = int(np.argmax(scores[: k + 1]))
        if k - so_far >= patience:
            stop = so_far
            return best, stop, k + 1
    return best, stop, len(scores)


@pytest.mark.parametrize("name", FAMILIES)
def test_equals_brute_force(name):
    X, y = make_data()
    groups = np.repeat([0, 1], 120)
    cv = HBlockSplit(5, step=2)
    comparison = compare_stopping_rules(
        FAMILIES[name](),
        X,
        y,
        groups=groups,
        cv=cv,
        rules=ALL_RULES,
        n_iter_no_change=2,
        n_repeats=2,
        random_state=0,
    )
    folds = list(cv.split_with_validation(X, y, groups))
    assert len(comparison.trajectories) == 2 * len(folds)
    rows = {
        (r["fold"], r["repeat"], r["rule"], r["selection"]): r
        for r in comparison.records
    }
    assert len(rows) == 2 * len(folds) * len(ALL_RULES) * 2
    for trajectory in comparison.trajectories:
        train, *parts = folds[trajectory.fold]
        seen = np.concatenate(parts)
        probas = list(saved_stages(name, trajectory.seed, X[train], y[train], X[seen]))
        n_val = len(parts[0])
        val = [plain_scores(y[parts[0]], proba[:n_val]) for proba in probas]
        test = [plain_scores(y[parts[1]], proba[n_val:]) for proba in probas]
        for rule in (*ALL_RULES, "target"):
            for found, expected in (
                (trajectory.validation, val),
                (trajectory.test, test),
            ):
                assert_allclose(found[rule], [s[rule] for s in expected], rtol=1e-6)
        target_val, target_test = ([s["target"] for s in part] for part in (val, test))
        for rule in ALL_RULES:
            scores = trajectory.validation[rule]
            best, stop, n_seen = brute_choice(scores, 2)
            for selection, stage, n in (("CP", best, N_STAGES), ("ES", stop, n_seen)):
                row = rows[trajectory.fold, trajectory.repeat, rule, selection]
                assert (row["iteration"], row["n_iter"]) == (stage, n)
                assert row["test_score"] == pytest.approx(target_test[stage])
                assert row["validation_score"] == pytest.approx(target_val[stage])
                assert row["best_score"] == pytest.approx(max(target_test))
                with np.errstate(invalid="ignore"), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    r = np.corrcoef(scores[:n], target_val[:n])[0, 1]
                assert row["correlation"] == pytest.approx(r, nan_ok=True, abs=1e-9)


def choices(comparison):
    return [(r["iteration"], r["n_iter"]) for r in comparison.records]


def test_the_test_part_changes_no_choice():
    X, y = make_data()
    cv = KFold(3)
    run = {"cv": cv, "random_state": 0}
    plain = compare_stopping_rules(make_hgb(), X, y, **run)
    for fold, (_, test) in enumerate(cv.split(X)):
        X_bad, y_bad = X.copy(), y.copy()
        X_bad[test] = 1e3
        y_bad[test] = np.roll(y[test], 1)
        spoilt = compare_stopping_rules(make_hgb(), X_bad, y_bad, **run)
        a, b = plain.trajectories[fold], spoilt.trajectories[fold]
        for rule in plain.rules:
            assert_array_equal(a.validation[rule], b.validation[rule])
            assert a.choose(rule, "ES") == b.choose(rule, "ES")
        assert (a.test["target"] != b.test["target"]).any()


def test_the_validation_part_changes_no_training():
    X, y = make_data()
    cv = HBlockSplit(5, step=5)
    _, val, _ = next(cv.split_with_validation(X))
    X_bad = X.copy()
    X_bad[val] = 1e3
    pipeline = make_pipeline(StandardScaler(), make_hgb())
    plain, spoilt = (
        compare_stopping_rules(pipeline, data, y, cv=cv, random_state=0)
        for data in (X, X_bad)
    )
    for rule in (*plain.rules, "target"):
        a, b = plain.trajectories[0], spoilt.trajectories[0]
        assert_array_equal(a.test[rule], b.test[rule])
        assert (a.validation[rule] != b.validation[rule]).any()


class CountingMLP(MLPClassifier):
    n_epochs = 0

    def partial_fit(self, X, y, classes=None):
        CountingMLP.n_epochs += 1
        return super().partial_fit(X, y, classes=classes)


def test_every_stage_is_trained_once():
    X, y = make_data()
    CountingMLP.n_epochs = 0
    compare_stopping_rules(
        CountingMLP((4,), max_iter=7), X, y, cv=3, n_repeats=2, rules=ALL_RULES
    )
    assert CountingMLP.n_epochs == 3 * 2 * 7


def test_splitters_of_scikit_learn_get_a_validation_part():
    X, y = make_data()
    groups = np.arange(240) // 20
    for cv, given in ((GroupKFold(3), groups), (StratifiedKFold(3), None)):
        comparison = compare_stopping_rules(
            make_hgb(), X, y, cv=cv, groups=given, random_state=0
        )
        for trajectory in comparison.trajectories:
            n = trajectory.n_rows
            assert n["train"] + n["validation"] + n["test"] == 240
            assert n["validation"] == pytest.approx(0.2 * (240 - n["test"]), abs=17)


def test_groups_stay_together_in_the_validation_part():
    from sklearn_superior.model_selection._comparison import _split

    X, y = make_data()
    groups = np.arange(240) // 20
    folds = _split(X, y, groups, GroupKFold(3), np.random.RandomState(0))
    for parts in folds:
        found = [set(groups[part]) for part in parts]
        assert sum(map(len, found)) == len(set.union(*found)) == 12


def test_repeats_differ_and_seeds_are_reproducible():
    X, y = make_data()
    run = {"cv": 2, "n_repeats": 2}
    one, two = (
        compare_stopping_rules(make_hgb(), X, y, random_state=5, **run)
        for _ in range(2)
    )
    assert one.records == two.records
    first, second = one.trajectories[:2]
    assert (first.fold, first.repeat, second.repeat) == (0, 0, 1)
    assert first.seed != second.seed
    assert (first.test["brier"] != second.test["brier"]).any()
    model = make_hgb().set_params(random_state=1)
    folds = list(HBlockSplit(5, step=3).split_with_validation(X))
    own = [compare_stopping_rules(model, X, y, cv=folds) for _ in range(2)]
    assert own[0].trajectories[0].seed is None
    assert own[0].records == own[1].records
    for one, other in zip(own[0].trajectories, own[1].trajectories, strict=True):
        assert_array_equal(one.test["brier"], other.test["brier"])


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_in_parallel(backend):
    X, y = make_data()
    run = {"cv": 3, "random_state": 0, "rules": ["brier"]}
    alone = compare_stopping_rules(make_hgb(), X, y, **run)
    with parallel_config(backend=backend, n_jobs=2):
        together = compare_stopping_rules(make_hgb(), X, y, **run)
    assert alone.records == together.records


class Fragile(MLPClassifier):
    def partial_fit(self, X, y, classes=None):
        if self.random_state % 2:
            raise RuntimeError("an odd seed")
        return super().partial_fit(X, y, classes=classes)


def test_a_fold_that_fails_is_named_and_the_others_go_on():
    X, y = make_data()
    model = Fragile((4,), max_iter=3)
    with pytest.warns(UserWarning, match=r"Fold \d, repeat \d failed.*an odd seed"):
        comparison = compare_stopping_rules(
            model, X, y, cv=3, n_repeats=3, random_state=0
        )
    assert len(comparison.errors) + len(comparison.trajectories) == 9
    assert comparison.errors
    assert comparison.trajectories
    assert "an odd seed" in comparison.errors[0]["traceback"]
    with pytest.raises(ValueError, match="All 5 trainings failed.*boost"):
        compare_stopping_rules(
            HistGradientBoostingClassifier(loss="boost", max_iter=3), X, y
        )


def test_rules_and_targets_of_many_kinds():
    X, y = make_data()
    comparison = compare_stopping_rules(
        make_hgb(),
        X,
        y,
        cv=2,
        rules={"mine": neg_penalized_brier_scorer, "theirs": "neg_brier_score"},
        scoring=get_scorer("accuracy"),
        random_state=0,
    )
    assert comparison.rules == ["mine", "theirs"]
    assert comparison.scoring == "target"
    assert repr(comparison) == "<StoppingRuleComparison of 2 rules over 2 trainings>"


def test_a_class_that_training_lacks():
    X, y = make_data()
    order = np.argsort(y, kind="stable")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # folds without a class
        comparison = compare_stopping_rules(
            make_hgb(), X[order], y[order], cv=KFold(3), random_state=0
        )
    assert np.isfinite(comparison.trajectories[0].test["brier"]).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rules": "brier"}, "'rules'.*list of str or a dict.*'brier'"),
        ({"rules": []}, "'rules'.*at least one"),
        ({"rules": 5}, "'rules'.*list of str or a dict.*5"),
        ({"rules": ["brier", len]}, "'rules'.*list of str"),
        ({"rules": ["brier", "brier"]}, "'rules'.*different names"),
        ({"rules": {"target": "accuracy"}}, "'rules'.*none of them 'target'"),
        ({"rules": {"mine": 3}}, r"rules\['mine'\].*Got 3"),
        ({"rules": ["brierr"]}, "'rules'.*'penalized_brier'.*'brierr'"),
        ({"cv": []}, "'cv'.*at least one fold"),
        ({"cv": HBlockSplit(5, n_validation_blocks=0)}, "'cv'.*validation part"),
        ({"groups": np.arange(240) // 120, "cv": GroupKFold(2)}, "groups.*two groups"),
        ({"n_repeats": 0}, "'n_repeats'.*0"),
        ({"n_iter_no_change": 0}, "'n_iter_no_change'.*0"),
        ({"tol": -1}, "'tol'.*-1"),
        ({"scoring": "f1_makro"}, "'scoring'.*f1_makro"),
        ({"scoring": lambda *args: "good"}, "'scoring'.*number.*'good'"),
    ],
)
def test_bad_parameters(options, message):
    X, y = make_data()
    with pytest.raises(ValueError, match=message):
        compare_stopping_rules(make_hgb(), X, y, **options)


def test_estimators_without_stages_are_refused_at_once():
    X, y = make_data()
    for model in (
        RandomForestClassifier(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        EarlyStoppingClassifier(make_hgb()),
    ):
        with pytest.raises(TypeError, match="cannot be trained stage by stage"):
            compare_stopping_rules(model, X, y)


def test_folds_may_be_given_as_rows():
    X, y = make_data()
    cv = HBlockSplit(5, step=2)
    one, other = (
        compare_stopping_rules(make_hgb(), X, y, cv=given, random_state=0)
        for given in (cv, cv.split_with_validation(X))
    )
    assert one.records == other.records


@pytest.mark.parametrize("cv", [3, np.int64(3)])
def test_groups_stay_together_by_default(cv):
    X, y = make_data()
    groups = np.arange(240) // 10
    comparison = compare_stopping_rules(make_hgb(), X, y, groups=groups, cv=cv)
    assert all(t.n_rows["test"] % 10 == 0 for t in comparison.trajectories)


def test_folds_may_be_lists():
    X, y = make_data()
    folds = [(train.tolist(), test.tolist()) for train, test in KFold(2).split(X)]
    comparison = compare_stopping_rules(make_hgb(), X, y, cv=folds, random_state=0)
    assert len(comparison.trajectories) == 2


def made_up(n_folds=4, n_repeats=2):
    """A penalized rule that always chooses a stage 0.1 better than the plain one."""
    trajectories = []
    for fold in range(n_folds):
        for repeat in range(n_repeats):
            target = [0.2 + 0.01 * fold, 0.5, 0.6, 0.3]
            val = {
                "brier": [-4.0, -1.0, -2.0, -3.0],
                "penalized_brier": [-4.0, -2.0, -1.0, -3.0],
                "target": target,
            }
            trajectories.append(Trajectory(fold, repeat, val, val))
    return StoppingRuleComparison(trajectories, ["brier", "penalized_brier"])


def test_summary():
    summary = made_up().summary()
    assert [(row["rule"], row["selection"]) for row in summary] == [
        ("brier", "CP"),
        ("brier", "ES"),
        ("penalized_brier", "CP"),
        ("penalized_brier", "ES"),
    ]
    own, better = summary[0], summary[2]
    assert (own["mean"], own["difference"]) == (0.5, 0)
    assert (own["wins"], own["ties"], own["losses"]) == (0, 8, 0)
    assert better["mean"] == pytest.approx(0.6)
    for key in ("difference", "low", "high"):
        assert better[key] == pytest.approx(0.1)
    assert (better["wins"], better["ties"], better["losses"]) == (8, 0, 0)
    assert better["correlation_difference"] > 0
    reverse = made_up().summary(baseline="penalized_brier")
    assert reverse[0]["difference"] == pytest.approx(-0.1)
    assert (reverse[0]["wins"], reverse[0]["losses"]) == (0, 8)
    with pytest.raises(ValueError, match="'baseline'.*'log'"):
        made_up().summary(baseline="log")
    with pytest.raises(ValueError, match=r"\('CP', 'ES'\). Got 'cp'"):
        made_up().trajectories[0].choose("brier", "cp")
    assert max(map(len, str(summary).splitlines())) < 135
    assert "penalized_brier" in str(summary)
    assert str(Records()) == "(no records)"


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(0)
    n_covered = 0
    for _ in range(200):
        trajectories = []
        for fold in range(20):
            base, other = rng.normal(0.5, 0.1, size=2)
            val = {"a": [1.0, 0.0], "b": [0.0, 1.0], "target": [0.0, 1.0]}
            test = {"target": [base, other]}
            trajectories.append(Trajectory(fold, 0, val, test))
        row = StoppingRuleComparison(trajectories, ["a", "b"]).summary()
        n_covered += row[2]["low"] <= 0 <= row[2]["high"]
    assert 0.86 * 200 <= n_covered <= 0.99 * 200


@pytest.mark.parametrize("n_folds", [1, 2])
def test_few_folds_have_no_interval(n_folds):
    with pytest.warns(UserWarning, match=f"over {n_folds} folds means nothing"):
        row = made_up(n_folds=n_folds).summary()[2]
    assert np.isnan(row["low"])
    assert np.isnan(row["high"])
    assert row["difference"] == pytest.approx(0.1)
    assert np.isfinite(made_up(n_folds=3).summary()[2]["low"])


def test_data_frames():
    pandas = pytest.importorskip("pandas")
    frame = made_up().to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert len(frame) == 4 * 2 * 2 * 2
    pivot = frame[frame.selection == "CP"].groupby("rule").test_score.mean()
    assert pivot["penalized_brier"] == pytest.approx(0.6)
    assert len(made_up().summary().to_frame()) == 4


def test_correlation_of_what_does_not_vary_is_nan():
    def correlation(rule, target, **options):
        scores = {"brier": rule, "target": target}
        return Trajectory(0, 0, scores, {}).correlation("brier", **options)

    assert np.isnan(correlation([1, 1, 1], [1, 2, 3]))
    assert np.isnan(correlation([1], [1]))
    assert correlation([1, 2, np.nan], [2, 4, 1]) == pytest.approx(1)
    rng = np.random.default_rng(0)
    a, b = rng.random((2, 30))
    assert correlation(a, b) == pytest.approx(np.corrcoef(a, b)[0, 1])
    expected = np.corrcoef(a[:9], b[:9])[0, 1]
    assert correlation(a, b, n_iter=9) == pytest.approx(expected)
    nearly = 1 + 1e-16 * np.arange(30)
    correlation(nearly, b)  # no warning


def test_plot():
    pytest.importorskip("matplotlib")
    display = made_up().plot(fold=2, repeat=1)
    assert set(display.lines_) == {"brier", "penalized_brier", "target"}
    with pytest.raises(ValueError, match=r"fold and repeat.*\(9, 0\)"):
        made_up().plot(fold=9)


class Fails(TransformerMixin, BaseEstimator):
    """Fails if the first training row is one of the given ones."""

    def __init__(self, bad_rows=()):
        self.bad_rows = bad_rows

    def fit(self, X, y):
        if int(X[0, 0]) in self.bad_rows:
            raise ZeroDivisionError(f"row {int(X[0, 0])} is bad")
        return self

    def transform(self, X):
        return X


def failing(*bad_rows):
    return make_pipeline(Fails(bad_rows), GradientBoostingClassifier(n_estimators=3))


def numbered(n_rows=40):
    X = np.c_[np.arange(n_rows), np.random.default_rng(0).random(n_rows)]
    y = np.arange(n_rows) % 2
    return X, y


def folds_of(n_rows, n_folds):
    """Folds whose first training rows are 0, 2, 4 ..."""
    for k in range(0, 2 * n_folds, 2):
        rows = np.roll(np.arange(n_rows), -k)
        yield rows[:20], rows[20:30], rows[30:]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_errors_keep_their_cause_and_their_fold(n_jobs):
    X, y = numbered()
    options = {"cv": list(folds_of(40, 3)), "n_jobs": n_jobs, "random_state": 0}
    with pytest.warns(UserWarning, match="Fold 1, repeat 0 failed .*row 2 is bad"):
        comparison = compare_stopping_rules(failing(2), X, y, **options)
    (error,) = comparison.errors
    assert error["fold"] == 1
    assert isinstance(error["exception"], ZeroDivisionError)
    assert [t.fold for t in comparison.trajectories] == [0, 2]
    with pytest.raises(ValueError, match="All 3 .* Fold 0, repeat 0: Zero.*row 0") as e:
        compare_stopping_rules(failing(0, 2, 4), X, y, **options)
    assert isinstance(e.value.__cause__, ZeroDivisionError)


def test_one_training_that_fails_names_no_fold():
    X, y = numbered()
    (fold,) = folds_of(40, 1)
    with pytest.raises(ValueError, match="^Training failed: ZeroDivision.*row 0") as e:
        compare_stopping_rules(failing(0), X, y, cv=[fold])
    assert isinstance(e.value.__cause__, ZeroDivisionError)


def test_parts_with_common_rows_are_refused():
    X, y = numbered()
    (good,) = folds_of(40, 1)
    everything = np.arange(40)
    for bad, message in [
        ((everything,) * 3, "fold 1 the training and the validation part share 40"),
        ((good[0], good[1], good[1]), "the validation and the test part share 10 rows"),
        (
            (good[0], good[1], good[0][:2]),
            "the training and the test part share 2",
        ),
    ]:
        with pytest.raises(ValueError, match=f"'cv' parameter .*{message}"):
            compare_stopping_rules(failing(), X, y, cv=[good, bad])


def test_other_folds_are_refused():
    X, y = numbered()
    (good,) = folds_of(40, 1)
    for cv, message in [
        ([good, (*good[:2], [])], "a test part in every fold. Got none in fold 1"),
        ([([], *good[1:])], "a training part in every fold. Got none in fold 0"),
        ([good, good[:2]], r"must give two parts .* Got \[2, 3\] parts"),
        ([(*good, good[2])], r"must give two parts .* Got \[4\] parts"),
        ([], "at least one fold"),
    ]:
        with pytest.raises(ValueError, match=f"'cv' parameter .*{message}"):
            compare_stopping_rules(failing(), X, y, cv=cv)


def test_masks_are_rows():
    X, y = numbered()
    (parts,) = folds_of(40, 1)
    masks = [np.isin(np.arange(40), rows) for rows in parts]
    by_mask, by_rows = (
        compare_stopping_rules(failing(), X, y, cv=[cv], random_state=0)
        for cv in (masks, [np.sort(rows) for rows in parts])
    )
    assert by_mask.records == by_rows.records


def test_scores_that_are_not_there():
    trajectory = made_up().trajectories[0]
    for call in (
        lambda: trajectory.choose("log_loss", "CP"),
        lambda: trajectory.correlation("log_loss"),
        lambda: trajectory.plot(rules=["log_loss"]),
    ):
        with pytest.raises(ValueError, match="scores of .* only. Got 'log_loss'"):
            call()


def test_latex_tables():
    records = Records(
        [
            {"rule": "a_b & c", "mean": 0.5, "mean_std": 0.1, "low": np.nan, "n": 3},
            {
                "rule": "50 % #1 {x} \\\\",
                "mean": -0.25,
                "mean_std": 0.1,
                "low": np.inf,
                "n": 4,
            },
        ]
    )
    lines = records.to_latex().splitlines()
    assert lines[0] == r"\begin{tabular}{lrrr}"
    assert lines[2] == r"rule & mean & low & n \\"
    assert lines[4] == r"a\_b \& c & 0.500 & -- & 3 \\"
    assert lines[5].startswith(r"50 \% \#1 \{x\} \textbackslash{}")
    assert lines[5].endswith(r"& $-0.250$ & $\infty$ & 4 \\")
    assert lines[-1] == r"\end{tabular}"
    short = records.to_latex(["rule", "mean_std"], digits=1)
    assert r"a\_b \& c & 0.1 \\" in short
    with pytest.raises(ValueError, match=r"'columns' parameter .* Got \['x'\]"):
        records.to_latex(["x"])
    with pytest.raises(ValueError, match="no records"):
        Records().to_latex()


def test_summary_of_one_selection():
    scores = {"a": [1, 0], "b": [0, 1], "target": [0.5, 0.6]}
    folds = [Trajectory(k, 0, scores, scores) for k in range(3)]
    comparison = StoppingRuleComparison(folds, ["a", "b"])
    both = comparison.summary()
    for selection in ("CP", "ES"):
        own = [row for row in both if row["selection"] == selection]
        assert str(comparison.summary(selection=selection)) == str(Records(own))
    assert both[:2].to_latex(["rule"]).count("a ") == 2  # a slice is still a table
    with pytest.raises(ValueError, match=r"'selection' parameter must be one of"):
        comparison.summary(selection="best")


def test_a_stage_is_two_passes_whatever_the_number_of_rules(monkeypatch):
    from sklearn_superior.metrics import _reduce
    from sklearn_superior.metrics._rules import rule_names

    n_losses, sum_losses = [], _reduce.sum_losses

    def count(forecast, losses, **options):
        n_losses.append(len(losses))
        return sum_losses(forecast, losses, **options)

    monkeypatch.setattr(_reduce, "sum_losses", count)
    X, y = load_iris(return_X_y=True)
    rules = rule_names(refined=True)
    comparison = compare_stopping_rules(
        HistGradientBoostingClassifier(max_iter=3),
        X,
        y,
        cv=StratifiedKFold(2),
        rules=rules,
        random_state=0,
    )
    # Two folds, three stages, two parts; the judge is none of ours.
    assert n_losses == [len(rules)] * 12
    assert comparison.records is comparison.records


def test_rules_of_scikit_learn_where_a_part_lacks_a_class():
    """The plain rules have the names of scikit-learn's scorers and their numbers."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    y = np.arange(90) % 3
    train, rest = np.arange(60), np.arange(60, 90)
    val, test = rest[y[rest] < 2], rest[y[rest] == 2]
    comparison = compare_stopping_rules(
        GradientBoostingClassifier(n_estimators=3, random_state=0),
        X,
        y,
        cv=[(train, val, test)],
        rules=["neg_log_loss", "log_loss", "neg_brier_score", "brier"],
        scoring="neg_log_loss",
    )
    (trajectory,) = comparison.trajectories
    for theirs, ours in (("neg_log_loss", "log_loss"), ("neg_brier_score", "brier")):
        for part in (trajectory.validation, trajectory.test):
            assert_allclose(part[theirs], part[ours])
