"""The loop over stages: lockstep, stopping, observers, errors, threads."""

import os
import signal
import threading
import time

import numpy as np
import pytest
import sklearn

from sklearn_superior.early_stopping import EarlyStopper
from sklearn_superior.staged._coroutine import Coroutine
from sklearn_superior.staged._engine import FixedBudget, Result, run


@pytest.fixture(autouse=True)
def no_thread_is_left():
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) == before


class Adapter:
    has_failed = False
    needs_own_thread = False


class Counting:
    """A training whose stages are numbers, with the methods that the loop calls."""

    def __init__(self, n_stages, log=None, name="", at_stage=None):
        self.n_stages, self.n_done, self.name = n_stages, 0, name
        self.log = [] if log is None else log
        self.at_stage, self.stages = at_stage, Adapter()
        self.remembered, self.threads, self.is_closed = [], set(), False
        self._coroutine = Coroutine(self._fit)

    def _fit(self, emit):
        for k in range(self.n_stages):
            self.log.append((self.name, k))
            self.threads.add(threading.get_ident())
            if self.at_stage is not None:
                self.at_stage(k)
            if emit(k):
                break

    @property
    def is_open(self):
        return not self._coroutine.has_ended and self.n_done < self.n_stages

    def advance(self):
        if self._coroutine.has_ended:
            return None
        value = self._coroutine.resume(False)
        if self._coroutine.has_ended:
            return None
        self.n_done += 1
        return {"part": value}

    def remember(self):
        self.remembered.append(self.n_done - 1)

    def finish(self):
        if not self._coroutine.has_ended:
            self._coroutine.resume(True)

    def close(self):
        self._coroutine.close()
        self.is_closed = True


def by_number(_, parts):
    return float(parts["part"])


@pytest.mark.parametrize("n_at_once", [1, 2, 3, 10])
def test_no_training_is_ahead_of_the_others(n_at_once):
    log = []
    trainings = [Counting(50, log, name) for name in "abc"]
    result = run(trainings, by_number, FixedBudget(20), n_at_once=n_at_once)
    assert result.scores == [[k, k, k] for k in range(20)]
    assert [stage for _, stage in log] == [k for k in range(20) for _ in "abc"]
    assert all(training.remembered == [19] for training in trainings)
    assert all(training.is_closed for training in trainings)


def test_trainings_take_turns_in_their_order():
    log = []
    trainings = [Counting(5, log, name) for name in "abc"]
    run(trainings, by_number, FixedBudget(99))
    assert log == [(name, k) for k in range(5) for name in "abc"]
    assert {t for c in trainings for t in c.threads} == {threading.get_ident()}


@pytest.mark.parametrize("n_at_once", [1, 2])
def test_trainings_with_threads_of_their_own_take_turns_all_the_same(n_at_once):
    running, most = [0], [0]
    lock = threading.Lock()

    def at_stage(_):
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        time.sleep(0.002)
        with lock:
            running[0] -= 1

    trainings = [Counting(10, at_stage=at_stage) for _ in range(5)]
    trainings[0].stages.needs_own_thread = True
    run(trainings, by_number, FixedBudget(99), n_at_once=n_at_once)
    assert most[0] <= n_at_once
    assert [len(training.threads) for training in trainings] == [1] * 5
    assert len(set().union(*(training.threads for training in trainings))) == 5


@pytest.mark.parametrize("n_at_once", [1, 3])
def test_the_last_stage_of_a_training_that_has_ended_stands(n_at_once):
    trainings = [Counting(4), Counting(2), Counting(1)]
    result = run(trainings, by_number, FixedBudget(99), n_at_once=n_at_once)
    assert result.scores == [[0, 0, 0], [1, 1, 0], [2, 1, 0], [3, 1, 0]]
    assert result.present == [{"part": 3}, {"part": 1}, {"part": 0}]


def test_the_mean_score_decides_for_all():
    scores = {0: [1.0, 2.0, 5.0, 0.0, 0.0, 0.0], 1: [1.0, 4.0, 0.0, 0.0, 0.0, 0.0]}
    trainings = [Counting(6), Counting(6)]
    stopper = EarlyStopper(n_iter_no_change=2)
    result = run(trainings, lambda k, parts: scores[k][parts["part"]], stopper)
    assert stopper.scores == [1.0, 3.0, 2.5, 0.0]
    assert result.best_iteration == stopper.best_iteration == 1
    assert result.best == [{"part": 1}, {"part": 1}]
    assert all(training.remembered == [0, 1] for training in trainings)


class Observer:
    def __init__(self, stops_at=None):
        self.stops_at, self.events = stops_at, []

    def begin_stage(self):
        self.events.append("begin")

    def stage_done(self, result, is_last):
        self.events.append((len(result.scores), is_last))
        return len(result.scores) == self.stops_at


def test_observers_are_told_of_each_stage_and_may_stop():
    first, second = Observer(stops_at=3), Observer()
    run([Counting(9)], by_number, FixedBudget(99), observers=[first, second])
    stages = [["begin", (k, False)] for k in (1, 2)]
    assert first.events == [*stages[0], *stages[1], "begin", (3, False)]
    assert second.events == [*stages[0], *stages[1], "begin", (3, True)]


def test_the_last_stage_of_the_budget_is_known_as_such():
    observer = Observer()
    run([Counting(2)], by_number, FixedBudget(99), observers=[observer])
    assert observer.events == ["begin", (1, False), "begin", (2, True)]


@pytest.mark.parametrize("n_at_once", [1, 2, 5])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("at", [0, 3])
def test_an_error_in_one_training_closes_all(n_at_once, error, at):
    def fails(k):
        if k == at:
            raise error("of one training")

    trainings = [Counting(1000), Counting(10, at_stage=fails), Counting(1000)]
    with pytest.raises(error, match="of one training") as caught:
        run(trainings, by_number, FixedBudget(9999), n_at_once=n_at_once)
    assert all(training.is_closed for training in trainings)
    if error is ValueError:
        assert caught.value.__notes__ == ["This was in fold 1."]


@pytest.mark.parametrize("n_at_once", [1, 3])
@pytest.mark.parametrize("where", ["judge", "stopper", "observer"])
def test_an_error_elsewhere_closes_all(n_at_once, where):
    def fail(*_):
        raise ValueError(f"of the {where}")

    trainings = [Counting(1000) for _ in range(3)]
    stopper, observer = FixedBudget(9999), Observer()
    if where == "stopper":
        stopper.update = fail
    if where == "observer":
        observer.stage_done = fail
    judge = fail if where == "judge" else by_number
    with pytest.raises(ValueError, match=f"of the {where}"):
        run(trainings, judge, stopper, observers=[observer], n_at_once=n_at_once)
    assert all(training.is_closed for training in trainings)


@pytest.mark.parametrize("n_at_once", [1, 3])
def test_ctrl_c_closes_all(ctrl_c, n_at_once):
    stages = []

    def at_stage(k):
        time.sleep(0.001)
        stages.append(k)
        if len(stages) == 20:
            os.kill(os.getpid(), signal.SIGINT)

    trainings = [Counting(10_000, at_stage=at_stage) for _ in range(3)]
    result = Result(3)
    with pytest.raises(KeyboardInterrupt):
        run(
            trainings,
            by_number,
            FixedBudget(99_999),
            n_at_once=n_at_once,
            result=result,
        )
    assert len(stages) < 100
    assert 0 < len(result.scores) <= 7
    assert all(training.is_closed for training in trainings)


def test_a_training_that_failed_on_the_way_is_an_error_among_several():
    def fail(k):
        if k == 2:
            bad.stages.has_failed = True

    for others in ([], [Counting(9)]):
        bad = Counting(3, at_stage=fail)
        if not others:
            run([bad], by_number, FixedBudget(99))
            continue
        with pytest.raises(ValueError, match="failed before its last stage"):
            run([bad, *others], by_number, FixedBudget(99))


def test_settings_of_the_caller_hold_in_threads():
    seen = []

    def at_stage(_):
        routing = sklearn.get_config()["enable_metadata_routing"]
        seen.append((routing, np.geterr()["divide"]))

    trainings = [Counting(2, at_stage=at_stage) for _ in range(2)]
    with (
        sklearn.config_context(enable_metadata_routing=True),
        np.errstate(divide="raise"),
    ):
        for training in trainings:  # made in the thread that will run them
            training._coroutine = None
        made = [Lazy(training) for training in trainings]
        run(made, by_number, FixedBudget(99), n_at_once=2)
    assert seen == [(True, "raise")] * 4


class Lazy(Counting):
    """Makes its coroutine when it is first advanced, as a training does."""

    def __init__(self, other):
        super().__init__(other.n_stages, at_stage=other.at_stage)
        self._made = False

    def advance(self):
        if not self._made:
            self._coroutine, self._made = Coroutine(self._fit), True
        return super().advance()
