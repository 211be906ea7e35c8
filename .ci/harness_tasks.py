"""Write the tasks of the evaluation harness to `compiler/knowledge/training/harness_tasks.json`.

    python .ci/harness_tasks.py

The harness itself lists them: tasks, groups and tags. It takes minutes. Names that the spec cannot
hold are left out. Each name is written as the number of letters that it shares with the one before,
and the letters after these.
"""

import json
import re
from importlib.metadata import version
from pathlib import Path

from lm_eval.tasks import TaskManager

from ftc.spec.schema import find_field

TABLE = Path(__file__).parents[1] / "compiler/knowledge/training/harness_tasks.json"


def main() -> None:
    """Write the table of the installed version."""
    pattern = find_field("/training/evaluation/harness").schema["items"]["pattern"]
    names = [name for name in TaskManager().all_tasks if re.fullmatch(pattern, name)]
    tasks, before = [], ""
    for name in sorted(names):
        pairs = enumerate(zip(before, name, strict=False))
        shared = next((n for n, (one, other) in pairs if one != other), len(before))
        tasks.append(f"{shared} {name[shared:]}")
        before = name
    table = {"version": version("lm-eval"), "tasks": tasks}
    TABLE.write_text(json.dumps(table, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
