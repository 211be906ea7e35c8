"""Write sums.jsonl: questions that are answered by a number, each with its answer.

python make_sums.py
"""

import json
import random
from pathlib import Path

ROWS = 400
ASKED = (
    "What is {a} plus {b}?",
    "{a} people are in a train and {b} more get on. How many are there?",
    "A shelf holds {a} books. Somebody brings {b}. How many books are there now?",
    "Add {b} to {a}.",
)


def main() -> None:
    """Draw pairs of numbers, none twice, and write a row for each."""
    draw = random.Random(7)
    pairs = draw.sample([(a, b) for a in range(10, 90) for b in range(2, 60)], ROWS)
    rows = [
        {"prompt": draw.choice(ASKED).format(a=a, b=b), "completion": str(a + b)} for a, b in pairs
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    Path(__file__).with_name("sums.jsonl").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
