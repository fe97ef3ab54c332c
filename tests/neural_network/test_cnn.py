"""`CNNClassifier` as a scikit-learn classifier."""

import contextlib
import copy
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pandas as pd
import pytest
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import f1_score
from sklearn.model_selection import (
    GridSearchCV,
    ShuffleSplit,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sklearn_superior.early_stopping import EarlyStoppingClassifier, staged_scores
from sklearn_superior.metrics import get_scorer, neg_penalized_brier_scorer
from sklearn_superior.model_selection import (
    HBlockSplit,
    StagedSearchCV,
    compare_stopping_rules,
)
from tests.neural_network.signals import make_windows, small_cnn, weights

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def data():
    X, y = make_windows()
    return X[:150], y[:150], X[150:], y[150:]


def test_is_constructible_without_torch():
    code = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
from sklearn.base import clone
from sklearn_superior.neural_network import CNNClassifier
model = clone(CNNClassifier(hidden=8)).set_params(loss="brier")
try:
    model.fit([[0.0, 1.0], [1.0, 0.0]] * 5, [0, 1] * 5)
except ImportError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "sklearn-superior[torch]" in run.stdout, run.stderr


@pytest.mark.parametrize("loss", ["log_loss", "brier"])
@pytest.mark.parametrize("kind", ["3-D", "2-D", "binary", "float32", "list"])
def test_it_learns_windows_of_any_form(kind, loss):
    X, y = make_windows(
        n=400,
        n_channels=1 if kind == "2-D" else 2,
        n_classes=2 if kind == "binary" else 3,
    )
    X = X[:, 0] if kind == "2-D" else X
    X = X.astype(np.float32) if kind == "float32" else X
    X = X.tolist() if kind == "list" else X
    model = small_cnn(loss=loss, max_iter=25, n_iter_no_change=10)
    model.fit(X[:300], y[:300])
    y_proba = model.predict_proba(X[300:])
    assert y_proba.dtype == np.float64
    np.testing.assert_allclose(y_proba.sum(axis=1), 1, atol=1e-12)
    assert f1_score(y[300:], model.predict(X[300:]), average="macro") > 0.75
    assert all(p.dtype == torch.float32 for p in model.module_.parameters())


@pytest.mark.parametrize("patience", [2, 100])
@pytest.mark.parametrize(
    "scoring", [None, "f1_macro", "neg_log_loss", "neg_refined_penalized_log_loss"]
)
def test_the_best_epoch_is_restored_exactly(data, patience, scoring):
    X, y, X_val, y_val = data
    model = small_cnn(n_iter_no_change=patience, scoring=scoring, learning_rate=0.03)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    scores = model.validation_scores_
    assert model.best_iteration_ == np.argmax(scores)
    assert model.best_score_ == scores.max()
    # The shipped probabilities of a refined rule are scored as they are.
    scorer = get_scorer((scoring or "neg_refined_log_loss").replace("refined_", ""))
    np.testing.assert_allclose(scorer(model, X_val, y_val), model.best_score_)
    assert model.n_iter_ == len(scores) == min(12, model.best_iteration_ + patience + 1)


def test_the_kept_epoch_is_that_of_shorter_training(data):
    X, y, X_val, y_val = data
    scores = iter([1, 2, 5, 3, 4, 4])
    model = small_cnn(max_iter=6, scoring=lambda *args: next(scores))
    model.fit(X, y, X_val=X_val, y_val=y_val)
    assert model.best_iteration_ == 2
    short = small_cnn(max_iter=3, early_stopping=False)
    np.testing.assert_array_equal(weights(short.fit(X, y)), weights(model))


def test_the_history_has_a_value_for_each_epoch(data):
    X, y, X_val, y_val = data
    model = small_cnn().fit(X, y, X_val=X_val, y_val=y_val)
    assert set(model.history_) == {"train_loss", "time", "validation_score"}
    for values in model.history_.values():
        assert values.shape == (model.n_iter_,)
    assert model.history_["train_loss"][-1] < model.history_["train_loss"][0]
    assert (model.history_["time"] > 0).all()
    last = small_cnn(early_stopping=False, max_iter=3).fit(X, y)
    assert set(last.history_) == {"train_loss", "time"}
    assert last.n_iter_ == 3
    assert not hasattr(last, "best_iteration_")
    refitted = model.set_params(early_stopping=False, max_iter=3).fit(X, y)
    assert not hasattr(refitted, "best_score_")
    assert not hasattr(refitted, "scorer_")
    np.testing.assert_array_equal(weights(refitted), weights(last))


def test_the_loss_in_the_history_is_the_mean_over_the_epoch(data):
    X, y, *_ = data
    model = small_cnn(dropout=0, early_stopping=False, max_iter=1, optimizer="sgd")
    model.set_params(learning_rate=1e-12, batch_size=1000).fit(X, y)
    model.module_.train()  # batch normalisation as in training
    with torch.no_grad():
        logits = model.module_(torch.from_numpy(model._encoding.transform(X)[:]))
        codes = torch.from_numpy(np.searchsorted(model.classes_, y))
        expected = torch.nn.functional.cross_entropy(logits, codes).item()
    assert model.history_["train_loss"][0] == pytest.approx(expected, rel=1e-5)


def test_standardises_with_the_training_part_only(data):
    X, y, X_val, y_val = data
    plain = small_cnn().fit(X, y, X_val=X_val, y_val=y_val)
    shifted = small_cnn().fit(X, y, X_val=X_val + 1e3, y_val=y_val)
    np.testing.assert_array_equal(
        plain._encoding.scaler.mean, shifted._encoding.scaler.mean
    )
    np.testing.assert_allclose(plain._encoding.scaler.mean.ravel(), X.mean(axis=(0, 2)))
    np.testing.assert_allclose(plain._encoding.scaler.scale.ravel(), X.std(axis=(0, 2)))
    scaled = plain._encoding.transform(X)[:]
    np.testing.assert_allclose(scaled.mean(axis=(0, 2)), 0, atol=1e-6)
    X_const = X.copy()
    X_const[:, 1] = 7
    assert np.isfinite(small_cnn(max_iter=1).fit(X_const, y).predict_proba(X)).all()
    off = small_cnn(standardize=False, max_iter=1).fit(X, y)
    np.testing.assert_array_equal(off._encoding.transform(X)[:], X.astype(np.float32))


def test_units_do_not_matter_when_standardised(data):
    X, y, X_val, _ = data
    one = small_cnn(max_iter=3).fit(X, y)
    for unit in (1024, 1e100, 1e-100):
        other = small_cnn(max_iter=3).fit(unit * X, y)
        np.testing.assert_allclose(
            one.predict_proba(X_val), other.predict_proba(unit * X_val), atol=1e-4
        )


def test_same_seed_same_weights_and_nothing_global_is_touched(data):
    X, y, *_ = data
    torch.manual_seed(5)
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    tiny = np.float32(2e-38) * np.float32(0.1)  # 0 if a library flushes such numbers
    fitted = [small_cnn(max_iter=3).fit(X, y) for _ in range(2)]
    np.testing.assert_array_equal(*(weights(model) for model in fitted))
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads
    assert np.float32(2e-38) * np.float32(0.1) == tiny
    torch.manual_seed(6)
    np.testing.assert_array_equal(
        weights(small_cnn(max_iter=3).fit(X, y)), weights(fitted[0])
    )
    other = small_cnn(max_iter=3, random_state=1).fit(X, y)
    assert np.abs(weights(other) - weights(fitted[0])).max() > 0.01


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_several_fits_at_once_do_not_disturb_each_other(data, backend):
    X, y, *_ = data
    models = [small_cnn(max_iter=4, random_state=seed) for seed in range(4)]
    alone = [weights(clone(model).fit(X, y)) for model in models]
    together = Parallel(n_jobs=2, backend=backend)(
        delayed(lambda model: weights(model.fit(X, y)))(model) for model in models
    )
    np.testing.assert_array_equal(alone, together)


def test_the_cores_are_not_oversubscribed(data):
    X, y, *_ = data
    seen = []

    def scorer(estimator, X, y):
        seen.append((threading.get_ident(), torch.get_num_threads()))
        return neg_penalized_brier_scorer(estimator, X, y)

    model = small_cnn(max_iter=2, scoring=scorer, n_jobs=-1)
    Parallel(n_jobs=2, backend="threading")(
        delayed(clone(model).fit)(X, y) for _ in range(4)
    )
    assert len({thread for thread, _ in seen}) > 1
    assert {n_threads for _, n_threads in seen} == {1}


def test_weights_of_samples_and_classes(data):
    X, y, X_val, y_val = data
    options = {"X_val": X_val, "y_val": y_val}
    plain = small_cnn().fit(X, y, **options)
    ones = small_cnn().fit(X, y, sample_weight=np.full(len(y), 3.0), **options)
    np.testing.assert_allclose(weights(ones), weights(plain), atol=1e-5)
    heavy = np.where(y == "one", 50.0, 1.0)
    by_sample = small_cnn(max_iter=2, early_stopping=False).fit(
        X, y, sample_weight=heavy
    )
    by_class = small_cnn(
        max_iter=2, early_stopping=False, class_weight={"one": 50.0}
    ).fit(X, y)
    np.testing.assert_array_equal(weights(by_sample), weights(by_class))
    share = np.mean(by_class.predict(X_val) == "one")
    assert share > np.mean(y_val == "one") + 0.2
    zero = np.r_[np.ones(100), np.zeros(50)]
    dropped = small_cnn(max_iter=2, early_stopping=False, standardize=False)
    np.testing.assert_array_equal(
        weights(clone(dropped).fit(X, y, sample_weight=zero)),
        weights(clone(dropped).fit(X[:100], y[:100])),
    )
    balanced = small_cnn(max_iter=2, class_weight="balanced").fit(X, y)
    assert balanced.n_iter_ == 2
    known = y != "two"
    with pytest.warns(UserWarning, match=r"\['two'\]"):
        small_cnn(max_iter=2, class_weight={"one": 2.0, "three": 1.0}).fit(
            X[known], y[known], **options
        )


@pytest.mark.parametrize("wrapped", [False, True])
def test_balanced_classes_are_those_of_the_training_part(data, wrapped):
    X, y, *_ = data
    order = np.r_[np.flatnonzero(y == "one")[:40], np.flatnonzero(y == "two")]
    X, y = X[order], y[order]
    options = {"validation_split": "last", "validation_fraction": 0.5}
    n_val = round(0.5 * len(y))
    train, val = slice(0, len(y) - n_val), slice(len(y) - n_val, None)
    counts = {label: np.sum(y[train] == label) for label in ("one", "two")}
    total = len(y) - n_val
    explicit = {label: total / (2 * n) for label, n in counts.items()}
    models = [
        small_cnn(max_iter=3, class_weight=weight) for weight in ("balanced", explicit)
    ]
    if wrapped:
        models = [EarlyStoppingClassifier(model, **options) for model in models]
    else:
        models = [model.set_params(**options) for model in models]
    one, two = (model.fit(X, y).predict_proba(X[val]) for model in models)
    np.testing.assert_array_equal(one, two)


def test_lazy_layers_are_seeded(data):
    X, y, *_ = data

    def build(n_channels, length, n_classes):
        return torch.nn.Sequential(
            torch.nn.Flatten(), torch.nn.LazyLinear(8), torch.nn.Linear(8, n_classes)
        )

    fitted = [small_cnn(module=build, max_iter=2).fit(X, y) for _ in range(2)]
    np.testing.assert_array_equal(*(weights(model) for model in fitted))


def test_data_frames_for_both_parts_warn_of_nothing(data):
    X, y, X_val, y_val = data
    frames = [
        pd.DataFrame(part[:, 0], columns=[f"t{k}" for k in range(16)])
        for part in (X, X_val)
    ]
    model = small_cnn(max_iter=1).fit(frames[0], y, X_val=frames[1], y_val=y_val)
    assert list(model.feature_names_in_) == list(frames[0].columns)


@pytest.mark.parametrize("warm_start", [False, True])
def test_a_failed_fit_leaves_the_old_network_whole(data, warm_start):
    X, y, *_ = data
    model = small_cnn(max_iter=1, warm_start=warm_start).fit(X, y)
    before = model.predict_proba(X)

    def fails(estimator, X, y):
        raise RuntimeError("the scorer failed")

    with pytest.raises(RuntimeError, match="the scorer failed"):
        model.set_params(scoring=fails).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), before)
    model.set_params(warm_start=False, device="cuda:7")
    with pytest.raises(ValueError, match="'device' parameter"):
        model.fit(X[:, :, :10], np.arange(len(y)) % 4)
    model.set_params(device="cpu")
    np.testing.assert_array_equal(model.predict_proba(X), before)


def test_validation_weights_are_in_the_score(data):
    X, y, X_val, y_val = data
    weight = np.arange(len(y_val)) % 3 + 0.5
    model = small_cnn(max_iter=3, scoring="penalized_brier").fit(
        X, y, X_val=X_val, y_val=y_val, sample_weight_val=weight
    )
    score = neg_penalized_brier_scorer(model, X_val, y_val, sample_weight=weight)
    assert model.best_score_ == pytest.approx(score, rel=1e-12)


def test_in_scikit_learns_tools(data):
    X, y, *_ = data
    groups = np.repeat([0, 1], 75)
    cv = HBlockSplit(5, gap=1)
    scores = cross_val_score(
        small_cnn(max_iter=3),
        X,
        y,
        groups=groups,
        cv=cv,
        scoring=neg_penalized_brier_scorer,
    )
    assert np.isfinite(scores).all()
    search = GridSearchCV(
        make_pipeline(FunctionTransformer(np.cbrt), small_cnn(max_iter=3)),
        {"cnnclassifier__loss": ["log_loss", "brier"]},
        cv=2,
        n_jobs=2,
        scoring=neg_penalized_brier_scorer,
    ).fit(X, y)
    assert search.predict(X).shape == y.shape
    result = cross_validate(small_cnn(max_iter=2), X, y, cv=2, return_estimator=True)
    assert len(result["estimator"]) == 2


@pytest.mark.parametrize(
    "split", ["last", ShuffleSplit(1, test_size=0.3, random_state=0), HBlockSplit(5)]
)
def test_any_validation_split_is_taken(data, split):
    X, y, *_ = data
    groups = None if isinstance(split, ShuffleSplit) else np.arange(150) // 30
    model = small_cnn(
        scoring="penalized_brier",
        validation_split=split,
        validation_fraction=0.2,
        max_iter=2,
    ).fit(X, y, groups=groups)
    if split == "last":
        last = np.flatnonzero(np.arange(150) % 30 >= 24)
    else:
        last = next(iter(split.split(X, y, groups)))[1]  # sums depend on the order
    score = neg_penalized_brier_scorer(model, X[last], y[last])
    assert model.best_score_ == score


def test_early_stopping_classifier_takes_it(data):
    X, y, X_val, y_val = data
    wrapped = EarlyStoppingClassifier(small_cnn(early_stopping=False))
    wrapped.set_params(n_iter_no_change=4).fit(X, y, X_val=X_val, y_val=y_val)
    own = small_cnn().fit(X, y, X_val=X_val, y_val=y_val)
    np.testing.assert_array_equal(wrapped.validation_scores_, own.validation_scores_)
    np.testing.assert_array_equal(wrapped.predict_proba(X), own.predict_proba(X))
    with pytest.raises(TypeError, match="epochs"):
        staged_scores(own, X, y)


def test_partial_fit_is_one_epoch(data):
    X, y, X_val, _ = data
    model = small_cnn()
    for _ in range(3):
        model.partial_fit(X, y, classes=np.unique(y))
    whole = small_cnn(early_stopping=False, max_iter=3).fit(X, y)
    np.testing.assert_array_equal(weights(model), weights(whole))
    assert model.n_iter_ == 3
    np.testing.assert_array_equal(
        model.history_["train_loss"], whole.history_["train_loss"]
    )
    for copied in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        copied.partial_fit(X, y)
        np.testing.assert_array_equal(
            weights(copied),
            weights(small_cnn(early_stopping=False, max_iter=4).fit(X, y)),
        )
    one_class = y == "one"
    model.partial_fit(X[one_class], y[one_class])
    with pytest.raises(ValueError, match=r"y must hold classes among.*'five'"):
        model.partial_fit(X, np.where(one_class, "five", y))
    with pytest.raises(ValueError, match="classes must be the same as in"):
        model.partial_fit(X, y, classes=["one", "two"])
    with pytest.raises(ValueError, match="classes must list all"):
        small_cnn().partial_fit(X[one_class], y[one_class])


def test_partial_fit_after_fit_forgets_the_scores(data):
    X, y, *_ = data
    model = small_cnn(max_iter=3).fit(X, y).partial_fit(X, y)
    assert model.n_iter_ == 4
    assert list(model.history_) == ["train_loss"]
    assert not hasattr(model, "best_score_")


def test_warm_start_continues_with_the_network(data):
    X, y, *_ = data
    model = small_cnn(warm_start=True, early_stopping=False, max_iter=8).fit(X, y)
    first = model.history_["train_loss"]
    model.fit(X, y)
    assert model.history_["train_loss"][0] < first[0]
    before = weights(model)
    with pytest.raises(ValueError, match=r"\(channels, length\) \(2, 16\).*\(2, 10\)"):
        model.fit(X[..., :10], y)
    with pytest.raises(ValueError, match="y must hold classes among"):
        model.fit(X, np.where(y == "one", "five", y))
    np.testing.assert_array_equal(weights(model), before)
    cold = small_cnn(early_stopping=False, max_iter=8).fit(X, y)
    np.testing.assert_array_equal(cold.fit(X, y).history_["train_loss"], first)


def test_predictions_do_not_depend_on_the_number_of_rows(data, monkeypatch):
    X, y, X_val, _ = data
    model = small_cnn(max_iter=3).fit(X, y)
    whole = model.predict_proba(X_val)
    from sklearn_superior.neural_network import _trainer

    monkeypatch.setattr(_trainer, "_EVALUATION_SIZE", 7 * X[0].size)
    np.testing.assert_allclose(model.predict_proba(X_val), whole, atol=1e-6)
    np.testing.assert_allclose(model.predict_proba(X_val[3:4]), whole[3:4], atol=1e-6)


def test_pickles_without_the_device(data, monkeypatch):
    X, y, X_val, _ = data
    model = small_cnn(max_iter=2).fit(X, y).partial_fit(X, y)
    module, training = model.module_, model._training
    loaded = pickle.loads(pickle.dumps(model))
    assert model.module_ is module  # nothing is changed by it
    assert model._training is training
    np.testing.assert_array_equal(
        loaded.predict_proba(X_val), model.predict_proba(X_val)
    )
    loaded.device = "cuda:7"  # where it may have been trained
    np.testing.assert_array_equal(
        loaded.predict_proba(X_val), model.predict_proba(X_val)
    )
    with pytest.raises(ValueError, match="'device' parameter"):
        loaded.fit(X, y)


class Perceptron(torch.nn.Module):
    """A user-defined network."""

    def __init__(self, n_channels, length, n_classes):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Flatten(),
            torch.nn.Linear(n_channels * length, 32),
            torch.nn.ReLU(),
            torch.nn.Dropout(0.5),
            torch.nn.Linear(32, n_classes),
        )

    def forward(self, X):
        return self.layers(X)


def test_a_user_defined_module(data):
    X, y, X_val, y_val = data
    fitted = [small_cnn(module=Perceptron).fit(X, y) for _ in range(2)]
    np.testing.assert_array_equal(*(weights(model) for model in fitted))
    assert isinstance(fitted[0].module_, Perceptron)
    assert fitted[0].predict(X_val).shape == y_val.shape
    with pytest.raises(ValueError, match="'module' parameter.*returned 7"):
        small_cnn(module=lambda *shape: 7).fit(X, y)
    with pytest.raises(ValueError, match=r"'module' parameter.*\(n, 2, 16\)"):
        small_cnn(module=lambda c, n, k: Perceptron(c, 5, k)).fit(X, y)
    with pytest.raises(ValueError, match=r"each of 3 classes.*\(2, 5\)"):
        small_cnn(module=lambda c, n, k: Perceptron(c, n, 5)).fit(X, y)


def test_mixed_precision_trains_alike(data):
    X, y, *_ = data
    exact = small_cnn(max_iter=4).fit(X, y)
    amp = small_cnn(max_iter=4, amp=True).fit(X, y)
    assert np.abs(weights(amp) - weights(exact)).max() > 0
    assert all(p.dtype == torch.float32 for p in amp.module_.parameters())
    np.testing.assert_allclose(
        amp.validation_scores_, exact.validation_scores_, atol=0.3
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("options", [{}, {"ema": 0.9, "module": "residual"}], ids=str)
def test_a_compiled_network_trains_alike(data, options):
    X, y, *_ = data
    exact = small_cnn(max_iter=4, **options).fit(X, y)
    compiled = small_cnn(max_iter=4, compile=True, **options).fit(X, y)
    np.testing.assert_allclose(
        compiled.validation_scores_, exact.validation_scores_, atol=0.05
    )
    pickle.loads(pickle.dumps(compiled)).predict(X)


def interrupt_in_epoch(epoch):
    calls = []

    def scorer(estimator, X, y):
        calls.append(1)
        if len(calls) == epoch:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)
        return neg_penalized_brier_scorer(estimator, X, y)

    return scorer


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_keeps_the_best_epoch(data):
    X, y, X_val, y_val = data
    model = small_cnn(scoring=interrupt_in_epoch(4))
    with pytest.warns(UserWarning, match="interrupted after 3 epochs"):
        model.fit(X, y, X_val=X_val, y_val=y_val)
    assert model.n_iter_ == 3
    assert neg_penalized_brier_scorer(model, X_val, y_val) == model.best_score_
    assert len(model.history_["validation_score"]) == 3
    assert len(model.history_["train_loss"]) == 3


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_before_the_first_epoch_is_over(data):
    X, y, X_val, y_val = data
    model = small_cnn(scoring=interrupt_in_epoch(1))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y, X_val=X_val, y_val=y_val)


def test_divergence_in_the_first_epoch_is_an_error(data):
    X, y, *_ = data
    model = small_cnn(learning_rate=1e30, optimizer="sgd", standardize=False)
    with pytest.raises(ValueError, match="diverged.*learning_rate"):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)
    with pytest.raises(ValueError, match="diverged.*learning_rate"):
        clone(model).partial_fit(X, y).partial_fit(X, y)


def test_divergence_keeps_the_best_epoch(data, monkeypatch):
    from sklearn_superior.neural_network._trainer import Trainer

    X, y, *_ = data
    train_epoch, losses = Trainer.train_epoch, iter([0, 0, np.nan])
    monkeypatch.setattr(
        Trainer, "train_epoch", lambda *args: train_epoch(*args) + next(losses)
    )
    with pytest.warns(UserWarning, match="diverged in epoch 2; the best previous"):
        model = small_cnn().fit(X, y)
    assert model.n_iter_ == 2
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_progress_bar_counts_epochs(data, capsys):
    X, y, *_ = data
    callback = pytest.importorskip("sklearn.callback")  # from 1.9 on
    small_cnn(max_iter=3).set_callbacks(callback.ProgressBar()).fit(X, y)
    assert "CNNClassifier" in capsys.readouterr().out


def test_verbose_prints_each_epoch(data, capsys):
    X, y, *_ = data
    model = small_cnn(max_iter=3, verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    pattern = r"epoch \d: loss [\d.]+, score -[\d.]+, best -[\d.]+ at \d, [\d.]+ s"
    assert len(lines) == 3
    assert all(re.fullmatch(pattern, line) for line in lines)
    assert f"loss {model.history_['train_loss'][1]:.6f}" in lines[1]
    small_cnn(max_iter=1, verbose=1, early_stopping=False).fit(X, y)
    assert re.fullmatch(r"epoch 0: loss [\d.]+, [\d.]+ s\n", capsys.readouterr().out)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"early_stopping": False},
        {"module": "residual"},
        {"amp": True},
        {"ema": 0.9},
        {"ema": 0.9, "early_stopping": False, "amp": True, "module": "residual"},
        {"clip_norm": 0.5, "optimizer": "sgd"},
    ],
    ids=str,
)
def test_resume_ends_with_the_same_network(data, tmp_path, options):
    X, y, *_ = data
    options = {"n_iter_no_change": 20, **options}
    whole = small_cnn(max_iter=8, **options).fit(X, y)
    options["checkpoint_dir"] = tmp_path
    small_cnn(max_iter=3, **options).fit(X, y)
    resumed = small_cnn(max_iter=8, resume=True, verbose=1, **options).fit(X, y)
    np.testing.assert_array_equal(weights(resumed), weights(whole))
    for key in set(whole.history_) - {"time"}:
        np.testing.assert_array_equal(resumed.history_[key], whole.history_[key])
    again = small_cnn(max_iter=8, resume=True, **options).fit(X, y)
    np.testing.assert_array_equal(weights(again), weights(whole))
    assert again.n_iter_ == 8


def test_resume_of_another_network_is_refused(data, tmp_path):
    X, y, *_ = data
    small_cnn(max_iter=2, checkpoint_dir=tmp_path, module=Perceptron).fit(X, y)
    other = small_cnn(max_iter=2, checkpoint_dir=tmp_path, resume=True)
    with pytest.raises(ValueError, match="estimator"):
        other.fit(X, y)
    same = small_cnn(
        max_iter=3, checkpoint_dir=tmp_path, module=Perceptron, resume=True
    )
    with pytest.raises(ValueError, match="estimator"):
        clone(same).fit(X + 1, y)
    assert same.fit(X, y).n_iter_ == 3


def test_a_network_without_a_name_cannot_resume(data, tmp_path):
    X, y, *_ = data
    model = small_cnn(
        max_iter=2, module=lambda c, n, k: Perceptron(c, n, k), checkpoint_dir=tmp_path
    )
    with pytest.warns(UserWarning, match="module.*lambda"):
        model.fit(X, y)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"channels": ()}, r"'channels'.*\(\)"),
        ({"channels": 64}, "'channels'.*64"),
        ({"channels": (64, 0)}, r"'channels'.*\(64, 0\)"),
        ({"kernel_size": 0}, "'kernel_size'.*0"),
        ({"hidden": 1.5}, "'hidden'.*1.5"),
        ({"dropout": 1.0}, "'dropout'.*1.0"),
        ({"ema": 1.0}, "'ema'.*1.0"),
        ({"clip_norm": 0.0}, "'clip_norm'.*0.0"),
        ({"module": "lenet"}, "'module'.*'residual'.*'lenet'"),
        ({"loss": "hinge"}, "'loss'.*'log_loss'.*'hinge'"),
        ({"optimizer": "lbfgs"}, "'optimizer'.*'lbfgs'"),
        ({"learning_rate": 0}, "'learning_rate'.*0"),
        ({"batch_size": 0}, "'batch_size'.*0"),
        ({"max_iter": 0}, "'max_iter'.*0"),
        ({"n_iter_no_change": 0}, "'n_iter_no_change'.*0"),
        ({"tol": -1}, "'tol'.*-1"),
        ({"validation_fraction": 1.0}, "'validation_fraction'.*1.0"),
        ({"validation_split": "first"}, "'validation_split'.*'first'"),
        ({"device": "tpu"}, "'device'.*'tpu'"),
        ({"module": 3}, "'module'.*3"),
        ({"scoring": "accuracyy"}, "accuracyy"),
        ({"resume": True}, "resume=True.*checkpoint_dir"),
    ],
)
def test_bad_parameters_are_refused(data, params, message):
    X, y, *_ = data
    with pytest.raises(ValueError, match=message):
        small_cnn(**params).fit(X, y)


def test_bad_data_is_refused(data):
    X, y, X_val, y_val = data
    model = small_cnn(max_iter=1)
    with pytest.raises(ValueError, match="equal length"):
        model.fit([[1.0, 2.0, 3.0], [1.0, 2.0]], ["a", "b"])
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.where(X > 20, np.nan, X), y)
    with pytest.raises(ValueError, match="at least 4 time steps for kernel_size=7.*3"):
        small_cnn(kernel_size=7).fit(X[..., :3], y)
    with pytest.raises(ValueError, match="minimum of 4"):
        small_cnn(kernel_size=7).fit(X[:, 0, :3], y)
    with pytest.raises(ValueError, match=r"\(n_samples, channels, length\).*4, 4\)"):
        model.fit(X.reshape(150, 2, 4, 4), y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, y[:-1])
    with pytest.raises(ValueError, match="X_val.*as in training"):
        model.fit(X, y, X_val=X_val[..., :-1], y_val=y_val)
    for class_weight in (None, "balanced"):
        with pytest.raises(ValueError, match="y_val"):
            model.set_params(class_weight=class_weight).fit(X, y, X_val=X_val)
    model.set_params(class_weight=None)
    y_bad = np.where(y_val == "one", np.nan, 1.0)
    with pytest.raises(ValueError, match="y_val contains NaN"):
        model.fit(X, y == "one", X_val=X_val, y_val=y_bad)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        small_cnn(validation_split="last").fit(X, y, groups=np.zeros(12))
    with pytest.raises(ValueError, match="early_stopping=False"):
        small_cnn(early_stopping=False).fit(X, y, X_val=X_val, y_val=y_val)
    model.fit(X, y)
    with pytest.raises(ValueError, match=r"\(2, 16\), as in training. Got \(2, 12\)"):
        model.predict(X[..., :12])
    with pytest.raises(ValueError, match="must have 3 dimensions, as in training"):
        model.predict(X[:, 0])
    with pytest.raises(ValueError, match="at least one channel"):
        model.fit(X[:, :0], y)
    with pytest.raises(ValueError, match="too large for the network, in row 0"):
        small_cnn(max_iter=1).fit(X, y).predict(X * 1e39)


def test_a_class_that_training_lacks_gets_probability_0(data):
    X, y, *_ = data
    order = np.argsort(y == "one", kind="stable")
    last = small_cnn(max_iter=2, validation_split="last", validation_fraction=0.34)
    last.fit(X[order], y[order])
    proba = last.predict_proba(X)
    assert list(last.classes_) == ["one", "three", "two"]
    assert (proba[:, 0] == 0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert np.isneginf(last.predict_log_proba(X)[:, 0]).all()
    none = small_cnn(max_iter=2, class_weight={"one": 0.0, "two": 1.0, "three": 1.0})
    assert (none.fit(X, y).predict_proba(X)[:, 0] == 0).all()
    with pytest.raises(ValueError, match="at least two"):
        none.set_params(class_weight={"one": 0, "two": 0, "three": 1}).fit(X, y)
    with pytest.raises(ValueError, match="at least two"):
        small_cnn().fit(X[:2], y[:2])


def test_a_class_that_only_validation_has(data):
    X, y, X_val, y_val = data
    keep = y != "one"
    with pytest.warns(UserWarning, match=r"\['one'\]"):
        model = small_cnn(max_iter=2).fit(X[keep], y[keep], X_val=X_val, y_val=y_val)
    assert model.predict_proba(X_val).shape == (len(X_val), 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert np.isfinite(small_cnn(max_iter=2).fit(X, y).best_score_)


def linear(n_channels, length, n_classes):
    return torch.nn.Sequential(
        torch.nn.Flatten(), torch.nn.Linear(n_channels * length, n_classes)
    )


def test_networks_of_a_builder_that_returns_one_are_not_shared(data):
    X, y, X_val, _ = data
    network = linear(2, 16, 3)
    before = copy.deepcopy(network.state_dict())
    first = small_cnn(module=lambda *shape: network).fit(X, y)
    expected = first.predict_proba(X_val)
    second = small_cnn(module=lambda *shape: network).fit(X, y[::-1])
    np.testing.assert_array_equal(first.predict_proba(X_val), expected)
    assert second.module_ is not first.module_
    for name, value in network.state_dict().items():
        assert torch.equal(value, before[name])
    assert network.training  # as it was
    # Noise cannot be learned: the folds of one know nothing of each other.
    rng = np.random.default_rng(0)
    noise, labels = rng.normal(size=(60, 2, 16)), rng.integers(0, 2, size=60)
    network = linear(2, 16, 2)
    shared, fresh = (
        small_cnn(module=build, early_stopping=False, max_iter=20, learning_rate=0.1)
        for build in (lambda *shape: network, lambda *shape: copy.deepcopy(network))
    )
    np.testing.assert_array_equal(
        cross_val_score(shared, noise, labels, cv=3),
        cross_val_score(fresh, noise, labels, cv=3),
    )


def test_a_network_is_taken_as_a_template(data):
    X, y, X_val, _ = data
    network = Perceptron(2, 16, 3)
    model = small_cnn(module=network, max_iter=3).fit(X, y)
    by_builder = small_cnn(module=lambda *shape: network, max_iter=3).fit(X, y)
    np.testing.assert_array_equal(weights(model), weights(by_builder))
    assert model.module_ is not network
    np.testing.assert_array_equal(weights(clone(model).fit(X, y)), weights(model))
    again = small_cnn(module=small_cnn(max_iter=1).fit(X, y).module_, max_iter=2)
    np.testing.assert_array_equal(
        weights(again.fit(X, y)), weights(clone(again).fit(X, y))
    )
    with pytest.raises(ValueError, match="logit for each of 2 classes"):
        model.fit(X, y == "one")


@pytest.mark.filterwarnings("ignore:.*weight_norm:FutureWarning")
def test_a_network_that_torch_copies_only_without_gradients(data):
    X, y, X_val, _ = data

    def build(*shape):
        network = linear(*shape)
        torch.nn.utils.weight_norm(network[1])
        return network

    model = small_cnn(module=build, max_iter=2).fit(X, y)
    assert model.predict(X_val).shape == (len(X_val),)


@pytest.mark.parametrize(
    "build",
    [lambda: None, lambda n_channels, length: None, torch.nn.ReLU],
)
def test_the_signature_of_a_builder_is_in_the_error(data, build):
    X, y, *_ = data
    with pytest.raises(TypeError, match="'module'.*n_channels, length, n_classes"):
        small_cnn(module=build).fit(X, y)


def test_a_softmax_at_the_end_is_noticed(data):
    X, y, *_ = data

    def build(*shape):
        return torch.nn.Sequential(linear(*shape), torch.nn.Softmax(dim=1))

    with pytest.warns(UserWarning, match="'module' parameter.*softmax.*Remove"):
        small_cnn(module=build, max_iter=1).fit(X, y)

    def log_softmax(*shape):  # which changes nothing
        return torch.nn.Sequential(linear(*shape), torch.nn.LogSoftmax(dim=1))

    small_cnn(module=log_softmax, max_iter=1).fit(X, y)


@pytest.mark.parametrize("frozen", [True, False])
def test_networks_that_cannot_be_trained_are_refused(data, frozen):
    X, y, *_ = data
    network = linear(2, 16, 3).requires_grad_(False)
    if not frozen:
        network = torch.nn.Sequential(
            torch.nn.AdaptiveAvgPool1d(3), torch.nn.Flatten(), torch.nn.AvgPool1d(2)
        )
    message = "must have parameters to train.*" + ("frozen" if frozen else "no param")
    for train in (small_cnn(module=network).fit, small_cnn(module=network).partial_fit):
        with pytest.raises(ValueError, match=message):
            train(X, y)


def test_frozen_layers_stay_as_they_are(data):
    X, y, *_ = data
    network = Perceptron(2, 16, 3)
    network.layers[1].requires_grad_(False)
    model = small_cnn(module=network, max_iter=2, early_stopping=False).fit(X, y)
    assert torch.equal(model.module_.layers[1].weight, network.layers[1].weight)
    assert not torch.equal(model.module_.layers[4].weight, network.layers[4].weight)


def normalised(n_channels, length, n_classes):
    return torch.nn.Sequential(
        linear(n_channels, length, n_classes), torch.nn.BatchNorm1d(n_classes)
    )


def test_batches_of_one_window_and_batch_normalisation(data):
    X, y, *_ = data
    options = {"module": normalised, "early_stopping": False, "max_iter": 1}
    for n_rows, batch_size in ((149, 2), (33, 32), (3, 2)):
        small_cnn(batch_size=batch_size, **options).fit(X[:n_rows], y[:n_rows])
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        small_cnn(batch_size=1, **options).fit(X, y)
    model = small_cnn(**options).partial_fit(X, y)
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        model.partial_fit(X[:1], y[:1])
    small_cnn(batch_size=1, max_iter=1).fit(X, y)  # windows have many values


def bfloat16(n_channels, length, n_classes):
    class Coarse(torch.nn.Sequential):
        def forward(self, X):
            return super().forward(X).bfloat16()

    return Coarse(linear(n_channels, length, n_classes))


@pytest.fixture
def default_dtype():
    yield torch.set_default_dtype
    torch.set_default_dtype(torch.float32)


AMBIENT = {
    "no_grad": torch.no_grad,
    "inference": torch.inference_mode,
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "float64": contextlib.nullcontext,
    "meta": lambda: torch.device("meta"),
}


@pytest.mark.parametrize("state", AMBIENT)
@pytest.mark.parametrize("module", ["paper", "residual", Perceptron])
def test_the_state_of_torch_around_it_does_not_matter(
    data, default_dtype, state, module
):
    X, y, X_val, _ = data
    model = small_cnn(max_iter=3, module=module)
    plain = clone(model).fit(X, y)
    expected = plain.predict_proba(X_val)
    in_parts = clone(model).partial_fit(X, y).partial_fit(X, y)
    if state == "float64":
        default_dtype(torch.float64)
    with AMBIENT[state]():
        np.testing.assert_array_equal(plain.predict_proba(X_val), expected)
        np.testing.assert_array_equal(weights(clone(model).fit(X, y)), weights(plain))
        parts = clone(model).partial_fit(X, y)
        parts = pickle.loads(pickle.dumps(parts)).partial_fit(X, y)
        np.testing.assert_array_equal(weights(parts), weights(in_parts))
        assert torch.is_grad_enabled() == (state not in ("no_grad", "inference"))
        assert torch.is_inference_mode_enabled() == (state == "inference")
        assert torch.is_autocast_enabled("cpu") == (state == "autocast")
        assert torch.get_default_device().type == ("meta" if state == "meta" else "cpu")
    if state == "float64":
        assert torch.get_default_dtype() == torch.float64
    # Training that began there can continue here.
    parts.partial_fit(X, y)


def test_fits_in_threads_leave_the_default_dtype(data, default_dtype):
    X, y, *_ = data
    default_dtype(torch.float64)
    Parallel(n_jobs=2, backend="threading")(
        delayed(small_cnn(max_iter=2, random_state=seed).fit)(X, y) for seed in range(4)
    )
    assert torch.get_default_dtype() == torch.float64


@pytest.mark.parametrize("loss", ["log_loss", "brier"])
def test_outputs_in_half_precision_are_taken(data, loss):
    X, y, X_val, _ = data
    model = small_cnn(module=bfloat16, loss=loss, max_iter=3).fit(X, y)
    y_proba = model.predict_proba(X_val)
    np.testing.assert_allclose(y_proba.sum(axis=1), 1)
    assert model.history_["train_loss"][-1] < model.history_["train_loss"][0]


@pytest.mark.parametrize("pickled", [False, True])
@pytest.mark.parametrize(
    "params",
    [
        {"learning_rate": 1e-12, "optimizer": "sgd"},
        {"learning_rate": 0.1},
        {"batch_size": 7},
        {"loss": "brier"},
        {"optimizer": "adam"},
        {"optimizer": "sgd"},
    ],
)
def test_partial_fit_takes_the_parameters_of_each_call(data, params, pickled):
    X, y, *_ = data
    one, other = (small_cnn().partial_fit(X, y) for _ in range(2))
    if pickled:
        other = pickle.loads(pickle.dumps(other))
    before = weights(other)
    other.set_params(**params).partial_fit(X, y)
    assert np.abs(weights(one.partial_fit(X, y)) - weights(other)).max() > 1e-4
    if "sgd" in params.values() and len(params) == 2:  # it stands still, but for norms
        kept = [p.detach().numpy().ravel() for p in other.module_.parameters()]
        assert np.isin(np.concatenate(kept), before).all()


def test_partial_fit_is_the_same_before_and_after_a_pickle(data):
    X, y, *_ = data
    one = small_cnn().partial_fit(X, y)
    other = pickle.loads(pickle.dumps(one))
    changes = [{"learning_rate": 0.05}, {"optimizer": "adam"}, {"loss": "brier"}]
    for change in changes:
        one.set_params(**change).partial_fit(X, y)
        other = pickle.loads(pickle.dumps(other))
        other.set_params(**change).partial_fit(X, y)
        np.testing.assert_array_equal(weights(one), weights(other))


def test_weights_count_across_calls_of_partial_fit(data):
    X, y, *_ = data
    keep = y != "three"
    X, y = 1e-3 * X[keep], y[keep]

    def share(class_weight):
        model = small_cnn(
            class_weight=class_weight, optimizer="sgd", standardize=False, dropout=0
        )
        for _ in range(5):
            for label in ("one", "two"):
                rows = y == label
                model.partial_fit(X[rows], y[rows], classes=["one", "two"])
        return model.predict_proba(X)[:, 0].mean()

    assert share({"one": 20.0}) > share(None) + 0.1
    with pytest.raises(ValueError, match="'balanced' cannot be used.*dict"):
        small_cnn(class_weight="balanced").partial_fit(X, y)


@pytest.mark.parametrize("cause", ["validation", "class_weight"])
@pytest.mark.parametrize("how", ["partial_fit", "warm_start"])
@pytest.mark.parametrize("module", ["paper", "residual", Perceptron])
def test_a_class_that_training_lacked_can_be_learned_later(data, cause, how, module):
    X, y, *_ = data
    order = np.argsort(y == "one", kind="stable")
    X, y = X[order], y[order]
    model = small_cnn(max_iter=3, module=module, dropout=0)
    if cause == "validation":
        model.set_params(validation_split="last", validation_fraction=0.34)
    else:
        model.set_params(class_weight={"one": 0.0})
    model.fit(X, y)
    assert (model.predict_proba(X)[:, 0] == 0).all()
    model.set_params(class_weight=None, max_iter=25)
    if how == "partial_fit":
        for _ in range(25):
            model.partial_fit(X, y)
    else:
        model.set_params(warm_start=True, early_stopping=False).fit(X, y)
    assert np.mean(model.predict(X[y == "one"]) == "one") > 0.5


@pytest.mark.parametrize("learning_rate", [1e30, 1e38])
@pytest.mark.parametrize("batch_size", [32, 1000])
@pytest.mark.parametrize(("optimizer", "ema"), [("sgd", None), ("nadam", 0.9)])
def test_partial_fit_that_diverges_changes_nothing(
    data, learning_rate, batch_size, optimizer, ema
):
    X, y, *_ = data
    model = small_cnn(dropout=0, ema=ema).partial_fit(X, y)
    kept = pickle.loads(pickle.dumps(model))
    settings = {"optimizer": optimizer, "learning_rate": learning_rate}
    model.set_params(batch_size=batch_size, **settings)
    with pytest.raises(ValueError, match="diverged"):
        model.partial_fit(1e3 * X, y)
    before = small_cnn(dropout=0, ema=ema).get_params()
    for fitted in (model.set_params(**before), kept):
        fitted.partial_fit(X, y)
    np.testing.assert_array_equal(weights(model), weights(kept))
    assert model.n_iter_ == 2
    unused = small_cnn(**settings, batch_size=batch_size)
    with pytest.raises(ValueError, match="diverged"):
        unused.partial_fit(1e3 * X, y)
    assert not hasattr(unused, "classes_")


def test_weights_that_the_last_step_destroyed_are_not_kept(data):
    X, y, *_ = data
    model = small_cnn(optimizer="sgd", learning_rate=1e38, batch_size=1000)
    model.set_params(max_iter=1, early_stopping=False, standardize=False)
    with pytest.raises(ValueError, match="diverged"):
        model.fit(1e3 * X, y)


@pytest.mark.parametrize(
    ("random_state", "split"),
    [
        (None, None),
        (np.random.RandomState(0), None),
        (0, ShuffleSplit(1, test_size=0.2)),
    ],
)
def test_a_warm_start_validates_on_the_same_rows(data, random_state, split):
    X, y, *_ = data
    X = X.copy()
    X[:, 0, 0] = np.arange(len(X))
    seen = []

    def scorer(estimator, X, y):
        seen.append(frozenset(X[:, 0, 0]))
        return neg_penalized_brier_scorer(estimator, X, y)

    model = small_cnn(warm_start=True, max_iter=1, random_state=random_state)
    model.set_params(scoring=scorer, validation_split=split)
    for _ in range(3):
        model.fit(X, y)
    model = copy.deepcopy(model)
    model.set_params(random_state=5, validation_fraction=0.3).fit(X, y)
    assert len(set(seen)) == 1
    model.fit(X[:100], y[:100])  # other data has other rows
    assert len(set(seen)) == 2


def test_scores_without_the_weights_of_the_classes_warn(data):
    X, y, *_ = data
    options = {"cv": 2, "rules": ["log_loss"], "random_state": 0}
    network = small_cnn(max_iter=1, class_weight="balanced")
    with pytest.warns(UserWarning, match="get_scorer"):
        compare_stopping_rules(network, X, y, **options)
    with pytest.warns(UserWarning, match="get_scorer"):
        StagedSearchCV(network, cv=2, refit=False).fit(X, y)
    weighted = get_scorer("log_loss", class_weight="balanced")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=ConvergenceWarning)
        compare_stopping_rules(network, X, y, **options | {"rules": [weighted]})
        StagedSearchCV(network, cv=2, refit=False, scoring=weighted).fit(X, y)
