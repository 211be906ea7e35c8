"""Prints a record that has no label per token: a prompt, a classified text or compared texts."""

import json
from typing import Any

from ..run import Run


def show_unlabelled(run: Run, tokenizer: Any, line: bytes) -> None:
    """Print the texts of a record, or what is read and its label, if it has one."""
    row = json.loads(line.partition(b"\n")[0])
    if "anchor" in row:
        for name in ("anchor", "positive", "negative", "score"):
            if name in row:
                run.say(f"one row, its {name}: {row[name]!r}")
        return
    if "chosen_ids" in row:
        for name in ("prompt", "chosen", "rejected"):
            run.say(f"one row, its {name}: {tokenizer.decode(row[f'{name}_ids'])!r}")
        return
    run.say(f"one row, what is read: {tokenizer.decode(row['input_ids'])!r}")
    if "completion_ids" in row:
        run.say(f"one row, its label:    {'good' if row['label'] else 'bad'}")
    elif "answer" in row:
        run.say(f"one row, its label:    {row['answer']!r}")
