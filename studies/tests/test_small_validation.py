"""The study of few validation rows: its trainings and policies."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import f1_score, log_loss

from sklearn_superior.early_stopping import EarlyStoppingClassifier
from sklearn_superior.metrics import fit_temperature, get_scorer
from studies._scores import ANY_TEMPERATURE
from studies._store import RecordStore
from studies.small import validation
from studies.small.policies import OLD, POLICIES, fit_smoothed
from studies.small.report import BINS, DEFAULT, TWO_SIDED, Results, geometric_mean
from studies.small.validation import FIELDS, Job, draw_parts, train
from studies.tests.rules_records import RECORDS


@pytest.mark.parametrize(
    ("policy", "scoring", "patience", "calibration"),
    [
        (
            TWO_SIDED,
            get_scorer("neg_refined_penalized_log_loss", **ANY_TEMPERATURE),
            20,
            "auto",
        ),
        pytest.param(
            DEFAULT,
            "neg_refined_log_loss",
            20,
            "auto",
            marks=pytest.mark.skipif(
                not ANY_TEMPERATURE, reason="version 0.1 fits any temperature"
            ),
        ),
        (OLD, "neg_penalized_brier_score", 10, None),
    ],
)
@pytest.mark.parametrize("dataset", ["iris", "wine", "breast_cancer"])
def test_a_policy_keeps_and_ships_what_the_package_does(
    dataset, policy, scoring, patience, calibration
):
    n_validation = 15 if dataset == "breast_cancer" else 10
    job = Job(dataset, "hgb", n_validation, 0)
    parts = draw_parts(job, None)
    record = train(job, None)
    model = EarlyStoppingClassifier(
        HistGradientBoostingClassifier(max_iter=200, random_state=0),
        scoring=scoring,
        n_iter_no_change=patience,
        calibration=calibration,
    ).fit(
        parts.X["train"],
        parts.y["train"],
        X_val=parts.X["validation"],
        y_val=parts.y["validation"],
    )
    y_proba = model.predict_proba(parts.X["test"])
    assert POLICIES[policy].choose(record) == model.best_iteration_
    assert POLICIES[policy].judge(record) == pytest.approx(
        (
            log_loss(parts.y["test"], y_proba),
            f1_score(parts.y["test"], y_proba.argmax(axis=1), average="macro"),
        ),
        rel=1e-4,
    )


def test_smoothed_labels_are_rows_of_every_class_with_small_weights():
    proba = np.random.default_rng(0).dirichlet(np.ones(3), size=12)
    y = proba.argmax(axis=1)  # all right: without smoothing there is no best one
    weight = 1 / 13
    spread = np.tile(np.arange(3), 12)
    expected = fit_temperature(
        np.concatenate([y, spread]),
        np.concatenate([proba, np.repeat(proba, 3, axis=0)]),
        sample_weight=np.repeat([1 - weight, weight / 3], [12, 36]),
        prior_scale=None,
        **ANY_TEMPERATURE,
    )
    assert fit_smoothed(y, proba) == pytest.approx(expected, rel=1e-3)


def test_boosting_in_chunks_is_boosting_in_one_go():
    job = Job("iris", "hgb", 10, 0)
    parts = draw_parts(job, None)
    model = HistGradientBoostingClassifier(
        max_iter=90, early_stopping=False, random_state=0
    ).fit(parts.X["train"], parts.y["train"])
    stages = validation.train_in_stages(job, parts)
    for expected, (_, test) in zip(
        model.staged_predict_proba(parts.X["test"]), stages, strict=False
    ):
        np.testing.assert_allclose(test, expected, rtol=1e-12)


@pytest.mark.skipif(not RECORDS.exists(), reason="no records here")
def test_with_the_default_few_rows_do_no_harm():
    results = Results(RecordStore(RECORDS / "small", FIELDS).load_all()[0])
    for name in BINS:
        ratios = results.ratios(DEFAULT, name)
        assert geometric_mean(ratios) < 1
        assert max(ratios.values()) < 1.05
