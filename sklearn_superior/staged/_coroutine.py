"""Functions that call back, as coroutines.

The libraries call us after each stage, not the other way round. A coroutine waits in
that call while its caller does something else, such as a stage of another training.
It runs in the thread of its caller: a thread of its own would have an OpenMP team of
its own, whose idle members take the cores from the others, and would lose the settings
that libraries keep for each thread.
"""

import atexit
import signal
import sys
import warnings
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from operator import attrgetter, eq, is_
from signal import SIGINT
from threading import current_thread, main_thread
from weakref import WeakSet

import greenlet
from sklearn import get_config, set_config


class Coroutine:
    """A function that is called with `emit`, and waits whenever it calls that.

    What libraries set for the duration of a fit is the coroutine's own, and is not seen
    by others while it waits; see `_Settings`.

    Parameters
    ----------
    function : callable
        Called with the function `emit`, which hands a value over to the caller of
        `resume` and returns what the next call of `resume` is given.

    Examples
    --------
    >>> def count(emit):
    ...     for k in range(3):
    ...         print("reply:", emit(k))
    >>> coroutine = Coroutine(count)
    >>> coroutine.resume()
    0
    >>> coroutine.resume("go on")
    reply: go on
    1
    >>> coroutine.close()
    >>> coroutine.has_ended
    True
    """

    def __init__(self, function):
        self._greenlet = greenlet.greenlet(function)
        # Context variables, among them NumPy's error state, are those of the caller.
        self._greenlet.gr_context = copy_context()
        self._settings = _Settings()
        self._thread = current_thread()
        _coroutines.add(self)

    @property
    def has_ended(self):
        """Whether the function has returned or raised an error."""
        return self._greenlet.dead

    def resume(self, reply=None):
        """Let the function run on; return what it emits, or at its end returns."""
        if not self._greenlet:  # not begun: the reply would be its argument
            return self._switch(self._greenlet.switch, _emit)
        return self._switch(self._greenlet.switch, reply)

    def close(self):
        """End the function where it waits, by an exception that it may not catch."""
        while not self._greenlet.dead:  # one that is caught all the same comes again
            # What a library makes of the exception is of no interest.
            with suppress(Exception):
                self._switch(self._greenlet.throw, greenlet.GreenletExit)

    def __del__(self):
        # The garbage collector may be at work in another thread, which cannot switch.
        if current_thread() is self._thread:
            self.close()

    def _switch(self, switch, argument):
        self._greenlet.parent = greenlet.getcurrent()
        self._settings.enter()
        try:
            return switch(argument)
        finally:
            self._settings.leave()


# CatBoost hangs if it is left waiting when the interpreter is taken down.
_coroutines: WeakSet = WeakSet()


@atexit.register
def _close_all():
    for coroutine in list(_coroutines):
        coroutine.__del__()


def _emit(value):
    """Switch to the caller of `resume`.

    Nothing on the stack of a coroutine holds the coroutine, so that it ends if it is
    dropped.
    """
    caller = greenlet.getcurrent().parent
    if caller is None:
        raise RuntimeError("on_stage must be called in the thread of fit.")
    return caller.switch(value)


class _Settings:
    """Settings of a thread or of the process that a coroutine has for itself.

    A fit sets them, waits in the middle, and puts them back at its end. In the
    meantime, others must not see them. Only what differs is set, because each change of
    the filters of warnings makes Python forget which warnings were shown.
    """

    def __init__(self):
        self._inference_mode = _InferenceMode()
        self._own = {}

    def enter(self):
        """Take over from the caller, whose settings are the own ones at first."""
        self._callers = self._swap(self._own)

    def leave(self):
        """Give back to the caller."""
        self._own = self._swap(self._callers)

    def _swap(self, values):
        """Set the values that differ, and return all that were set before."""
        settings = _settings(self._inference_mode)
        before = {name: read() for name, (read, _, _) in settings.items()}
        has_written = False
        for name, value in values.items():
            read, write, is_same = settings[name]
            # After a change, read once more: torch's inference mode sets that of
            # gradients, too. Otherwise not, because XGBoost takes its time.
            if not is_same(read() if has_written else before[name], value):
                write(value)
                has_written = True
        return before


def _settings(inference_mode):
    """Return how each setting is read, written and compared, by its name."""
    settings = {}
    xgboost, torch = sys.modules.get("xgboost"), sys.modules.get("torch")
    if hasattr(xgboost, "set_config"):  # imported as a whole
        settings["xgboost"] = xgboost.get_config, _set_xgboost_config, eq
    if hasattr(torch, "inference_mode"):
        is_inference = torch.is_inference_mode_enabled
        settings["inference mode"] = is_inference, inference_mode.set, is_
        settings["gradients"] = torch.is_grad_enabled, torch.set_grad_enabled, is_
        settings["threads"] = torch.get_num_threads, torch.set_num_threads, eq
    if current_thread() is main_thread():
        # These are of the whole process. The handler can only be set here; and a thread
        # that gives back filters may undo what another one has done in the meantime.
        settings["SIGINT"] = partial(signal.getsignal, SIGINT), _set_signal, is_
        settings["filters"] = _get_filters, _set_filters, _are_same
    settings["sklearn"] = get_config, _set_sklearn_config, eq
    return settings


def _set_signal(handler):
    signal.signal(SIGINT, handler)


def _set_sklearn_config(config):
    set_config(**config)


def _set_xgboost_config(config):
    sys.modules["xgboost"].set_config(**config)


# What `warnings.catch_warnings` replaces. The private name is that of its `record`;
# without it, warnings of others would go into the list of a fit that records its own.
_CAUGHT = ("filters", "showwarning", "_showwarnmsg_impl")
_get_filters = partial(attrgetter(*_CAUGHT), warnings)


def _are_same(objects, others):
    return all(map(is_, objects, others))


def _set_filters(values):
    for name, value in zip(_CAUGHT, values, strict=True):
        setattr(warnings, name, value)
    with warnings.catch_warnings():  # which makes Python notice the new filters
        pass


class _InferenceMode:
    """Sets torch's inference mode, which has a context manager and no setter."""

    _context = None

    def set(self, is_on):
        import torch

        if self._context is not None:  # back to what it was before
            self._context.__exit__(None, None, None)
            self._context = None
        if torch.is_inference_mode_enabled() != is_on:
            self._context = torch.inference_mode(is_on)
            self._context.__enter__()
