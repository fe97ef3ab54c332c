"""The files around the package: metadata, release, continuous integration."""

import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GITHUB = ROOT / ".github"
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT, GROUPS = PYPROJECT["project"], PYPROJECT["dependency-groups"]
WORKFLOWS = sorted(GITHUB.glob("workflows/*.yml"))
in_the_repository = pytest.mark.skipif(
    not GITHUB.exists(), reason="no continuous integration here"
)
ADDRESS = "https://example.org/owner/name"


def test_metadata_are_complete_and_agree():
    assert PROJECT["requires-python"] == ">=3.11"
    versions = [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if ":: 3." in c]
    assert versions == ["3.11", "3.12", "3.13", "3.14"]
    readme = (ROOT / "README.md").read_text("utf-8")
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    doi = PROJECT["urls"]["Paper"].removeprefix("https://doi.org/")
    assert f"doi:{doi}" in readme
    assert f"doi: {doi}" in citation
    assert (ROOT / "sklearn_superior/py.typed").exists() or not GITHUB.exists()
    for name in ("CONTRIBUTING.md", "CODE_OF_CONDUCT.md", "SECURITY.md"):
        text = (ROOT / name).read_text("utf-8")
        for link in re.findall(r"\]\(([^)]+)\)", text):
            assert (ROOT / link).exists(), link


@in_the_repository
def test_workflows_test_the_versions_that_are_declared():
    text = (GITHUB / "workflows/tests.yml").read_text("utf-8")
    versions = [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if ":: 3." in c]
    listed = ", ".join(f'"{version}"' for version in versions)
    assert text.count(f"python: [{listed}]") == 2
    # The core tests are those of the Makefile.
    makefile = (ROOT / "Makefile").read_text("utf-8")
    ignored, chosen = re.search(
        r"(--ignore=tests/test_common.py) (-k \".*\")", makefile
    ).groups()
    for name in ("tests", "nightly", "release"):
        text = (GITHUB / f"workflows/{name}.yml").read_text("utf-8")
        assert ignored in text
        assert chosen in text


@in_the_repository
@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_and_permissions_are_small(path):
    text = path.read_text("utf-8")
    actions = re.findall(r"uses: (.+)", text)
    assert actions
    for action in actions:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action)
    assert re.search(r"^permissions:", text, re.MULTILINE)
    granted = set(re.findall(r"^ +([\w-]+): write$", text, re.MULTILINE))
    assert granted == ({"id-token"} if path.name == "release.yml" else set())
    assert "secrets." not in text


def test_development_packages_are_no_extras():
    extras = PROJECT["optional-dependencies"]
    assert not [name for name in extras if re.match("test|doc|dev|lint", name)]
    assert {"dev", "doc", "lint", "test", "test-core"} <= GROUPS.keys()


@in_the_repository
@pytest.mark.parametrize("path", [*WORKFLOWS, ROOT / "Makefile"], ids=lambda p: p.name)
def test_paths_and_groups_that_are_named_exist(path):
    text = path.read_text("utf-8")
    for name in re.findall(r"(?<![\w./])(?:[\w.]+/)+\w+\.(?:py|rst|toml|txt)\b", text):
        assert (ROOT / name).exists(), name
    assert set(re.findall(r"--group ([\w-]+)", text)) <= GROUPS.keys()


@in_the_repository
@pytest.mark.parametrize(
    ("schema", "pattern"),
    [
        ("github-workflows", "workflows/*.yml"),
        ("dependabot", "dependabot.yml"),
        ("github-issue-config", "ISSUE_TEMPLATE/config.yml"),
        ("github-issue-forms", "ISSUE_TEMPLATE/[!c]*.yml"),
        ("citation-file-format", "../CITATION.cff"),
    ],
)
def test_files_keep_to_their_schema(schema, pattern):
    pytest.importorskip("check_jsonschema")
    files = [str(path) for path in GITHUB.glob(pattern)]
    assert files
    command = [sys.executable, "-m", "check_jsonschema"]
    command += ["--builtin-schema", f"vendor.{schema}", *files]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.fixture(scope="module")
def prepare_release():
    path = ROOT / ".ci/prepare_release.py"
    if not path.exists():
        pytest.skip("releases are made in the repository")
    spec = importlib.util.spec_from_file_location("prepare_release", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def release(tmp_path):
    """A folder with the files of a release that is ready."""
    (tmp_path / "sklearn_superior").mkdir()
    version = 'doc\n\n__version__ = "1.2.0"\n'
    (tmp_path / "sklearn_superior/_version.py").write_text(version)
    citation = f'title: x\nversion: 1.2.0\nrepository-code: "{ADDRESS}"\n'
    (tmp_path / "CITATION.cff").write_text(citation)
    changes = "# Changes\n\n## Unreleased\n\n## 1.2.0 (2030-01-31)\n"
    (tmp_path / "CHANGES.md").write_text(changes)
    urls = f'[project.urls]\nSource = "{ADDRESS}"\n'
    (tmp_path / "pyproject.toml").write_text(urls)
    return tmp_path


def test_a_release_that_is_ready(prepare_release, release):
    assert prepare_release.find_problems(release, "v1.2.0", ADDRESS) == []


@pytest.mark.parametrize(
    ("file", "old", "new", "problem"),
    [
        ("sklearn_superior/_version.py", "1.2.0", "1.3.0", "The tag must be v1.3.0"),
        ("sklearn_superior/_version.py", "1.2.0", "1.2.0.dev0", "version of a release"),
        ("CITATION.cff", "1.2.0", "1.1.0", "CITATION.cff must have the version 1.2.0"),
        ("CITATION.cff", ADDRESS, "https://x", "must have repository-code"),
        ("CHANGES.md", "## 1.2.0", "## 1.1.0", "heading '## 1.2.0"),
        ("CHANGES.md", "(2030-01-31)", "", "heading '## 1.2.0"),
        ("pyproject.toml", "Source", "Paper", "must have Source ="),
        ("pyproject.toml", ADDRESS, "https://x", "not 'https://x'"),
    ],
)
def test_what_is_missing_for_a_release(
    prepare_release, release, file, old, new, problem
):
    path = release / file
    path.write_text(path.read_text().replace(old, new))
    problems = prepare_release.find_problems(release, "v1.2.0", ADDRESS)
    assert any(problem in found for found in problems), problems


def test_links_of_the_readme_become_absolute(prepare_release):
    readme = (ROOT / "README.md").read_text("utf-8")
    text = prepare_release.with_absolute_links(readme, ADDRESS, "v1.2.0")
    assert f'src="{ADDRESS}/raw/v1.2.0/doc/_static/search.png"' in text
    assert f"[Changes]({ADDRESS}/blob/v1.2.0/CHANGES.md)" in text
    links = re.compile(r"(?:\]\(|src=\")([^)\s\"]+)")
    assert links.findall(text)
    assert all(link.startswith("https://") for link in links.findall(text))
    for link in links.findall(readme):
        assert (ROOT / link).exists(), link


@in_the_repository
@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@pytest.mark.parametrize(
    ("files", "passes"),
    [
        (["sklearn_superior/x.py"], False),
        (["sklearn_superior/x.py", "CHANGES.md"], True),
        (["doc/x.rst"], True),
        (["sklearn_superior/x.py", "doc/CHANGES.md"], False),
    ],
)
def test_the_check_of_the_changelog(tmp_path, files, passes):
    """The script of the workflow, run on a repository with one more commit."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("needs bash")
    workflow = (GITHUB / "workflows/changelog.yml").read_text("utf-8")
    script = workflow.partition("run: |\n")[2]

    def git(*arguments):
        identity = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        command = ["git", *identity, *arguments]
        run = subprocess.run(
            command, cwd=tmp_path, check=True, capture_output=True, text=True
        )
        return run.stdout.strip()

    git("init", "--quiet")
    git("commit", "--quiet", "--allow-empty", "-m", "base")
    base = git("rev-parse", "HEAD")
    for file in files:
        path = tmp_path / file
        path.parent.mkdir(exist_ok=True)
        path.write_text("new\n")
    git("add", "-A")
    git("commit", "--quiet", "-m", "head")
    run = subprocess.run(
        [bash, "-e", "-c", script],
        cwd=tmp_path,
        env={"BASE": base, "HEAD": "HEAD", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert (run.returncode == 0) == passes, run.stdout + run.stderr
    assert ("Add a line to CHANGES.md" in run.stdout) != passes
