"""Generates answers with tool calls for evaluation, as in training, and prepares rewards for them.

A call is executed, its result is appended to the answer, and the model continues. In training TRL
does this (`_tool_call_loop` of grpo_trainer.py).
"""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any

from trl.chat_template_utils import (
    add_response_schema,
    get_training_chat_template,
    is_chat_template_prefix_preserving,
    parse_response,
)

from ..evaluate import answers
from ..read.reasoning import split
from .offered_tools import Tool, read_tools
from .rewards import Reward

Message = dict[str, Any]
Rows = Sequence[Mapping[str, Any]]
Write = Callable[[Any, Any, Rows, int], list[str]]
Tokens = list[int]
Generate = Callable[[Sequence[Tokens]], list[Tokens]]
ASKED: Message = {"role": "user", "content": "?"}  # before the call whose result is rendered


def converse(
    model: Any,
    tokenizer: Any,
    rows: Rows,
    answer_tokens: int,
    *,
    tools: Sequence[Tool],
    rounds: int,
) -> list[list[Message]]:
    """Return the messages that answer the prompt of each row: of the model, and of tools."""
    ends = answers.find_ends(model, tokenizer, rows)

    def generate(prompts: Sequence[Tokens]) -> list[Tokens]:
        return answers.generate(model, tokenizer, prompts, answer_tokens, ends)

    prompts = [row["prompt_ids"] for row in rows]
    return exchange(tokenizer, prompts, generate, answer_tokens, tools=tools, rounds=rounds)


def exchange(
    tokenizer: Any,
    prompts: Sequence[Tokens],
    generate: Generate,
    answer_tokens: int,
    *,
    tools: Sequence[Tool],
    rounds: int,
) -> list[list[Message]]:
    """Return the messages that answer each prompt; `generate` continues prompts.

    Calls, results and text have at most `answer_tokens` tokens together. A result that does not fit
    is left out, and the answer ends with its call, as in training.
    """
    add_response_schema(tokenizer)
    stable = is_chat_template_prefix_preserving(tokenizer)
    template = None if stable else get_training_chat_template(tokenizer)
    functions = {tool.__name__: tool for tool in tools}
    written = generate(prompts)
    chats = [
        [parse_response(tokenizer, ids, prefix=prompt, tools=list(tools))]
        for prompt, ids in zip(prompts, written, strict=True)
    ]
    calling = [place for place, chat in enumerate(chats) if chat[-1].get("tool_calls")]
    for _ in range(rounds):
        waiting = []
        for place in calling:
            results = [_call(functions, call) for call in chats[place][-1]["tool_calls"]]
            longer = written[place] + _render_results(tokenizer, results, template)
            if len(longer) <= answer_tokens:
                chats[place] += results
                written[place] = longer
                waiting.append(place)
        if not waiting:
            break
        begun = [prompts[place] + written[place] for place in waiting]
        found = generate(begun)
        for place, prefix, ids in zip(waiting, begun, found, strict=True):
            kept = ids[: answer_tokens - len(written[place])]
            written[place] = written[place] + kept
            if kept:
                parsed = parse_response(tokenizer, kept, prefix=prefix, tools=list(tools))
                chats[place].append(parsed)
        calling = [place for place in waiting if chats[place][-1].get("tool_calls")]
    return chats


def make_writer(tools: Sequence[Tool], rounds: int) -> Write:
    """Return a function that writes answers as `answers.write` does, and calls tools."""

    def write(model: Any, tokenizer: Any, rows: Rows, answer_tokens: int) -> list[str]:
        found = converse(model, tokenizer, rows, answer_tokens, tools=tools, rounds=rounds)
        return read_texts(found)

    return write


def read_texts(chats: Sequence[Sequence[Message]]) -> list[str]:
    """Return the text of the last message of each answer; empty if a tool wrote it."""
    lasts = [chat[-1] for chat in chats]
    return [
        split(str(last["content"]))[1].strip() if last["role"] == "assistant" else ""
        for last in lasts
    ]


def offer(module: Any, rewards: Sequence[Reward], seconds: float) -> dict[str, Any]:
    """Return the arguments of TRL's trainer for the tools of a module, and for the rewards."""
    return {"tools": read_tools(module, seconds), "reward_funcs": give_texts(rewards)}


def give_texts(rewards: Sequence[Reward]) -> list[Reward]:
    """Return rewards that get texts as `completions`, and all messages as `conversations`.

    TRL gives the messages of an answer in which tools may be called.
    """
    return [_give_text(reward) for reward in rewards]


def _give_text(reward: Reward) -> Reward:
    @wraps(reward)
    def read(completions: Sequence[Sequence[Message]], **given: Any) -> list[float]:
        texts = read_texts(completions)
        return reward(completions=texts, conversations=completions, **given)

    return read


def _call(functions: Mapping[str, Tool], call: Mapping[str, Any]) -> Message:
    """Return the message with the result of a call, or with the error that it raised."""
    function = call["function"]
    name = function["name"]
    try:
        if name not in functions:
            raise ValueError(f"Tool {name} not found.")  # noqa: TRY301 - TRL's words, for the model
        result = functions[name](**function["arguments"])
    except Exception as error:  # noqa: BLE001 - the model reads what went wrong
        result = str({"error": str(error)})
    return {"role": "tool", "name": name, "content": result}


def _render_results(tokenizer: Any, results: Sequence[Message], template: str | None) -> Tokens:
    """Return the tokens of results and of the beginning of the next answer.

    They are what a chat has after the end of its call (`_get_tool_suffix_ids` of TRL).
    """
    call = {"type": "function", "function": {"name": results[0]["name"], "arguments": {}}}
    chat = [ASKED, {"role": "assistant", "content": "", "tool_calls": [call]}]
    options: dict[str, Any] = {"chat_template": template, "return_dict": False}
    before = tokenizer.apply_chat_template(chat, **options)
    whole = tokenizer.apply_chat_template([*chat, *results], add_generation_prompt=True, **options)
    if tokenizer.eos_token_id in before:  # what follows it is not written by the model
        before = before[: len(before) - before[::-1].index(tokenizer.eos_token_id)]
    return list(whole[len(before) :])
