"""What every test of this folder checks."""

import threading

import pytest


@pytest.fixture(autouse=True)
def no_training_thread_is_left():
    yield
    names = [thread.name for thread in threading.enumerate()]
    assert not [name for name in names if name.startswith("training")]
