"""The fixed set of tools of the model: each does only what a button of the assistant does.

They work on the draft in memory and write nothing. `ftc mcp` serves commands on files to other
agents; here the same functions of the compiler are called on a draft that has no file yet. Content
of the rows (values, labels, messages of findings that quote them) is left out unless the user
allowed it.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, Final

from ftc.compiler.knowledge.hardware.accelerators import find_accelerator
from ftc.compiler.knowledge.well_known.models import Model, all_models, find_model
from ftc.compiler.plan.batch.lengths import usual_mean
from ftc.compiler.plan.plan import Plan
from ftc.spec.findings.finding import Finding
from ftc.spec.schema import Field, branches, fields
from ftc.spec.text.document import Document
from ftc.spec.validate import validate
from ftc.tui.agent.proposal import proposal_schema
from ftc.tui.conversation.conversation import Conversation
from ftc.tui.conversation.explaining import tell_meaning, tell_page, tell_reason
from ftc.tui.questions.dialogue import Question
from ftc.tui.questions.fact_summary import answer_labels, first_rows
from ftc.tui.state.draft import completed
from ftc.tui.state.served_model import Agent
from ftc.tui.state.situation import Situation
from ftc.tui.understanding.reading import Change

PROPOSE: Final = "propose_changes"
_WHAT_IF: Final = "what_if"
_MOST_CHANGES: Final = 12
_MOST_MODELS: Final = 12
_MOST_FINDINGS: Final = 12
_LONGEST_TEXT: Final = 1200
_MODEL: Final = "/model/id"
_GPU: Final = "/hardware/gpu"
#: The decisions of a plan that a model gets; nobody chooses the other numbers.
_DECISIONS: Final = (
    "max_length", "packing", "micro_batch", "accumulation", "global_batch", "epochs", "total_steps",
    "learning_rate", "lora_rank", "precision", "gradient_checkpointing", "train_rows", "world",
)  # fmt: skip


class WrongCallError(Exception):
    """A call that cannot be executed; its text tells the model what to write instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool: `parameters` is the JSON Schema of its arguments, and `answer` returns plain data."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    answer: Callable[[Conversation, Agent, Mapping[str, Any]], Any]


def find_tool(name: str) -> Tool:
    """Return a tool; raises WrongCallError for an unknown name."""
    for tool in TOOLS:
        if tool.name == name:
            return tool
    raise WrongCallError(f"there is no tool {name!r}; there are {', '.join(NAMES)}")


def read_arguments(tool: Tool, text: str) -> Mapping[str, Any]:
    """Return the arguments of a call, validated by the tool's schema; raises WrongCallError."""
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - slow to import

    try:
        arguments = json.loads(text or "{}")
    except (ValueError, RecursionError) as error:
        raise WrongCallError(f"the arguments are no JSON: {error}") from error
    wrong = next(Draft202012Validator(tool.parameters).iter_errors(arguments), None)
    if wrong is None:
        return dict(arguments)
    at = "/".join(map(str, wrong.absolute_path)) or "arguments"
    if wrong.validator == "enum":
        raise WrongCallError(
            f"{at}: there is no field {wrong.instance!r}{_suggest(wrong.instance)}"
        )
    raise WrongCallError(f"{at}: {wrong.message[:200]}")


def _suggest(name: object) -> str:
    """Return the fields whose names are similar to an unknown name."""
    near = get_close_matches(str(name).replace(".", "/"), settable(), n=3)
    return f"; near to it are {', '.join(near)}" if near else ""


def read_changes(conversation: Conversation, arguments: Mapping[str, Any]) -> tuple[Change, ...]:
    """Return the changes of a call that the draft does not have yet.

    Raises WrongCallError if the spec's schema rejects a change, or if nothing would change.
    """
    said = [
        Change(pointer=each["field"], value=each["value"], words="")
        for each in arguments["changes"]
    ]
    draft = conversation.draft
    changes = tuple(each for each in said if draft.get(each.pointer) != each.value)
    if not changes:
        raise WrongCallError("nothing would change: the settings have these values already")
    data = completed(draft.changed(changes))
    text = json.dumps(data)
    document = Document(name="", folder=Path(), text=text, data=data, positions={})
    found = validate(document)
    if isinstance(found, tuple):
        raise WrongCallError("; ".join(f"{each.message} ({each.help})" for each in found[:3]))
    return changes


def reads_nothing(changes: Iterable[Change]) -> bool:
    """Return whether the changes can be planned without opening a file or asking the Hub.

    Otherwise a model could find out what is on the machine, or send words to the Hub, without the
    user.
    """
    return all(_is_closed(each.pointer, each.value) for each in changes)


def _is_closed(pointer: str, value: Any) -> bool:
    if isinstance(value, list):
        return all(_is_closed(pointer, each) for each in value)
    if not isinstance(value, str) or value in _words(pointer):
        return True
    if pointer == _GPU:
        return find_accelerator(value) is not None
    return pointer == _MODEL and find_model(value) is not None


@cache
def _words(pointer: str) -> frozenset[str]:
    """Return the values of a field with a fixed set of values."""
    schema = next(each.schema for each in fields() if each.pointer == pointer)
    leaves = [leaf for branch in branches(schema) for leaf in (branch, branch.get("items", {}))]
    words = [word for leaf in leaves for word in (*leaf.get("enum", ()), leaf.get("const"))]
    return frozenset(word for word in words if isinstance(word, str))


def _plan(conversation: Conversation, agent: Agent, arguments: Mapping[str, Any]) -> Any:
    del arguments
    return _told(conversation.situation, sees_rows=agent.sees_rows)


def _what_if(conversation: Conversation, agent: Agent, arguments: Mapping[str, Any]) -> Any:
    changes = read_changes(conversation, arguments)
    if not reads_nothing(changes):
        raise WrongCallError("what_if takes no file, repository or text: propose such a change")
    tried = conversation.observer.look(conversation.draft.changed(changes), offers=False)
    return _told(tried, sees_rows=agent.sees_rows)


def _told(situation: Situation, *, sees_rows: bool) -> Mapping[str, Any]:
    plan = situation.plan
    return {
        "plan": None if plan is None else _numbers(plan),
        "findings": [_finding(each, sees_rows=sees_rows) for each in situation.findings][
            :_MOST_FINDINGS
        ],
    }


def _numbers(plan: Plan) -> Mapping[str, Any]:
    memory, decided = plan.memory, plan.decisions.items()
    return {
        "gpu_memory_needed_bytes": memory.device_bytes,
        "gpu_memory_bytes": memory.capacity_bytes,
        "fits": memory.fits,
        "seconds": plan.time_seconds,
        "disk_bytes": plan.disk_bytes,
        "trainable_parameters": plan.trainable_parameters,
        "decisions": {name: decided[name].value for name in _DECISIONS if name in decided},
    }


def _finding(finding: Finding, *, sees_rows: bool) -> Mapping[str, str]:
    told = {"code": finding.code, "name": finding.name, "severity": finding.severity}
    told["field"] = finding.pointer
    # a message may quote a row or a label; a code and a name never do
    return told | ({"message": finding.message} if sees_rows else {})


def _explain(conversation: Conversation, agent: Agent, arguments: Mapping[str, Any]) -> Any:
    topic = str(arguments["topic"])
    field = _field(topic)
    about = topic if field is None else field.name
    lines = [*tell_page(conversation, about), *tell_meaning(conversation, about)]
    if agent.sees_rows or about in _DECISIONS:  # other reasons may name labels
        lines += tell_reason(conversation, about)
    if not lines:
        raise WrongCallError(f"there is no page about {topic!r}")
    told = {"text": "\n".join(line.text for line in lines)[:_LONGEST_TEXT]}
    return told if field is None else {**told, "schema": _shape(field)}


def _field(topic: str) -> Field | None:
    name = topic.strip("/").replace("/", ".")
    return next((each for each in fields() if each.name == name), None)


def _shape(field: Field) -> Mapping[str, Any]:
    """Return a field's schema without the parts that are only for people."""
    own = ("title", "examples", "description")
    return {
        key: value
        for key, value in field.schema.items()
        if key not in own and not key.startswith("x-")
    }


def _list_models(conversation: Conversation, agent: Agent, arguments: Mapping[str, Any]) -> Any:
    """Return the offered models with their plans, or models of the table with a matching name."""
    del agent
    if name := str(arguments.get("name", "")).casefold():
        found = [each for each in all_models() if name in each.id.casefold()][:_MOST_MODELS]
        return [_model(each) for each in found]
    offered = conversation.offer(Question(pointer=_MODEL)).options
    return [
        {**_model(model), **({} if each.plan is None else {"plan": _numbers(each.plan)})}
        for each in offered
        if (model := find_model(each.label)) is not None
    ]


def _model(model: Model) -> Mapping[str, Any]:
    return {
        "id": model.id,
        "parameters": model.shape.parameters,
        "licence": model.licence,
        "languages": sorted(model.languages)[:8],
        "gated": model.gated,
    }


def _inspect_data(conversation: Conversation, agent: Agent, arguments: Mapping[str, Any]) -> Any:
    facts = conversation.situation.data
    if facts is None:
        raise WrongCallError("no data are set, or they cannot be read")
    lengths, labels = facts.lengths, answer_labels(facts, conversation.draft)
    told: dict[str, Any] = {
        "rows": facts.rows,
        "usable_rows": facts.usable_rows,
        "blank_rows": facts.blank_rows,
        "duplicate_rows": facts.duplicate_rows,
        "columns": list(facts.columns),
        "form": facts.form,
        "tokens_per_row": {
            "mean": usual_mean(lengths),
            "median": lengths.p50,
            "p95": lengths.p95,
            "longest": lengths.max,
        },
        "languages": dict(facts.languages),
        "distinct_labels": len(labels),
    }
    if not arguments.get("rows"):
        return told
    if not agent.sees_rows:
        return {**told, "note": "the user did not allow to read the rows' values"}
    told["labels"] = {label.name: label.rows for label in labels[:20]}
    return {**told, "first_rows": list(first_rows(facts, conversation.observer.folder))}


def _answer_changes(conversation: Conversation, agent: Agent, arguments: Mapping[str, Any]) -> Any:
    """Validate a proposal; the turn ends with it, and the user decides."""
    del agent
    read_changes(conversation, arguments)
    return {"shown": True}


@cache
def settable() -> tuple[str, ...]:
    """Return the pointers of the fields that a model may propose."""
    items = proposal_schema()["properties"]["changes"]["items"]["anyOf"]
    return tuple(item["properties"]["field"]["const"] for item in items)


@cache
def _changes_schema(*, named: bool = True) -> Mapping[str, Any]:
    """Return the schema of changes; ftc validates the values, whose schemas fill 34 KB.

    The schema is part of a prompt: without `named`, it does not list the fields again.
    """
    field = {"enum": list(settable())} if named else {"description": f"as in {PROPOSE}"}
    return _object(
        changes={
            "type": "array",
            "minItems": 1,
            "maxItems": _MOST_CHANGES,
            "items": {
                "type": "object",
                "properties": {
                    "field": field,
                    "value": {"type": ["string", "number", "boolean", "array", "null"]},
                },
                "required": ["field", "value"],
                "additionalProperties": False,
            },
        }
    )


def _object(*, optional: bool = False, **properties: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": [] if optional else list(properties),
        "additionalProperties": False,
    }


TOOLS: Final = (
    Tool(
        name=PROPOSE,
        description="Show changes of settings to the user, who applies or drops them. `null` "
        "leaves a setting to ftc. Call `explain` with a field for its values.",
        parameters=_changes_schema(),
        answer=_answer_changes,
    ),
    Tool(
        name="plan",
        description="The memory, time and findings of the current settings.",
        parameters=_object(),
        answer=_plan,
    ),
    Tool(
        name=_WHAT_IF,
        description="The memory, time and findings with other values; nothing changes.",
        parameters=_changes_schema(),
        answer=_what_if,
    ),
    Tool(
        name="explain",
        description="The page of a finding's code, a field (method.rank) or a term (QLoRA).",
        parameters=_object(topic={"type": "string", "minLength": 1, "maxLength": 80}),
        answer=_explain,
    ),
    Tool(
        name="list_models",
        description="Models to fine-tune that suit the task, data and hardware, with their plans; "
        "with `name`, those of the table whose ids contain it.",
        parameters=_object(optional=True, name={"type": "string", "maxLength": 80}),
        answer=_list_models,
    ),
    Tool(
        name="inspect_data",
        description="Columns, counts and lengths of the training data; `rows` asks for the first "
        "rows and the labels too, if the user allowed it.",
        parameters=_object(optional=True, rows={"type": "boolean"}),
        answer=_inspect_data,
    ),
)
NAMES: Final = tuple(tool.name for tool in TOOLS)


def declare() -> list[Mapping[str, Any]]:
    """Return the tools in the format of a request."""
    shown = {_WHAT_IF: _changes_schema(named=False)}
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": shown.get(tool.name, tool.parameters),
            },
        }
        for tool in TOOLS
    ]


@cache
def action_schema() -> Mapping[str, Any]:
    """Return the schema of one action, for a model that is constrained to JSON.

    Changes are constrained to the schemas of the fields, since a grammar is not part of the prompt.
    The text has no length limit here: a llama.cpp server crashes on the grammar for a limit of
    2,000 characters.
    """
    own = {PROPOSE: proposal_schema(), _WHAT_IF: proposal_schema()}
    text = {"type": "string"}
    actions = {tool.name: own.get(tool.name, tool.parameters) for tool in TOOLS}
    return {
        "anyOf": [
            _object(tool={"const": name}, arguments=parameters)
            for name, parameters in {**actions, "answer": _object(text=text)}.items()
        ]
    }
