"""Files that are written whole or not at all."""

import os

import pytest

from sklearn_superior.utils._files import (
    _NODE,
    remove_leftovers,
    write_atomically,
)


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


@pytest.mark.skipif(os.name != "posix", reason="processes are asked for on POSIX only")
def test_leftovers_of_dead_processes_are_removed(tmp_path):
    path = tmp_path / "file"
    dead = tmp_path / f".file.{_NODE}-{2**22 + 1}-1.tmp"  # above the largest number
    alive = tmp_path / f".file.{_NODE}-{os.getpid()}-1.tmp"
    elsewhere = tmp_path / f".file.other_machine-{2**22 + 1}-1.tmp"
    of_another = tmp_path / f".file2.{_NODE}-{2**22 + 1}-1.tmp"
    for leftover in (dead, alive, elsewhere, of_another):
        leftover.touch()
    remove_leftovers(path)
    assert set(tmp_path.iterdir()) == {alive, elsewhere, of_another}
    remove_leftovers(tmp_path / "no such folder" / "file")  # no error
