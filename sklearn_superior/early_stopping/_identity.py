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
    """Says why a value cannot be told from others in another process."""


def identify(estimator, *, scoring, data, left_out=(), initial_state=b""):
    """Describe a training.

    Parameters
    ----------
    estimator : estimator
        What is trained; its class and parameters are told.

    scoring : object
        The scorer.

    data : dict of str to array-like
        All data, by name; those that are None are left out.

    left_out : iterable of str
        Parameters that do not change what a stage becomes.

    initial_state : bytes
        What training starts from besides.

    Returns
    -------
    identity : dict of str to str
        What is compared.

    unstable : dict of str to str
        Which of it has no stable identity, and why.
    """
    identity, unstable = {"class": _class_name(type(estimator))}, {}
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
    return identity | _versions(estimator), unstable


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
        name: _class_name(type(value)) if hasattr(value, "get_params") else value
        for name, value in params.items()
        if name != "steps"  # of a pipeline: they come one by one as well
    }


def _versions(estimator):
    versions = {"version of Python": ".".join(platform.python_version_tuple()[:2])}
    parts = [estimator, *estimator.get_params().values()]
    packages = {
        cls.__module__.partition(".")[0] for p in parts for cls in type(p).__mro__
    }
    if "sklearn_superior" in packages:
        packages.add("torch")
    for name in sorted({*_PACKAGES, *packages} - {"sklearn", "sklearn_superior"}):
        try:
            versions[f"version of {name}"] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


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
    if isinstance(value, np.ndarray):
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
        defaults = stable_text((value.__defaults__, value.__kwdefaults__))
        return f"{_class_name(value)} {_code_digest(value.__code__)} {defaults}"
    if isinstance(value, type):
        functions = [f for f in vars(value).values() if isinstance(f, FunctionType)]
        codes = [_code_digest(function.__code__) for function in functions]
        return f"{_class_name(value)} {' '.join(codes)}".strip()
    if isinstance(value, np.ufunc | BuiltinFunctionType):
        return repr(value)
    return None


def _text_of_object(value):
    if hasattr(value, "get_params") and not isinstance(value, type):
        params = value.get_params(deep=False)
        return f"{_class_name(type(value))}({stable_text(params)})"
    parts = scorer_parts(value)
    if parts is not None:
        return f"scorer {stable_text(parts)}"
    if type(value).__repr__ is object.__repr__ or " at 0x" in repr(value):
        raise NoStableIdentityError(
            f"a {type(value).__qualname__} object shows nothing of what it does: its "
            "class has no __repr__ of its own. Give it one that shows its values, or "
            "use a function"
        )
    return f"{_class_name(type(value))} {value!r}"


def _is_importable(function):
    """Whether a function is found by its name, as those with a decorator are."""
    found = sys.modules.get(function.__module__)
    for name in function.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is function


def _code_digest(code):
    return hashlib.sha256(_code_text(code).encode()).hexdigest()[:16]


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
        for name in values.columns:
            yield repr(name).encode()
            yield from _column_parts(values[name])
    elif hasattr(values, "dtype") and not isinstance(values, np.ndarray):
        yield from _column_parts(values)
    else:
        array = np.asarray(values)
        yield repr((array.shape, array.dtype.str)).encode()
        if array.dtype.kind in "OT":
            yield "\0".join(map(repr, array.ravel().tolist())).encode()
        else:
            yield np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def _column_parts(column):
    """Yield a column of a data frame, or a series."""
    yield str(column.dtype).encode()
    categories = getattr(column.dtype, "categories", None)
    if categories is not None:  # their order counts, also of those that are absent
        yield repr(list(categories)).encode()
    yield from _parts(np.asarray(column))
