"""What makes a training the same as another: data, parameters, scoring, versions.

Everything is described by text that is the same in every process, and data by its
digest, so that two descriptions can be compared and what differs can be named.
"""

import hashlib
import platform
import sys
from functools import partial
from importlib import metadata
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType

import numpy as np
from scipy.sparse import issparse

from sklearn_superior.utils._sklearn_compat import scorer_parts

_PLAIN = (type(None), bool, int, float, complex, str, bytes, np.generic)
_PACKAGES = ("numpy", "scipy", "scikit-learn", "sklearn-superior")


class NoStableIdentityError(Exception):
    """Raised for a value whose identity cannot be compared across processes."""


def identify(estimator, *, scoring, data, left_out=(), initial_state=b"", packages=()):
    """Describe a training.

    Parameters
    ----------
    estimator : estimator
        What is trained; its class and parameters are recorded.

    scoring : object
        The scorer.

    data : dict of str to array-like
        All data, by name; those that are None are left out.

    left_out : iterable of str
        Parameters that do not change what a stage becomes.

    initial_state : bytes
        What training starts from besides.

    packages : iterable of str
        Packages that the result depends on besides that of the estimator.

    Returns
    -------
    identity : dict of str to str
        What is compared.

    unstable : dict of str to str
        Which of it has no stable identity, and why.
    """
    identity, unstable = {"class": _class_text(type(estimator))}, {}
    described = {
        f"parameter {name}": value
        for name, value in _flat_params(estimator).items()
        if name not in left_out
    }
    for name, value in (described | {"scoring": scoring}).items():
        try:
            identity[name] = stable_text(value)
        except NoStableIdentityError as exc:
            identity[name] = "?"
            unstable[name] = str(exc)
    for name, values in data.items():
        if values is not None:
            identity[name] = digest_of(values)
    if initial_state:
        identity["initial weights"] = hashlib.sha256(initial_state).hexdigest()
    return identity | _versions(estimator, packages), unstable


def differences(there, here):
    """Say in a few words in what two identities differ; empty if in nothing."""
    found = []
    for name in sorted(there.keys() | here.keys()):
        a, b = there.get(name, "none"), here.get(name, "none")
        if a != b:
            short = name.startswith(("parameter", "version", "class", "scoring"))
            values = f" ({a} there, {b} here)" if short and len(a + b) < 100 else ""
            found.append(name + values)
    return ", ".join(found)


def _flat_params(estimator):
    """Parameters of an estimator and of those inside it, by their full names."""
    params = estimator.get_params(deep=True)
    return {
        name: type(value) if hasattr(value, "get_params") else value
        for name, value in params.items()
        if name != "steps"  # of a pipeline: they come one by one as well
    }


def _versions(estimator, packages):
    versions = {"version of Python": ".".join(platform.python_version_tuple()[:2])}
    parts = [estimator, *estimator.get_params().values()]
    used = {
        base.__module__.partition(".")[0] for p in parts for base in type(p).__mro__
    }
    for name in sorted({*_PACKAGES, *packages, *used} - {"sklearn"}):
        version = _version_of(name)
        if version is not None:
            versions[f"version of {name}"] = version
    return versions


def _version_of(package):
    try:
        return metadata.version("scikit-learn" if package == "sklearn" else package)
    except (metadata.PackageNotFoundError, ValueError):
        return None


def stable_text(value):
    """Describe a value by text that is the same in every process.

    Raises a `NoStableIdentityError` for what cannot be described.
    """
    if isinstance(value, _PLAIN):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(stable_text, value))}]"
    if isinstance(value, set | frozenset):
        return f"{{{', '.join(sorted(map(stable_text, value)))}}}"
    if isinstance(value, dict):
        pairs = (f"{stable_text(k)}: {stable_text(v)}" for k, v in value.items())
        return f"{{{', '.join(pairs)}}}"
    is_table = any(hasattr(value, name) for name in ("dtype", "columns", "__array__"))
    if is_table and not isinstance(value, type):
        return digest_of(value)
    if isinstance(value, np.random.RandomState):
        return f"RandomState {stable_text(value.get_state(legacy=True))}"
    if isinstance(value, np.random.Generator):
        return f"Generator {stable_text(value.bit_generator.state)}"
    return _text_of_code(value) or _text_of_object(value)


def _text_of_code(value):
    """Describe functions and classes by name and code; None if it is neither."""
    if isinstance(value, partial):
        return f"partial {stable_text((value.func, value.args, value.keywords))}"
    if isinstance(value, MethodType):
        return f"{value.__func__.__qualname__} of {stable_text(value.__self__)}"
    if isinstance(value, FunctionType):
        if value.__closure__ and not _is_importable(value):
            names = ", ".join(value.__code__.co_freevars)
            raise NoStableIdentityError(
                f"the function {value.__qualname__} captures values from outside "
                f"({names}), which another process cannot compare. Use a function "
                "that takes them as arguments, with functools.partial"
            )
        return _function_text(value, set())
    if isinstance(value, type):
        return _class_text(value)
    if isinstance(value, np.ufunc | BuiltinFunctionType):
        return repr(value)
    return None


def _function_text(function, seen):
    """Describe a function by its code, and that of what it calls in its module.

    Constants of the module that it reads are part of it.
    """
    seen.add(function)
    code, parts = function.__code__, []
    parts += [_code_text(code), stable_text(function.__defaults__ or ())]
    parts += [stable_text(function.__kwdefaults__ or {})]
    captured = [cell.cell_contents for cell in function.__closure__ or ()]
    found = [function.__globals__.get(name) for name in _names_in(code)]
    for value in (*captured, *found):
        if value is not None and isinstance(value, _PLAIN):
            parts.append(repr(value))
        elif isinstance(value, FunctionType) and value not in seen:
            if value.__module__ == function.__module__:
                parts.append(_function_text(value, seen))
    return f"{_class_name(function)} {_digest_of_text(parts)}"


def _names_in(code):
    inner = [c for c in code.co_consts if isinstance(c, CodeType)]
    return [*code.co_names, *(name for c in inner for name in _names_in(c))]


def _class_text(cls):
    """Describe a class by its name and, without a version, the code of its methods."""
    parts, seen = [], set()
    for base in cls.__mro__[:-1]:
        if _version_of(base.__module__.partition(".")[0]) is not None:
            continue
        for name, value in vars(base).items():
            value = getattr(value, "fget", None) or getattr(value, "__func__", value)
            if isinstance(value, FunctionType):
                parts.append(f"{name} {_function_text(value, seen)}")
    return f"{_class_name(cls)} {_digest_of_text(parts)}" if parts else _class_name(cls)


def _digest_of_text(parts):
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _text_of_object(value):
    if hasattr(value, "get_params") and not isinstance(value, type):
        params = value.get_params(deep=False)
        return f"{_class_text(type(value))}({stable_text(params)})"
    parts = scorer_parts(value)
    if parts is not None:
        return f"scorer {stable_text(parts)}"
    if type(value).__module__.startswith("sklearn."):  # make_column_selector
        return f"{_class_name(type(value))}({stable_text(vars(value))})"
    if type(value).__repr__ is object.__repr__ or " at 0x" in repr(value):
        raise NoStableIdentityError(
            f"a {type(value).__qualname__} object has no __repr__ that shows its "
            "values, so that it cannot be compared. Define one, or use a function"
        )
    return f"{_class_text(type(value))} {value!r}"


def _is_importable(function):
    """Whether a function is found by its name, as those with a decorator are."""
    found = sys.modules.get(function.__module__)
    for name in function.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is function


def _code_text(code):
    constants = [
        _code_text(constant)
        if isinstance(constant, CodeType)
        else repr(sorted(map(repr, constant)))
        if isinstance(constant, frozenset)  # which has no order
        else repr(constant)
        for constant in code.co_consts
    ]
    return repr((code.co_code, code.co_names, constants))


def _class_name(cls):
    return f"{cls.__module__}.{cls.__qualname__}"


def digest_of(values):
    """Digest of an array, data frame, sparse matrix or list."""
    digest = hashlib.sha256()
    for part in _parts(values):
        digest.update(part)
    return digest.hexdigest()


def _parts(values):
    """Yield all that a table holds, as bytes: names and types, too."""
    if issparse(values):
        matrix = values.tocsr()
        yield repr(("sparse", matrix.shape)).encode()
        for array in (matrix.data, matrix.indices, matrix.indptr):
            yield from _parts(array)
    elif hasattr(values, "columns") and hasattr(values, "__getitem__"):
        for k, name in enumerate(values.columns):
            yield repr(name).encode()
            # By position, for names in pandas may occur twice.
            column = values.iloc[:, k] if hasattr(values, "iloc") else values[name]
            yield from _column_parts(column)
    elif hasattr(values, "dtype") and not isinstance(values, np.ndarray):
        yield from _column_parts(values)
    else:
        array = np.asarray(values)
        yield repr((array.shape, array.dtype.str)).encode()
        if array.dtype.kind in "OT":
            cells = array.ravel().tolist()
            texts = (digest_of(c) if hasattr(c, "dtype") else repr(c) for c in cells)
            yield "\0".join(texts).encode()
        else:
            yield np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def _column_parts(column):
    """Yield a column of a data frame, or a series."""
    yield str(column.dtype).encode()
    categories = getattr(column.dtype, "categories", None)
    if categories is not None:  # their order counts, also of those that are absent
        yield repr(list(categories)).encode()
    yield from _parts(np.asarray(column))
