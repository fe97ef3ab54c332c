"""The command line."""

import pytest

pytest.importorskip("torch")

from studies.__main__ import main
from studies.tests.paper_records import contents


def test_the_data_sets_are_listed(capsys):
    assert main(["list"]) == 0
    out = capsys.readouterr().out
    assert "walking_user_identification" in out
    assert "9/2/4" in out


@pytest.mark.parametrize(
    "args",
    [
        ["run", "--datasets", "nothing"],
        ["run", "--datasets", "glass"],
        ["run", "--epochs", "0"],
        ["run", "--jobs", "-2"],
        ["run", "--estimators", "svm"],
        ["run", "--plan", "rules"],
        [],
    ],
)
def test_wrong_arguments_are_refused(args, capsys):
    with pytest.raises(SystemExit) as exit_info:
        main(args)
    assert exit_info.value.code == 2


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("--quick --device cuda:77", "'device' parameter"),
        ("--estimators hgb --losses brier", "no such training"),
    ],
)
def test_what_cannot_be_trained_is_reported(
    args, message, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert main(["run", *args.split()]) == 2
    assert message in capsys.readouterr().err


def test_a_folder_that_is_a_file_is_reported(tmp_path, capsys):
    file = tmp_path / "file"
    file.touch()
    assert main(["run", "--quick", "--folder", str(file)]) == 2
    assert str(file) in capsys.readouterr().err


def test_a_report_without_records_is_an_error(tmp_path, capsys):
    assert main(["report", "--folder", str(tmp_path / "nothing")]) == 2
    assert "has no records" in capsys.readouterr().err


def test_a_quick_run_and_its_report(tmp_path, capsys):
    args = ["--folder", str(tmp_path)]
    assert main(["run", "--quick", "--epochs", "2", "--folds", "1", *args]) == 0
    assert len(contents(tmp_path)) == 2
    assert main(["report", *args]) == 0
    assert str(tmp_path / "report.html") in capsys.readouterr().out
