"""Trials of real Optuna studies, pruned by the mean over the folds."""

import pickle
from copy import deepcopy

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.ensemble import GradientBoostingClassifier

from sklearn_superior.integrations.optuna import prune
from sklearn_superior.model_selection import StagedSearchCV
from tests.model_selection.searches import CV

optuna = pytest.importorskip("optuna")
optuna.logging.set_verbosity(optuna.logging.WARNING)

X, Y = load_wine(return_X_y=True)
RATES = [0.2, 0.3, 0.01, 0.02, 0.5]


def search_for(trial, n_estimators=12, **options):
    model = GradientBoostingClassifier(
        n_estimators=n_estimators,
        learning_rate=trial.suggest_float("learning_rate", 0.001, 1, log=True),
        max_depth=1,
        random_state=0,
    )
    options = {"cv": CV, "refit": False} | options
    return StagedSearchCV(model, pruner=prune(trial), **options)


def objective(trial):
    return search_for(trial).fit(X, Y).best_score_


def make_study(pruner=None, direction="maximize", rates=RATES, **options):
    pruner = pruner or optuna.pruners.MedianPruner(n_startup_trials=2, n_warmup_steps=1)
    study = optuna.create_study(direction=direction, pruner=pruner, **options)
    for rate in rates:
        study.enqueue_trial({"learning_rate": rate})
    return study


def states(study):
    return [trial.state.name for trial in study.trials]


def test_the_mean_of_every_stage_is_reported():
    study = make_study()
    study.optimize(objective, n_trials=5)
    assert states(study) == ["COMPLETE"] * 2 + ["PRUNED"] * 2 + ["COMPLETE"]
    for trial in study.trials:
        plain = search_for(optuna.trial.FixedTrial(trial.params)).fit(X, Y)
        means = plain.stage_scores_[0].mean(axis=1)
        reported = trial.intermediate_values
        assert list(reported) == list(range(len(reported)))
        if trial.state.name == "PRUNED":
            assert len(reported) < len(means)
            assert trial.value == reported[len(reported) - 1]
        else:
            assert len(reported) == len(means)
            assert trial.value == plain.best_score_
        assert_allclose(list(reported.values()), means[: len(reported)], rtol=1e-12)
    assert study.best_params == {"learning_rate": 0.5}


@pytest.mark.parametrize("error_score", [np.nan, "raise"])
def test_trial_pruned_leaves_fit_as_it_is(error_score):
    study = make_study(optuna.pruners.ThresholdPruner(lower=0, n_warmup_steps=2))
    trial = study.ask()
    search = search_for(trial, error_score=error_score)
    with pytest.raises(optuna.TrialPruned, match="pruned at stage 2"):
        search.fit(X, Y)
    assert not hasattr(search, "cv_results_")
    study.tell(trial, state=optuna.trial.TrialState.PRUNED)
    assert list(study.trials[0].intermediate_values) == [0, 1, 2]


def test_hyperband_prunes():
    rates = np.geomspace(0.5, 0.01, 9)
    pruner = optuna.pruners.HyperbandPruner(1, 12, reduction_factor=3)
    study = make_study(pruner, rates=rates, study_name="fixed")
    study.optimize(objective, n_trials=9)
    assert set(states(study)) == {"COMPLETE", "PRUNED"}
    n_reports = [len(trial.intermediate_values) for trial in study.trials]
    assert [n == 12 for n in n_reports] == [s == "COMPLETE" for s in states(study)]


def test_trials_in_threads_give_the_same_values():
    nothing = optuna.pruners.NopPruner()
    one, two = make_study(nothing), make_study(nothing)
    one.optimize(objective, n_trials=5)
    two.optimize(objective, n_trials=5, n_jobs=2)
    found = [
        {t.params["learning_rate"]: (t.value, t.intermediate_values) for t in s.trials}
        for s in (one, two)
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize("kind", ["journal", "sqlite"])
def test_a_study_on_disk_goes_on(kind, tmp_path):
    def storage():
        if kind == "sqlite":
            return f"sqlite:///{tmp_path}/study.db"
        backend = optuna.storages.journal.JournalFileBackend(f"{tmp_path}/study.log")
        return optuna.storages.JournalStorage(backend)

    options = {"storage": storage(), "study_name": "here"}
    make_study(**options).optimize(objective, n_trials=3)
    options = {"storage": storage(), "study_name": "here", "load_if_exists": True}
    study = make_study(rates=[], **options)
    study.optimize(objective, n_trials=2)
    whole = make_study()
    whole.optimize(objective, n_trials=5)
    assert states(study) == states(whole)
    assert [t.value for t in study.trials] == [t.value for t in whole.trials]


@pytest.mark.parametrize(
    ("options", "got"),
    [
        ({"direction": "minimize"}, "Got minimize"),
        ({"direction": None, "directions": ["maximize"] * 2}, "Got maximize, maximize"),
    ],
)
def test_scores_are_maximized(options, got):
    trial = make_study(**options).ask()
    with pytest.raises(ValueError, match=rf"direction='maximize'.*{got}\."):
        prune(trial)


@pytest.mark.parametrize("n_estimators", [1, 12])
def test_a_trial_is_one_candidate(n_estimators):
    trial = make_study(optuna.pruners.NopPruner()).ask()
    search = search_for(trial, n_estimators)
    search.set_params(param_grid={"max_depth": [1, 2]})
    match = r"Stage 0 of this trial has been reported before.*without a param_grid"
    with pytest.raises(ValueError, match=match):
        search.fit(X, Y)


def test_copies_in_other_processes_report_to_nobody():
    trial = make_study(optuna.pruners.NopPruner()).ask()
    search = search_for(trial).set_params(param_grid={"max_depth": [1, 2]}, n_jobs=2)
    with pytest.raises(ValueError, match="another process.*without a param_grid"):
        search.fit(X, Y)


def test_a_fitted_search_can_be_saved():
    search = search_for(make_study().ask(), refit="all").fit(X, Y)
    loaded = pickle.loads(pickle.dumps(search))
    assert_allclose(loaded.predict_proba(X), search.predict_proba(X))
    with pytest.raises(ValueError, match="prune\\(trial\\) has been copied"):
        loaded.fit(X, Y)


@pytest.mark.parametrize("wrong", [None, "trial", make_study])
def test_only_trials_are_taken(wrong):
    wrong = wrong() if callable(wrong) else wrong
    with pytest.raises(TypeError, match="'trial' parameter must be an Optuna trial"):
        prune(wrong)


def test_a_clone_reports_to_the_same_trial():
    study = make_study()
    clone(search_for(study.ask())).fit(X, Y)
    deepcopy(search_for(study.ask())).fit(X, Y)
    assert [len(t.intermediate_values) for t in study.trials[:2]] == [12, 12]
