"""What makes a training the same as another: what its stages see, and who judges them.

Data is known by its digest, everything else by text that is the same in every process,
so that two descriptions can be compared and what differs can be named. What has no such
text (a closure, an object of C code) is refused, never left out.
"""

import platform
import sys
from functools import partial
from os import PathLike, fspath
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType

import joblib
import numpy as np
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.frozen import FrozenEstimator
from sklearn.utils.metadata_routing import get_routing_for_object

from sklearn_superior.staged._sources import package_digest, source_text, version_of
from sklearn_superior.utils._sklearn_compat import output_config, scorer_parts

_CODE = (type, FunctionType, BuiltinFunctionType, np.ufunc)
_PACKAGES = ("numpy", "scipy", "scikit-learn", "sklearn-superior")
# Parameters that change what is shown, and how fast it comes, of any estimator.
WITHOUT_EFFECT = {
    "logging_level",
    "n_jobs",
    "nthread",
    "num_threads",
    "silent",
    "thread_count",
    "verbose",
    "verbosity",
}
# Settings of scikit-learn that change what a transformer hands on.
_CONFIG = ("array_api_dispatch", "sparse_interface", "transform_output")


class NoStableIdentityError(Exception):
    """Raised for a value that cannot be recognised in another process."""


def identify(estimator, *, scorer, data, left_out=(), packages=()):
    """Describe a training.

    Parameters
    ----------
    estimator : estimator
        What is trained in stages; its class and parameters are recorded.

    scorer : object
        The scorer.

    data : dict of str to array-like
        What the stages are trained on and judged by, by name; None is left out.

    left_out : iterable of str
        Parameters that do not change what a stage becomes.

    packages : iterable of str
        Packages that the result depends on besides that of the estimator.

    Returns
    -------
    identity : dict of str to str
        What is compared.

    unstable : dict of str to str
        What cannot be compared, and why.
    """
    params = _state_of(estimator, left_out)
    described = {"class": type(estimator), "scoring": scorer}
    described |= {f"parameter {k}": v for k, v in params.items()}
    identity, unstable = {}, {}
    for texts, describe in ((described, stable_text), (data, _data_text)):
        for name, value in texts.items():
            try:
                identity[name] = describe(value)
            except NoStableIdentityError as exc:
                unstable[name] = str(exc)
    config = get_config()
    if config["enable_metadata_routing"]:
        identity["metadata routing"] = repr(get_routing_for_object(estimator))
    for name in _CONFIG:
        if config.get(name) not in (None, False, "default", "spmatrix"):
            identity[f"{name} of scikit-learn's config"] = repr(config[name])
    used = {base.__module__.partition(".")[0] for base in type(estimator).__mro__}
    for name in sorted({*_PACKAGES, *packages, *used} - {"sklearn"}):
        if version := version_of(name):
            identity[f"version of {name}"] = version
    if digest := package_digest(__name__.partition(".")[0]):
        identity["sources of sklearn-superior"] = digest
    identity["version of Python"] = ".".join(platform.python_version_tuple()[:2])
    return {k: text for k, text in identity.items() if text is not None}, unstable


def differences(there, here):
    """Say in a few words in what two identities differ; empty if in nothing."""
    found = []
    for name in sorted(there.keys() | here.keys()):
        a, b = there.get(name, "none"), here.get(name, "none")
        if a != b:
            is_data = name.startswith(("training", "validation", "initial"))
            short = not is_data and len(a + b) < 100
            found.append(f"{name} ({a} there, {b} here)" if short else name)
    return ", ".join(found)


def stable_text(value):
    """Describe a value by text that is the same in every process.

    Raises a `NoStableIdentityError` for what cannot be described.
    """
    return _described(_text, value)


def _data_text(values):
    return None if values is None else _described(digest_of, values)


def _described(describe, value):
    """Return a description; whatever goes wrong means that there is none."""
    try:
        return describe(value)
    except NoStableIdentityError:
        raise
    except RecursionError:
        reason = "it holds itself"
    except Exception as exc:
        reason = f"a {type(value).__qualname__} object cannot be compared: {exc}"
    raise NoStableIdentityError(reason)


def _text(value):
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, PathLike):
        value = fspath(value)
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(stable_text, value))}]"
    if isinstance(value, set | frozenset):
        return f"{{{', '.join(sorted(map(stable_text, value)))}}}"
    if isinstance(value, dict):
        pairs = (f"{stable_text(k)}: {stable_text(v)}" for k, v in value.items())
        return f"{{{', '.join(sorted(pairs))}}}"
    if isinstance(value, partial):
        return f"partial {stable_text((value.func, value.args, value.keywords))}"
    if isinstance(value, _CODE):
        return _code_text(value)
    is_estimator = hasattr(value, "get_params")  # an encoder has a `dtype`, too
    is_table = any(hasattr(value, name) for name in ("dtype", "columns", "__array__"))
    if is_table and not is_estimator:
        return digest_of(value)
    if isinstance(value, np.random.RandomState):
        return f"RandomState {stable_text(value.get_state(legacy=True))}"
    if isinstance(value, np.random.Generator):
        return f"Generator {stable_text(value.bit_generator.state)}"
    return _object_text(value)


def _code_text(code):
    """Describe a function or class by its name and where it is defined."""
    name = getattr(code, "__qualname__", code.__name__)
    module = getattr(code, "__module__", None) or "numpy"
    found = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is not code:
        raise NoStableIdentityError(
            f"{module}.{name} cannot be imported by this name in another process. "
            "Define it at the top of a module, and pass what it needs by "
            "functools.partial"
        )
    bases = code.__mro__[:-1] if isinstance(code, type) else (code,)
    modules = {getattr(base, "__module__", None) or "numpy" for base in bases}
    if isinstance(code, FunctionType) and version_of(module) is None:
        _check_globals(code)
    try:
        sources = sorted(map(source_text, modules))
    except FileNotFoundError as exc:
        raise NoStableIdentityError(str(exc)) from exc
    return " ".join([f"{module}.{name}", *sources])


def _check_globals(function):
    """Refuse a function that reads values which may differ in another process."""
    for name in _names_in(function.__code__):
        value = function.__globals__.get(name, print)  # or one of the builtins
        is_scorer = callable(value) and version_of(type(value).__module__) is not None
        if not (is_scorer or isinstance(value, (ModuleType, *_CODE))):
            raise NoStableIdentityError(
                f"the function {function.__qualname__} reads {name}, which is neither "
                "a module, a function nor a class. Pass it by functools.partial"
            )


def _names_in(code):
    """Return the names that code reads, also in functions and comprehensions in it."""
    inner = (const for const in code.co_consts if isinstance(const, CodeType))
    return sorted({*code.co_names, *(n for part in inner for n in _names_in(part))})


def _object_text(value):
    """Describe an object by its class and its parameters, or else its attributes."""
    if scorer_parts(value) is not None:  # without what metadata routing asks for
        return f"{_code_text(type(value))} {stable_text(scorer_parts(value))}"
    if hasattr(value, "get_params"):
        state = _state_of(value)
    elif hasattr(value, "__dict__"):
        state = vars(value)
    else:
        raise NoStableIdentityError(
            f"a {type(value).__qualname__} object does not show its values, so that it "
            "cannot be compared"
        )
    return f"{_code_text(type(value))} {stable_text(state)}"


def _state_of(estimator, left_out=WITHOUT_EFFECT):
    """Return the parameters of an estimator, and what else its clone has."""
    if isinstance(estimator, FrozenEstimator):  # also what is fitted
        return {"estimator": joblib.hash(estimator.estimator)}
    params = estimator.get_params(deep=False)
    state = {k: v for k, v in params.items() if k not in left_out}
    if output := output_config(estimator):
        state["set_output"] = output
    return state


def digest_of(values):
    """Digest of an array, a sparse matrix, a list, or a table by its columns."""
    if hasattr(values, "detach"):  # a tensor of torch
        values = values.detach().cpu().numpy()
    if isinstance(values, list | tuple) and not _is_regular(values):
        parts = [stable_text(values)]
    elif issparse(values):
        matrix = values.tocsr()
        parts = [matrix.shape, matrix.data, matrix.indices, matrix.indptr]
    elif hasattr(values, "columns") and hasattr(values, "__getitem__"):
        # By position, for names in pandas may occur twice.
        by_position = hasattr(values, "iloc")
        parts = []
        for k, name in enumerate(values.columns):
            column = values.iloc[:, k] if by_position else values[name]
            parts += [str(name), *_column_parts(column)]
    elif hasattr(values, "dtype") and not isinstance(values, np.ndarray):
        parts = _column_parts(values)
    else:
        parts = [np.ascontiguousarray(values)]
    return joblib.hash([_to_hash(part) for part in parts])


def _is_regular(rows):
    """Tell whether rows of a list make an array, such as those of numbers."""
    try:
        return np.asarray(rows).dtype.kind != "O"
    except ValueError:  # rows of several lengths
        return False


def _column_parts(column):
    """Return the type of a column and its values; categories in their order."""
    categories = getattr(column.dtype, "categories", None)
    names = None if categories is None else list(map(str, categories))
    return [str(column.dtype), names, np.ascontiguousarray(column)]


def _to_hash(part):
    """Return an array of objects as text: equal objects then have equal digests."""
    if isinstance(part, np.ndarray) and part.dtype.kind in "OT":
        return part.shape, "\0".join(map(_cell_text, part.ravel().tolist()))
    return part


def _cell_text(cell):
    if hasattr(cell, "dtype"):
        return digest_of(cell)
    has_own_text = type(cell).__repr__ is not object.__repr__
    is_nested = isinstance(cell, list | tuple | dict | set | frozenset)
    return repr(cell) if has_own_text and not is_nested else stable_text(cell)
