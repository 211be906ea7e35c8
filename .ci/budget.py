"""Write the seconds of the tests into `tests/BUDGET.md`.

Run both tiers with a report, then this script:

    make test PYTEST_ADDOPTS=--junitxml=test.xml
    make prove PYTEST_ADDOPTS=--junitxml=prove.xml
    .venv/bin/python .ci/budget.py test.xml prove.xml

Tests of the first tier are added up by folder, those of `make prove` by module. The rows of
`make prove-all` stay as they are: its tests are measured by hand.
"""

import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree as ET

BUDGET = Path(__file__).resolve().parents[1] / "tests" / "BUDGET.md"
#: A folder below it is a row of its own, because it holds most tests.
DIVIDED = "tests/tui"
#: Seconds below which a folder of the first tier has no row.
LEAST = 0.5


def read_modules(report: Path) -> Counter[str]:
    """Return the seconds of each module in a JUnit report: set-up, call and teardown."""
    seconds: Counter[str] = Counter()
    for case in ET.parse(report).iter("testcase"):  # noqa: S314 - pytest's own report
        module = case.attrib["classname"].replace(".", "/") + ".py"
        seconds[module] += float(case.attrib["time"])
    return seconds


def by_folder(modules: Counter[str]) -> Counter[str]:
    """Return the seconds by the folder below `tests/`; a module in `tests/` is a row itself."""
    seconds: Counter[str] = Counter()
    for module, spent in modules.items():
        parts = module.split("/")
        depth = 3 if module.startswith(f"{DIVIDED}/") else 2
        seconds["/".join(parts[:depth])] += spent
    return seconds


def write_table(test: Counter[str], prove: Counter[str]) -> None:
    """Replace the rows of both tiers; a row below half a second is left out of the first tier."""
    lines = BUDGET.read_text(encoding="utf-8").splitlines()
    head = [line for line in lines if not line.startswith("|")]
    table = [line for line in lines if line.startswith("|")]
    rows = [
        *(("test", *row) for row in sorted(by_folder(test).items()) if row[1] >= LEAST),
        *(("prove", *row) for row in sorted(prove.items())),
    ]
    written = [f"| {name} | {tier} | {max(round(spent), 1)} |" for tier, name, spent in rows]
    kept = sorted(line for line in table if line.split("|")[2].strip() == "prove-all")
    text = "\n".join([*head, "", *table[:2], *written, *kept])
    BUDGET.write_text(text.replace("\n\n\n", "\n\n") + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_table(*(read_modules(Path(each)) for each in sys.argv[1:]))
