"""The nine tables: from a folder, from OpenML."""

import gzip

import numpy as np
import pytest
from sklearn.utils import Bunch

pytest.importorskip("pandas")

import pandas as pd

from studies import _tables
from studies.tests.rules_records import DATA


def test_tables_of_openml_are_found_by_their_columns(monkeypatch, tmp_path):
    """OpenML cannot be reached here: what it would give is made up."""
    asked = []

    def fetch(name, *, version, as_frame, data_home):
        asked.append((name, version))
        rng = np.random.default_rng(0)
        data = pd.DataFrame(rng.normal(size=(2310, 18)))
        data["constant"] = 9
        data["text"] = pd.Categorical(["a", "b"] * 1155)
        if version == 2:
            data = data.drop(columns=0)
        return Bunch(
            data=data, target=pd.Series(np.arange(2310) % 7).astype("category")
        )

    monkeypatch.setattr(_tables, "fetch_openml", fetch)
    X, y = _tables.load_table("image_segments", tmp_path)
    assert asked == [("segment", 1), ("segment", 2)]
    assert X.shape == (2310, 18)
    assert X.dtype == float
    assert set(X[:, -1]) == {0.0, 1.0}
    assert set(y) == set("0123456")


def test_the_folder_of_the_tables_can_be_set(monkeypatch, tmp_path):
    frame = pd.DataFrame({k: np.arange(990.0) for k in "abcdefghij"})
    frame.assign(target=np.arange(990) % 11).to_csv(
        tmp_path / "vowel.csv.gz", index=False
    )
    monkeypatch.setenv("SKLEARN_SUPERIOR_DATA", str(tmp_path))
    X, _ = _tables.load_table("vowel")
    assert X.shape == (990, 10)


def test_a_table_that_is_another_one_is_refused(tmp_path):
    frame = pd.DataFrame({"a": [1, 2], "target": ["x", "y"]})
    frame.to_csv(tmp_path / "glass.csv.gz", index=False)
    with pytest.raises(ValueError, match="214 rows, 9 features and 6 classes.*2, 1 an"):
        _tables.load_table("glass", tmp_path)


@pytest.mark.parametrize("rows", ["1,5,x\n2,5,y\n", "1,x\n2,5,y\n", "1,5,x\n2,y\n"])
def test_rows_longer_than_the_header_are_refused(rows, tmp_path):
    """As of decimal commas, which pandas would take for names of rows."""
    path = tmp_path / "glass.csv.gz"
    path.write_bytes(gzip.compress(f"a,target\n{rows}".encode()))
    with pytest.raises(ValueError, match="not have more cells in a row than in its"):
        _tables.load_table("glass", tmp_path)


def test_categories_become_codes_and_missing_ones_nan():
    frame = pd.DataFrame({"a": ["y", "x", None], "b": [1, 2, 3]})
    expected = [[1, 1], [0, 2], [np.nan, 3]]
    np.testing.assert_array_equal(_tables.as_numbers(frame), expected)


@pytest.mark.skipif(not DATA.exists(), reason="the data is not here")
@pytest.mark.parametrize("name", ["soybean", "vowel", "glass"])
def test_a_table_of_a_folder_has_its_size(name):
    X, y = _tables.load_table(name, DATA)
    info = _tables.TABLES[name]
    assert X.shape == (info.n_rows, info.n_features)
    assert len(set(y)) == info.n_classes
