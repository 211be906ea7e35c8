"""The examples: the parts of their READMEs that other files decide, and the gallery of the site.

A README under `examples/` has the fences `data`, `spec` and `plan`, each after a comment of that
name. `fill` writes them from the example's own files and from the plan in its golden, so that none
is typed by hand.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from ftc.spec.load import load_document

ROOT: Final = Path(__file__).resolve().parents[2]
EXAMPLES: Final = ROOT / "examples"
GOLDEN: Final = ROOT / "tests" / "golden"
_FENCE: Final = re.compile(r"<!-- (data|spec|plan) -->\n+```.*?\n```\n", re.DOTALL)
_ROWS: Final = 2
_WIDTH: Final = 240
_INTRODUCTION: Final = """\
# Examples

Each example is a folder of the repository, and ftc's tests compile each of them. The plan is for
the hardware in the example's spec. Open one for its data, its spec and its result.

| example | what it shows | planned |
| --- | --- | --- |
"""


def list_examples() -> list[str]:
    """Return the names of the examples, the quickstart first."""
    names = sorted(path.parent.name for path in EXAMPLES.glob("*/spec.*"))
    return sorted(names, key=lambda name: name != "quickstart")


def fill(name: str, text: str) -> str:
    """Return a README with its fences written again."""
    parts = {"data": _data, "spec": _spec, "plan": _plan}

    def replace(found: re.Match[str]) -> str:
        language, body = parts[found[1]](name)
        return f"<!-- {found[1]} -->\n\n```{language}\n{body}\n```\n"

    return _FENCE.sub(replace, text)


def gallery_page(pages: Mapping[str, str]) -> str:
    """Return the gallery, from the text of every example's README by name."""
    rows = [
        f"| [{name}](examples/{name}.md) | {_title(pages[name])} | {_headline(name)} |"
        for name in list_examples()
    ]
    return _INTRODUCTION + "\n".join(rows) + "\n"


def _spec_path(name: str) -> Path:
    return next((EXAMPLES / name).glob("spec.*"))


def _spec(name: str) -> tuple[str, str]:
    path = _spec_path(name)
    return path.suffix[1:], path.read_text(encoding="utf-8").strip()


def _data(name: str) -> tuple[str, str]:
    """Return the first rows of every file that the spec reads, cut to a line of the page."""
    found = load_document(str(_spec_path(name)))
    data: Any = found.data["data"]  # type: ignore[union-attr]  # the example is sound
    sources = data.get("sources", [data]) if isinstance(data, Mapping) else [data]
    lines = []
    for source in sources:
        path = source["source"] if isinstance(source, Mapping) else source
        texts = (EXAMPLES / name / path).read_text(encoding="utf-8").splitlines()
        rows = texts[: _ROWS + path.endswith(".csv")]
        lines += [row if len(row) <= _WIDTH else f"{row[:_WIDTH]}…" for row in rows]
    return "text", "\n".join(lines)


def _plan(name: str) -> tuple[str, str]:
    """Return what `ftc plan` prints above its decisions."""
    text = (GOLDEN / name / "plan.txt").read_text(encoding="utf-8")
    return "text", text.partition("\nDecisions\n")[0].strip()


def _headline(name: str) -> str:
    """Return the first line of the plan without the name of the run, and its hardware."""
    line = _plan(name)[1].partition("\n")[0]
    found = load_document(str(_spec_path(name)))
    hardware: Any = found.data["hardware"]  # type: ignore[union-attr]  # the example is sound
    if isinstance(hardware, Mapping):
        count, nodes = hardware.get("count", 1), hardware.get("nodes", 1)
        hardware = f"{nodes * count}x {hardware['gpu']}"
    return f"{hardware}: {line.partition(' fits: ')[2]}"


def _title(text: str) -> str:
    return text.partition("\n")[0].removeprefix("# ")
