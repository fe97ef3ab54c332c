"""The nine data sets of the paper on superior scoring rules."""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from sklearn.datasets import get_data_home
from sklearn.utils import Bunch

from sklearn_superior.datasets._download import AUTHORS_FILES, download_files
from sklearn_superior.datasets._reading import read_columns

# The numbers that the authors' files have for directions of the wind.
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
    label_pattern: str = field(default="(.+)", repr=False)  # in the name of a file
    licence: str = field(
        default="stated on the page of the data set in the UCI repository", repr=False
    )

    @property
    def step(self):
        """Time points from one window to the next, with an overlap of 75 %."""
        return self.window - int(0.75 * self.window)

    def label_of(self, file):
        """Class of a file of the authors."""
        return re.match(self.label_pattern, file.stem)[1]

    @property
    def labels(self):
        """Classes in the paper."""
        return {self.label_of(Path(path)) for path in AUTHORS_FILES[self.name]}


_DATASETS = [
    PaperDataset(
        name="beijing_air_quality",
        n_classes=12,
        feature_names=tuple(
            "PM2.5 PM10 SO2 NO2 CO O3 TEMP PRES DEWP RAIN wd WSPM".split()
        ),
        rate=1,
        window=60,
        blocks=(5, 2, 3),
        title="Beijing Multi-Site Air-Quality Data (UCI)",
        citation=(
            "Zhang, Guo, Dong, He, Xu, Chen (2017): Cautionary Tales on Air-Quality "
            "Improvement in Beijing. Proceedings of the Royal Society A 473(2205)"
        ),
        notes=(
            "Hourly weather and pollution at twelve sites, which are the classes. "
            f"The direction of the wind, wd, is a number from 1 to 16 in the order "
            f"{', '.join(_WIND)}. Values are missing."
        ),
        label_pattern="PRSA_Data_([^_]+)_",
    ),
    PaperDataset(
        name="ble_rssi",
        n_classes=12,
        feature_names=("rssiOne", "rssiTwo"),
        rate=1,
        window=60,
        blocks=(5, 2, 3),
        title="BLE RSSI dataset for Indoor localization (UCI)",
        citation="Dua, Graff (2019): UCI Machine Learning Repository",
        notes=(
            "Signal strength of twelve tags, whose carriers are the classes. The two "
            "features are equal. The paper's table says 30 s for the window, its "
            "notebook 60 s."
        ),
    ),
    PaperDataset(
        name="driver_identification",
        n_classes=10,
        feature_names=(
            "x-accelerometer",
            "y-accelerometer",
            "z-accelerometer",
            "x-gyroscope",
            "y-gyroscope",
            "z-gyroscope",
        ),
        rate=2,
        window=20,
        blocks=(9, 2, 4),
        title="Smartphones in cars, Overall Driving Behavior Recognition",
        citation=(
            "Eftekhari, Ghatee (2018): Hybrid of discrete wavelet transform and "
            "adaptive neuro fuzzy inference system for overall driving behavior "
            "recognition. Transportation Research Part F 58"
        ),
        notes=(
            "Ten drivers, who are the classes. Gaps in time are not marked, and the "
            "series of 203 to 210 end in 12 empty rows."
        ),
        label_pattern=r"(\d+)",
        licence="stated by those who recorded the data",
    ),
    PaperDataset(
        name="healthy_older_people",
        n_classes=12,
        feature_names=("X", "Y", "Z"),
        rate=1,
        window=10,
        blocks=(5, 2, 3),
        title=(
            "Activity recognition with healthy older people using a batteryless "
            "wearable sensor (UCI)"
        ),
        citation=(
            "Shinmoto Torres, Ranasinghe, Shi, Sample (2013): Sensor enabled wearable "
            "RFID technology for mitigating the risk of falls near beds. IEEE RFID"
        ),
        notes=(
            "Acceleration of twelve people, who are the classes, coarse and at uneven "
            "times: most rows repeat the one before. The paper's table says 6 s for "
            "the window, its notebook 10 s."
        ),
    ),
    PaperDataset(
        name="motor_failure_time",
        n_classes=3,
        feature_names=("x", "y", "z"),
        rate=18,
        window=72,
        blocks=(5, 2, 3),
        title="Accelerometer (UCI)",
        citation=(
            "Scalabrini Sampaio, Vallim Filho, Santos da Silva, Augusto da Silva "
            "(2019): Prediction of Motor Failure Time Using An Artificial Neural "
            "Network. Sensors 19(19), 4342"
        ),
        notes=(
            "Vibration of a fan with weights in three places, which are the classes. "
            "A series joins 17 speeds, slowest first. The paper's table says 6 s for "
            "the window, its notebook 4 s."
        ),
    ),
    PaperDataset(
        name="person_activity_localization",
        n_classes=5,
        feature_names=("x", "y", "z"),
        rate=30,
        window=90,
        blocks=(5, 2, 3),
        title="Localization Data for Person Activity (UCI)",
        citation=(
            "Kaluža, Mirchevska, Dovgan, Luštrek, Gams (2010): An Agent-based Approach "
            "to Care in Independent Living. AmI-10"
        ),
        notes=(
            "Places of body tags of five people, who are the classes. A series joins "
            "five recordings and interleaves four tags."
        ),
    ),
    PaperDataset(
        name="tetouan_power",
        n_classes=3,
        feature_names=(
            "Temperature",
            "Humidity",
            "Wind Speed",
            "general diffuse flows",
            "diffuse flows",
            "Consumption",
        ),
        rate=1,
        window=420,
        blocks=(9, 2, 4),
        title="Power consumption of Tetouan city (UCI)",
        citation=(
            "Salam, El Hibaoui (2018): Comparison of Machine Learning Algorithms for "
            "the Power Consumption Prediction: Case Study of Tetouan city. IRSEC"
        ),
        notes=(
            "Power and weather every ten minutes in three zones, which are the "
            "classes. The weather is the same in all."
        ),
    ),
    PaperDataset(
        name="walking_user_identification",
        n_classes=13,
        feature_names=("x acceleration", "y acceleration", "z acceleration"),
        rate=32,
        window=96,
        blocks=(5, 2, 3),
        title="User Identification From Walking Activity (UCI)",
        citation=(
            "Casale, Pujol, Radeva (2012): Personalization and user verification in "
            "wearable systems using biometric walking patterns. Personal and "
            "Ubiquitous Computing 16(5)"
        ),
        notes=(
            "Acceleration of thirteen people who walk, who are the classes. Series 17 "
            "and 18 repeat a stretch of 64 rows."
        ),
    ),
    PaperDataset(
        name="wisdm_phone_accel",
        n_classes=10,
        feature_names=("X-accel", "Y-accel", "Z-accel"),
        rate=20,
        window=160,
        blocks=(5, 2, 3),
        title="WISDM Smartphone and Smartwatch Activity and Biometrics Dataset (UCI)",
        citation=(
            "Weiss, Yoneda, Hayajneh (2019): Smartphone and Smartwatch-Based "
            "Biometrics Using Activities of Daily Living. IEEE Access 7"
        ),
        notes=(
            "Acceleration of the phones of ten people, who are the classes, during 18 "
            "activities, one after the other."
        ),
        label_pattern=r"data_(\d+)_",
    ),
]


def list_paper_datasets():
    """List the nine data sets of the paper on superior scoring rules.

    Returns
    -------
    datasets : list
        A record of each, with the attributes `name`, `title`, `n_classes`,
        `feature_names`, `rate` (rows in a second, 1 where the paper counts in rows),
        `window` and `step` (in rows), `blocks` (for training, validation and test),
        `citation`, `licence` (where to find it) and `notes`.

    See Also
    --------
    fetch_paper_dataset : Reads or downloads one of them.

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
    r"""Read a data set of the paper on superior scoring rules, or download it.

    Parameters
    ----------
    name : str
        One of the names of `list_paper_datasets`.

    data_home : str or path, default=None
        The folder that has, or shall have, the files: either ``<name>.csv.gz``, or
        the folder ``datasets`` of the authors' repository. If None, the environment
        variable ``SKLEARN_SUPERIOR_DATA`` names it, else it is ``sklearn_superior``
        in scikit-learn's data folder.

    download_if_missing : bool, default=True
        If False, raise an error instead of downloading.

    Returns
    -------
    dataset : Bunch
        A dictionary whose keys are attributes, too:

        data : ndarray of shape (n_rows, n_features)
            The raw recordings, one after the other. Missing values are NaN.
        target : ndarray of str of shape (n_rows,)
            The class of each row.
        groups : ndarray of str of shape (n_rows,)
            The recording of each row.
        feature_names : list of str
            The names of the columns.
        rate, window, step, blocks, n_classes
            The paper's settings, as in `list_paper_datasets`.
        status : {"complete", "incomplete", "substituted"}
            Whether the classes are those of the paper, some of them, or others.
        DESCR : str
            What the data is, whom to cite, and what to know before using it.

    Raises
    ------
    OSError
        If files are missing and cannot be downloaded or written.

    See Also
    --------
    list_paper_datasets : The data sets and their settings.
    make_motion_signals : Synthetic recordings, without a download.
    sklearn_superior.model_selection.sliding_windows : Cuts the recordings.

    Notes
    -----
    The rights stay with those who recorded the data: see the sources for the licences,
    and cite them. Downloads come from one commit of the authors' repository. They are
    bounded in size and time, and each file is checked by its hash. Files that are there
    already are read as they are.

    A compressed file ``<name>.csv.gz`` has a header, the columns ``series`` and
    ``label``, and a column for each feature.

    Examples
    --------
    A folder with a file of one's own:

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
    dataset = _find_dataset(name)
    home = _find_home(data_home)
    compressed = home / f"{name}.csv.gz"
    if compressed.exists():
        data, (groups, target) = read_columns(
            compressed, dataset.feature_names, texts=("series", "label"), codes=_CODES
        )
    else:
        files = _find_files(dataset, home, download_if_missing)
        data, groups, target = _read_files(dataset, files)
    status = _compare_classes(set(target.tolist()), dataset.labels)
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


def _find_dataset(name):
    for dataset in _DATASETS:
        if dataset.name == name:
            return dataset
    names = [dataset.name for dataset in _DATASETS]
    raise ValueError(f"The 'name' parameter must be one of {names}. Got {name!r}.")


def _find_home(data_home):
    home = data_home or os.environ.get("SKLEARN_SUPERIOR_DATA")
    if home:
        return Path(home).expanduser()
    return Path(get_data_home(), "sklearn_superior")


def _find_files(dataset, home, download_if_missing):
    """Files of the authors, below `home` or in it; downloaded if need be."""
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
            "With download_if_missing=True, they are downloaded."
        )
    download_files(known, home)
    return files


def _read_files(dataset, files):
    tables = [read_columns(f, dataset.feature_names, codes=_CODES)[0] for f in files]
    sizes = [len(table) for table in tables]
    groups = np.repeat([file.stem for file in files], sizes)
    target = np.repeat([dataset.label_of(file) for file in files], sizes)
    return np.concatenate(tables), groups, target


def _compare_classes(found, wanted):
    if found == wanted:
        return "complete"
    return "incomplete" if found < wanted else "substituted"


def _describe(dataset, status):
    settings = (
        f"{dataset.n_classes} classes in the paper, windows of {dataset.window} rows "
        f"every {dataset.step}, blocks for training, validation and test: "
        f"{dataset.blocks}."
    )
    warning = {
        "complete": "All classes of the paper are here.",
        "incomplete": "Classes are missing: scores do not compare with the paper's.",
        "substituted": "Classes are others: scores do not compare with the paper's.",
    }[status]
    return "\n\n".join(
        [
            dataset.title,
            dataset.notes,
            settings,
            warning,
            f"{dataset.citation}. The licence is {dataset.licence}.",
        ]
    )
