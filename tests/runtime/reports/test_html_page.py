"""The report as one HTML file: the cells of the Markdown, and nothing that is not its own."""

from html.parser import HTMLParser
from pathlib import Path

from ftc.runtime.reports import page
from tests.runtime.reports.test_report import HOSTILE, cells_of, report_of, write_bundle


class Reader(HTMLParser):
    """Reads a page: its text, its cells, the tags that are open, and what it would load."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.cells: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open a tag."""
        self.seen.add(tag)
        if tag not in {"meta", "img"}:
            self.open.append(tag)
        if tag in {"td", "th"}:
            self.cells.append("")
        named = {name: value or "" for name, value in attrs}
        self.loads += [named[name] for name in ("src", "href", "xlink:href") if name in named]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open and close a tag."""
        self.handle_starttag(tag, attrs)
        if tag not in {"meta", "img"}:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        """Close the tag that was opened last."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Add text to the cell that is open."""
        if {"td", "th"} & set(self.open):
            self.cells[-1] += data


def read_page(text: str) -> Reader:
    """Return what a page holds; every tag is closed."""
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader


def test_both_reports_have_the_same_cells(tmp_path: Path) -> None:
    """The HTML is the same parts, a curve that is drawn in the page, and nothing to load."""
    cells = cells_of(report_of(write_bundle(tmp_path), "quantize").splitlines())
    text = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    page_read = read_page(text)

    assert page_read.cells == [cell for row in cells for cell in row]
    assert [place.partition(",")[0] for place in page_read.loads] == ["data:image/png;base64"]
    assert {"script", "link", "iframe"} & page_read.seen == set()
    assert "prefers-color-scheme: dark" in text


def test_the_same_run_gives_the_same_page(tmp_path: Path) -> None:
    """The figure has no date and no random name."""
    write_bundle(tmp_path)
    pages = []
    for _ in range(2):
        report_of(tmp_path, "quantize")
        pages.append((tmp_path / "run" / "report.html").read_bytes())

    assert pages[0] == pages[1]


def test_rows_that_were_dropped_and_hashes_are_listed(tmp_path: Path) -> None:
    """What cleaning left out, the plan beside the measured peak, and what was trained on."""
    rows = cells_of(report_of(write_bundle(tmp_path), "quantize").splitlines())
    said = {row[0]: row[1:] for row in rows}

    assert (said["read"], said["duplicate"], said["used"]) == (["90"], ["7"], ["80"])
    assert said["peak memory of one process"] == ["2.00 GiB", "1.00 GiB"]
    assert said["training"] == ["1 s to 3 s", "2 s"]
    assert said["the data"] == ["d" * 64]
    assert said["revision of the base"] == ["e" * 40]
    assert "revision of the data" not in said


def test_images_are_part_of_the_page(tmp_path: Path) -> None:
    """A page of one file holds the pictures of the samples."""
    (tmp_path / "one.png").write_bytes(b"a picture")
    parts = page.table(("images", "text"), [(("one.png",), HOSTILE)], left=2)
    found = read_page(page.to_html(parts, title=HOSTILE, folder=tmp_path))

    assert found.loads == ["data:image/png;base64,YSBwaWN0dXJl"]
    assert found.cells[-1] == " ".join(HOSTILE.split())
    assert "script" not in found.seen
