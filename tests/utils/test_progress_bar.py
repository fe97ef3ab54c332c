"""Bars and lines of progress."""

import io
import sys

import pytest

from sklearn_superior.utils import _progress_bar
from sklearn_superior.utils._progress_bar import Meter, with_progress

ABOUT = {"task": "Training", "unit": "folds"}


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_bar_on_a_terminal(monkeypatch):
    pytest.importorskip("tqdm")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert list(with_progress(iter(range(3)), n_all=3, **ABOUT)) == [0, 1, 2]
    last = terminal.getvalue().split("\r")[-1]
    assert last.startswith("Training: 100%")
    assert "3/3" in last


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_lines_without_tqdm_or_terminal(stream, monkeypatch):
    shown = stream()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr(_progress_bar, "find_spec", lambda name: None)
    assert list(with_progress(iter(range(200)), n_all=200, **ABOUT)) == [*range(200)]
    lines = shown.getvalue().splitlines()
    assert lines == [f"Training: {k} of 200 folds" for k in range(20, 201, 20)]


def test_steps_of_any_size(capsys):
    with Meter(40, **ABOUT) as meter:
        for n in (3, 0, 17, 1, 19):
            meter.advance(n)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [f"Training: {n} of 40 folds" for n in (20, 40)]
