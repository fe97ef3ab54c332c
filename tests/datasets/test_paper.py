import gzip
import os
from dataclasses import FrozenInstanceError
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sklearn_superior.datasets import fetch_paper_dataset, list_paper_datasets
from sklearn_superior.datasets._download import AUTHORS_FILES

DATA = Path(
    os.environ.get("SKLEARN_SUPERIOR_DATA")
    or Path(__file__).parents[3] / "shared" / "data"
)

# Classes, features, rate, window, step and blocks in the paper's notebook.
SETTINGS = {
    "beijing_air_quality": (12, 12, 1, 60, 15, (5, 2, 3)),
    "ble_rssi": (12, 2, 1, 60, 15, (5, 2, 3)),
    "driver_identification": (10, 6, 2, 20, 5, (9, 2, 4)),
    "healthy_older_people": (12, 3, 1, 10, 3, (5, 2, 3)),
    "motor_failure_time": (3, 3, 18, 72, 18, (5, 2, 3)),
    "person_activity_localization": (5, 3, 30, 90, 23, (5, 2, 3)),
    "tetouan_power": (3, 6, 1, 420, 105, (9, 2, 4)),
    "walking_user_identification": (13, 3, 32, 96, 24, (5, 2, 3)),
    "wisdm_phone_accel": (10, 3, 20, 160, 40, (5, 2, 3)),
}

# Classes, rows and missing values of the compressed files, and what is left out.
COMPRESSED = {
    "beijing_air_quality": (12, 420_768, 74_027, "complete"),
    "ble_rssi": (12, 13_584, 0, "complete"),
    "driver_identification": (10, 129_938, 576, "complete"),
    "healthy_older_people": (12, 35_278, 0, "complete"),
    "motor_failure_time": (3, 153_000, 0, "complete"),
    "person_activity_localization": (2, 57_623, 0, "incomplete"),
    "tetouan_power": (3, 157_248, 0, "complete"),
    "walking_user_identification": (13, 127_413, 0, "complete"),
    "wisdm_phone_accel": (10, 643_098, 0, "substituted"),
}

MOTOR = {"1": "0.5,1,2\n1.5,,4\n", "2": "3,4,5\n", "3": "6,7,8\n\n9,NA,1e1\n"}
MOTOR_DATA = np.array(
    [[0.5, 1, 2], [1.5, np.nan, 4], [3, 4, 5], [6, 7, 8], [9, np.nan, 10]]
)


def write_compressed(folder, name, text):
    with gzip.open(folder / f"{name}.csv.gz", "wt", encoding="utf-8") as file:
        file.write(text)


def write_authors_files(folder, header="x,y,z\n"):
    folder.mkdir(parents=True)
    for stem, rows in MOTOR.items():
        (folder / f"{stem}.csv").write_text(header + rows)


@pytest.fixture(autouse=True)
def _no_network(monkeypatch, tmp_path):
    monkeypatch.delenv("SKLEARN_SUPERIOR_DATA", raising=False)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "of_sklearn"))
    monkeypatch.setattr(
        "sklearn_superior.datasets._download.BASE_URL", "http://127.0.0.1:1/"
    )


@pytest.mark.parametrize("dataset", list_paper_datasets(), ids=lambda d: d.name)
def test_settings_are_those_of_the_notebook(dataset):
    assert (
        dataset.n_classes,
        len(dataset.feature_names),
        dataset.rate,
        dataset.window,
        dataset.step,
        dataset.blocks,
    ) == SETTINGS[dataset.name]
    assert len(AUTHORS_FILES[dataset.name]) == len(dataset.labels) == dataset.n_classes
    assert dataset.title
    assert dataset.citation
    assert dataset.notes
    assert repr(dataset).startswith(f"PaperDataset(name='{dataset.name}', n_classes=")


def test_table_is_whole_and_cannot_be_changed():
    datasets = list_paper_datasets()
    assert [dataset.name for dataset in datasets] == list(SETTINGS)
    datasets.clear()
    assert len(list_paper_datasets()) == 9
    with pytest.raises(FrozenInstanceError):
        list_paper_datasets()[0].window = 1


def test_labels_from_the_names_of_files():
    labels = {dataset.name: dataset.labels for dataset in list_paper_datasets()}
    assert labels["driver_identification"] == {str(k) for k in range(201, 211)}
    assert {"Aotizhongxin", "Wanliu"} < labels["beijing_air_quality"]
    assert {"1614", "1650"} < labels["wisdm_phone_accel"]
    assert labels["tetouan_power"] == {"Zone 1", "Zone 2", "Zone 3"}
    assert "d1p42M" in labels["healthy_older_people"]


@pytest.mark.parametrize("name", COMPRESSED)
def test_real_data_has_the_known_rows_and_classes(name):
    if not (DATA / f"{name}.csv.gz").exists():
        pytest.skip("the data is not here")
    dataset = fetch_paper_dataset(name, data_home=DATA)
    n_classes, n_rows, n_missing, status = COMPRESSED[name]
    assert dataset.data.shape == (n_rows, SETTINGS[name][1])
    assert np.isnan(dataset.data).sum() == n_missing
    assert len(np.unique(dataset.target)) == n_classes
    assert np.count_nonzero(dataset.groups[1:] != dataset.groups[:-1]) == n_classes - 1
    assert dataset.status == status
    assert (status == "complete") == ("All classes of the paper" in dataset.DESCR)
    if name == "beijing_air_quality":
        assert_array_equal(dataset.data[:2, 10], [7, 4])  # NNW, N


@pytest.mark.parametrize("source", ["compressed", "datasets", "folder itself"])
def test_every_layout_gives_the_same(tmp_path, source):
    if source == "compressed":
        rows = [
            f"{stem},{stem},{row}\n" if row else "\n"
            for stem, text in MOTOR.items()
            for row in text.splitlines()
        ]
        text = "series,label,x,y,z\n" + "".join(rows)
        write_compressed(tmp_path, "motor_failure_time", text)
    else:
        parent = tmp_path / "datasets" if source == "datasets" else tmp_path
        write_authors_files(parent / "Motor_Failure_Time")
    dataset = fetch_paper_dataset("motor_failure_time", data_home=tmp_path)
    assert_array_equal(dataset.data, MOTOR_DATA)
    assert_array_equal(dataset.groups, ["1", "1", "2", "3", "3"])
    assert_array_equal(dataset.target, dataset.groups)
    assert dataset.feature_names == ["x", "y", "z"]
    assert (dataset.rate, dataset.window, dataset.step) == (18, 72, 18)
    assert dataset.blocks == (5, 2, 3)
    assert dataset.status == "complete"
    assert "Scalabrini" in dataset.DESCR


def test_columns_are_found_by_name(tmp_path):
    folder = tmp_path / "Motor_Failure_Time"
    folder.mkdir()
    for stem in MOTOR:
        (folder / f"{stem}.csv").write_text("\ufeffx,time, z ,y\n1,00:01,3,2\n", "utf8")
    dataset = fetch_paper_dataset("motor_failure_time", data_home=tmp_path)
    assert_array_equal(dataset.data, [[1, 2, 3]] * 3)


def test_wind_as_text_and_as_number(tmp_path):
    names = list_paper_datasets()[0].feature_names
    rows = [",".join(["s,Dongsi"] + ["0"] * 10 + [wd, "0"]) for wd in ("WSW", "16", "")]
    text = "\n".join([",".join(["series", "label", *names]), *rows])
    write_compressed(tmp_path, "beijing_air_quality", text)
    dataset = fetch_paper_dataset("beijing_air_quality", data_home=str(tmp_path))
    assert_array_equal(dataset.data[:, 10], [16, 16, np.nan])
    assert dataset.status == "incomplete"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "series,label,x,y\na,1,1,2\n",
            r"motor.*must have a column 'z'. It has \['ser",
        ),
        ("series,label,x,y,z\na,1,1,2,N\n", r"numbers.*'N'\] in line 2"),
        ("series,label,x,y,z\na,1,1,2,3\na,1\n", "numbers.* in line 3"),
        ("series,label,x,y,z\na,1,1,2,3\na,1,1,5,2,5,3,5\n", "most 5 cells .* line 3"),
        ("series,label,x,y,z\n", "has no rows"),
        ("", r"must have a column 'series'. It has \[\]"),
    ],
)
def test_bad_files_are_refused(tmp_path, text, message):
    write_compressed(tmp_path, "motor_failure_time", text)
    with pytest.raises(ValueError, match=message):
        fetch_paper_dataset("motor_failure_time", data_home=tmp_path)


def test_empty_cells_at_the_end_of_a_row_are_ignored(tmp_path):
    text = "series,label,x,y,z\na,1,1,2,3,,\nb,2,3,4,5,\n"
    write_compressed(tmp_path, "motor_failure_time", text)
    dataset = fetch_paper_dataset("motor_failure_time", data_home=tmp_path)
    assert_array_equal(dataset.data, [[1, 2, 3], [3, 4, 5]])
    assert dataset.groups.tolist() == ["a", "b"]


def test_damaged_compression_is_reported(tmp_path):
    path = tmp_path / "motor_failure_time.csv.gz"
    whole = gzip.compress(b"series,label,x,y,z\n" + b"a,1,1,2,3\n" * 1000)
    for content in (whole[: len(whole) // 2], b"no gzip at all", whole[:20] + b"xxxxx"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="motor_failure_time.csv.gz is damaged: "):
            fetch_paper_dataset("motor_failure_time", data_home=tmp_path)


def test_missing_files_are_named(tmp_path):
    write_authors_files(tmp_path / "datasets" / "Motor_Failure_Time")
    (tmp_path / "datasets" / "Motor_Failure_Time" / "2.csv").unlink()
    with pytest.raises(OSError, match=r"1 of 3 are missing, among them .*2\.csv"):
        fetch_paper_dataset(
            "motor_failure_time", data_home=tmp_path, download_if_missing=False
        )


def test_an_unknown_name_is_refused():
    with pytest.raises(ValueError, match=r"'name' .*'ble_rssi'.* Got 'iris'\."):
        fetch_paper_dataset("iris")


def test_where_data_is_looked_for(tmp_path, monkeypatch):
    def searched(data_home=None):
        with pytest.raises(OSError, match="has neither") as error:
            fetch_paper_dataset(
                "ble_rssi", data_home=data_home, download_if_missing=False
            )
        return Path(str(error.value).partition(" has neither")[0])

    assert searched() == tmp_path / "of_sklearn" / "sklearn_superior"
    monkeypatch.setenv("SKLEARN_SUPERIOR_DATA", str(tmp_path))
    assert searched() == tmp_path
    assert searched("~/here") == Path.home() / "here"
