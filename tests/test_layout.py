"""Where things stand: libraries in the project's list, evidence outside the package."""

import ast
import re
import sys
import tomllib
from pathlib import Path

from tests.test_imports import NAME, imports_of, modules

TESTS = Path(__file__).parent  # the package may be installed elsewhere


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


def test_benchmarks_are_scripts_and_nothing_else():
    files = [p for p in (TESTS.parent / "benchmarks").iterdir() if p.suffix != ".pyc"]
    others = [p.name for p in files if not re.fullmatch(r"bench_\w+\.py", p.name)]
    assert set(others) <= {"__pycache__"}
