"""Columns of CSV files, against the csv module's own words."""

import gzip

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sklearn_superior.datasets._reading import read_columns

TEXT = "who, x ,y\nann,1,2.5\n\nbob,NA,-3e2\nann,,north\n"


def write(folder, text, name="data.csv"):
    path = folder / name
    data = text.encode("utf-8-sig")
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


@pytest.mark.parametrize("name", ["data.csv", "data.csv.gz"])
def test_columns_are_found_by_their_names(tmp_path, name):
    values, (who,) = read_columns(
        write(tmp_path, TEXT, name),
        ["y", "x"],
        texts=["who"],
        codes={"y": {"north": 7}},
    )
    assert_array_equal(values, [[2.5, 1], [-300, np.nan], [7, np.nan]])
    assert who.tolist() == ["ann", "bob", "ann"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must have a column 'x'. It has .."),
        ("who,z\nann,1\n", "must have a column 'x'. It has .'who', 'z'."),
        ("x\n", "has no rows"),
        ("x\n1\nten\n", r"must have numbers .* Got \['ten'\] in line 3"),
        ("who,x\nann\n", r"must have numbers .* Got \['ann'\] in line 2"),
        ("x,y\n1,2\n1,5,2,5\n", r"at most 2 cells .* Got \['1', '5', '2', '5'\] .* 3"),
        ("x\n1,5\n", r"at most 1 cells in a row, as its header. Got \['1', '5'\]"),
    ],
)
def test_what_is_wrong_with_a_file_is_named(tmp_path, text, message):
    path = write(tmp_path, text)
    with pytest.raises(ValueError, match=message):
        read_columns(path, ["x"])


def test_empty_cells_at_the_end_of_a_row_are_no_values(tmp_path):
    values, _ = read_columns(write(tmp_path, "x,y\n1,2,,\n3,4,\n"), ["x", "y"])
    assert_array_equal(values, [[1, 2], [3, 4]])


def test_damaged_files_are_named(tmp_path):
    path = write(tmp_path, "x\n" + "1\n" * 1000, "data.csv.gz")
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ValueError, match=r"data.csv.gz is damaged"):
        read_columns(path, ["x"])
    path.write_bytes(b"x\n1\n")
    with pytest.raises(ValueError, match=r"data.csv.gz is damaged"):
        read_columns(path, ["x"])
