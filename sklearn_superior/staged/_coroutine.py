"""Functions that call back, as coroutines.

The libraries call us after each stage, not the other way round. A coroutine waits in
that call while its caller does something else, such as a stage of another training.
It runs in the thread of its caller: a thread of its own would have an OpenMP team of
its own, whose idle members take the cores from the others, and would lose the settings
that libraries keep for each thread.
"""

import signal
import sys
import warnings
from contextlib import suppress
from contextvars import copy_context

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

    @property
    def has_ended(self):
        """Whether the function has returned or raised an error."""
        return self._greenlet.dead

    def resume(self, reply=None):
        """Let the function run on; return what it emits, or at its end returns."""
        if not self._greenlet:  # not begun: the reply would be its argument
            return self._switch(self._greenlet.switch, self._emit)
        return self._switch(self._greenlet.switch, reply)

    def _emit(self, value):
        return self._greenlet.parent.switch(value)

    def close(self):
        """End the function where it waits, by an exception that it may not catch."""
        while not self._greenlet.dead:  # one that is caught all the same comes again
            # What a library makes of the exception is of no interest.
            with suppress(Exception):
                self._switch(self._greenlet.throw, greenlet.GreenletExit)

    def __del__(self):
        # Not by the garbage collector in another thread, which cannot switch here.
        with suppress(Exception):
            self.close()

    def _switch(self, switch, argument):
        self._greenlet.parent = greenlet.getcurrent()
        self._settings.enter()
        try:
            return switch(argument)
        finally:
            self._settings.leave()


class _Settings:
    """Settings of a thread or of the process that a coroutine has for itself.

    A fit sets them, waits in the middle, and puts them back at its end. In the
    meantime, others must not see them. Only what differs is set, because each change of
    the filters of warnings makes Python forget which warnings were shown.
    """

    def __init__(self):
        self._inference_mode = _InferenceMode()
        self._own = self._read()

    def enter(self):
        """Take over from the caller."""
        self._callers = self._read()
        self._write(self._own)

    def leave(self):
        """Give back to the caller."""
        self._own = self._read()
        self._write(self._callers)

    def _settings(self):
        yield "SIGINT", _read_signal, _write_signal
        yield "sklearn", get_config, lambda config: set_config(**config)
        yield "warnings", _read_warnings, _write_warnings
        if xgboost := _imported("xgboost", "set_config"):
            yield "xgboost", xgboost.get_config, lambda own: xgboost.set_config(**own)
        if torch := _imported("torch", "inference_mode"):
            mode = self._inference_mode
            yield "inference", torch.is_inference_mode_enabled, mode.set
            yield "gradients", torch.is_grad_enabled, torch.set_grad_enabled
            yield "threads", torch.get_num_threads, torch.set_num_threads

    def _read(self):
        return {name: read() for name, read, _ in self._settings()}

    def _write(self, values):
        for name, read, write in self._settings():
            # A library that was imported since has no value yet.
            if name in values and read() != values[name]:
                write(values[name])


def _imported(name, attribute):
    """Return a module, if it is imported as a whole."""
    module = sys.modules.get(name)
    return module if hasattr(module, attribute) else None


def _read_signal():
    return signal.getsignal(signal.SIGINT)


def _write_signal(handler):
    # Only the main thread can set it, so that only there it can differ.
    signal.signal(signal.SIGINT, handler)


# What `warnings.catch_warnings` replaces. The private name is that of its `record`;
# without it, warnings of others would go into the list of a fit that records its own.
_WARNINGS = ("filters", "showwarning", "_showwarnmsg_impl")


class _SameObjects(tuple):
    """Compares its members by identity."""

    def __eq__(self, other):
        return all(a is b for a, b in zip(self, other, strict=True))

    __hash__ = None


def _read_warnings():
    return _SameObjects(getattr(warnings, name, None) for name in _WARNINGS)


def _write_warnings(values):
    for name, value in zip(_WARNINGS, values, strict=True):
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
