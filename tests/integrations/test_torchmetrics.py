"""The metrics of torchmetrics against the plain ones, on one process and on two."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

pytest.importorskip("torchmetrics")

import torch
import torchmetrics

from sklearn_superior import metrics
from sklearn_superior.integrations import torchmetrics as ours
from sklearn_superior.integrations.torchmetrics import (
    PenalizedBrierScore,
    PenalizedLogLoss,
)
from sklearn_superior.metrics._rules import RULES
from tests.metrics.forecasts import forecasts, random_forecast

LOSSES = {
    make: getattr(metrics, RULES[make._rule].loss_name)
    for make in (getattr(ours, name) for name in ours.__all__)
}
both = pytest.mark.parametrize("make", LOSSES)
devices = pytest.mark.parametrize(
    "device",
    [
        "cpu",
        pytest.param(
            "cuda",
            marks=pytest.mark.skipif(
                not torch.cuda.is_available(), reason="no CUDA device"
            ),
        ),
    ],
)


def parts(n_rows, cuts):
    return np.split(np.arange(n_rows), sorted(cuts))


def filled(metric, y_true, y_proba, weight, batches, device="cpu"):
    """The metric after updates with the given rows, of which there may be none."""
    y_true, y_proba = torch.asarray(y_true), torch.asarray(y_proba)
    metric = metric.to(device)
    for rows in batches:
        metric.update(
            y_proba[rows].to(device),
            y_true[rows].to(device),
            None if weight is None else torch.asarray(weight[rows]).to(device),
        )
    return metric


@both
@devices
@given(data=st.data())
def test_equals_the_plain_loss(make, device, data):
    y_true, y_proba = data.draw(forecasts(max_classes=6, max_samples=30))
    n_samples, n_classes = y_proba.shape
    options = {
        "penalty": data.draw(st.sampled_from(["paper", "minimal", 0.3])),
        "ties": data.draw(st.sampled_from(["first", "split", "correct"])),
    }
    if make is PenalizedBrierScore:
        options["scale"] = data.draw(st.sampled_from(["sum", "mean", "half"]))
    weight = None
    if data.draw(st.booleans()):
        seed = data.draw(st.integers(0, 1000))
        weight = np.random.default_rng(seed).random(n_samples) + 0.01
        weight[1:3] = 0
    expected = LOSSES[make](
        y_true, y_proba, sample_weight=weight, labels=range(n_classes), **options
    )
    cuts = data.draw(st.lists(st.integers(0, n_samples), max_size=4))
    kind = data.draw(st.sampled_from(["labels", "one-hot", "column"]))
    target = np.eye(n_classes, dtype=int)[y_true] if kind == "one-hot" else y_true
    if kind == "column" and n_classes == 2:
        target, y_proba = target[:, None], y_proba[:, 1:]
    metric = filled(
        make(**options), target, y_proba, weight, parts(n_samples, cuts), device
    )
    value = metric.compute()
    assert value.device.type == device
    assert value.dtype == torch.float64
    assert_allclose(value.item(), expected, rtol=1e-12, atol=1e-15)


def work(rank, folder, n_cases):
    """One of two processes: it has some of the batches, in some cases none."""
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2
    )
    values = []
    for make in LOSSES:
        for case in range(n_cases):
            y_true, y_proba, weight, batches = make_case(case)
            metric = filled(make(), y_true, y_proba, weight, batches[rank::2])
            values.append(metric.compute().item())
            metric.reset()
    np.save(f"{folder}/{rank}.npy", values)
    torch.distributed.destroy_process_group()


def make_case(seed):
    rng = np.random.default_rng(seed)
    n_classes, n_samples = rng.integers(2, 6), rng.integers(2, 60)
    y_true, y_proba = random_forecast(rng, n_samples, n_classes)
    weight = rng.random(n_samples) if seed % 2 else None
    cuts = rng.integers(0, n_samples + 1, size=seed % 5)
    return y_true, y_proba, weight, parts(n_samples, cuts)


def test_two_processes_give_the_value_of_one(tmp_path):
    n_cases = 40
    torch.multiprocessing.spawn(work, args=(tmp_path, n_cases), nprocs=2)
    expected = []
    for loss in LOSSES.values():
        for case in range(n_cases):
            y_true, y_proba, weight, _ = make_case(case)
            labels = range(y_proba.shape[1])
            expected.append(loss(y_true, y_proba, sample_weight=weight, labels=labels))
    for rank in range(2):
        assert_allclose(np.load(tmp_path / f"{rank}.npy"), expected, rtol=1e-12)


@both
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_updates_wait_for_nothing(make, dtype):
    """On meta there are no values: whatever asks for one raises."""
    metric = make().to("meta")
    preds = torch.empty(10, 3, dtype=dtype, device="meta")
    target = torch.empty(10, dtype=torch.int64, device="meta")
    weight = torch.empty(10, device="meta")
    for arguments in ((preds, target), (preds, target, weight), (preds[:, 0], target)):
        metric.update(*arguments)
    assert metric.sums.device.type == "meta"
    with pytest.raises(NotImplementedError, match="meta"):
        metric.compute()


@both
def test_forward_returns_the_loss_of_the_batch_and_reset_forgets(make):
    y_true, y_proba = random_forecast(np.random.default_rng(0), 60, 3)
    preds, target = torch.asarray(y_proba), torch.asarray(y_true)
    metric = make()
    for rows in parts(60, [20, 40]):
        value = metric(preds[rows], target[rows])  # of this batch alone
        expected = LOSSES[make](y_true[rows], y_proba[rows], labels=range(3))
        assert_allclose(value.item(), expected, rtol=1e-12)
    assert_allclose(metric.compute().item(), LOSSES[make](y_true, y_proba), rtol=1e-12)
    restored = pickle.loads(pickle.dumps(metric))
    assert restored.compute() == metric.compute()
    metric.reset()
    metric.update(preds[:5], target[:5])
    expected = LOSSES[make](y_true[:5], y_proba[:5], labels=range(3))
    assert_allclose(metric.compute().item(), expected, rtol=1e-12)


def test_collection_keeps_metrics_apart_that_agree_at_first():
    perfect, preds = torch.eye(3), torch.full((3, 3), 1 / 3)
    preds[0, 0] += 1e-3
    together = {
        "pbs": PenalizedBrierScore(),
        "bs": PenalizedBrierScore(penalty=0),
        "pll": PenalizedLogLoss(),
    }
    collection = torchmetrics.MetricCollection(together)
    target = torch.arange(3)
    collection.update(perfect, target)
    collection.update(preds[[0, 0, 0]] / preds[0].sum(), target)
    values = {name: value.item() for name, value in collection.compute().items()}
    both = torch.cat([perfect, preds[[0, 0, 0]] / preds[0].sum()])
    y_true = target.repeat(2)
    assert_allclose(
        [values["pbs"], values["bs"], values["pll"]],
        [
            metrics.penalized_brier_score_loss(y_true, both),
            metrics.penalized_brier_score_loss(y_true, both, penalty=0),
            metrics.penalized_log_loss(y_true, both),
        ],
        rtol=1e-6,
    )


def test_half_precision_is_not_blamed_for_its_rounding():
    y_true, y_proba = random_forecast(np.random.default_rng(0), 60, 5)
    metric = PenalizedBrierScore()
    metric.update(torch.asarray(y_proba).bfloat16(), torch.asarray(y_true))
    expected = metrics.penalized_brier_score_loss(y_true, y_proba)
    assert_allclose(metric.compute().item(), expected, atol=0.02)


def test_small_numbers_of_half_precision_count():
    metric = PenalizedLogLoss(penalty=0)
    metric.update(torch.tensor([[1.0, 1e-3]]).bfloat16(), torch.tensor([1]))
    assert_allclose(metric.compute().item(), -np.log(1e-3), rtol=1e-3)


def test_a_coarser_module_leaves_the_sums_exact():
    y_true, y_proba = random_forecast(np.random.default_rng(0), 60, 5)
    metric = PenalizedBrierScore()
    module = torch.nn.ModuleDict({"metric": metric, "layer": torch.nn.Linear(2, 2)})
    metric.update(torch.asarray(y_proba[:30]), torch.asarray(y_true[:30]))
    module.to(torch.bfloat16).half()
    assert module["layer"].weight.dtype == torch.float16
    metric.update(torch.asarray(y_proba[30:]), torch.asarray(y_true[30:]))
    expected = metrics.penalized_brier_score_loss(y_true, y_proba)
    assert_allclose(metric.compute().item(), expected, rtol=1e-12)
    metric.reset()
    assert metric.sums.dtype == torch.float64


def test_bad_shapes_and_types_raise_in_update():
    metric = PenalizedBrierScore()
    preds, target = torch.full((4, 3), 1 / 3), torch.tensor([0, 1, 2, 0])
    cases = [
        (TypeError, "preds must be a tensor of floats. Got list", ([0.5], target)),
        (TypeError, "preds must be .* Got torch.int64", (target, target)),
        (TypeError, "preds must be .* Got ndarray", (preds.numpy(), target)),
        (
            ValueError,
            r"preds must be of shape.*\(1, 4, 3\)",
            (preds[None], target),
        ),
        (TypeError, "target must be a tensor. Got a list", (preds, [0, 1, 2, 0])),
        (ValueError, r"target .* \(4,\) or \(4, 3\).* Got \(2,\)", (preds, target[:2])),
        (
            ValueError,
            r"sample_weight .* \(4,\), .* Got \(3,\)",
            (preds, target, preds[0]),
        ),
    ]
    for error, message, arguments in cases:
        with pytest.raises(error, match=message):
            metric.update(*arguments)
    with pytest.raises(ValueError, match="'ties' parameter must be one of"):
        PenalizedBrierScore(ties="last")
    with pytest.raises(ValueError, match="'penalty' parameter must be"):
        PenalizedLogLoss(penalty=-1)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: `scale`"):
        PenalizedLogLoss(scale="sum")


def test_bad_values_raise_in_compute():
    preds, target = torch.full((4, 3), 1 / 3), torch.tensor([0, 1, 2, 0])
    weight = torch.tensor([1.0, -1, 1, 1])
    cases = [
        ("preds must hold probabilities in .*not logits", (preds * 9, target)),
        ("preds must not contain NaN", (preds * torch.nan, target)),
        (
            "target has 1 rows that are neither class numbers below 3",
            (preds, target + 1),
        ),
        ("sample_weight must be non-negative", (preds, target, weight)),
        ("sample_weight must not be zero", (preds, target, weight * 0)),
    ]
    for message, arguments in cases:
        metric = PenalizedBrierScore()
        metric.update(*arguments)
        with pytest.raises(ValueError, match=message):
            metric.compute()
    metric = PenalizedBrierScore()
    metric.update(preds, target)
    metric.update(preds[:, :2] * 1.5, target % 2)
    with pytest.raises(ValueError, match="same number of classes .* Got 2 to 3"):
        metric.compute()
    metric = PenalizedBrierScore()
    metric.update(preds * 0.9, target)
    with pytest.warns(UserWarning, match="rows of preds do not sum to one"):
        metric.compute()
    with (
        pytest.warns(UserWarning, match="called before the ``update``"),
        pytest.raises(ValueError, match="There are no samples yet"),
    ):
        PenalizedBrierScore().compute()


@pytest.mark.filterwarnings("ignore")  # of Lightning, on loggers and workers
def test_lightning_stops_and_keeps_the_best_epoch(tmp_path):
    lightning = pytest.importorskip("lightning")
    from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 8)), rng.integers(3, size=120)
    X[:, 0] += y
    X, y = torch.asarray(X).float(), torch.asarray(y)
    epochs = []

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(8, 3)
            self.pbs = PenalizedBrierScore()

        def training_step(self, rows):
            return torch.nn.functional.cross_entropy(self.layer(X[rows]), y[rows])

        def validation_step(self, rows):
            self.pbs.update(self.layer(X[rows]).softmax(dim=1), y[rows])
            self.log("val_pbs", self.pbs)

        def on_validation_epoch_end(self):
            y_proba = self.layer(X[60:]).softmax(dim=1).detach()
            epochs.append(metrics.penalized_brier_score_loss(y[60:], y_proba))

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=1.0)

    def batches(rows):
        return torch.utils.data.DataLoader(rows, batch_size=25)

    checkpoint = ModelCheckpoint(tmp_path, monitor="val_pbs")
    trainer = lightning.Trainer(
        max_epochs=60,
        accelerator="cpu",
        callbacks=[EarlyStopping("val_pbs", patience=4), checkpoint],
        num_sanity_val_steps=0,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    torch.manual_seed(0)
    trainer.fit(Model(), batches(torch.arange(60)), batches(torch.arange(60, 120)))
    best = int(np.argmin(epochs))
    assert len(epochs) == best + 1 + 4 < 60
    assert_allclose(checkpoint.best_model_score.item(), epochs[best], rtol=1e-7)
    assert f"epoch={best}-" in checkpoint.best_model_path
