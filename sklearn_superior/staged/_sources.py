"""The code that a function or class stands for: a version, or the files of its source.

What is installed does not change while its version stays the same. Code of one's own,
also that of a package that is installed from its folder (``pip install -e``), is known
by the digest of its file and of all files that it imports, directly or not.
"""

import ast
import hashlib
import sys
from functools import cache
from importlib import metadata, util
from importlib.machinery import PathFinder
from pathlib import Path

_INSTALLED = {"site-packages", "dist-packages"}


@cache
def version_of(module):
    """Return the version of the installed package of a module; None without one."""
    package = module.partition(".")[0]
    try:
        return metadata.version("scikit-learn" if package == "sklearn" else package)
    except (metadata.PackageNotFoundError, ValueError):
        return None


def source_text(module):
    """Describe the code of a module, the same in every process.

    Raises a `FileNotFoundError` if there is nothing to describe it by.
    """
    package = module.partition(".")[0]
    if package in sys.stdlib_module_names:
        return module
    file, version = _file_of(module), version_of(module)
    if version is not None and (file is None or _INSTALLED & set(file.parts)):
        return f"{package} {version}"
    if file is None:
        raise FileNotFoundError(
            f"the module {module} has no file. Define what is in it in a file"
        )
    return f"{module} {_digest_with_imports(module)}"


def package_digest(package):
    """Return a digest of all files of a package; None if it is installed as usual."""
    file = _file_of(package)
    if file is None or _INSTALLED & set(file.parts):
        return None
    files = sorted(file.parent.rglob("*.py"))
    return _short("".join(_digest(path.read_bytes()) for path in files))


def _digest_with_imports(module):
    """Digest of the file of a module and of those of one's own that it imports.

    The statements are read, for what has been imported so far is another thing at the
    start of a training than after it.
    """
    digests, todo = {}, _with_packages([module])
    while todo:
        name = todo.pop()
        if name in digests or name.partition(".")[0] in sys.stdlib_module_names:
            continue
        file = _file_of(name)
        if file is None or (_INSTALLED & set(file.parts) and name != module):
            continue
        content = file.read_bytes()
        digests[name] = _digest(content)
        if file.suffix == ".py":
            is_package = file.name == "__init__.py"
            todo += _imports_of(
                content, name if is_package else name.rpartition(".")[0]
            )
    return _short(repr(sorted(digests.items())))


def _file_of(name):
    """Return the file of a module, whether it is imported or not; None without one."""
    file = getattr(sys.modules.get(name), "__file__", None)
    if name not in sys.modules:
        package, *parts = name.split(".")
        try:
            spec = util.find_spec(package)
            for k, _ in enumerate(parts, start=2):  # does not import the package
                places = spec and spec.submodule_search_locations
                full = ".".join(name.split(".")[:k])
                spec = PathFinder.find_spec(full, places) if places else None
            file = spec.origin if spec and spec.has_location else None
        except (ImportError, AttributeError, ValueError):
            file = None
    return None if file is None else Path(file)


@cache
def _imports_of(content, package):
    """Return the names of what a source imports, modules and what is in them."""
    try:
        nodes = list(ast.walk(ast.parse(content)))
    except (SyntaxError, ValueError):  # it has been changed since it was imported
        return []
    names = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")
            above = above[: len(above) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            names |= {base} | {f"{base}.{alias.name}" for alias in node.names}
    return _with_packages(names - {""})


def _with_packages(names):
    """Return the names of modules and of the packages around them, imported as well."""
    parts = [name.split(".") for name in names]
    return sorted({".".join(p[: k + 1]) for p in parts for k in range(len(p))})


def _digest(content):
    return hashlib.sha256(content).hexdigest()


def _short(text):
    return _digest(text.encode())[:16]
