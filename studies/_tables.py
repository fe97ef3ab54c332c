"""Classic tables: nine from a folder or from OpenML, four of scikit-learn."""

import os
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.datasets import (
    fetch_openml,
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
)

_VERSIONS = (1, 2, 3)  # at OpenML, in which the columns of some tables differ


@dataclass(frozen=True)
class TableInfo:
    """What a table must look like, and what OpenML calls it."""

    name: str
    n_rows: int
    n_features: int
    n_classes: int
    openml_name: str


TABLES = {
    info.name: info
    for info in (
        TableInfo("dna", 3186, 180, 3, "dna"),
        TableInfo("glass", 214, 9, 6, "glass"),
        TableInfo("image_segments", 2310, 18, 7, "segment"),
        TableInfo("letter", 20_000, 16, 26, "letter"),
        TableInfo("satellite", 6435, 36, 6, "satimage"),
        TableInfo("shuttle", 58_000, 9, 7, "shuttle"),
        TableInfo("soybean", 683, 35, 19, "soybean"),
        TableInfo("vehicle", 846, 18, 4, "vehicle"),
        TableInfo("vowel", 990, 10, 11, "vowel"),
    )
}

BUILT_IN = {
    "iris": load_iris,
    "wine": load_wine,
    "breast_cancer": load_breast_cancer,
    "digits": load_digits,
}


def load_table(name, data_home=None):
    """Return the features, as numbers, and the classes of a table.

    Parameters
    ----------
    name : str
        One of `TABLES` or of `BUILT_IN`.

    data_home : path, default=None
        A folder with ``<name>.csv.gz``, or with a folder ``tabular`` that has it: the
        class is the last column. Missing tables are downloaded from OpenML and cached
        in this folder. If None, the environment variable ``SKLEARN_SUPERIOR_DATA``
        names the folder.
    """
    if name in BUILT_IN:
        return BUILT_IN[name](return_X_y=True)
    info = TABLES[name]
    home = data_home or os.environ.get("SKLEARN_SUPERIOR_DATA")
    for folder in () if home is None else (Path(home), Path(home) / "tabular"):
        path = folder / f"{name}.csv.gz"
        if path.exists():
            return _check(read_table(path), info, path)
    return _fetch(info, home)


def read_table(path, **options):
    """Read a CSV file with a header as a data frame; options are those of pandas."""
    import pandas

    longer = pandas.errors.ParserWarning, pandas.errors.ParserError
    with warnings.catch_warnings():
        warnings.simplefilter("error", pandas.errors.ParserWarning)
        try:
            # Otherwise the first cells of longer rows would become row names.
            return pandas.read_csv(path, index_col=False, low_memory=False, **options)
        except longer as exc:
            raise ValueError(
                f"{path} must not have more cells in a row than in its header, as "
                f"decimal commas make: {exc}"
            ) from exc


def _fetch(info, data_home):
    """Download the first version of a table that matches its description."""
    home = None if data_home is None else str(data_home)
    for version in _VERSIONS:
        bunch = fetch_openml(
            info.openml_name, version=version, as_frame=True, data_home=home
        )
        varies = bunch.data.nunique() > 1
        frame = bunch.data.loc[:, varies].assign(target=bunch.target)
        try:
            return _check(
                frame, info, f"{info.openml_name}, version {version}, of OpenML"
            )
        except ValueError as exc:
            problem = exc
    raise problem


def _check(frame, info, source):
    """Return features and classes; raise an error if the table does not match."""
    X, y = as_numbers(frame.iloc[:, :-1]), frame.iloc[:, -1].astype(str).to_numpy(str)
    expected = (info.n_rows, info.n_features, info.n_classes)
    got = (*X.shape, len(np.unique(y)))
    if got != expected:
        raise ValueError(
            f"{info.name} must have {expected[0]} rows, {expected[1]} features and "
            f"{expected[2]} classes. {source} has {got[0]}, {got[1]} and {got[2]}."
        )
    return X, y


def as_numbers(frame):
    """Return the columns as numbers; categories become the codes of their order."""
    columns = [
        column.to_numpy(dtype=float)
        if column.dtype.kind in "biuf"
        else column.astype("category").cat.codes.replace(-1, np.nan).to_numpy(float)
        for _, column in frame.items()
    ]
    return np.column_stack(columns)
