"""Coroutines, and the settings that each of them has for itself."""

import contextvars
import gc
import os
import signal
import threading
import time
import warnings
from importlib.util import find_spec

import numpy as np
import pytest
import sklearn
from threadpoolctl import threadpool_info, threadpool_limits

from sklearn_superior.staged._coroutine import Coroutine


def test_values_and_replies_are_exchanged():
    def function(emit):
        replies = [emit(k) for k in range(3)]
        return replies

    coroutine = Coroutine(function)
    assert [coroutine.resume(reply) for reply in "abcd"] == [0, 1, 2, ["b", "c", "d"]]
    assert coroutine.has_ended


def test_an_exception_comes_out_of_resume():
    def function(emit):
        emit(1)
        raise ValueError("of the function")

    coroutine = Coroutine(function)
    coroutine.resume()
    with pytest.raises(ValueError, match="of the function"):
        coroutine.resume()
    assert coroutine.has_ended


@pytest.mark.parametrize("n_resumed", [0, 1, 2])
def test_close_ends_the_function_where_it_waits(n_resumed):
    ended = []

    def function(emit):
        try:
            for k in range(10):
                emit(k)
        finally:
            ended.append(k)

    coroutine = Coroutine(function)
    for _ in range(n_resumed):
        coroutine.resume()
    coroutine.close()
    coroutine.close()
    assert coroutine.has_ended
    assert ended == [n_resumed - 1][:n_resumed]


def test_a_function_that_swallows_the_end_is_ended_again():
    def stubborn(emit):
        for k in range(5):
            try:
                emit(k)
            except BaseException:
                pass

    coroutine = Coroutine(stubborn)
    coroutine.resume()
    coroutine.close()
    assert coroutine.has_ended


def test_what_a_function_makes_of_its_end_is_of_no_interest():
    def function(emit):
        try:
            emit(1)
        finally:
            raise ValueError("while it ends")

    coroutine = Coroutine(function)
    coroutine.resume()
    coroutine.close()
    assert coroutine.has_ended


def test_one_that_is_dropped_ends():
    ended = []

    def function(emit):
        try:
            emit(1)
        finally:
            ended.append(1)

    Coroutine(function).resume()
    gc.collect()
    assert ended == [1]


def test_one_that_is_dropped_in_another_thread_does_no_harm():
    def function(emit):
        emit(1)

    coroutine = Coroutine(function)
    coroutine.resume()
    thread = threading.Thread(target=coroutine.__del__)
    thread.start()
    thread.join()
    assert not coroutine.has_ended
    coroutine.resume()
    assert coroutine.has_ended


def test_another_thread_cannot_emit():
    errors = []

    def function(emit):
        def in_thread():
            with pytest.raises(RuntimeError, match="in the thread of fit") as caught:
                emit(1)
            errors.append(caught.value)

        thread = threading.Thread(target=in_thread)
        thread.start()
        thread.join()

    Coroutine(function).resume()
    assert len(errors) == 1


def test_coroutines_may_be_nested():
    def inner(emit):
        for k in range(3):
            emit(k)

    def outer(emit):
        coroutine = Coroutine(inner)
        while True:
            value = coroutine.resume()
            if coroutine.has_ended:
                return
            emit(10 * value)

    coroutine = Coroutine(outer)
    assert [coroutine.resume() for _ in range(4)] == [0, 10, 20, None]


# Settings: what a fit sets, and how it is read.


def sklearn_config():
    return sklearn.config_context(enable_metadata_routing=True)


def caught_warnings():
    context = warnings.catch_warnings()

    class Ignoring:
        def __enter__(self):
            context.__enter__()
            warnings.simplefilter("ignore")

        def __exit__(self, *args):
            context.__exit__(*args)

    return Ignoring()


def torch_threads():
    import torch

    class Threads:
        def __enter__(self):
            self.before = torch.get_num_threads()
            torch.set_num_threads(self.before + 1)

        def __exit__(self, *_):
            torch.set_num_threads(self.before)

    return Threads()


def ignore(*_):
    """Ignore a signal, otherwise than where a test run was started to ignore it."""


def interrupt_handler():
    class Handler:
        def __enter__(self):
            self.before = signal.signal(signal.SIGINT, ignore)

        def __exit__(self, *_):
            signal.signal(signal.SIGINT, self.before)

    return Handler()


def xgboost_config():
    import xgboost

    return xgboost.config_context(verbosity=3)


def torch_mode(name):
    def context():
        import torch

        return getattr(torch, name)()

    return context


def read_torch(name):
    def read():
        import torch

        return getattr(torch, name)()

    return read


def xgboost_verbosity():
    import xgboost

    return xgboost.get_config()["verbosity"]


SETTINGS = {
    "sklearn": (
        "sklearn",
        sklearn_config,
        lambda: sklearn.get_config()["enable_metadata_routing"],
    ),
    "warnings": ("sklearn", caught_warnings, lambda: list(warnings.filters)),
    "recorded warnings": (
        "sklearn",
        lambda: warnings.catch_warnings(record=True),
        lambda: warnings._showwarnmsg_impl,
    ),
    "NumPy": (
        "numpy",
        lambda: np.errstate(divide="raise", over="ignore"),
        lambda: np.geterr()["divide"],
    ),
    "SIGINT": (
        "signal",
        interrupt_handler,
        lambda: signal.getsignal(signal.SIGINT),
    ),
    "xgboost": ("xgboost", xgboost_config, xgboost_verbosity),
    "gradients": ("torch", torch_mode("no_grad"), read_torch("is_grad_enabled")),
    "inference mode": (
        "torch",
        torch_mode("inference_mode"),
        read_torch("is_inference_mode_enabled"),
    ),
    "threads of torch": ("torch", torch_threads, read_torch("get_num_threads")),
}


@pytest.fixture(params=SETTINGS)
def setting(request):
    library, *setting = SETTINGS[request.param]
    pytest.importorskip(library)
    all_settings()  # imports the libraries, which changes some
    return setting


def all_settings():
    return [read() for library, _, read in SETTINGS.values() if find_spec(library)]


def test_settings_of_a_coroutine_are_its_own(setting):
    change, read = setting
    before, seen, settings = read(), [], all_settings()

    def function(emit):
        emit(seen.append(read()))
        with change():
            seen.append(read())
            for _ in range(2):
                emit(1)
                seen.append(read())
        emit(seen.append(read()))

    one, other = Coroutine(function), Coroutine(function)
    while not (one.has_ended and other.has_ended):
        for coroutine in (one, other):
            if not coroutine.has_ended:
                coroutine.resume()
            assert all_settings() == settings
        if len(seen) == 3:  # out of step, so that they do not leave in their order
            one.resume()
            assert all_settings() == settings
    assert sum(value != before for value in seen) == 6
    assert sum(value == before for value in seen) == 4


@pytest.mark.parametrize("how", ["error", "close", "drop"])
def test_settings_come_back_when_a_coroutine_does_not_end_well(setting, how):
    change, _ = setting
    settings = all_settings()

    def function(emit):
        with change():
            emit(1)
            raise ValueError("in the middle")

    one, other = Coroutine(function), Coroutine(function)
    one.resume()
    other.resume()
    if how == "error":
        for coroutine in (one, other):
            with pytest.raises(ValueError, match="in the middle"):
                coroutine.resume()
            assert all_settings() == settings
    elif how == "close":
        one.close()
        assert all_settings() == settings
        other.close()
    else:
        del one, other
        gc.collect()
    assert all_settings() == settings


def test_settings_of_the_caller_hold_in_a_coroutine():
    def function(emit):
        emit(None)
        return sklearn.get_config()["enable_metadata_routing"], np.geterr()["divide"]

    with (
        sklearn.config_context(enable_metadata_routing=True),
        np.errstate(divide="raise"),
    ):
        coroutine = Coroutine(function)
        coroutine.resume()
        assert coroutine.resume() == (True, "raise")
    assert sklearn.get_config()["enable_metadata_routing"] is False


def test_warnings_of_a_coroutine_reach_the_caller():
    def function(emit):
        for k in range(3):
            warnings.warn(f"of stage {k}", stacklevel=1)
            emit(k)

    coroutine = Coroutine(function)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        while not coroutine.has_ended:
            coroutine.resume()
    assert [str(w.message) for w in caught] == [f"of stage {k}" for k in range(3)]


def test_a_warning_of_every_stage_is_shown_once():
    """As in a plain loop: where no filter changes, Python knows what was shown."""

    def function(emit):
        for k in range(3):
            warnings.warn("always the same", stacklevel=1)
            emit(k)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        coroutine = Coroutine(function)
        while not coroutine.has_ended:
            coroutine.resume()
    assert len(caught) == 1


def test_context_variables_do_not_leak():
    variable = contextvars.ContextVar("variable", default=0)

    def function(emit):
        variable.set(variable.get() + 1)
        emit(variable.get())
        emit(variable.get())

    variable.set(5)
    one, other = Coroutine(function), Coroutine(function)
    assert [one.resume(), other.resume(), one.resume()] == [6, 6, 6]
    assert variable.get() == 5


def test_limits_of_threads_hold_in_a_coroutine():
    """They are kept for each thread: a coroutine has that of its caller."""

    def function(emit):
        for _ in range(2):
            emit([i["num_threads"] for i in threadpool_info() if "omp" in i["prefix"]])

    from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: F401

    with threadpool_limits(1):
        coroutine = Coroutine(function)
        assert set(coroutine.resume()) <= {1}
        assert set(coroutine.resume()) <= {1}


def test_ctrl_c_in_a_coroutine_comes_out_of_resume(ctrl_c):
    def function(emit):
        emit(1)
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1000):
            time.sleep(0.001)

    coroutine = Coroutine(function)
    coroutine.resume()
    with pytest.raises(KeyboardInterrupt):
        coroutine.resume()
    assert coroutine.has_ended
