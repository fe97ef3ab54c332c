import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import f1_score, log_loss

from sklearn_superior.datasets import make_motion_signals
from sklearn_superior.datasets._synthetic import _make_classes, _remember
from sklearn_superior.model_selection import HBlockSplit, sliding_windows


def split_windows(recordings, length=50):
    """Training and test windows of the first fold, flat, with their labels."""
    windows = sliding_windows(
        recordings.data, recordings.target, length=length, groups=recordings.groups
    )
    X = windows.X.reshape(len(windows.X), -1)
    train, test = next(HBlockSplit(10, gap=3).split(X, groups=windows.groups))
    return X[train], windows.y[train], X[test], windows.y[test]


def test_recordings_have_their_shapes_and_names():
    recordings = make_motion_signals(4, 3, 50, 2, random_state=0)
    assert recordings.data.shape == (4 * 3 * 50, 2)
    assert recordings.data.dtype == np.float64
    assert recordings.data.flags["C_CONTIGUOUS"]
    assert_array_equal(recordings.target, np.repeat(np.arange(4), 150))
    assert_array_equal(recordings.groups, np.repeat(np.arange(12), 50))
    assert recordings.target.dtype == recordings.groups.dtype == np.int64
    assert recordings.feature_names == ["channel_0", "channel_1"]
    assert "4 classes, 3 series of each, 50 time points" in recordings.DESCR


def test_the_smallest_recordings():
    recordings = make_motion_signals(2, 1, 1, 1)
    assert recordings.data.shape == (2, 1)


def test_a_seed_repeats_the_recordings():
    first, again, other = (
        make_motion_signals(n_timepoints=100, random_state=seed).data
        for seed in (0, np.random.RandomState(0), 1)
    )
    assert_array_equal(first, again)
    assert not np.allclose(first, other)


def test_many_classes_stay_slower_than_the_sampling():
    recordings = make_motion_signals(
        60, n_timepoints=1000, n_channels=1, difficulty=0, random_state=0
    )
    series = recordings.data.reshape(60, 1000)
    power = np.abs(np.fft.rfft(series - series.mean(axis=1, keepdims=True))) ** 2
    frequency = np.fft.rfftfreq(1000)
    assert (power @ frequency / power.sum(axis=1)).max() < 0.3


def test_series_of_a_class_differ_less_than_classes():
    recordings = make_motion_signals(
        6, 4, n_timepoints=4000, difficulty=0, random_state=0
    )
    series = recordings.data.reshape(6, 4, 4000, 3)
    spectrum = np.abs(np.fft.rfft(series, axis=2))[:, :, 1:800]
    spectrum = np.log(spectrum.reshape(6, 4, -1, 17, 3).mean(axis=3))
    within = spectrum.var(axis=1).mean()
    assert 0 < 2 * within < spectrum.mean(axis=1).var(axis=0).mean()


def test_noise_has_a_memory():
    noise = _remember(np.random.RandomState(0), (50, 5000), memory=10)
    assert noise.var() == pytest.approx(1, rel=0.05)
    assert noise[:, 0].var() == pytest.approx(1, abs=0.5)
    for lag in (1, 5, 20):
        product = (noise[:, lag:] * noise[:, :-lag]).mean()
        assert product == pytest.approx(np.exp(-lag / 10), abs=0.03)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_default_can_be_learned_but_not_well(seed):
    X, y, X_test, y_test = split_windows(make_motion_signals(random_state=seed))
    model = HistGradientBoostingClassifier(max_iter=20, random_state=0).fit(X, y)
    score = f1_score(y_test, model.predict(X_test), average="macro")
    print(f"F1 {score:.3f}")
    assert 0.4 < score < 0.85


def test_difficulty_makes_it_harder():
    losses = []
    for difficulty in (0, 0.25, 0.5, 0.75, 1):
        recordings = make_motion_signals(
            3, n_timepoints=1500, difficulty=difficulty, random_state=0
        )
        X, y, X_test, y_test = split_windows(recordings)
        model = HistGradientBoostingClassifier(max_iter=10, random_state=0)
        losses.append(log_loss(y_test, model.fit(X, y).predict_proba(X_test)))
    assert np.all(np.diff(losses) > 0)


@pytest.mark.parametrize(
    "name", ["n_classes", "n_series", "n_timepoints", "n_channels"]
)
@pytest.mark.parametrize("value", [0, 2.5, True, "3"])
def test_bad_numbers_are_reported(name, value):
    with pytest.raises(ValueError, match=f"The '{name}' parameter .*Got {value!r}"):
        make_motion_signals(**{name: value})


def test_difficulty_makes_classes_alike():
    spread = [
        [np.ptp(part, axis=0).mean() for part in _make_classes(rng, 5, 3, difficulty)]
        for difficulty in (0, 0.5, 1)
        for rng in [np.random.RandomState(0)]
    ]
    assert np.all(np.diff(spread, axis=0) < 0)


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), "hard", None])
def test_a_bad_difficulty_is_reported(value):
    with pytest.raises(
        ValueError, match=r"'difficulty'.* in the range \[0.0, 1.0\]. Got"
    ):
        make_motion_signals(difficulty=value)
