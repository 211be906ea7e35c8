"""Counts the tokens of pairs of answers, for a pilot."""

from typing import Any

from pyarrow import compute


def count_pair_tokens(table: Any) -> Any:
    """Return for each pair of a pyarrow table the tokens of the prompt with the longer answer.

    The answers have their prompt in them, or `prompt_ids` has it. `input_ids` are the prompt and
    the better answer in both cases.
    """

    def count(name: str) -> Any:
        return compute.list_value_length(table[name])

    chosen, rejected = count("chosen_ids"), count("rejected_ids")
    more = compute.subtract(compute.max_element_wise(chosen, rejected), chosen)
    if "input_ids" in table.column_names:
        return compute.add(count("input_ids"), more)
    return compute.add(compute.add(count("prompt_ids"), chosen), more)
