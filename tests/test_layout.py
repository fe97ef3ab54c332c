"""Where things stand: tests beside their modules, libraries in the project's list."""

import ast
import re
import sys
import tomllib
from pathlib import Path

from tests.test_imports import NAME, imports_of, modules

TESTS = Path(__file__).parent  # the package may be installed elsewhere


def file_of_tests(module):
    """Return where the tests of a module such as ``metrics._rules`` belong."""
    *folders, name = module.split(".")
    return "/".join([*folders, f"test_{name.strip('_')}.py"])


def test_every_module_has_its_file_of_tests():
    names = [name for name, _ in modules() if not name.endswith("__init__")]
    missing = [name for name in names if not (TESTS / file_of_tests(name)).exists()]
    assert missing == [], "these need a file of tests"


def test_every_library_that_is_imported_is_declared():
    project = tomllib.loads((TESTS.parent / "pyproject.toml").read_text())["project"]
    extras = sum(project["optional-dependencies"].values(), [])
    declared = {
        re.match(r"[\w-]+", requirement)[0].replace("scikit-learn", "sklearn")
        for requirement in project["dependencies"] + extras
    }
    imported = {
        name.partition(".")[0]
        for module, path in modules()
        for name in imports_of(ast.parse(path.read_text()), f"{NAME}.{module}")
    }
    others = imported - set(sys.stdlib_module_names) - {NAME}
    assert {"joblib", "numpy", "sklearn", "threadpoolctl"} <= others
    assert others <= declared
