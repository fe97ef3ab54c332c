"""The command line of the studies."""

import subprocess
import sys

import pytest

from studies.__main__ import STUDIES, main
from studies._store import RecordStore
from studies.rules import FIELDS
from studies.tests.paper_records import contents
from studies.tests.rules_records import ROOT

TINY = "--quick --epochs 2 --folds 1 --estimators sgd hgb".split()


@pytest.mark.parametrize(
    "args",
    [
        "paper run --epochs 0",
        "paper run --jobs -2",
        "paper run --plan rules",
        "paper",
        "nothing run",
        "",
    ],
)
def test_wrong_arguments_are_refused(args):
    with pytest.raises(SystemExit) as exit_info:
        main(args.split())
    assert exit_info.value.code == 2


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("paper run --datasets glass", "--datasets must be among synthetic, "),
        ("paper run --estimators svm", "--estimators must be among cnn, hgb, xgboost"),
        ("paper run --estimators hgb --losses brier", "no such training"),
        ("rules run --datasets wisdm_phone_accel", "Got wisdm_phone_accel"),
        ("rules run --estimators svm", "Got svm"),
        ("small run --datasets nothing", "Got nothing"),
        ("racing run --estimators svm", "Got svm"),
        ("search_table run --quick --losses brier", "no such training"),
        ("paper report", "results/paper has no records"),
    ],
)
def test_what_cannot_be_done_is_reported(args, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(args.split()) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_a_file_is_reported(tmp_path, capsys):
    file = tmp_path / "file"
    file.touch()
    assert main(["paper", "run", "--quick", "--folder", str(file)]) == 2
    assert str(file) in capsys.readouterr().err


def test_a_quick_run_and_its_report(tmp_path, capsys, monkeypatch):
    pytest.importorskip("torch")
    pytest.importorskip("jinja2")
    monkeypatch.chdir(tmp_path)
    assert main("paper run --quick --epochs 2 --folds 1".split()) == 0
    folder = tmp_path / "results" / "paper"
    assert len(contents(folder)) == 2
    assert main(["paper", "report"]) == 0
    assert "results/paper/report.html" in capsys.readouterr().out
    assert (folder / "report.md").exists()


def test_a_device_that_is_not_there_is_named(tmp_path, capsys):
    pytest.importorskip("torch")
    args = "paper run --quick --folds 1 --device cuda:77 --folder"
    assert main([*args.split(), str(tmp_path)]) == 1
    out, err = capsys.readouterr()
    assert "'device' parameter" in out
    assert "2 trainings failed" in err


def test_a_quick_run_of_a_plan_resumes(tmp_path, capsys):
    args = ["rules", "run", *TINY, "--folder", str(tmp_path)]
    assert main([*args, "--jobs", "2"]) == 0
    records, _ = RecordStore(tmp_path, FIELDS).load_all()
    assert [r["job"]["estimator"] for r in records] == ["hgb", "sgd"]
    capsys.readouterr()
    assert main(args) == 0
    assert "2 of 2 trainings are done already" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("args", "n_records"),
    [
        ("small run --quick", 2),
        ("racing run --quick --estimators HGB --epochs 3", 1),
        ("search_table run --quick --estimators HGB --epochs 5", 5),
    ],
)
def test_small_studies_run_and_report(args, n_records, tmp_path):
    pytest.importorskip("jinja2")
    name, *_ = args.split()
    if name == "search_table":  # calibrates in a way that came with 1.8
        pytest.importorskip("sklearn.callback")
    folder = ["--folder", str(tmp_path)]
    assert main([*args.split(), *folder]) == 0
    records, damaged = RecordStore(tmp_path).load_all()
    assert (len(records), damaged) == (n_records, [])
    assert main([name, "report", *folder]) == 0
    assert (tmp_path / "report.md").read_text().startswith("# ")


def test_the_module_is_a_command(tmp_path):
    command = [sys.executable, "-m", "studies", "rules", "report"]
    done = subprocess.run(
        [*command, "--folder", str(tmp_path)], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "has no records" in done.stderr
    assert "python -m studies STUDY run" in done.stderr


def test_studies_do_not_share_a_folder(tmp_path, capsys):
    args = ["--folder", str(tmp_path), "--quick", "--epochs", "2", "--folds", "1"]
    assert main(["paper", "run", *args, "--estimators", "hgb"]) == 0
    assert main(["rules", "run", *args, "--estimators", "hgb"]) == 2
    assert "records of another study" in capsys.readouterr().err
    assert main(["rules", "report", "--folder", str(tmp_path)]) == 2
    assert "records of another study" in capsys.readouterr().err


def test_another_study_is_a_module(tmp_path, capsys, monkeypatch):
    pytest.importorskip("jinja2")
    monkeypatch.setitem(STUDIES, "trees", "studies.tests.tiny_study")
    folder = ["--folder", str(tmp_path / "trees")]
    assert main(["trees", "run", *folder, "--jobs", "2"]) == 0
    assert "0 of 3 trainings are done already" in capsys.readouterr().out
    assert main(["trees", "report", *folder]) == 0
    text = (tmp_path / "trees" / "report.md").read_text()
    assert text.startswith("# Which tree?")
    assert "At best 0.9" in text
    assert "| decision tree | gini | 3 | 3 |" in text
