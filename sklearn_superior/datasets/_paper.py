"""The nine data sets of the paper on superior scoring rules."""

import csv
import gzip
import os
import re
import zlib
from array import array
from dataclasses import dataclass, field
from math import nan
from pathlib import Path

import numpy as np
from sklearn.datasets import get_data_home
from sklearn.utils import Bunch

from sklearn_superior.datasets._download import AUTHORS_FILES, MANIFEST, download_files

_MISSING = {"": nan, "NA": nan}
# The numbers that encode wind directions in the authors' files.
_WIND = "E ENE ESE N NE NNE NNW NW S SE SSE SSW SW W WNW WSW".split()
_CODES = {"wd": {direction: k for k, direction in enumerate(_WIND, start=1)}}


@dataclass(frozen=True)
class PaperDataset:
    """A data set of the paper, with the settings of its notebook."""

    name: str
    n_classes: int
    feature_names: tuple[str, ...]
    rate: int
    window: int
    blocks: tuple[int, int, int]
    title: str = field(repr=False)
    citation: str = field(repr=False)
    notes: str = field(repr=False)
    label_pattern: str = field(default="(.+)", repr=False)  # in the file name
    licence: str = field(
        default="stated on the page of the data set in the UCI repository", repr=False
    )

    @property
    def step(self):
        """Number of rows from one window to the next, with an overlap of 75 %."""
        return self.window - int(0.75 * self.window)

    def label_of(self, file):
        """Return the class that an authors' file holds."""
        return re.match(self.label_pattern, file.stem)[1]

    @property
    def labels(self):
        """The classes in the paper."""
        return {self.label_of(Path(path)) for path in AUTHORS_FILES[self.name]}


def _make_record(name, facts):
    """Return a record, in which lists become tuples, without the files."""
    facts = {k: tuple(v) if isinstance(v, list) else v for k, v in facts.items()}
    del facts["files"]
    return PaperDataset(name, **facts)


_DATASETS = [_make_record(*item) for item in MANIFEST["datasets"].items()]


def list_paper_datasets():
    """List the nine data sets of the paper on superior scoring rules.

    Returns
    -------
    datasets : list
        One record per data set, with the attributes `name`, `title`, `n_classes`,
        `feature_names`, `rate` (rows per second, 1 where the paper counts in rows),
        `window` and `step` (in rows), `blocks` (for training, validation and test),
        `citation`, `licence` (where to find it) and `notes`.

    See Also
    --------
    fetch_paper_dataset : Load one of them, downloading it if necessary.

    Examples
    --------
    >>> from sklearn_superior.datasets import list_paper_datasets
    >>> for dataset in list_paper_datasets():
    ...     print(f"{dataset.name:28}  {dataset.n_classes:2} classes")
    beijing_air_quality           12 classes
    ble_rssi                      12 classes
    driver_identification         10 classes
    healthy_older_people          12 classes
    motor_failure_time             3 classes
    person_activity_localization   5 classes
    tetouan_power                  3 classes
    walking_user_identification   13 classes
    wisdm_phone_accel             10 classes
    """
    return list(_DATASETS)


def fetch_paper_dataset(name, *, data_home=None, download_if_missing=True):
    r"""Load a data set of the paper on superior scoring rules.

    It is downloaded if necessary.

    Parameters
    ----------
    name : str
        Name of the data set, see `list_paper_datasets`.

    data_home : str or path, default=None
        Folder to read from and to download to. It holds either ``<name>.csv.gz`` or
        the ``datasets`` folder of the authors' repository. If None, the folder is
        taken from the environment variable ``SKLEARN_SUPERIOR_DATA`` and defaults to
        ``sklearn_superior`` in scikit-learn's data folder.

    download_if_missing : bool, default=True
        If False, raise an error if the data is not available locally.

    Returns
    -------
    dataset : Bunch
        Dictionary-like object, with the following attributes:

        data : ndarray of shape (n_rows, n_features)
            The raw recordings, concatenated. Missing values are NaN.
        target : ndarray of str of shape (n_rows,)
            Class of each row.
        groups : ndarray of str of shape (n_rows,)
            Recording of each row.
        feature_names : list of str
            Names of the columns.
        rate, window, step, blocks, n_classes
            The paper's settings, as in `list_paper_datasets`.
        status : {"complete", "incomplete", "substituted"}
            Whether the data has the classes of the paper, only some, or others.
        DESCR : str
            Description of the data, its citation and its pitfalls.

    Raises
    ------
    OSError
        If files are missing and cannot be downloaded or written.

    See Also
    --------
    list_paper_datasets : The data sets and their settings.
    make_motion_signals : Synthetic recordings, without a download.
    sklearn_superior.model_selection.sliding_windows : Cut recordings into windows.

    Notes
    -----
    The data belongs to those who recorded it: see the sources for the licences, and
    cite them. Files are downloaded from a fixed commit of the authors' repository, with
    limits on size and time, and their hashes are checked. Existing files are read as
    they are.

    A compressed file ``<name>.csv.gz`` has a header, the columns ``series`` and
    ``label``, and one column per feature.

    Examples
    --------
    Read a file from your own folder:

    >>> import gzip, tempfile
    >>> from pathlib import Path
    >>> from sklearn_superior.datasets import fetch_paper_dataset
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with gzip.open(Path(folder) / "motor_failure_time.csv.gz", "wt") as file:
    ...         _ = file.write("series,label,x,y,z\n1,1,1.004,0.09,-0.125\n")
    ...     motor = fetch_paper_dataset("motor_failure_time", data_home=folder)
    >>> motor.data
    array([[ 1.004,  0.09 , -0.125]])
    >>> motor.status, motor.window, motor.blocks
    ('incomplete', 72, (5, 2, 3))
    """
    names = [dataset.name for dataset in _DATASETS]
    if name not in names:
        raise ValueError(f"The 'name' parameter must be one of {names}. Got {name!r}.")
    dataset = _DATASETS[names.index(name)]
    home = Path(
        data_home
        or os.environ.get("SKLEARN_SUPERIOR_DATA")
        or Path(get_data_home(), "sklearn_superior")
    ).expanduser()
    compressed = home / f"{name}.csv.gz"
    if compressed.exists():
        data, groups, target = _read_columns(
            compressed, dataset.feature_names, texts=("series", "label")
        )
    else:
        files = _find_files(dataset, home, download_if_missing)
        tables = [_read_columns(file, dataset.feature_names)[0] for file in files]
        data, sizes = np.concatenate(tables), [len(table) for table in tables]
        groups = np.repeat([file.stem for file in files], sizes)
        target = np.repeat([dataset.label_of(file) for file in files], sizes)
    found, wanted = set(target.tolist()), dataset.labels
    status = "incomplete" if found < wanted else "substituted"
    status = "complete" if found == wanted else status
    return Bunch(
        data=data,
        target=target,
        groups=groups,
        feature_names=list(dataset.feature_names),
        rate=dataset.rate,
        window=dataset.window,
        step=dataset.step,
        blocks=dataset.blocks,
        n_classes=dataset.n_classes,
        status=status,
        DESCR=_describe(dataset, status),
    )


def _find_files(dataset, home, download_if_missing):
    """Return the authors' files, in `home` or its `datasets`; download if missing."""
    known = AUTHORS_FILES[dataset.name]
    files = [home / path for path in known]
    without_folder = [home / path.removeprefix("datasets/") for path in known]
    for found in (files, without_folder):
        if all(file.exists() for file in found):
            return found
    if not download_if_missing:
        missing = [file for file in files if not file.exists()]
        raise OSError(
            f"{home} has neither {dataset.name}.csv.gz nor all of the authors' files: "
            f"{len(missing)} of {len(files)} are missing, among them {missing[0]}. "
            "Set download_if_missing=True to download them."
        )
    download_files(known, home)
    return files


def _describe(dataset, status):
    remark = {
        "complete": "All classes of the paper are present.",
        "incomplete": "Some classes are missing",
        "substituted": "The classes differ from those of the paper",
    }[status]
    if status != "complete":
        remark += ": do not compare scores with the paper."
    return (
        f"{dataset.title}\n\n{dataset.notes}\n\n"
        f"{dataset.n_classes} classes in the paper, windows of {dataset.window} rows "
        f"every {dataset.step} rows, blocks for training, validation and test: "
        f"{dataset.blocks}.\n\n{remark}\n\n"
        f"{dataset.citation}. The licence is {dataset.licence}."
    )


def _read_columns(path, numbers, *, texts=()):
    """Read columns of a CSV file with a header, gzip-compressed or not.

    Returns an array with the columns of numbers, missing values being NaN, and an
    array for each column of text.
    """
    open_file = gzip.open if path.suffix == ".gz" else open
    try:
        with open_file(path, "rt", encoding="utf-8-sig", newline="") as file:
            return _parse(csv.reader(file), path, numbers, texts)
    except (EOFError, gzip.BadGzipFile, zlib.error, UnicodeError, csv.Error) as exc:
        raise ValueError(f"{path} is damaged: {exc}.") from exc


def _parse(reader, path, numbers, texts):
    header = [name.strip() for name in next(reader, [])]
    for name in (*texts, *numbers):
        if name not in header:
            raise ValueError(f"{path} must have a column {name!r}. It has {header}.")
    columns = [
        (header.index(name), _MISSING | _CODES.get(name, {})) for name in numbers
    ]
    labels = [(header.index(name), []) for name in texts]
    # An array of doubles needs a fraction of the memory of a list of floats.
    values = array("d")
    for row in reader:
        if not row:
            continue
        if any(row[len(header) :]):  # decimal commas would shift the columns
            raise ValueError(
                f"{path} must have at most {len(header)} cells in a row, like its "
                f"header. Got {row} in line {reader.line_num}: use decimal points, "
                "not commas."
            )
        try:
            values.extend(
                [
                    known[cell] if (cell := row[at]) in known else float(cell)
                    for at, known in columns
                ]
            )
            for at, column in labels:
                column.append(row[at])
        except (ValueError, IndexError):
            raise ValueError(
                f"{path} must have numbers in the columns {list(numbers)}. "
                f"Got {row} in line {reader.line_num}."
            ) from None
    if not values:
        raise ValueError(f"{path} has no rows.")
    table = np.array(values).reshape(-1, len(numbers))
    return table, *(np.array(column) for _, column in labels)
