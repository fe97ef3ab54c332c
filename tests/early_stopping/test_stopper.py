import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_superior.early_stopping import EarlyStopper


def brute_force(scores, patience, tol):
    """Where to stop and what is best, by looking back from every score."""
    best = None
    for k, score in enumerate(scores):
        if not np.isnan(score) and (best is None or score > scores[best] + tol):
            best = k
        start = -1 if best is None else best
        while best == 0 and all(s == scores[0] for s in scores[: start + 1 + 1]):
            if start == k:
                break
            start += 1
        if k - start >= patience:
            return k, best
    return None, best


@given(
    scores=st.lists(
        st.one_of(st.integers(-5, 5).map(float), st.just(np.nan)), max_size=30
    ),
    patience=st.integers(1, 6),
    tol=st.sampled_from([0.0, 1.0, 2.5]),
    greater=st.booleans(),
)
def test_stopping_equals_brute_force(scores, patience, tol, greater):
    stopper = EarlyStopper(
        n_iter_no_change=patience, tol=tol, greater_is_better=greater
    )
    stop, best = brute_force(scores, patience, tol)
    stopped = None
    for k, score in enumerate(scores):
        if stopper.update(score if greater else -score):
            stopped = k
            break
    assert stopped == stop
    assert stopper.best_iteration == best
    assert stopper.n_iter == len(stopper.scores)
    if best is not None:
        assert stopper.best_score == (scores[best] if greater else -scores[best])


def test_worked_example_and_is_best():
    stopper = EarlyStopper(n_iter_no_change=2, tol=0.1)
    seen = []
    for score in [1.0, 1.05, 1.2]:
        stopper.update(score)
        seen.append(stopper.is_best)
    assert seen == [True, False, True]
    assert repr(stopper) == (
        "EarlyStopper(n_iter_no_change=2, tol=0.1, greater_is_better=True)"
    )
    assert EarlyStopper().is_best is False


def test_minus_infinity_is_no_improvement():
    stopper = EarlyStopper(n_iter_no_change=2)
    assert [stopper.update(-np.inf), stopper.update(np.nan)] == [False, True]
    assert stopper.best_iteration is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_iter_no_change": 0}, r"'n_iter_no_change' .*\[1, inf\). Got 0"),
        ({"n_iter_no_change": 2.0}, "'n_iter_no_change' .* Got 2.0"),
        ({"n_iter_no_change": True}, "'n_iter_no_change' .* Got True"),
        ({"tol": -0.1}, r"'tol' .*\[0.0, inf\). Got -0.1"),
        ({"tol": np.nan}, "'tol' .* Got nan"),
        ({"tol": None}, "'tol' .* Got None"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        EarlyStopper(**options)


def test_patience_starts_when_the_score_first_changes():
    stopper = EarlyStopper(n_iter_no_change=2)
    scores = [0.3, 0.3, 0.3, 0.3, 0.2, 0.3]
    assert [stopper.update(score) for score in scores] == 5 * [False] + [True]
    stopper = EarlyStopper(n_iter_no_change=2)
    assert not any(stopper.update(0.3) for _ in range(50))
    assert stopper.best_iteration == 0
