"""A pairwise covering array over what a spec can say: every pair of choices stands in some case.

The choices are read from the schema and the table of objectives, so that a new one enters by
itself.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import islice
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
from allpairspy import AllPairs
from pyarrow import parquet

from ftc.compiler.knowledge.objectives import (
    OBJECTIVES,
    compares_texts,
    gives_relevance,
    gives_vectors,
    has_teacher,
)
from ftc.compiler.plan.search.space import SELECTIVE
from ftc.spec.schema import fields as schema_fields
from ftc.spec.sections import FileFormat, Form

ROWS = 60
_MOST_OTHERS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One choice per dimension."""

    objective: str
    form: Form
    method: str
    sharding: str
    device: str
    precision: str
    packing: str
    optimizer: str
    recomputing: str
    format: FileFormat
    export: str
    vectors: str

    @property
    def name(self) -> str:
        """The name of the case's bundle, and of its test."""
        words = (str(getattr(self, field.name)).lower() for field in fields(self))
        return "-".join(word.replace("_", "-").replace("+", "-") for word in words)


def _values(name: str) -> tuple[str, ...]:
    """Return the words that a field takes, none where the language has no such field."""
    found = next((field.schema for field in schema_fields() if field.name == name), {})
    words = [word for part in (found, *found.get("anyOf", ())) for word in part.get("enum", ())]
    return tuple(word for word in words if word != "auto")


def _read_by(name: str) -> tuple[str, ...]:
    """Return the objectives beside which a field is read."""
    found = next(field.schema for field in schema_fields() if field.name == name)
    return tuple(found["x-when"]["/objective/type"])


DIMENSIONS: Mapping[str, Sequence[str]] = {
    "objective": tuple(OBJECTIVES),
    "form": get_args(Form),
    "method": _values("method.type"),
    "sharding": ("single", "ddp", "zero1", "zero2", "zero3", "zero2+optimizer", "zero3+parameters"),
    "device": ("cpu", "A100-80GB", "T4"),
    "precision": ("auto", "bf16", "fp16", "fp32"),
    "packing": _values("data.packing") or ("auto",),
    "optimizer": ("adamw", "adafactor", "sgd", "lion", "adamw_8bit", "paged_lion"),
    "recomputing": ("auto", "true", "2", "selective"),
    "format": get_args(FileFormat),
    "export": ("none", "Q8_0", "Q4_K_M", "adapter"),
    "vectors": ("whole", "short", "mined"),
}


#: What is refused, by the code of the rule that says so; nothing else is. A choice that is not made
#: yet is missing.
REFUSED_BY: Mapping[str, Callable[[Mapping[str, str]], bool]] = {
    "FTC320": lambda case: case.get("precision") == "bf16" and case.get("device") in ("cpu", "T4"),
    "FTC321": lambda case: case.get("precision") == "fp16" and case.get("device") == "cpu",
    "FTC427": lambda case: (
        case.get("method") == "qlora" and case.get("sharding", "").startswith("zero3")
    ),
    "FTC440": lambda case: (
        "+" in case.get("sharding", "") and case.get("optimizer", "adamw") != "adamw"
    ),
    "FTC541": lambda case: _recomputes_too_finely(case),  # noqa: PLW0108 - defined below
    "FTC570": lambda case: (
        OBJECTIVES[case["objective"]].head == "scores"  # type: ignore[index]
        and case.get("export", "none") != "none"
    ),
    "FTC571": lambda case: _compares(case) and case.get("export") in ("Q4_K_M", "adapter"),
    "FTC573": lambda case: (
        _compares(case)
        and (
            case.get("method") in ("qlora", "freeze")
            or case.get("sharding", "").startswith("zero")
            or case.get("recomputing") in ("2", "selective")
        )
    ),
    "FTC593": lambda case: (
        (OBJECTIVES[case["objective"]].samples or has_teacher(case["objective"]))  # type: ignore[index]
        and case.get("sharding", "").startswith("zero3")
    ),
    "FTC648": lambda case: (  # of a Llama
        gives_vectors(case["objective"]) and case.get("export") in ("Q8_0", "Q4_K_M")  # type: ignore[arg-type]
    ),
    "FTC674": lambda case: (
        case.get("method") in ("full", "freeze") and case.get("export") == "adapter"
    ),
}


def _compares(choices: Mapping[str, str]) -> bool:
    """Whether sentence-transformers trains the model."""
    return compares_texts(choices["objective"])  # type: ignore[arg-type]


def _recomputes_too_finely(choices: Mapping[str, str]) -> bool:
    """Whether a part is recomputed where the pinned libraries recompute all or nothing."""
    adapted = choices.get("method") in ("lora", "qlora")
    sharded = choices.get("sharding", "").startswith("zero3")
    if choices.get("recomputing") == "selective":
        return adapted or sharded or choices["objective"] not in SELECTIVE
    if OBJECTIVES[choices["objective"]].samples:  # type: ignore[index]
        return choices.get("recomputing") == "2"
    head = choices["objective"] == "classification" and adapted and sharded
    return head and choices.get("recomputing") == "2"


def refusals(choices: Mapping[str, str]) -> set[str]:
    """Return the codes that these choices are refused by."""
    return {code for code, is_refused in REFUSED_BY.items() if is_refused(choices)}


def allowed() -> Iterator[Case]:
    """Yield cases in which every pair of choices stands that no rule refuses."""
    yield from _array(lambda choices: has_rows(choices) and not refusals(choices))


def refused() -> Iterator[Case]:
    """Yield the cases of the array over all pairs that some rule refuses."""
    yield from (case for case in _array(has_rows) if refusals(asdict(case)))


def running() -> tuple[Case, ...]:
    """Return the accepted cases as a CPU runs them: in fp32, as it has no other; none twice."""
    return tuple({replace(case, device="cpu", precision="auto"): None for case in allowed()})


def _array(is_wanted: Callable[[Mapping[str, str]], bool]) -> Iterator[Case]:
    """Yield a pairwise array; the order and the cases follow from the dimensions alone.

    AllPairs drops a row that it cannot complete. A choice that stands in no row then replaces
    another one in the first rows in which it is wanted.
    """
    names = list(DIMENSIONS)
    wanted = lambda row: is_wanted(dict(zip(names, row, strict=False)))  # noqa: E731
    rows = AllPairs(list(DIMENSIONS.values()), filter_func=wanted)
    cases = [Case(**dict(zip(names, row, strict=True))) for row in rows]
    yield from cases
    for name, values in DIMENSIONS.items():
        for missing in set(values) - {getattr(case, name) for case in cases}:
            others = (Case(**{**asdict(case), name: missing}) for case in cases)
            yield from islice((each for each in others if is_wanted(asdict(each))), _MOST_OTHERS)


def has_rows(choices: Mapping[str, str]) -> bool:
    """Return whether the objective trains on the form, and has the vectors that are chosen."""
    objective, form = choices["objective"], choices.get("form")
    if (vectors := choices.get("vectors", "whole")) != "whole":
        has_pairs = vectors == "short" or form == "prompt_completion"
        if not (gives_vectors(objective) and has_pairs):  # type: ignore[arg-type]
            return False
    return form is None or form in OBJECTIVES[objective].forms  # type: ignore[index]


#: How an embedding model's vectors are trained, by word.
_VECTORS: Mapping[str, Mapping[str, Any]] = {
    "whole": {},
    "short": {"matryoshka_dimensions": [32, 16]},
    "mined": {"hard_negatives": 1},
}
_RECOMPUTING: Mapping[str, bool | int] = {"true": True, "2": 2}


def make_spec(case: Case) -> dict[str, Any]:
    """Return the spec that a user would write for a case."""
    count = 1 if case.sharding == "single" else 2
    spec: dict[str, Any] = {
        "name": case.name[:63].rstrip("-"),
        "model": "./encoder" if gives_relevance(case.objective) else "./model",  # type: ignore[arg-type]
        "data": {"source": f"{case.form}.{case.format}", "max_length": 128},
        "objective": {"type": case.objective, **_needed(case.objective), **_VECTORS[case.vectors]},
        "method": {"type": case.method},
        "hardware": {"gpu": case.device, "count": count},
        "training": {
            "gradient_checkpointing": _RECOMPUTING.get(case.recomputing, case.recomputing),
            "global_batch": 8,
            "max_steps": 6,
            "precision": case.precision,
            "optimizer": case.optimizer,
            # at the first step the rate is still 0, and a model that is as it was is not kept
            # six steps at the rates of real runs need not make random weights better
            "evaluation": {"every_steps": 6, "allow_worse": True},
        },
    }
    if gives_vectors(case.objective) and case.form == "prompt_completion":  # type: ignore[arg-type]
        columns = {"prompt": "prompt", "completion": "chosen"}  # sixty texts; the others are three
        source = f"preference.{case.format}"
        spec["data"] |= {"source": source, "form": case.form, "columns": columns}
    if count > 1:
        strategy, _, offload = case.sharding.partition("+")
        spec["distribution"] = {"strategy": strategy, "offload": offload or "none"}
    if case.objective in _read_by("data.packing"):
        spec["data"]["packing"] = case.packing
    if case.export == "adapter":
        spec["export"] = {"adapter": True}
    elif case.export != "none":
        spec["export"] = {"types": [case.export]}
        if not compares_texts(case.objective):  # type: ignore[arg-type]
            # random weights hardly prefer one word to the next: rounding can change the first
            spec["export"]["verify"] = {"min_agreement": 0.5}
    return spec


def _needed(objective: str) -> dict[str, Any]:
    """Return the knobs of an objective that have no default, or one for longer runs."""
    if has_teacher(objective):
        short = {"answer_tokens": 8} if OBJECTIVES[objective].samples else {}  # type: ignore[index]
        return {"teacher": "./teacher", **short}
    few = {"num_generations": 4, "answer_tokens": 8}
    half = {"regex": "^[^a-z]*[a-m]"}  # of all random answers, so that some get more than others
    return {"rewards": [half], **few} if OBJECTIVES[objective].rewards else {}  # type: ignore[index]


def _say(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


def _pair(n: int) -> dict[str, str]:
    return {
        "prompt": f"where is parcel {n}?",
        "chosen": f"on shelf {n}",
        "rejected": f"{('no idea', 'ask somebody else', 'lost, lost')[n % 3]} {n}",
    }


#: For each form, the row of a number.
_ROW: Mapping[Form, Callable[[int], dict[str, Any]]] = {
    "chat": lambda n: {
        "messages": [_say("user", f"where is parcel {n}?"), _say("assistant", f"on shelf {n}")]
    },
    "instruction": lambda n: {
        "instruction": "say where it is",
        "input": f"parcel {n}",
        "output": f"on shelf {n}",
    },
    "prompt_completion": lambda n: {
        "prompt": f"where is parcel {n}?",
        "completion": ("lost", "late", "sent")[n % 3],
    },
    "preference": _pair,
    "feedback": lambda n: {
        "prompt": f"where is parcel {n}?",
        "completion": _pair(n)["chosen" if n % 2 else "rejected"],
        "label": bool(n % 2),
    },
    "scored": lambda n: {
        "query": f"where is parcel {n}?",
        "passage": _pair(n)["chosen" if n % 2 else "rejected"],
        "score": n % 4 / 4,
    },
    "prompt": lambda n: {"messages": [_say("user", f"where is parcel {n}?")]},
    "text": lambda n: {"text": f"the parcel {n} was laid on the shelf {n % 7}. " * 3},
}


def write_data(folder: Path) -> None:
    """Write a file of each form in each format; what is nested is JSON text in a csv."""
    for form, row in _ROW.items():
        rows = [row(number) for number in range(ROWS)]
        path = folder / form
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        path.with_suffix(".jsonl").write_text(lines, encoding="utf-8")
        path.with_suffix(".json").write_text(json.dumps(rows), encoding="utf-8")
        parquet.write_table(pa.Table.from_pylist(rows), path.with_suffix(".parquet"))
        flat = [[v if isinstance(v, str) else json.dumps(v) for v in row.values()] for row in rows]
        table = [list(rows[0]), *flat]
        cells = (
            "".join(f',"{cell.replace(chr(34), chr(34) * 2)}"' for cell in row) for row in table
        )
        text = "".join(line[1:] + "\n" for line in cells)
        path.with_suffix(".csv").write_text(text, encoding="utf-8")
