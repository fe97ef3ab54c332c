"""Files that are written completely or not at all."""

import os

import pytest

from sklearn_superior.utils._files import write_atomically


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_atomically(path, b"old")

    def full(fd):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="disk full"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
