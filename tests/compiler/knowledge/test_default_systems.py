"""The system messages that templates add, against the templates themselves."""

import json
import re
from importlib.resources import files
from pathlib import Path

from ftc.compiler.knowledge.text.default_systems import default_system
from ftc.compiler.knowledge.well_known.models import all_models
from ftc.compiler.resolve.chat_template.rendering import compile_chat_template

TABLE = json.loads(
    (files("ftc.compiler.knowledge.text") / "default_systems.json").read_text(encoding="utf-8")
)
_DATES = re.compile(r"\d{1,2} [A-Z][a-z]{2} \d{4}|[A-Z][a-z]+ \d{1,2}, \d{4}")


def test_each_text_is_what_its_template_writes(converter: Path) -> None:
    """A conversation without a system message begins with it; dates are of the day."""
    for entry in TABLE:
        path = converter / "models" / "templates" / f"{entry['template']}.jinja"
        template = compile_chat_template(path.read_text(encoding="utf-8"), {"bos_token": ""})
        text = template.render([{"role": "user", "content": "hello"}])
        assert _DATES.sub("DATE", entry["text"]).strip() in _DATES.sub("DATE", text), path.name


def test_only_tuned_models_of_the_table_are_named() -> None:
    """Each entry is the beginning of a model's id, and Qwen3 has none."""
    ids = [model.id for model in all_models() if model.kind == "instruct"]
    for entry in TABLE:
        assert any(name.startswith(entry["models"]) for name in ids), entry["models"]
    assert default_system("Qwen/Qwen3-4B") is None
    assert default_system("qwen/qwen2.5-7b-instruct") is not None
