"""Conversations that call a tool, and a chat template that writes tools and calls."""

import json
from pathlib import Path

#: A template that also writes tools and calls.
CALLING = (
    "{% for tool in tools or [] %}{{ tool | tojson }}{% endfor %}{% for m in messages %}"
    "{{ '<' + m.role + '>' + m.content }}"
    "{% if m.tool_calls %}{{ m.tool_calls | tojson }}{% endif %}"
    "{% if m.role == 'assistant' %}{{ eos_token }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<assistant>' }}{% endif %}"
)


def write_calls(folder: Path) -> None:
    """Write calls.jsonl, with two columns of tools, and calling.jinja, which renders its rows."""
    (folder / "calling.jinja").write_text(CALLING)
    asked = {"id": "1", "type": "function", "function": {"name": "track", "arguments": {}}}
    tool = {"type": "function", "function": {"name": "track", "parameters": {"type": "object"}}}
    other = {"type": "function", "function": {"name": "count", "parameters": {"type": "object"}}}
    rows = [
        {
            "messages": [
                {"role": "user", "content": f"call {n}"},
                {"role": "assistant", "content": "", "tool_calls": [asked]},
                {"role": "tool", "content": "on the shelf"},
                {"role": "assistant", "content": "yes"},
            ],
            "tools": [tool],
            "more": [tool, other],
        }
        for n in range(60)
    ]
    (folder / "calls.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
