"""Files that are written whole or not at all, and archives that are read with care."""

import os
import zipfile
from io import BytesIO

import pytest

from sklearn_superior.utils._files import (
    _NODE,
    read_archive,
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


def make_archive(members, compression=zipfile.ZIP_STORED):
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return buffer.getvalue()


def test_an_archive_gives_its_members_by_name():
    data = make_archive([("a", b"1"), ("b", b"22")])
    assert read_archive(data) == {"a": b"1", "b": b"22"}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (make_archive([("a", b"0" * 10**6)], zipfile.ZIP_DEFLATED), "are compressed"),
        (b"no archive", "not a zip file"),
    ],
)
def test_archives_that_are_not_ours_are_refused(data, message):
    with pytest.raises((ValueError, zipfile.BadZipFile), match=message):
        read_archive(data)


def test_two_members_of_one_name_are_refused():
    with pytest.warns(UserWarning, match="Duplicate name"):
        data = make_archive([("a", b"1"), ("a", b"2")])
    with pytest.raises(ValueError, match="two members of one name"):
        read_archive(data)
