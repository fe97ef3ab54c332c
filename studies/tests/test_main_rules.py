"""The command line of the studies."""

import subprocess
import sys

import pytest

from studies.__main__ import main
from studies.__main__ import main as replicate
from studies._store import RecordStore
from studies.rules import FIELDS
from studies.tests.rules_records import PLAN_FILE, ROOT

TINY = "--quick --epochs 2 --folds 1 --estimators sgd hgb".split()


def test_a_quick_run_resumes(tmp_path, capsys):
    args = ["run", str(PLAN_FILE), *TINY, "--folder", str(tmp_path)]
    assert main([*args, "--jobs", "2"]) == 0
    records, _ = RecordStore(tmp_path, FIELDS).load_all()
    assert [r["job"]["estimator"] for r in records] == ["hgb", "sgd"]
    capsys.readouterr()
    assert main(args) == 0
    assert "2 of 2 trainings are done already" in capsys.readouterr().out


def test_the_folder_has_the_name_of_the_plan(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["run", str(PLAN_FILE), *TINY, "--estimators", "sgd"]) == 0
    assert (tmp_path / "rules" / "synthetic.jsonl.gz").exists()
    assert main(["report", str(PLAN_FILE)]) == 0
    assert capsys.readouterr().out.endswith("rules/rules.html\n")


def test_the_module_is_a_command(tmp_path):
    command = [sys.executable, "-m", "studies", "report", str(PLAN_FILE)]
    done = subprocess.run(
        [*command, "--folder", str(tmp_path)], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "has no records" in done.stderr
    assert "python -m studies run" in done.stderr


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["no_such_plan.toml"], "no_such_plan.toml"),
        ([str(PLAN_FILE), "--datasets", "wisdm_phone_accel"], "Got wisdm"),
        ([str(PLAN_FILE), "--estimators", "svm"], "Got svm"),
    ],
)
def test_what_cannot_be_run_is_reported(args, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["run", *args]) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_studies_do_not_share_a_folder(tmp_path, capsys):
    args = ["--folder", str(tmp_path), "--quick", "--epochs", "2", "--folds", "1"]
    assert replicate(["run", *args, "--estimators", "hgb"]) == 0
    assert main(["run", str(PLAN_FILE), *args, "--estimators", "hgb"]) == 2
    assert "records of another study" in capsys.readouterr().err
    assert main(["report", str(PLAN_FILE), "--folder", str(tmp_path)]) == 2
    assert "records of another study" in capsys.readouterr().err


TINY_PLAN = """
title = "Which tree?"
functions = "studies.tests.tiny_study"
questions = []

[data.tables]
sets = ["iris"]

[[trainings]]
data = "tables"
estimators = ["tree"]
loss = "gini"
max_iter = 2
folds = 3
rounds = 1
"""


def test_another_study_is_a_plan_and_its_functions(tmp_path, capsys):
    plan = tmp_path / "trees.toml"
    plan.write_text(TINY_PLAN)
    folder = ["--folder", str(tmp_path / "trees")]
    assert main(["run", str(plan), *folder, "--jobs", "2"]) == 0
    assert "0 of 3 trainings are done already" in capsys.readouterr().out
    assert main(["report", str(plan), *folder]) == 0
    text = (tmp_path / "trees" / "trees.md").read_text()
    assert text.startswith("# Which tree?")
    assert "At best 0.9" in text
    assert "| decision tree | gini | 3 | 3 |" in text
