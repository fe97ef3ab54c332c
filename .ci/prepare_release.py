"""Check that a release is consistent, and make the links of its README absolute.

The release workflow calls it before it builds, with the tag and the address of the
repository::

    python .ci/prepare_release.py v1.2.3 https://host/owner/name
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
VERSION = re.compile(r"\d+\.\d+\.\d+((a|b|rc)\d+)?")


def find_problems(root, tag, address):
    """Return what is wrong, as a list of sentences."""
    version = read(root / "sklearn_superior/_version.py", r'^__version__ = "(.+)"$')
    problems = []
    if not VERSION.fullmatch(version):
        problems.append(
            f"_version.py must hold the version of a release, not {version}."
        )
    if tag != f"v{version}":
        problems.append(f"The tag must be v{version}, as in _version.py, not {tag}.")
    cited = read(root / "CITATION.cff", r"^version: (.+)$")
    if cited != version:
        problems.append(f"CITATION.cff must have the version {version}, not {cited}.")
    heading = rf"^## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)$"
    if not re.search(heading, (root / "CHANGES.md").read_text("utf-8"), re.MULTILINE):
        problems.append(
            f"CHANGES.md must have the heading '## {version} (year-month-day)'."
        )
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    source = project.get("urls", {}).get("Source")
    if source != address:
        problems.append(
            f'[project.urls] in pyproject.toml must have Source = "{address}", '
            f"not {source!r}."
        )
    code = read(root / "CITATION.cff", r'^repository-code: "(.+)"$')
    if code != address:
        problems.append(
            f'CITATION.cff must have repository-code: "{address}", not {code!r}.'
        )
    return problems


def read(path, pattern):
    """Return the group of a pattern in a file; None if it is not there."""
    match = re.search(pattern, path.read_text("utf-8"), re.MULTILINE)
    return match and match[1]


def with_absolute_links(text, address, tag):
    """Return Markdown whose links to files of the repository are those of a tag."""

    def absolute(match):
        kind = "raw" if match[1] == "!" else "blob"
        return f"{match[1]}[{match[2]}]({address}/{kind}/{tag}/{match[3]})"

    text = re.sub(r"(!?)\[([^]]*)\]\((?!https?://|#)([^)\s]+)\)", absolute, text)
    return re.sub(r'src="(?!https?://)', f'src="{address}/raw/{tag}/', text)


def main(tag, address):
    """Check, and rewrite the README if nothing is wrong."""
    problems = find_problems(ROOT, tag, address)
    if problems:
        sys.exit("\n".join(problems))
    readme = ROOT / "README.md"
    text = with_absolute_links(readme.read_text("utf-8"), address, tag)
    readme.write_text(text, "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
