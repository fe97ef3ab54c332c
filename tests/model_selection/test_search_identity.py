"""Which changes between two runs make another search, and which do not."""

import importlib
import sys

import numpy as np
import pytest
from sklearn import config_context
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from sklearn_superior.model_selection import StagedSearchCV
from tests.early_stopping.families import FAMILIES, make_data
from tests.model_selection.searches import small

X, y, _, _ = make_data("binary")
X, y = X[:120], y[:120]
pytestmark = pytest.mark.filterwarnings("ignore:The best .* may give a better model")


def fit(folder, estimator, X=X, **options):
    options = {"cv": 3, "refit": "all", "resume": True} | options
    search = StagedSearchCV(estimator, checkpoint_dir=folder, **options)
    return search.fit(X, y)


def assert_refused(folder, what, estimator, X=X, **options):
    with pytest.raises(ValueError, match=f"What differs: .*{what}"):
        fit(folder, estimator, X, **options)


def test_the_output_of_transformers(tmp_path):
    pytest.importorskip("pandas")

    def estimator():
        return make_pipeline(StandardScaler(), small())

    fit(tmp_path, estimator())
    other = estimator()
    other[0].set_output(transform="pandas")
    assert_refused(tmp_path, "parameter steps", other)
    with config_context(transform_output="pandas"):
        assert_refused(tmp_path, "transform_output of scikit-learn's", estimator())
    fit(tmp_path, estimator())


def test_what_is_fitted_before(tmp_path):
    one, other = (FrozenEstimator(PCA(3).fit(X[k : k + 60])) for k in (0, 60))
    fit(tmp_path, make_pipeline(one, small()))
    fit(tmp_path, make_pipeline(FrozenEstimator(PCA(3).fit(X[:60])), small()))
    assert_refused(tmp_path, "parameter steps", make_pipeline(other, small()))


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write modules, which are imported anew."""
    folder = tmp_path / "modules"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)

    def write(package=".", **sources):
        for name, source in sources.items():
            path = folder / package / f"{name}.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(source)
        forget()

    def forget():
        for name in list(sys.modules):
            if name.startswith(("own_", "other_")):
                del sys.modules[name]
        sys.path_importer_cache.clear()
        importlib.invalidate_caches()

    write.folder = folder
    yield write
    forget()


def by_function(module):
    function = importlib.import_module(module).double
    return make_pipeline(FunctionTransformer(function), small())


HELPER = "def helper(X):\n    return {} * X\n"
USES = {
    "from": "from own_helper import helper\n\ndef double(X):\n    return helper(X)\n",
    "module": "import own_helper\n\ndef double(X):\n    return own_helper.helper(X)\n",
    "late": "def double(X):\n    import own_helper\n    return own_helper.helper(X)\n",
    "two steps": "from own_between import *\n\ndef double(X):\n    return between(X)\n",
}
BETWEEN = "import own_main\nfrom own_helper import helper as between\n"


@pytest.mark.parametrize("use", USES)
def test_an_edited_helper(tmp_path, write, use):
    write(own_main=USES[use], own_helper=HELPER.format(2), own_between=BETWEEN)
    fit(tmp_path, by_function("own_main"))
    fit(tmp_path, by_function("own_main"))
    write()  # as a new process would have it
    fit(tmp_path, by_function("own_main"))
    write(other_helper="FACTOR = 3\n")
    fit(tmp_path, by_function("own_main"))
    write(own_helper=HELPER.format(3))
    assert_refused(tmp_path, "parameter steps", by_function("own_main"))


@pytest.mark.parametrize("edited", ["main", "inner", "__init__"])
def test_an_edited_package_whose_version_stays_the_same(tmp_path, write, edited):
    about = write.folder / "own_lib-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: own_lib\nVersion: 1.0\n"
    )
    sources = {
        "__init__": "",
        "main": "from .inner import helper\n\ndef double(X):\n    return helper(X)\n",
        "inner": HELPER.format(2),
    }
    write("own_lib", **sources)
    fit(tmp_path, by_function("own_lib.main"))
    write()
    fit(tmp_path, by_function("own_lib.main"))
    write("own_lib", **{edited: sources[edited] + "\nFACTOR = 3\n"})
    assert_refused(tmp_path, "parameter steps", by_function("own_lib.main"))


def test_an_edited_class_of_an_estimator(tmp_path, write):
    source = (
        "from sklearn.ensemble import GradientBoostingClassifier\n"
        "from own_helper import helper\n"
        "class Own(GradientBoostingClassifier):\n"
        "    def fit(self, X, y, **options):\n"
        "        return super().fit(helper(X), y, **options)\n"
    )
    write(own_main=source, own_helper=HELPER.format(1))

    def make():
        return importlib.import_module("own_main").Own(n_estimators=3, random_state=0)

    fit(tmp_path, make())
    write(own_helper=HELPER.format("1.0"))
    assert_refused(tmp_path, "class", make())


@pytest.mark.parametrize(
    "name", ["GradientBoosting", "XGBoost", "LightGBM", "CatBoost", "MLP"]
)
def test_what_is_shown_does_not_count(tmp_path, capsys, name):
    def make(shown):
        scaler = FunctionTransformer()
        inner = FAMILIES[name]()
        for option in ("verbose", "verbosity"):
            if option in inner.get_params():
                inner.set_params(**{option: int(shown)})
                break
        if "n_jobs" in inner.get_params():
            inner.set_params(n_jobs=1 + shown)
        return make_pipeline(scaler, inner, verbose=shown)

    first = fit(tmp_path, make(shown=False))
    again = fit(tmp_path, make(shown=True), verbose=1, n_jobs=2)
    np.testing.assert_array_equal(first.oof_proba_, again.oof_proba_)
    # Neither inside of a setting.
    grid = {"functiontransformer": [StandardScaler(), make_pipeline(PCA(2))]}
    folder = tmp_path / "grid"
    fit(folder, make(shown=False), param_grid=grid)
    n_files = len(list(folder.iterdir()))
    grid["functiontransformer"][1].set_params(verbose=True)
    fit(folder, make(shown=True), param_grid=grid)
    assert len(list(folder.iterdir())) == n_files


def no_change(tokens):
    return tokens


def test_lists_of_tokens(tmp_path):
    words = np.array(list("abcdefgh"))
    rng = np.random.default_rng(0)
    tokens = [[*rng.choice(words, rng.integers(2, 9)), "xy"[label]] for label in y]
    estimator = make_pipeline(CountVectorizer(analyzer=no_change), small())
    first = fit(tmp_path, estimator, tokens)
    again = fit(tmp_path, estimator, tokens)
    np.testing.assert_array_equal(first.predict(tokens), again.predict(tokens))
    assert np.mean(first.predict(tokens) == y) > 0.95
    tokens[7] = [*tokens[7], "z"]
    assert_refused(tmp_path, "training data", estimator, tokens)


class Thing:
    """Holds a generator, which cannot be compared."""

    def __init__(self, value):
        self.value, self.own = value, (k for k in ())


def values_of(things):
    return np.array([[thing.value] for thing in things])


def test_data_that_cannot_be_compared_is_said_at_the_start(tmp_path):
    things = [Thing(label) for label in y]
    estimator = make_pipeline(FunctionTransformer(values_of), small())
    with pytest.warns(UserWarning, match="cannot resume.*training data") as caught:
        fit(tmp_path / "search", estimator, things)
    assert len([w for w in caught if "cannot resume" in str(w.message)]) == 1
    assert not (tmp_path / "search").exists()


def test_a_network_as_a_parameter_can_be_described(tmp_path):
    torch = pytest.importorskip("torch")

    def estimator(seed):
        torch.manual_seed(seed)
        function = FunctionTransformer(kw_args={"network": torch.nn.Linear(2, 2)})
        return make_pipeline(function.set_params(func=ignore_network), small())

    fit(tmp_path, estimator(0))
    fit(tmp_path, estimator(0))
    assert_refused(tmp_path, "parameter steps", estimator(1))


def ignore_network(X, network):
    return X
