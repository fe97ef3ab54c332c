"""Warnings point at the line outside of the package."""

import warnings

import pytest

from sklearn_superior.utils._warnings import warn


def call_from(module, depth):
    """Call `warn` through functions of a module that has this name."""
    code = (
        "def call(depth):\n    call(depth - 1) if depth else warn('a message', kind)\n"
    )
    namespace = {"__name__": module, "warn": warn, "kind": RuntimeWarning}
    exec(compile(code, f"{module}.py", "exec"), namespace)
    namespace["call"](depth)


@pytest.mark.parametrize("depth", [0, 1, 5])
def test_a_warning_points_at_the_caller_of_the_package(depth):
    with pytest.warns(RuntimeWarning, match="a message") as caught:
        call_from("sklearn_superior.metrics._penalized", depth)
    assert [w.filename for w in caught] == [__file__]


def test_a_warning_of_another_module_points_at_that_module():
    with pytest.warns(RuntimeWarning) as caught:
        call_from("someone_else", 0)
    assert caught[0].filename == "someone_else.py"


def test_a_warning_can_be_made_an_error():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="stop here"):
            warn("stop here")
