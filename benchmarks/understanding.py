"""How the assistant understands the annotated messages: `python -m benchmarks.understanding`.

Prints, for each half of `annotated.json`, `once_unseen.json` and `unseen.json` in
`tests/tui/understanding`, the shares that are right, asked, wrong and missed, and the processor
time of reading and planning a message. Reading the data file is not counted: it depends on the
file. Writes the table to `benchmarks/understanding.md`.
"""

import argparse
import os
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from ftc.compiler.resolve.data import facts
from ftc.tui.session.exchange import describe
from ftc.tui.state.situation import Observer
from tests.end_to_end.process import QUICKSTART
from tests.tui.understanding.test_annotated import (
    ONCE_UNSEEN,
    TABLE,
    UNSEEN,
    judge,
    open_session,
    silent_words,
)

PAGE: Final = Path(__file__).with_suffix(".md")
SCORES: Final = ("right", "asked", "missed", "wrong", "silent")


#: The right and wrong messages of sets, and their number, before the reader was changed for them.
FIRST: Final = {
    "BA": (80, 5, 110),
    "BB": (84, 4, 110),
    "BC": (86, 7, 120),
    "BD": (81, 5, 120),
    "BE": (90, 9, 120),
    "BF": (88, 8, 120),
    "BG": (91, 8, 120),
    "BH": (97, 8, 120),
    "BI": (87, 3, 120),
    "BJ": (81, 5, 120),
    "BK": (99, 12, 130),
    "BL": (98, 7, 130),
    "BM": (90, 4, 120),
    "BN": (91, 8, 120),
    "BO": (84, 2, 120),
    "BP": (100, 1, 120),
    "BQ": (81, 9, 120),
    "BR": (101, 3, 120),
    "BS": (84, 10, 120),
    "BT": (97, 4, 120),
    "BU": (94, 7, 120),
}


class Stopwatch:
    """The processor seconds that a function has taken so far."""

    def __init__(self, function: Callable[..., Any]) -> None:
        """Wrap a function; `seconds` adds up over its calls."""
        self.function, self.seconds = function, 0.0

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Call the function and add its time."""
        start = time.process_time()
        try:
            return self.function(*args, **options)
        finally:
            self.seconds += time.process_time() - start


def measure(folder: Path) -> tuple[dict[str, Counter[str]], list[float]]:
    """Return the scores by half, and the milliseconds of each message in rising order."""
    reading = Stopwatch(facts._read)  # noqa: SLF001 - no public name separates it from planning
    facts._read = reading  # noqa: SLF001
    observer = Observer(folder=folder)
    scores: dict[str, Counter[str]] = {}
    times = []
    for entry in (*TABLE, *ONCE_UNSEEN, *UNSEEN):
        session = open_session(entry, observer)
        before, read, start = session.draft, reading.seconds, time.process_time()
        lines = session.reply(entry["say"])
        took = time.process_time() - start - (reading.seconds - read)
        if entry["half"] != "told":  # what sets nothing is answered without a new plan
            times.append(1000 * took)
        record = describe(session, entry["say"], before, lines)
        score = scores.setdefault(entry["half"], Counter())
        score[judge(entry, before, record)] += 1
        score["silent"] += bool(silent_words(entry["say"], record))
    return scores, sorted(times)


def _list_first() -> list[str]:
    """Return the shares of `FIRST`, one set a line."""
    return [
        f"- {name}: {right / number:.1%} right, {wrong / number:.1%} wrong"
        for name, (right, wrong, number) in FIRST.items()
    ]


def main() -> None:
    """Measure, print and write the page."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.understanding",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.parse_args()
    os.environ["HF_HUB_OFFLINE"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(QUICKSTART / "tickets.csv", folder)
        scores, times = measure(Path(folder))
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, check=True, text=True
    ).stdout.strip()
    lines = [
        "# Understanding",
        "",
        f"`python -m benchmarks.understanding`, {datetime.now(UTC):%Y-%m-%d}, at commit {commit}.",
        "The messages are `annotated.json`, `once_unseen.json` and `unseen.json` in",
        "`tests/tui/understanding`. The messages marked `told` only report something: the right",
        "result is that nothing is set. The authors of the unseen messages did not see the reader,",
        "which was changed after the first score of each set. One of its models has since learned",
        "from all sets but BR to BU. The adversarial messages are made to set a wrong value.",
        "The first scores, which cannot be measured again:",
        "",
        *_list_first(),
        "",
        f"| messages | number | {' | '.join(SCORES)} |",
        f"| --- | ---: |{' ---: |' * len(SCORES)}",
    ]
    for half, score in scores.items():
        number = sum(score[each] for each in SCORES if each != "silent")
        shares = " | ".join(f"{score[each] / number:.1%}" for each in SCORES)
        lines.append(f"| {half} | {number} | {shares} |")
    at = {share: times[int(share * len(times))] for share in (0.5, 0.95)}
    lines += [
        "",
        f"Reading and planning a message not marked `told` takes {at[0.5]:.0f} ms of processor",
        f"time (median) or {at[0.95]:.0f} ms (95%), {times[-1]:.0f} ms at most, without reading",
        "the data file.",
    ]
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(PAGE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
