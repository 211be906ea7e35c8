"""Write spec/values/rule_names.json: the code of each rule by its name.

    make sections

The spec's floor reads codes in `allow`, and knows nothing of the rules above it.
"""

import json
from pathlib import Path
from typing import Final

from ftc.compiler.checks.registry import RULES

TARGET: Final = Path(__file__).parents[1] / "spec" / "values" / "rule_names.json"


def main() -> None:
    """Write the file."""
    TARGET.write_text(generate(), encoding="utf-8")


def generate() -> str:
    """Return the table as JSON."""
    names = {each.explanation.name: each.explanation.code for each in RULES}
    return json.dumps(dict(sorted(names.items())), indent=1) + "\n"


if __name__ == "__main__":
    main()
