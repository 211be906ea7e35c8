"""The mismatched answers that a bundle of KTO makes for its estimate of the KL."""

import ast
from types import SimpleNamespace
from typing import Any

from datasets import Dataset

from tests.golden_bundles import compile_golden


def test_less_memory_changes_no_mismatched_answer() -> None:
    """The validation loss after a smaller micro-batch is that of the same rows."""
    (text,) = (file.text for file in compile_golden("kto").files if file.name == "train.py")
    lines = ast.parse(text).body
    defined: list[ast.stmt] = [node for node in lines if isinstance(node, ast.FunctionDef)]
    (ladder,) = (
        ast.literal_eval(node.value)
        for node in lines
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "LADDER"
    )
    assert len(ladder) > 1
    rows = Dataset.from_dict({"completion_ids": [[row] for row in range(3 * ladder[0][0])]})

    made = []
    for micro, _ in ladder:
        names: dict[str, Any] = {"LADDER": ladder, "session": SimpleNamespace(micro_batch=micro)}
        exec(ast.unparse(ast.Module([*defined], [])), names)  # noqa: S102 - a golden's own function
        made.append(names["add_mismatched"](rows)["KL_completion_ids"])

    assert all(answers == made[0] for answers in made)
    assert all([row] != answer for row, answer in enumerate(made[0]))
