"""Settings of the whole test run."""

import os
import signal
from importlib.util import find_spec
from pathlib import Path

# scikit-learn's array API dispatch needs it, before SciPy is imported.
os.environ.setdefault("SCIPY_ARRAY_API", "1")
os.environ.setdefault("KERAS_BACKEND", "torch")
os.environ.setdefault("MPLBACKEND", "Agg")
# The workers of the test run share the cores, and the data is small.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import settings

settings.register_profile("default", deadline=None, derandomize=True)
settings.load_profile("default")

# They need what builds the documentation.
collect_ignore_glob = ["doc/*.py"]

integrated = "catboost dask keras lightgbm optuna torchmetrics xgboost".split()
collect_ignore = [
    f"sklearn_superior/integrations/{name}.py"
    for name in integrated
    if find_spec(name) is None
]
collect_ignore += [
    f"sklearn_superior/staged/adapters/{name}.py"
    for name in ("catboost", "lightgbm", "xgboost")
    if find_spec(name) is None
]
if find_spec("dask") is None or find_spec("xgboost") is None:
    collect_ignore += ["tests/integrations/test_dask_cluster.py"]
deployed = "lightgbm onnxmltools onnxruntime pandas shap skl2onnx skops xgboost".split()
if any(find_spec(name) is None for name in deployed):
    collect_ignore += ["doc/deploy.rst"]
if find_spec("skops") is None:
    collect_ignore += ["doc/early_stopping.rst"]
if any(find_spec(name) is None for name in ("matplotlib", "pandas", "skops")):
    collect_ignore += ["doc/production.rst"]
if find_spec("sklearn.callback") is None:
    # What they show came with 1.8 and 1.9; the numbers of the last one are of 1.9.
    collect_ignore += [
        "doc/choose_then_calibrate.rst",
        "doc/early_stopping.rst",
        "doc/imbalance.rst",
        "studies/tests/test_habits_trainings.py",
    ]
if any(find_spec(name) is None for name in ("optuna", "skore", "sklearn.callback")):
    collect_ignore += ["doc/neighbours.rst"]
if find_spec("optuna") is None:
    collect_ignore += ["doc/optuna.rst"]
if find_spec("safetensors") is None:
    collect_ignore += ["doc/neural_network.rst"]
if find_spec("torch") is None:
    collect_ignore += [
        "doc/neural_network.rst",
        "doc/scaling.rst",
        "sklearn_superior/integrations/keras.py",
        "sklearn_superior/neural_network",
        "studies/signals/loop.py",
        "studies/signals/networks.py",
    ]


@pytest.fixture(scope="session", autouse=True)
def no_files_of_catboost():
    """Fail if CatBoost writes its logs into the folder of the test run.

    A test that trains with it sets ``allow_writing_files=False``.
    """
    folder = Path("catboost_info").resolve()
    existed = folder.exists()
    yield
    assert existed or not folder.exists()


@pytest.fixture
def ctrl_c():
    """Let SIGINT raise KeyboardInterrupt, also where the run was started to ignore it.

    As nohup, shells without job control and some CI runners do.
    """
    if os.name != "posix":
        pytest.skip("os.kill would end the process")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
