"""Write templates/parts/settings.j2 from the table compiler/knowledge/training/settings.py.

    make sections

train.py.j2 includes the file twice: each row of the table becomes a constant with its reason, and
an argument of the Trainer. Rendering removes arguments without a value, and unused constants.
"""

from pathlib import Path
from typing import Final

from ftc.compiler.knowledge.training.settings import SETTINGS, Setting

TARGET: Final = Path(__file__).parents[1] / "templates" / "parts" / "settings.j2"
_HEAD: Final = (
    "{# Generated from compiler/knowledge/training/settings.py by make sections; change that. #}"
)


def main() -> None:
    """Write the file."""
    TARGET.write_text(generate(), encoding="utf-8")


def generate() -> str:
    """Return the template, which renders the constants or the arguments."""
    arguments = [setting for setting in SETTINGS if setting.argument is not None]
    lines = [
        _HEAD,
        '{% if part == "constants" %}',
        *map(_constant, SETTINGS),
        "{% else %}",
        *map(_argument, arguments),
        "{% endif %}",
    ]
    return "\n".join(lines) + "\n"


def _constant(setting: Setting) -> str:
    """Return the constant with its value and reason."""
    return f"{setting.constant} = {{{{ value.{setting.name} }}}}  # {{{{ why.{setting.name} }}}}"


def _argument(setting: Setting) -> str:
    """Return the argument with its value."""
    note = f"  # {setting.note}" if setting.note is not None else ""
    return f"    {setting.argument}={setting.given or setting.constant},{note}"


if __name__ == "__main__":
    main()
