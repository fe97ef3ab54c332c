"""The first figure of README and home page, drawn from the records of a study."""

import importlib.util

import pytest

from studies._evidence import Study
from studies.habits import PLAN
from studies.tests.habits_records import make_records, plant
from studies.tests.rules_records import RECORDS, ROOT

pytest.importorskip("matplotlib")
SCRIPT = ROOT / "doc" / "make_figures.py"


@pytest.fixture(scope="module")
def figures():
    if not SCRIPT.exists():
        pytest.skip("no documentation here")
    spec = importlib.util.spec_from_file_location("make_figures", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def labels_of(figure):
    """Return names, differences and times that a figure shows."""
    losses, times = figure.axes
    names = [label.get_text() for label in losses.get_yticklabels()]
    return (names, *([text.get_text() for text in ax.texts] for ax in (losses, times)))


def test_the_figure_of_habits(figures):
    rows = figures.read_habits(Study(PLAN, make_records(plant)))
    figure = figures.draw_ways(figures.HABITS, rows)
    names, differences, times = labels_of(figure)
    assert names[0].startswith("cross-validate")
    assert names[-1] == "StagedSearchCV"
    assert len(differences) == len(names) - 1
    shown = float(differences[-1].replace("−", "-"))
    assert -3.5 < shown < -2  # planted: -2 and more, the higher the number of the set
    assert times[0].strip() == "1 ×"
    # The later a way is listed in the records, the slower it is.
    assert rows["stopping"]["times"] < 1 < rows["grid"]["times"]


@pytest.mark.skipif(not RECORDS.exists(), reason="no records here")
def test_the_figure_of_procedures_agrees_with_the_report(figures, tmp_path):
    if not (RECORDS / "habits").exists():
        names, rows = figures.read_ways()
        assert names is figures.PROCEDURES
        names, differences, times = labels_of(figures.draw_ways(names, rows))
        assert names[:2] == ["one hold-out", "StagedSearchCV"]
        assert differences == ["−12.8", "−13.3"]
        assert [text.strip() for text in times] == ["1 ×", "7.0 ×", "5.9 ×"]
