"""Stopping rules compared: brute force, leaks, cost, failures."""

import warnings

import numpy as np
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    accuracy_score,
    brier_score_loss,
    cohen_kappa_score,
    f1_score,
    log_loss,
    make_scorer,
)
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_superior.early_stopping import EarlyStoppingClassifier
from sklearn_superior.metrics import get_scorer, neg_penalized_brier_scorer
from sklearn_superior.model_selection import (
    HBlockSplit,
    Trajectory,
    compare_stopping_rules,
)
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


def brute_choice(scores, tie_scores, patience):
    """Best stage of all, and best one before the patience ran out."""

    def best_of(n):
        return max(range(n), key=lambda k: (scores[k], tie_scores[k]))

    best = best_of(len(scores))
    for k in range(len(scores)):
        so_far = int(np.argmax(scores[: k + 1]))
        flat = [j for j in range(k + 1) if np.all(scores[: j + 1] == scores[0])][-1]
        if k - max(so_far, flat) >= patience:
            return best, best_of(k + 1), k + 1
    return best, best, len(scores)


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
            log_losses = [s["log_loss"] for s in val]
            best, stop, n_seen = brute_choice(scores, log_losses, 2)
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
            if rule != "last":
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
    for rule in (*plain.rules[:-1], "target"):  # the last of the rules is "last"
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
    with pytest.warns(UserWarning, match=r"failed .* repeat \d: .*an odd seed"):
        comparison = compare_stopping_rules(
            model, X, y, cv=3, n_repeats=3, random_state=0
        )
    assert len(comparison.errors) + len(comparison.trajectories) == 9
    assert comparison.errors
    assert comparison.trajectories
    assert "an odd seed" in comparison.errors[0]["traceback"]
    with pytest.raises(ValueError, match="All trainings failed.*boost"):
        compare_stopping_rules(
            HistGradientBoostingClassifier(loss="boost", max_iter=3), X, y
        )


def test_the_default_rules_and_patience():
    comparison = compare_stopping_rules(make_hgb(), *make_data(), cv=2)
    assert comparison.rules == [
        "log_loss",
        "brier",
        "penalized_brier",
        "penalized_log_loss",
        "refined_log_loss",
        "accuracy",
        "last",
    ]
    assert comparison.n_iter_no_change == 20


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
        ({"rules": "brier"}, "'rules'.*list of str or scorers, or a dict.*'brier'"),
        ({"rules": []}, "'rules'.*non-empty"),
        ({"rules": 5}, "'rules'.*list of str or scorers, or a dict.*5"),
        ({"rules": ["brier", 5]}, "'rules'.*list of str or scorers"),
        ({"rules": ["brier", "brier"]}, "'rules'.*unique names"),
        ({"rules": {"target": "accuracy"}}, "'rules'.*not use the name 'target'"),
        ({"rules": {"mine": 3}}, r"rules\['mine'\].*Got 3"),
        ({"rules": ["brierr"]}, "'rules'.*'brierr'. Did you mean 'brier'"),
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
        message = "cannot be trained stage by stage|the classifier inside of the Early"
        with pytest.raises(TypeError, match=message):
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
    with pytest.warns(UserWarning, match="failed .* Fold 1, repeat 0: .*row 2 is bad"):
        comparison = compare_stopping_rules(failing(2), X, y, **options)
    (error,) = comparison.errors
    assert error["fold"] == 1
    assert isinstance(error["exception"], ZeroDivisionError)
    assert [t.fold for t in comparison.trajectories] == [0, 2]
    with pytest.raises(ValueError, match="All .* Fold 0, repeat 0: Zero.*row 0") as e:
        compare_stopping_rules(failing(0, 2, 4), X, y, **options)
    assert isinstance(e.value.__cause__, ZeroDivisionError)


def test_a_single_training_that_fails():
    X, y = numbered()
    (fold,) = folds_of(40, 1)
    with pytest.raises(ValueError, match="All trainings failed. Fold 0.*row 0") as e:
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
        (
            [good, (*good[:2], [])],
            "Got no rows in the test part of fold 1",
        ),
        ([([], *good[1:])], "non-empty parts.* in the training part of fold 0"),
        ([good, good[:2]], r"must give 2 parts .* Got \[2, 3\] parts"),
        ([(*good, good[2])], r"must give 2 parts .* or 3 parts .* Got \[4\] parts"),
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
    assert repr(by_mask.records) == repr(by_rows.records)


def test_two_masks_are_rows_as_three_are():
    X, y = numbered()
    masks = [np.arange(40) >= 15, np.arange(40) < 15]
    by_mask, by_rows, by_lists = (
        compare_stopping_rules(failing(), X, y, cv=[cv], random_state=0)
        for cv in (
            masks,
            [np.flatnonzero(mask) for mask in masks],
            [mask.tolist() for mask in masks],
        )
    )
    assert by_mask.records == by_rows.records == by_lists.records
    (trajectory,) = by_mask.trajectories
    assert trajectory.n_rows == {"train": 20, "validation": 5, "test": 15}


def test_scorers_in_lists_and_names_in_dicts():
    X, y = make_data()
    kappa = make_scorer(cohen_kappa_score)
    run = {"cv": 2, "random_state": 0}
    mixed = compare_stopping_rules(
        make_hgb(), X, y, rules={"k": kappa, "ll": "log_loss", "last": "last"}, **run
    )
    listed = compare_stopping_rules(
        make_hgb(), X, y, rules=[kappa, "log_loss", "last"], **run
    )
    assert mixed.rules == ["k", "ll", "last"]
    assert listed.rules == ["cohen_kappa_score", "log_loss", "last"]
    for a, b in zip(mixed.records, listed.records, strict=True):
        assert a["iteration"] == b["iteration"]
        assert a["test_score"] == b["test_score"]
    # The same scorer may be a rule and a judge.
    both = compare_stopping_rules(make_hgb(), X, y, rules=[kappa], scoring=[kappa])
    assert both.rules == [both.scoring] == ["cohen_kappa_score"]


@pytest.mark.parametrize(
    ("n_stages", "learning_rate", "warns"), [(8, 0.05, True), (60, 1.0, False)]
)
def test_a_budget_that_is_too_small(n_stages, learning_rate, warns):
    X, y = make_data()
    model = make_hgb().set_params(max_iter=n_stages, learning_rate=learning_rate)
    rules = ["log_loss", "brier", "last"]  # the last stage is no sign of it
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        compare_stopping_rules(model, X, y, rules=rules, random_state=0)
    messages = [str(w.message) for w in caught if w.category is ConvergenceWarning]
    text = f"one of the last of {n_stages}. A larger value of max_iter may give a"
    assert [text in message for message in messages] == [True] * warns


def test_ties_are_broken_by_the_log_loss_of_the_validation_part():
    X, y = make_data()
    parts = np.arange(0, 200), np.arange(200, 220), np.arange(220, 240)
    (trajectory,) = compare_stopping_rules(
        make_hgb(), X, y, cv=[parts], rules=["accuracy", "brier"], random_state=0
    ).trajectories
    stages = saved_stages("hgb", trajectory.seed, X[:200], y[:200], X[200:220])
    scores = [plain_scores(y[200:220], proba) for proba in stages]
    best = max(s["accuracy"] for s in scores)
    tied = [k for k, s in enumerate(scores) if s["accuracy"] == best]
    expected = max(tied, key=lambda k: scores[k]["log_loss"])
    assert expected != tied[0]
    assert trajectory.choose("accuracy", "CP")[0] == expected


def seeded_models():
    lightgbm, xgboost = pytest.importorskip("lightgbm"), pytest.importorskip("xgboost")
    catboost = pytest.importorskip("catboost")
    few = {"n_estimators": 4, "n_jobs": 1}
    light = {"subsample": 0.5, "subsample_freq": 1, "verbose": -1}
    light |= {"min_child_samples": 5, **few}
    yield lightgbm.LGBMClassifier(**light, random_state=3)
    yield lightgbm.LGBMClassifier(**light, seed=3)
    yield lightgbm.LGBMClassifier(**light, random_seed=3)
    yield lightgbm.LGBMClassifier(**light, bagging_seed=3)
    yield xgboost.XGBClassifier(subsample=0.5, random_state=3, **few)
    yield xgboost.XGBClassifier(subsample=0.5, seed=3, **few)
    yield catboost.CatBoostClassifier(
        iterations=4, random_seed=3, allow_writing_files=False
    )
    yield make_pipeline(
        StandardScaler(), lightgbm.LGBMClassifier(**light, bagging_seed=3)
    )
    yield make_pipeline(StandardScaler(), xgboost.XGBClassifier(subsample=0.5, seed=3))


def test_seeds_under_any_name_differ_between_repeats():
    X, y = make_data()
    masks = [np.arange(240) % 3 == k for k in range(3)]
    for model in seeded_models():
        run = {"cv": [masks], "n_repeats": 3, "rules": ["log_loss"]}
        one, again = (
            compare_stopping_rules(model, X, y, random_state=0, **run) for _ in range(2)
        )
        scores = {tuple(t.test["log_loss"]) for t in one.trajectories}
        assert len(scores) == 3, model
        assert scores == {tuple(t.test["log_loss"]) for t in again.trajectories}


def test_single_precision_with_a_calibrated_judge_does_not_warn():
    X, y = make_data()
    model = make_xgboost()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)  # of the budget
        comparison = compare_stopping_rules(
            model, X, y, cv=3, scoring=["f1_macro", "calibrated_log_loss"]
        )
    assert not comparison.errors


def test_scores_that_are_not_there():
    scores = {"brier": [0, 1], "target": [0, 1]}
    trajectory = Trajectory(0, 0, scores, scores)
    for call in (
        lambda: trajectory.choose("log_loss", "CP"),
        lambda: trajectory.correlation("log_loss"),
        lambda: trajectory.plot(rules=["log_loss"]),
    ):
        with pytest.raises(ValueError, match="must be one of .* Got 'log_loss'"):
            call()


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
