"""The pages of the documentation, and what builds them."""

import importlib.util
import re
import zlib
from pathlib import Path
from xml.etree import ElementTree

import pytest

DOC = Path(__file__).parent.parent / "doc"
RECORDS = DOC.parent / "studies" / "records"  # a distribution has none
# One model beside the folds on 16 other sets, and over all units (see the records).
FURTHER = {("−2.2", "−4.9 to +0.6"), ("+0.5", "−1.3 to +2.4")}
pytestmark = pytest.mark.skipif(not DOC.exists(), reason="no documentation here")


def load(name):
    """Import a module of the documentation's extensions."""
    spec = importlib.util.spec_from_file_location(name, DOC / "_ext" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def titles_of(text):
    """Return the titles in a page of reStructuredText."""
    found = re.findall(r"^(\S.*)\n(=|-|~)\2{2,}$", text, flags=re.MULTILINE)
    return [title for title, _ in found]


def test_every_title_is_used_once():
    pages = {path.name: path.read_text() for path in DOC.glob("*.rst")}
    for path in (DOC.parent / "examples").glob("plot_*.py"):
        head = path.read_text().split('"""')[1].strip()
        sections = re.sub(r"^# ", "", path.read_text(), flags=re.MULTILINE)
        titles = re.findall(r"^%%\n\S.*\n-{3,}$", sections, flags=re.MULTILINE)
        pages[path.name] = "\n".join([head, *titles])
    seen = {}
    for page, text in pages.items():
        for title in titles_of(text):
            key = " ".join(re.findall(r"\w+", title.lower()))
            assert key not in seen, f"{page} and {seen[key]} have {title!r}"
            seen[key] = page
    assert len(seen) > 100


@pytest.mark.skipif(not RECORDS.exists(), reason="no records here")
@pytest.mark.parametrize("page", ["README.md", "doc/faq.rst", "doc/production.rst"])
def test_intervals_on_the_pages_are_those_of_the_reports(page):
    # What evidence.rst says beyond the reports is compared with the records elsewhere.
    sources = [*RECORDS.glob("*/report.md"), DOC / "evidence.rst"]
    lines = [line for path in sources for line in path.read_text().splitlines()]
    text = " ".join((DOC.parent / page).read_text().split())
    found = re.findall(r"([+−][\d.]+) \(([+−][\d.]+ to [+−][\d.]+)\)", text)
    found = [pair for pair in found if pair not in FURTHER]
    assert found
    for mean, interval in found:
        assert any(mean in line and interval in line for line in lines), (
            f"{mean} ({interval}) is in no report"
        )


def test_links_that_lead_nowhere_are_found(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.html").write_text(
        '<a href="sub/b.html#there">b</a> <a id="here" href="#here">a</a>'
        '<a href="https://example.org/x">out</a> <!-- <a href="no.html"> -->'
        '<img src="data:image/png;base64,AAAA"><a href="sub/b.html#not%20there">b</a>'
        "<a href='c.html?x=1'>c</a>"
    )
    (tmp_path / "sub" / "b.html").write_text(
        '<h1 id="there">b</h1><a href="../a.html">a</a><a href="../a.html#b">a</a>'
    )
    assert load("links").find_broken_links(tmp_path) == [
        ("a.html", "sub/b.html#not%20there"),
        ("a.html", "c.html?x=1"),
        ("sub/b.html", "../a.html#b"),
    ]


def test_a_report_becomes_sections():
    pytest.importorskip("jinja2")
    nodes = pytest.importorskip("docutils.nodes")
    from studies import _page as page

    parts = [
        page.Heading(1, "A study"),
        page.Links([("home", "./index.html")]),
        page.Bullets(["one < two", "three"]),
        page.Heading(2, "What's in it?"),
        page.Paragraph("Text & more."),
        page.Table(["a", "b"], [["x", "1"]]),
        page.Heading(3, "Below"),
        page.Code("[plan]\nx = 1"),
        page.Heading(2, "Below"),
        page.Figures([b"png"], "A figure"),
    ]
    items, first, second = load("reports").add_parts(nodes, parts).children
    assert items.astext() == "one < two\n\nthree"
    assert (first["ids"], second["ids"]) == (["what-s-in-it"], ["below-2"])
    title, text, table, below = first.children
    assert (title.astext(), text.astext()) == ("What's in it?", "Text & more.")
    assert table.astext().startswith('<div class="pst-scrollable-table-container">')
    assert table.astext().endswith("</table></div>")
    assert below["ids"] == ["below"]
    assert below[1].astext() == "[plan]\nx = 1"
    assert second[1].astext().startswith('<figure class="report">')
    assert second[1].astext().endswith("</figure>")


def test_every_page_of_a_study_is_in_the_navigation():
    reports = load("reports")
    pages = reports.find_reports(DOC)
    listed = (DOC / "evidence.rst").read_text().partition(".. studies::")[2]
    for page in pages:
        assert re.search(rf"^   {page}$", listed, flags=re.MULTILINE), page
    studies = {"paper", "rules", "procedures", "habits"}
    assert {path.name for path in pages.values()} >= studies
    if RECORDS.exists():  # the run of habits has not ended
        assert reports.find_missing(DOC) in ([], ["habits"])


def test_a_page_without_its_records_is_named(tmp_path):
    (tmp_path / "one.rst").write_text("One\n===\n\n.. report:: first\n")
    (tmp_path / "two.rst").write_text("Two\n===\n\n.. report:: second\n")
    (tmp_path / "three.rst").write_text("Three\n=====\n")
    (tmp_path / "first").mkdir()
    reports = load("reports")
    assert list(reports.find_reports(tmp_path, tmp_path)) == ["one", "two"]
    assert reports.find_missing(tmp_path, tmp_path) == ["two"]


def test_inventories_are_written_or_looked_up(tmp_path):
    inventories = load("inventories")
    mapping = inventories.write_inventories(tmp_path / "new")
    address, path = mapping["sklearn"]
    assert address == "https://scikit-learn.org/stable/"
    head, body = Path(path).read_bytes().split(b"using zlib.\n")
    assert head.startswith(b"# Sphinx inventory version 2\n# Project: sklearn\n")
    lines = zlib.decompress(body).decode().splitlines()
    name = "sklearn.model_selection.GridSearchCV"
    assert f"{name} py:class 1 modules/generated/{name}.html#{name} -" in lines
    online = inventories.write_inventories(tmp_path / "none", online=True)
    assert online["sklearn"] == (address, None)
    assert not (tmp_path / "none").exists()


def test_names_of_other_libraries_exist():
    for _, _, names in load("inventories").PROJECTS.values():
        for entry in names:
            role, name = entry.split()
            module, _, attribute = name.rpartition(".")
            found = getattr(importlib.import_module(module), attribute)
            assert isinstance(found, type) == (role == "class"), name


def test_files_for_other_programs():
    site = load("site_files")
    assert site.first_sentence("One sentence\nhere. Another.") == "One sentence here."
    assert site.first_sentence("A list follows:") == "A list follows"
    text = site.write_list("name", "What.", [("a", "A page", "It says.")], "")
    assert text.startswith("# name\n\n> What.\n")
    assert "- [A page](a.html): It says.\n" in text
    sitemap = site.write_sitemap(["https://example.org/a.html?x&y"])
    (url,) = ElementTree.fromstring(sitemap)
    assert url[0].text == "https://example.org/a.html?x&y"
    tags = site.card_tags('A "page"', "It.", "https://example.org/a.html", "i.png")
    assert '<meta property="og:title" content="A &quot;page&quot;">' in tags
