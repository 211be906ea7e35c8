"""The table of benchmarks is that of the pinned evaluation harness."""

import json
import re
from importlib.metadata import distribution
from importlib.resources import files
from itertools import islice
from pathlib import Path

import pytest

from ftc.compiler.knowledge.training.harness_tasks import list_tasks
from ftc.compiler.render.pins import PINS


def test_the_table_is_of_the_pinned_version() -> None:
    """A new pin needs `.ci/harness_tasks.py`."""
    text = (files("ftc.compiler.knowledge.training") / "harness_tasks.json").read_text(
        encoding="utf-8"
    )
    assert json.loads(text)["version"] == PINS["lm-eval"]


def test_tasks_groups_and_tags_are_known() -> None:
    """Each under the name that the harness takes."""
    assert {"arc_easy", "gsm8k", "mmlu", "mmlu_anatomy", "leaderboard", "glue"} <= list_tasks()
    assert "nonsense_task" not in list_tasks()


def test_the_installed_task_files_are_in_the_table() -> None:
    """Of the files that name a plain task, a few hundred are looked at."""
    pytest.importorskip("lm_eval")
    named = (
        re.search(
            r"^task: ([A-Za-z0-9_.-]+)$", Path(path.locate()).read_text("utf-8"), re.MULTILINE
        )
        for path in islice(distribution("lm-eval").files or (), 0, None, 20)
        if path.suffix == ".yaml" and "tasks" in path.parts
    )
    names = {found[1] for found in named if found is not None}
    assert len(names) > 50
    assert names <= list_tasks()
