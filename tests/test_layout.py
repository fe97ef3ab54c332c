"""The libraries in the project's list, and the files in the guide's."""

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
    assert {"joblib", "numpy", "sklearn", "skops", "threadpoolctl"} <= others
    assert others <= declared


def test_contributing_lists_every_module():
    page = (TESTS.parent / "doc" / "contributing.rst").read_text()
    block = re.search(r"\nWhere things live\n-+\n\n::\n\n((?: .*\n)+)", page)[1]
    folders = re.split(r"^   (?=\S)", block, flags=re.MULTILINE)[1:]
    listed = set()
    for folder in folders:
        name, text = folder.split(maxsplit=1)
        items = re.split(r"·|\n", text.replace("a display in each of", "·"))
        files = {item.split()[0] for item in items if item.strip()}
        listed |= {f"{name.replace('/', '.')}.{file}" for file in files}
    existing = {module for module, _ in modules() if not module.endswith("__init__")}
    assert listed == existing
