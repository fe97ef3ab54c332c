"""What makes a training the same as another: what its stages see, and who judges them.

Data is known by its digest, everything else by text that is the same in every process,
so that two descriptions can be compared and what differs can be named. What has no such
text (a closure, an object of C code) is refused, never left out.
"""

import hashlib
import platform
import sys
from functools import cache, partial
from importlib import metadata
from os import PathLike, fspath
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, ModuleType

import joblib
import numpy as np
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.utils.metadata_routing import get_routing_for_object

from sklearn_superior.utils._sklearn_compat import scorer_parts

_CODE = (type, FunctionType, BuiltinFunctionType, np.ufunc)
_PACKAGES = ("numpy", "scipy", "scikit-learn", "sklearn-superior")


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
    params = estimator.get_params(deep=False)
    described = {"class": type(estimator), "scoring": scorer}
    described |= {f"parameter {k}": v for k, v in params.items() if k not in left_out}
    identity, unstable = {}, {}
    for name, value in described.items():
        try:
            identity[name] = stable_text(value)
        except NoStableIdentityError as exc:
            unstable[name] = str(exc)
        except RecursionError:
            unstable[name] = "it holds itself"
    if get_config()["enable_metadata_routing"]:
        identity["metadata routing"] = repr(get_routing_for_object(estimator))
    used = {base.__module__.partition(".")[0] for base in type(estimator).__mro__}
    for name in sorted({*_PACKAGES, *packages, *used} - {"sklearn"}):
        if version := _version_of(name):
            identity[f"version of {name}"] = version
    identity["version of Python"] = ".".join(platform.python_version_tuple()[:2])
    identity |= {k: digest_of(v) for k, v in data.items() if v is not None}
    return identity, unstable


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
    if isinstance(code, FunctionType) and _version_of(module) is None:
        _check_globals(code)
    return " ".join([f"{module}.{name}", *sorted(map(_source_text, modules))])


def _source_text(module):
    """Describe the code of a module by the version of its package, or by its file."""
    if version := _version_of(module):
        return f"{module.partition('.')[0]} {version}"
    if module in sys.builtin_module_names or module in sys.stdlib_module_names:
        return module
    file = getattr(sys.modules[module], "__file__", None)
    if file is None:
        raise NoStableIdentityError(
            f"the module {module} has no file. Define what is in it in a file"
        )
    return f"{module} {hashlib.sha256(Path(file).read_bytes()).hexdigest()[:16]}"


def _check_globals(function):
    """Refuse a function that reads values which may differ in another process."""
    for name in function.__code__.co_names:
        value = function.__globals__.get(name, print)  # or one of the builtins
        is_scorer = callable(value) and _version_of(type(value).__module__) is not None
        if not (is_scorer or isinstance(value, (ModuleType, *_CODE))):
            raise NoStableIdentityError(
                f"the function {function.__qualname__} reads {name}, which is neither "
                "a module, a function nor a class. Pass it by functools.partial"
            )


def _object_text(value):
    """Describe an object by its class and its parameters, or else its attributes."""
    if scorer_parts(value) is not None:  # without what metadata routing asks for
        return f"{_code_text(type(value))} {stable_text(scorer_parts(value))}"
    if hasattr(value, "get_params"):
        state = value.get_params(deep=False)
    elif hasattr(value, "__dict__"):
        state = vars(value)
    else:
        raise NoStableIdentityError(
            f"a {type(value).__qualname__} object does not show its values, so that it "
            "cannot be compared"
        )
    return f"{_code_text(type(value))} {stable_text(state)}"


@cache
def _version_of(module):
    """Return the version of the installed package of a module; None without one."""
    package = module.partition(".")[0]
    try:
        return metadata.version("scikit-learn" if package == "sklearn" else package)
    except (metadata.PackageNotFoundError, ValueError):
        return None


def digest_of(values):
    """Digest of an array, a sparse matrix, a list, or a table by its columns."""
    if issparse(values):
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


def _column_parts(column):
    """Return the type of a column and its values; categories in their order."""
    categories = getattr(column.dtype, "categories", None)
    names = None if categories is None else list(map(str, categories))
    return [str(column.dtype), names, np.ascontiguousarray(column)]


def _to_hash(part):
    """Return an array of objects as text: equal objects then have equal digests."""
    if isinstance(part, np.ndarray) and part.dtype.kind in "OT":
        cells = part.ravel().tolist()
        texts = [digest_of(c) if hasattr(c, "dtype") else repr(c) for c in cells]
        return part.shape, "\0".join(texts)
    return part
