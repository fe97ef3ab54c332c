"""Pages as Markdown and as HTML."""

import math
import subprocess
import sys

import pytest

pytest.importorskip("jinja2")

from studies._page import (
    Bullets,
    Code,
    Figures,
    Heading,
    Links,
    Paragraph,
    Table,
    as_html,
    as_markdown,
    interval,
    signed,
    write_pages,
)
from studies.tests.rules_records import ROOT

PARTS = [
    Heading(2, "Is 1 < 2?"),
    Links([("top", "#top"), ("pages", "x/index.html")]),
    Paragraph("a & b"),
    Bullets(["one", "two"]),
    Code("x = 1\n"),
    Table(["name", "value"], [["a", "+1.0"]]),
    Figures([b"png"], "A picture"),
]


def test_markdown_leaves_out_pictures_and_links_to_pages():
    assert as_markdown(PARTS) == (
        "## Is 1 < 2?\n\n[top](#top)\n\na & b\n\n"
        "- one\n- two\n\n```toml\nx = 1\n```\n\n"
        "| name | value |\n| --- | --- |\n| a | +1.0 |\n"
    )


def test_html_escapes_text_and_holds_its_pictures():
    page = as_html("A & B", PARTS)
    assert "<title>A &amp; B</title>" in page
    assert '<h2 id="is-1-2">Is 1 &lt; 2?</h2>' in page
    assert '<a href="x/index.html">pages</a>' in page
    assert '<td class="text">a</td><td class="number">+1.0</td>' in page
    assert 'src="data:image/png;base64,cG5n"' in page


def test_both_pages_are_written(tmp_path):
    paths = write_pages(tmp_path / "page", "Title", PARTS)
    assert [path.name for path in paths] == ["page.md", "page.html"]
    assert paths[0].read_text() == as_markdown(PARTS)


def test_numbers_have_a_sign_and_missing_ones_a_dash():
    assert signed(1.234) == "+1.23"
    assert signed(-0.5, 1) == "−0.5"
    assert signed(math.nan) == "–"
    assert interval(-1, 2, 0) == "−1 to +2"
    assert interval(math.nan, math.nan) == "–"


def test_files_are_read_as_utf_8():
    """Whatever the encoding of the machine is."""
    code = (
        "from studies import _page, rules;"
        "from studies.paper import report, results;"
        "_page.as_html('title', []);"
        "results.read_paper_tables()"
    )
    options = ["-X", "warn_default_encoding"]
    for module in ("_page", "_plan", "paper.report", "paper.results"):
        options += ["-W", f"error::EncodingWarning:studies.{module}"]
    run = subprocess.run(
        [sys.executable, *options, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
