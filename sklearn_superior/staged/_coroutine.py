"""Run a function that calls back as a coroutine.

Libraries call us after each stage, not the other way round. A coroutine waits inside
that call while its caller does something else, such as training a stage of another
model. It runs in the thread of its caller. A thread of its own would start its own
OpenMP team, whose idle members keep the cores from the others, and would not see the
settings that libraries keep per thread.
"""

import atexit
import signal
import sys
import warnings
from contextlib import ExitStack, suppress
from contextvars import copy_context
from functools import partial
from threading import current_thread, main_thread
from weakref import WeakSet

import greenlet
from sklearn import get_config, set_config


class Coroutine:
    """A function that receives `emit`, and pauses whenever it calls it.

    Settings that a library changes for the duration of a fit belong to the coroutine:
    nobody else sees them while it is paused.

    Parameters
    ----------
    function : callable
        Called with the function `emit`, which passes a value to the caller of
        `resume` and returns the argument of the next call of `resume`.

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
        # The function sees the caller's context variables, including NumPy's error
        # state, and changes only its own copy of them.
        self._greenlet.gr_context = copy_context()
        self._settings, self._inference_mode = {}, ExitStack()
        self._thread = current_thread()
        _coroutines.add(self)

    @property
    def has_ended(self):
        """Whether the function has returned or raised."""
        return self._greenlet.dead

    def resume(self, reply=None):
        """Continue the function; return what it emits next, or its return value."""
        # The first switch starts the function, and its value is the argument.
        return self._switch(self._greenlet.switch, reply if self._greenlet else _emit)

    def close(self):
        """End the function where it is paused, by raising an exception there."""
        # Some libraries swallow the exception and continue: raise it again until the
        # function gives up. Whatever error it raises in turn does not matter.
        while not self._greenlet.dead:
            with suppress(Exception):
                self._switch(self._greenlet.throw, greenlet.GreenletExit)

    def __del__(self):
        # The garbage collector may run in another thread, which cannot switch here.
        if current_thread() is self._thread:
            self.close()

    def _switch(self, switch, argument):
        self._greenlet.parent = greenlet.getcurrent()
        callers = self._swap(self._settings)
        try:
            return switch(argument)
        finally:
            self._settings = self._swap(callers)

    def _swap(self, values):
        """Install settings, and return the ones they replace.

        Only settings that differ are written: each change of the warning filters makes
        Python forget which warnings it has already shown.
        """
        settings = _find_settings(self._inference_mode)
        before = {name: read() for name, (read, _) in settings.items()}
        has_written = False
        for name, value in values.items():
            read, write = settings[name]
            # torch's inference mode also changes the gradient mode, so read again
            # after a write. Otherwise do not: reading XGBoost's config is slow.
            present = read() if has_written else before[name]
            # Filters are compared by identity. An equal list is not enough, because
            # `simplefilter` changes the installed list in place.
            is_same = type(value) in (dict, int) and present == value
            if not (present is value or is_same):
                write(value)
                has_written = True
        return before


# CatBoost hangs if a coroutine is still paused in it when the interpreter exits.
_coroutines: WeakSet = WeakSet()


@atexit.register
def _close_all():
    for coroutine in list(_coroutines):
        coroutine.__del__()


def _emit(value):
    # A function rather than a method: nothing on the stack of a coroutine may refer to
    # the coroutine, or it would never be collected when its owner drops it.
    caller = greenlet.getcurrent().parent
    if caller is None:
        raise RuntimeError("on_stage must be called in the thread of fit.")
    return caller.switch(value)


def _find_settings(inference_mode):
    """Return how to read and write each setting that a fit may change.

    These are settings of the thread or of the process. A fit sets them, pauses in the
    middle, and restores them at its end.
    """
    settings = {}
    xgboost, torch = sys.modules.get("xgboost"), sys.modules.get("torch")
    if hasattr(xgboost, "set_config"):  # it may be half imported
        settings["xgboost"] = xgboost.get_config, lambda c: xgboost.set_config(**c)
    if hasattr(torch, "inference_mode"):

        def set_inference_mode(is_on):
            # There is no setter, only a context manager, which stays open meanwhile.
            inference_mode.close()
            if torch.is_inference_mode_enabled() != is_on:
                inference_mode.enter_context(torch.inference_mode(is_on))

        settings["inference"] = torch.is_inference_mode_enabled, set_inference_mode
        settings["gradients"] = torch.is_grad_enabled, torch.set_grad_enabled
        settings["threads"] = torch.get_num_threads, torch.set_num_threads
    if current_thread() is main_thread():
        # These belong to the whole process. Signal handlers can only be set in the main
        # thread, and another thread restoring filters could undo someone's change.
        get, write = signal.getsignal, signal.signal
        settings["SIGINT"] = partial(get, signal.SIGINT), partial(write, signal.SIGINT)
        # `catch_warnings` replaces these. The private one is what `record=True` sets:
        # without it, a fit that records would also collect the warnings of others.
        for name in ("filters", "showwarning", "_showwarnmsg_impl"):
            settings[name] = partial(getattr, warnings, name), _warnings_writer(name)
    settings["sklearn"] = get_config, lambda config: set_config(**config)
    return settings


def _warnings_writer(name):
    def write(value):
        setattr(warnings, name, value)
        with warnings.catch_warnings():  # makes Python notice the new filters
            pass

    return write
