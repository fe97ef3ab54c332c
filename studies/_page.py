"""Parts of a page, written as Markdown and, with a template, as HTML."""

import base64
import math
import re
from dataclasses import dataclass
from io import BytesIO
from os.path import relpath
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclass
class Heading:
    """A heading of some level."""

    level: int
    text: str
    kind = "heading"

    def markdown(self):
        """Return Markdown."""
        return f"{'#' * self.level} {self.text}"

    @property
    def anchor(self):
        """Anchor for links to the heading."""
        return re.sub(r"[^a-z0-9]+", "-", self.text.lower()).strip("-")


@dataclass
class Paragraph:
    """A paragraph of plain text."""

    text: str
    kind = "paragraph"

    def markdown(self):
        """Return Markdown."""
        return self.text


@dataclass
class Bullets:
    """A list of sentences."""

    items: list
    kind = "bullets"

    def markdown(self):
        """Return Markdown."""
        return "\n".join(f"- {item}" for item in self.items)


@dataclass
class Links:
    """Links in a row: pairs of a text and an address.

    An address that is a `Path` is a file of the repository; `relative_to` turns it into
    an address.
    """

    items: list
    kind = "links"

    def markdown(self):
        """Return Markdown, without links to pages of HTML."""
        items = [(t, a) for t, a in self.items if not str(a).endswith(".html")]
        return " · ".join(f"[{text}]({address})" for text, address in items)

    def relative_to(self, folder):
        """Return the links of a page in a folder."""
        return Links(
            [
                (text, relpath(ROOT / a, folder) if isinstance(a, Path) else a)
                for text, a in self.items
            ]
        )


@dataclass
class Code:
    """Preformatted text."""

    text: str
    kind = "code"

    def markdown(self):
        """Return Markdown."""
        return f"```toml\n{self.text.strip()}\n```"


@dataclass
class Table:
    """A table of text."""

    header: list
    rows: list
    kind = "table"

    def markdown(self):
        """Return Markdown."""
        lines = [self.header, ["---"] * len(self.header), *self.rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)


@dataclass
class Figures:
    """Pictures side by side, in the HTML page only."""

    pngs: list
    caption: str
    kind = "figures"

    def markdown(self):
        """Return nothing."""
        return ""


def as_png(figure, dpi=90):
    """Return a figure of matplotlib as a picture, and close it."""
    from matplotlib import pyplot

    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=dpi)
    pyplot.close(figure)
    return buffer.getvalue()


def signed(value, digits=2):
    """Return a number with its sign."""
    text = "–" if math.isnan(value) else f"{value:+.{digits}f}"
    return text.replace("-", "−")


def interval(low, high, digits=2):
    """Return an interval as text."""
    return (
        "–" if math.isnan(low) else f"{signed(low, digits)} to {signed(high, digits)}"
    )


def write_pages(path, title, parts):
    """Write the parts as Markdown and as HTML; return both files."""
    path.parent.mkdir(parents=True, exist_ok=True)
    parts = [
        part.relative_to(path.parent) if isinstance(part, Links) else part
        for part in parts
    ]
    pages = {".md": as_markdown(parts), ".html": as_html(title, parts)}
    for suffix, page in pages.items():
        path.with_suffix(suffix).write_text(page, "utf-8")
    return [path.with_suffix(suffix) for suffix in pages]


def as_markdown(parts):
    """Return the parts as Markdown."""
    return "\n\n".join(filter(None, (part.markdown() for part in parts))) + "\n"


def as_html(title, parts):
    """Return the parts as a self-contained HTML page."""
    import jinja2

    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["cell_class"] = _cell_class
    environment.filters["base64"] = lambda png: base64.b64encode(png).decode()
    template = Path(__file__).with_name("page.html.jinja")
    return environment.from_string(template.read_text("utf-8")).render(
        title=title, parts=parts
    )


def _cell_class(text):
    """Return the class of a cell: text or a number."""
    is_text = text[:1].isalpha() and not any(char.isdigit() for char in text)
    return "text" if is_text else "number"
