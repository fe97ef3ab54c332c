"""Which adapter is for which estimator."""

import subprocess
import sys

import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

from sklearn_superior.early_stopping import (
    EarlyStoppingClassifier,
    Stages,
    register_stages,
)
from sklearn_superior.staged.adapters import find_stages
from tests.early_stopping.families import ADAPTERS, FAMILIES


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_has_its_adapter(name):
    assert type(find_stages(FAMILIES[name]())).__name__ == ADAPTERS[name]


def test_subclasses_have_that_of_their_base():
    class Mine(GradientBoostingClassifier):
        pass

    assert type(find_stages(Mine())).__name__ == "GradientBoostingStages"

    class MyStages(Stages):
        def fit(self, X, y, X_val, on_stage, sample_weight=None):
            pass

        def keep(self, stage):
            pass

    register_stages(Mine, MyStages)
    assert type(find_stages(Mine())) is MyStages
    assert type(find_stages(GradientBoostingClassifier())) is not MyStages


def test_others_are_told_what_they_lack():
    message = "RandomForestClassifier cannot be trained stage by stage: .*partial_fit"
    with pytest.raises(TypeError, match=message):
        find_stages(RandomForestClassifier())
    with pytest.raises(TypeError, match="For models without stages use GridSearchCV"):
        find_stages(RandomForestClassifier())


def test_no_library_is_imported_for_another():
    code = """
import sys
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn_superior.staged.adapters import find_stages
find_stages(HistGradientBoostingClassifier())
print({"xgboost", "lightgbm", "catboost", "torch", "skops"} & set(sys.modules))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout.strip() == "set()", run.stderr


def test_what_stops_by_itself_is_refused_by_name():
    inner = EarlyStoppingClassifier(GradientBoostingClassifier())
    with pytest.raises(TypeError, match="the classifier inside of the EarlyStopping"):
        find_stages(inner)
