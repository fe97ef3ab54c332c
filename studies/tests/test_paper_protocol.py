"""One training: windows, missing values, folds, records."""

import numpy as np

from studies.paper.protocol import (
    FIELDS,
    ChannelImputer,
    Job,
    describe_versions,
    load_windows,
    make_jobs,
    train,
)


def test_windows_stay_inside_blocks_and_parts_do_not_touch():
    data = load_windows("synthetic")
    n_blocks, length, step = 10, 50, 13
    assert len(data.folds) == n_blocks
    # A block of 150 rows holds so many windows of 50.
    assert len(data.X) == 5 * n_blocks * ((150 - length) // step + 1)
    for train_rows, val, test in data.folds:
        assert len(train_rows) + len(val) + len(test) == len(data.X)
        assert not set(train_rows) & set(val)
        assert not set(val) & set(test)
        assert len(val) == 2 * len(data.X) // 10
        assert len(test) == 3 * len(data.X) // 10


def test_missing_values_are_filled_by_training_means():
    X = np.arange(12.0).reshape(2, 2, 3)
    X[0, 0, 0] = np.nan
    imputer = ChannelImputer().fit(X)
    np.testing.assert_allclose(imputer.means_, [np.nanmean(X[:, 0]), X[:, 1].mean()])
    assert imputer.transform(X)[0, 0, 0] == np.nanmean(X[:, 0])
    np.testing.assert_array_equal(imputer.transform(X)[1], X[1])
    empty = np.full((2, 1, 3), np.nan)
    assert (ChannelImputer().fit(empty).transform(empty) == 0).all()


def test_folds_are_spread_evenly():
    jobs = make_jobs(
        ["driver_identification"], ["hgb"], max_iter=5, n_folds=5, n_repeats=2
    )
    assert [job.fold for job in jobs] == [0, 3, 6, 9, 12] * 2
    assert len({job.name for job in jobs}) == 10
    assert len({job.seed for job in jobs}) == 10


def test_the_default_is_the_network_on_all_sets_of_the_paper():
    jobs = make_jobs()
    assert {job.estimator for job in jobs} == {"cnn"}
    assert len({job.dataset for job in jobs}) == 9
    assert len({job.name for job in jobs}) == len(jobs) == 9 * 5 * 2


def test_a_record_has_the_scores_of_all_stages():
    record = train(Job("synthetic", "hgb", "log_loss", 2, 0, 0))
    assert set(FIELDS) <= set(record)
    assert record["status"] == "synthetic"
    for part in ("validation", "test"):
        assert {len(scores) for scores in record[part].values()} == {2}


def test_versions_of_all_records_are_described():
    records = [{"versions": {"python": "3.11"}}, {"versions": {"python": "3.12"}}] * 2
    assert describe_versions(records) == "Versions: python 3.11; python 3.12."
