"""Columns of CSV files, as NumPy arrays."""

import csv
import gzip
import zlib
from array import array
from math import nan

import numpy as np

_MISSING = {"": nan, "NA": nan}


def read_columns(path, numbers, *, texts=(), codes=None):
    """Read columns of a CSV file with a header, also of a gzip-compressed one.

    Parameters
    ----------
    path : Path
        The file.

    numbers : sequence of str
        Names of the columns of numbers. Missing values become NaN.

    texts : sequence of str
        Names of the columns of text.

    codes : dict, default=None
        Numbers that stand for texts, by the name of the column of numbers.

    Returns
    -------
    values : ndarray of shape (n_rows, len(numbers))
    labels : list of ndarray of shape (n_rows,)
    """
    open_file = gzip.open if path.suffix == ".gz" else open
    try:
        with open_file(path, "rt", encoding="utf-8-sig", newline="") as file:
            return _read(csv.reader(file), path, numbers, texts, codes or {})
    except (EOFError, gzip.BadGzipFile, zlib.error, UnicodeError, csv.Error) as exc:
        raise ValueError(f"{path} is damaged: {exc}.") from exc


def _read(reader, path, numbers, texts, codes):
    header = [name.strip() for name in next(reader, [])]
    for name in (*texts, *numbers):
        if name not in header:
            raise ValueError(f"{path} must have a column {name!r}. It has {header}.")
    columns = [(header.index(name), _MISSING | codes.get(name, {})) for name in numbers]
    text_at = [header.index(name) for name in texts]
    values = array("d")
    labels = [[] for _ in texts]
    for row in reader:
        if not row:
            continue
        if any(row[len(header) :]):  # of decimal commas, which would shift columns
            raise ValueError(
                f"{path} must have at most {len(header)} cells in a row, as its "
                f"header. Got {row} in line {reader.line_num}: decimal commas must be "
                "points."
            )
        try:
            values.extend(
                [
                    known[cell] if (cell := row[at]) in known else float(cell)
                    for at, known in columns
                ]
            )
            for label, at in zip(labels, text_at, strict=True):
                label.append(row[at])
        except (ValueError, IndexError):
            raise ValueError(
                f"{path} must have numbers in the columns {list(numbers)}. "
                f"Got {row} in line {reader.line_num}."
            ) from None
    if not values:
        raise ValueError(f"{path} has no rows.")
    table = np.array(values).reshape(-1, len(numbers))
    return table, [np.array(label) for label in labels]
