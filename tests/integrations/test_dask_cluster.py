"""Several worker processes: XGBoost's metric, and workers that are killed."""

import os
import signal
import time
from threading import Thread

import numpy as np
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from sklearn_superior import metrics
from sklearn_superior.integrations import dask as lazy
from sklearn_superior.integrations.xgboost import eval_metric
from sklearn_superior.metrics import neg_penalized_brier_scorer as PBS
from sklearn_superior.model_selection import StagedSearchCV, compare_stopping_rules
from tests.integrations.test_dask import make_lazily
from tests.metrics.forecasts import random_forecast

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=3,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            memory_limit=0,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.parametrize("labels", [None, [0, 1, 2, 3]])
def test_the_lazy_loss_on_a_cluster_equals_the_loss_in_memory(client, labels):
    y_true, y_proba = random_forecast(np.random.default_rng(0), 300, 4)
    lazy_proba = da.from_array(y_proba, chunks=(40, 2))
    loss = lazy.penalized_brier_score_loss(y_true, lazy_proba, labels=labels)
    expected = metrics.penalized_brier_score_loss(y_true, y_proba)
    assert_allclose(loss.compute(), expected, rtol=1e-12)


def bytes_received(dask_worker):
    return sum(entry["total"] for entry in dask_worker.transfer_incoming_log)


def test_what_is_moved_does_not_grow_with_the_rows(client):
    moved = []
    for n_rows in (100, 10_000):
        y_true, y_proba = make_lazily(12, n_rows)
        loss = lazy.penalized_brier_score_loss(y_true, y_proba)
        before = sum(client.run(bytes_received).values())
        loss.compute()
        moved.append(sum(client.run(bytes_received).values()) - before)
    assert max(moved) < 12 * 1500  # the rows of a block take up to 480,000


def spread(client, array, sizes):
    """Dask array of blocks that lie on the workers in turn; a size may be 0."""
    workers = sorted(client.scheduler_info()["workers"])
    blocks, start = [], 0
    for size, worker in zip(sizes, workers, strict=True):
        block = array[start : start + size]
        future = client.scatter(block, workers=[worker], hash=False)
        blocks.append(da.from_delayed(future, block.shape, block.dtype))
        start += size
    return da.concatenate(blocks)


def classification(n_classes):
    X, y = make_classification(
        700, n_features=8, n_informative=6, n_classes=n_classes, random_state=0
    )
    X_val, y_val = X[400:], y[400:]
    order = np.argsort(y_val, kind="stable")  # so that most workers lack classes
    weight = np.random.default_rng(0).random(300).astype(np.float32) + 0.1
    return X[:400], y[:400], X_val[order], y_val[order], weight


# Rows of the validation part on each worker: all have some, one has none, one has all.
SIZES = [(100, 40, 160), (120, 0, 180), (0, 0, 300)]


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("weighted", [False, True])
def test_xgboost_metric_is_that_of_all_rows(client, n_classes, sizes, weighted):
    xgboost = pytest.importorskip("xgboost")
    xgboost_dask = pytest.importorskip("xgboost.dask")
    X, y, X_val, y_val, weight = classification(n_classes)
    model = xgboost_dask.DaskXGBClassifier(
        n_estimators=40,
        learning_rate=0.5,
        max_depth=4,
        tree_method="hist",
        eval_metric=eval_metric("penalized_log_loss"),
        early_stopping_rounds=4,
    )
    model.client = client
    model.fit(
        spread(client, X, (200, 100, 100)),
        spread(client, y, (200, 100, 100)),
        eval_set=[(spread(client, X_val, sizes), spread(client, y_val, sizes))],
        sample_weight_eval_set=[spread(client, weight, sizes)] if weighted else None,
        verbose=False,
    )
    history = model.evals_result()["validation_0"]["penalized_log_loss"]
    assert model.best_iteration == np.argmin(history) < 39
    values = []
    for n_trees in range(1, len(history) + 1):
        proba = model.get_booster().predict(
            xgboost.DMatrix(X_val), iteration_range=(0, n_trees)
        )
        values.append(
            metrics.penalized_log_loss(
                y_val,
                proba,
                labels=range(n_classes),
                sample_weight=weight if weighted else None,
            )
        )
    assert_allclose(history, values, rtol=1e-5)  # XGBoost keeps six digits


def test_xgboost_dask_train_takes_the_metric(client):
    xgboost = pytest.importorskip("xgboost")
    xgboost_dask = pytest.importorskip("xgboost.dask")
    X, y, X_val, y_val, _ = classification(4)
    sizes = SIZES[1]
    train = xgboost_dask.DaskDMatrix(
        client, da.from_array(X, 100), da.from_array(y, 100)
    )
    valid = xgboost_dask.DaskDMatrix(
        client, spread(client, X_val, sizes), spread(client, y_val, sizes)
    )
    output = xgboost_dask.train(
        client,
        {"objective": "multi:softprob", "num_class": 4, "tree_method": "hist"},
        train,
        num_boost_round=30,
        evals=[(train, "train"), (valid, "valid")],
        custom_metric=eval_metric(),
        early_stopping_rounds=3,
    )
    history = output["history"]["valid"]["penalized_brier"]
    proba = output["booster"].predict(xgboost.DMatrix(X_val))
    expected = metrics.penalized_brier_score_loss(y_val, proba, labels=range(4))
    assert_allclose(history[-1], expected, rtol=1e-5)


@pytest.fixture
def killer(client, tmp_path):
    """Function to call on workers; one that does so is killed while it works."""
    folder = tmp_path / "workers"
    folder.mkdir()

    def sign_in():
        (folder / str(os.getpid())).touch()
        time.sleep(0.1)

    def kill():
        while not (signed := list(folder.iterdir())):
            time.sleep(0.01)
        os.kill(int(signed[0].name), signal.SIGKILL)

    pids = set(client.run(os.getpid).values())
    thread = Thread(target=kill, daemon=True)
    thread.start()
    yield sign_in
    thread.join(timeout=1)
    assert not thread.is_alive()
    client.wait_for_workers(3)  # the cluster has started another one
    assert len(pids - set(client.run(os.getpid).values())) == 1


def test_search_survives_the_loss_of_a_worker(client, killer):
    X, y, *_ = classification(4)

    def scorer(estimator, X, y):
        killer()
        return PBS(estimator, X, y)

    grid, splits = {"C": [0.01, 0.1, 1.0, 10.0]}, list(StratifiedKFold(4).split(X, y))
    expected = GridSearchCV(LogisticRegression(), grid, scoring=PBS, cv=splits)
    expected.fit(X, y)
    search = GridSearchCV(LogisticRegression(), grid, scoring=scorer, cv=splits)
    pieces = [X, y, *(rows for split in splits for rows in split)]
    client.amm.stop()
    with parallel_config(backend="dask", scatter=pieces):
        search.fit(X, y)
    client.amm.start()
    for key in ("mean_test_score", "split0_test_score"):
        assert_allclose(search.cv_results_[key], expected.cv_results_[key], rtol=1e-12)


def test_comparison_survives_the_loss_of_a_worker(client, killer):
    X, y, *_ = classification(4)
    model = HistGradientBoostingClassifier(max_iter=6, max_leaf_nodes=5)

    def scorer(estimator, X, y):
        killer()
        return PBS(estimator, X, y)

    def compare(scoring):
        return compare_stopping_rules(
            model, X, y, cv=4, n_repeats=2, scoring=scoring, random_state=0
        )

    with parallel_config(backend="dask"):
        comparison = compare(scorer)
    expected = compare(PBS)
    assert len(comparison.trajectories) == 8
    for ours, theirs in zip(
        comparison.trajectories, expected.trajectories, strict=True
    ):
        assert (ours.fold, ours.repeat) == (theirs.fold, theirs.repeat)
        for name, scores in theirs.validation.items():
            assert_allclose(ours.validation[name], scores, rtol=1e-12)


@pytest.mark.parametrize("refit", ["all", "folds"])
def test_a_search_on_the_cluster(client, refit):
    X, y = make_classification(200, random_state=0)
    search = StagedSearchCV(
        HistGradientBoostingClassifier(max_iter=8, random_state=0),
        {"max_leaf_nodes": [3, 5, 7]},
        cv=3,
        refit=refit,
        verbose=1,
    )
    here = search.fit(X, y).predict_proba(X)
    scores = search.stage_scores_
    with parallel_config(backend="dask"):
        search.fit(X, y)
    assert_allclose(search.stage_scores_, scores, rtol=1e-12)
    assert_allclose(search.predict_proba(X), here, rtol=1e-12)
