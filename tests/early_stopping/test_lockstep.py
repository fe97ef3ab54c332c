"""Tasks that meet after every step."""

import os
import signal
import threading
import time
import warnings

import numpy as np
import pytest
import sklearn

from sklearn_superior.early_stopping._lockstep import run_in_step


@pytest.fixture(autouse=True)
def no_thread_is_left():
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) == before


def counter(n, log=None, name=None):
    def task(meet):
        for k in range(n):
            if log is not None:
                log.append((name, k))
            if meet(k):
                return f"stopped at {k}"
        return "ended"

    return task


@pytest.mark.parametrize("n_at_once", [1, 2, 3, 10])
def test_no_task_is_ahead_of_the_others(n_at_once):
    log, seen = [], []

    def decide(values):
        seen.append(values)
        return len(seen) == 20

    results = run_in_step(
        [counter(50, log, name) for name in "abc"], decide, n_at_once=n_at_once
    )
    assert results == ["stopped at 19"] * 3
    assert seen == [[k, k, k] for k in range(20)]
    assert [step for _, step in log] == [k for k in range(20) for _ in "abc"]


def test_tasks_take_turns_in_their_order():
    log = []
    run_in_step([counter(5, log, name) for name in "abc"], lambda _: False)
    assert log == [(name, k) for k in range(5) for name in "abc"]


@pytest.mark.parametrize("n_at_once", [1, 3])
def test_tasks_that_take_turns_never_run_together(n_at_once):
    running, most = [0], [0]
    lock = threading.Lock()

    def task(meet):
        for _ in range(10):
            with lock:
                running[0] += 1
                most[0] = max(most[0], running[0])
            time.sleep(0.002)
            with lock:
                running[0] -= 1
            meet(None)

    run_in_step([task] * 5, lambda _: False, n_at_once=n_at_once)
    assert most[0] <= n_at_once


@pytest.mark.parametrize("n_at_once", [1, 3])
def test_the_last_value_of_a_task_that_has_left_stands(n_at_once):
    seen = []
    results = run_in_step(
        [counter(4), counter(2), counter(1)], seen.append, n_at_once=n_at_once
    )
    assert seen == [[0, 0, 0], [1, 1, 0], [2, 1, 0], [3, 1, 0]]
    assert results == ["ended"] * 3


@pytest.mark.parametrize("n_at_once", [1, 2, 5])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("at", [0, 3])
def test_an_error_in_one_task_ends_all(n_at_once, error, at):
    ended = []

    def fails(meet):
        for k in range(10):
            if k == at:
                raise error("of one task")
            meet(k)

    def other(meet):
        try:
            counter(1000)(meet)
        finally:
            ended.append(1)

    with pytest.raises(error, match="of one task"):
        run_in_step([other, fails, other], lambda _: False, n_at_once=n_at_once)
    # Those that had begun; at the first step others may not have had their turn.
    assert len(ended) == 2 or at == 0


@pytest.mark.parametrize("n_at_once", [1, 3])
def test_an_error_in_the_decision_ends_all(n_at_once):
    def decide(values):
        if values[0] == 2:
            raise ValueError("of the decision")

    with pytest.raises(ValueError, match="of the decision"):
        run_in_step([counter(1000)] * 3, decide, n_at_once=n_at_once)


def test_a_task_that_swallows_the_end_is_ended_again():
    def stubborn(meet):
        for k in range(5):
            try:
                meet(k)
            except BaseException:
                pass

    def fails(meet):
        raise ValueError("of one task")

    with pytest.raises(ValueError, match="of one task"):
        run_in_step([stubborn, fails], lambda _: False)


@pytest.mark.parametrize("n_at_once", [1, 3])
def test_ctrl_c_ends_all_tasks(ctrl_c, n_at_once):
    steps = []

    def task(meet):
        for k in range(10_000):
            time.sleep(0.001)
            steps.append(k)
            if len(steps) == 20:
                os.kill(os.getpid(), signal.SIGINT)
            meet(k)

    with pytest.raises(KeyboardInterrupt):
        run_in_step([task] * 3, lambda _: False, n_at_once=n_at_once)
    assert len(steps) < 100


def test_ctrl_c_while_a_task_computes_waits_for_its_step_only(ctrl_c):
    def slow(meet):
        for k in range(100):
            if k == 1:
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(0.2)
            meet(k)

    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        run_in_step([counter(1000), slow], lambda _: False)
    assert time.perf_counter() - start < 5


def test_settings_of_the_caller_hold_in_the_tasks():
    def task(meet):
        meet(None)
        return sklearn.get_config()["enable_metadata_routing"], np.geterr()["divide"]

    with (
        sklearn.config_context(enable_metadata_routing=True),
        np.errstate(divide="raise"),
    ):
        assert run_in_step([task, task], lambda _: False) == [(True, "raise")] * 2
    assert sklearn.get_config()["enable_metadata_routing"] is False


def test_filters_of_warnings_are_as_before():
    def task(meet):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            meet(1)
            meet(2)

    before = list(warnings.filters)
    run_in_step([task] * 3, lambda _: False)
    assert list(warnings.filters) == before


def test_tasks_can_run_in_step_inside_another_thread():
    found = []
    thread = threading.Thread(
        target=lambda: found.append(run_in_step([counter(3)] * 2, lambda _: False))
    )
    thread.start()
    thread.join()
    assert found == [["ended", "ended"]]


@pytest.mark.parametrize("has_started", [False, True])
def test_an_error_while_threads_start_leaves_none(monkeypatch, has_started):
    start, n_starts = threading.Thread.start, []

    def interrupted(thread):
        n_starts.append(thread)
        if len(n_starts) == 2:
            if has_started:
                start(thread)
            raise KeyboardInterrupt
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_in_step([counter(5)] * 3, lambda _: False)
    assert len(n_starts) == 2
    assert not any(thread.is_alive() for thread in n_starts)
