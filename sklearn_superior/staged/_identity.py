"""What makes two trainings the same: the data, the parameters, the code, the versions.

Data is described by its digest, everything else by text that is the same in every
process, so that two identities can be compared and the differences named. A value
without such a text (a closure, an object of C code) is refused, never left out.
"""

import ast
import hashlib
import inspect
import platform
import sys
from functools import cache, partial
from importlib import metadata, util
from os import PathLike, fspath
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, ModuleType

import joblib
import numpy as np
from sklearn import get_config
from sklearn.frozen import FrozenEstimator
from sklearn.utils.metadata_routing import get_routing_for_object

from sklearn_superior.utils._sklearn_compat import output_config, scorer_parts

_CODE = (type, FunctionType, BuiltinFunctionType, np.ufunc)
_PACKAGES = ("numpy", "scipy", "scikit-learn", "sklearn-superior")
# Parameters that change what is shown, or how fast, but not the result.
WITHOUT_EFFECT = set(
    "logging_level n_jobs nthread num_threads silent thread_count verbose "
    "verbosity".split()
)
# Settings of scikit-learn that change the output of a transformer.
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
        What the stages are trained and scored on, by name; None is skipped.

    left_out : iterable of str
        Parameters that do not change a stage.

    packages : iterable of str
        Packages that the result depends on besides that of the estimator.

    Returns
    -------
    identity : dict of str to str
        What to compare.

    unstable : dict of str to str
        What cannot be compared, and why.
    """
    described = {"class": type(estimator), "scoring": scorer}
    params = _state_of(estimator, left_out)
    described |= {f"parameter {name}": value for name, value in params.items()}
    todo = [(name, stable_text, value) for name, value in described.items()]
    todo += [(name, digest_of, v) for name, v in data.items() if v is not None]
    identity, unstable = {}, {}
    for name, describe, value in todo:
        try:
            identity[name] = describe(value)
        except Exception as exc:
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
    identity["version of Python"] = ".".join(platform.python_version_tuple()[:2])
    return identity, unstable


def differences(there, here):
    """Name what differs between two identities; empty if nothing does."""
    found = []
    for name in sorted(there.keys() | here.keys()):
        a, b = there.get(name, "none"), here.get(name, "none")
        if a != b:
            is_data = name.startswith(("training", "validation", "initial"))
            short = not is_data and len(a + b) < 100
            found.append(f"{name} ({a} there, {b} here)" if short else name)
    return ", ".join(found)


def digest_of(values):
    """Return a digest of an array, a table or a list."""
    if hasattr(values, "detach"):  # a torch tensor
        values = values.detach().cpu().numpy()
    if hasattr(values, "iloc"):
        # The pickle of a pandas object changes with what was computed from it before.
        frame = values if values.ndim == 2 else values.to_frame()
        values = frame.columns.tolist()
        for k in range(frame.shape[1]):  # by position: names may occur twice
            column = frame.iloc[:, k]
            categories = getattr(column.dtype, "categories", None)
            names = None if categories is None else [str(name) for name in categories]
            values += [str(column.dtype), names, np.ascontiguousarray(column)]
    elif hasattr(values, "dtype") and hasattr(values, "__array__"):
        values = np.ascontiguousarray(values)  # the memory layout does not matter
    return joblib.hash(values)


def stable_text(value):
    """Describe a value by text that is the same in every process.

    Raises a `NoStableIdentityError` for a value that cannot be described.
    """
    try:
        return _text(value)
    except NoStableIdentityError:
        raise
    except RecursionError:
        reason = "it contains itself"
    except Exception as exc:  # whatever an unknown object does when it is inspected
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
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, set | frozenset):
        return f"{{{', '.join(sorted(map(_text, value)))}}}"
    if isinstance(value, dict):
        pairs = (f"{_text(k)}: {_text(v)}" for k, v in value.items())
        return f"{{{', '.join(sorted(pairs))}}}"
    if isinstance(value, partial):
        return f"partial {_text((value.func, value.args, value.keywords))}"
    if isinstance(value, _CODE):
        return _code_text(value)
    is_estimator = hasattr(value, "get_params")  # encoders have a `dtype`, too
    is_table = any(hasattr(value, name) for name in ("dtype", "columns", "__array__"))
    if is_table and not is_estimator:
        return digest_of(value)
    if isinstance(value, np.random.RandomState):
        state = value.get_state(legacy=True)
    elif isinstance(value, np.random.Generator):
        state = value.bit_generator.state
    elif scorer_parts(value) is not None:  # without its metadata requests
        state = scorer_parts(value)
    elif is_estimator:
        state = _state_of(value)
    elif hasattr(value, "__dict__"):
        state = vars(value)
    else:
        raise NoStableIdentityError(
            f"a {type(value).__qualname__} object does not expose its values"
        )
    return f"{_code_text(type(value))} {_text(state)}"


def _state_of(estimator, left_out=WITHOUT_EFFECT):
    """Return the parameters of an estimator, and what else its clone has."""
    if isinstance(estimator, FrozenEstimator):  # its fitted attributes count, too
        return {"estimator": joblib.hash(estimator.estimator)}
    params = estimator.get_params(deep=False)
    state = {k: v for k, v in params.items() if k not in left_out}
    if output := output_config(estimator):
        state["set_output"] = output
    return state


# Code: a version for installed packages, a digest of the source files for the rest.


def _code_text(code):
    """Describe a function or class by its name, its code, and the globals it reads."""
    name = getattr(code, "__qualname__", code.__name__)
    module = getattr(code, "__module__", None) or "numpy"
    found = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is not code:
        raise NoStableIdentityError(
            f"{module}.{name} cannot be imported by this name in another process. "
            "Define it at the top level of a module, and pass what it needs with "
            "functools.partial"
        )
    bases = code.__mro__[:-1] if isinstance(code, type) else (code,)
    modules = {getattr(base, "__module__", None) or "numpy" for base in bases}
    texts = [f"{module}.{name}", *sorted(map(_source_text, modules))]
    if isinstance(code, FunctionType) and version_of(module) is None:
        # A script may set its constants at run time, from its arguments for example.
        read = inspect.getclosurevars(code).globals.items()
        values = {k: v for k, v in read if not isinstance(v, (ModuleType, *_CODE))}
        texts += [_text(values)] if values else []
    return " ".join(texts)


@cache
def version_of(module):
    """Return the version of the installed package of a module; None without one."""
    package = module.partition(".")[0]
    try:
        return metadata.version("scikit-learn" if package == "sklearn" else package)
    except (metadata.PackageNotFoundError, ValueError):
        return None


def _source_text(module):
    package = module.partition(".")[0]
    if package in sys.stdlib_module_names:
        return module
    file, version = _file_of(module), version_of(module)
    if version is not None and (file is None or _is_installed(file)):
        return f"{package} {version}"
    if file is None:
        raise NoStableIdentityError(
            f"the module {module} has no file. Define its contents in a file"
        )
    return f"{module} {_digest_with_imports(module)}"


def _digest_with_imports(module):
    """Return a digest of a module's file and of the user's own files it imports.

    Import statements are parsed rather than looked up in `sys.modules`, which has more
    modules after a training than before it: some imports are inside of functions.
    """
    digests, todo = {}, [module]
    while todo:
        name = todo.pop()
        package, _, last = name.partition(".")
        if name in digests or package in {"", *sys.stdlib_module_names}:
            continue
        # Checked for the package first: to find a submodule imports its package, which
        # must not happen for a large library that is not in use.
        if last and _is_installed(_file_of(package)):
            continue
        file, digests[name] = _file_of(name), None
        if file is None or (_is_installed(file) and name != module):
            continue
        content = file.read_bytes()
        digests[name] = hashlib.sha256(content).hexdigest()
        todo.append(name.rpartition(".")[0])  # which is imported first
        if file.suffix == ".py":
            is_package = file.name == "__init__.py"
            todo += _imports_of(
                content, name if is_package else name.rpartition(".")[0]
            )
    text = repr(sorted((k, v) for k, v in digests.items() if v is not None))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _file_of(name):
    """Return the file of a module, whether it is imported or not; None without one."""
    if name in sys.modules:
        file = getattr(sys.modules[name], "__file__", None)
    else:
        try:
            spec = util.find_spec(name)
        except (ImportError, AttributeError, ValueError):
            spec = None
        file = spec.origin if spec and spec.has_location else None
    return None if file is None else Path(file)


def _is_installed(file):
    return file is not None and not {"site-packages", "dist-packages"}.isdisjoint(
        file.parts
    )


@cache
def _imports_of(content, package):
    """Return the names a source file imports: modules, and perhaps what is in them."""
    try:
        nodes = list(ast.walk(ast.parse(content)))
    except (SyntaxError, ValueError):  # edited since it was imported
        return []
    names = []
    for node in nodes:
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")
            above = above[: len(above) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            names += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    return names
