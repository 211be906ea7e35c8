"""The rules about embedding models (FTC249, FTC571 to FTC575)."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

from collections.abc import Iterator, Mapping
from functools import reduce
from typing import Any, Final

from ftc.compiler.checks.rule import Problem, problem, put, rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.knowledge.objectives import gives_vectors
from ftc.spec.pointer import split

#: The types whose rounding has a bound in `runtime/vector_files.py`.
_BOUNDED: Final = ("F16", "BF16", "Q8_0")
#: What the scripts do for vectors, by field: the values that it may have.
_READ: Final[Mapping[str, tuple[Any, ...]]] = {
    "/method/type": ("full", "lora"),
    "/method/init": ("default", "gaussian"),
    "/method/loraplus_ratio": (None,),
    "/method/also_train": ((),),
    "/training/embedding_learning_rate": (None, "auto"),
    "/training/gradient_checkpointing": ("auto", True, False),
    "/distribution/strategy": ("auto", "ddp"),
    "/distribution/offload": ("auto", "none"),
    "/distribution/nvme_path": (None,),
    "/data/sources": (None, ()),
    "/data/streaming": (False,),
}
_E5_PROMPTS: Final = {"query_prompt": "query: ", "document_prompt": "passage: "}


@rule("FTC249", "one-score-for-all", "error", reads=("data",))
def one_score_for_all(case: Case) -> Iterator[Problem]:
    """What it is: All pairs of the data have the same score.

    Why it matters: The loss compares pairs of different scores. Without a difference there is
    nothing to compare, and the model stays as it is.

    Example: {"objective": "embed", "data": "pairs-that-all-have-score-1.csv"}

    Use instead: {"objective": "embed", "data": {"source": "pairs-that-all-have-score-1.csv",
     "form": "prompt_completion"}}
    """
    if case.data.form == "scored" and len(case.data.labels) == 1:
        yield problem("/data/source", score=case.data.labels[0].name, rows=case.data.usable_rows)


@rule("FTC571", "type-without-cosine-bound", "error", reads=(), fix_safety="unsafe")
def type_without_cosine_bound(case: Case) -> Iterator[Problem]:
    """What it is: A GGUF file of an embedding model is requested in a type that is not verified.

    Why it matters: The export compares the vectors of each file with those of the trained model,
    and only for 16 bits and 8 bits is it known how close they must be. A separate adapter has no
    vectors.

    Example: {"objective": "embed", "export": ["Q4_K_M"]}

    Use instead: {"objective": "embed", "export": ["Q8_0"]}
    """
    if not gives_vectors(case.spec.objective.type):
        return
    types = case.spec.export.types
    for index, kind in enumerate(types):
        if kind not in _BOUNDED:
            kept = [k for k in types if k in _BOUNDED] or ["Q8_0"]
            yield problem(f"/export/types/{index}", fix=(put("/export/types", kept),), type=kind)
    if case.spec.export.adapter:
        yield problem("/export/adapter", message="adapter", fix=(put("/export/adapter", False),))


@rule("FTC572", "bound-of-tokens", "error", reads=())
def bound_of_tokens(case: Case) -> Iterator[Problem]:
    """What it is: A bound of `export.verify` is set, and the objective trains an embedding model.

    Why it matters: These bounds are about the next token, which such a model does not predict. Its
    files are compared by the cosine of their vectors.

    Example: {"objective": "embed", "export": {"types": ["F16"], "verify": {"max_divergence": 0.1}}}

    Use instead: {"objective": "embed", "export": ["F16"]}
    """
    if gives_vectors(case.spec.objective.type):
        for pointer in sorted(case.spec.said):
            if pointer.startswith("/export/verify/"):
                fix = ({"op": "remove", "path": pointer},)
                yield problem(pointer, fix=fix, field=pointer.rpartition("/")[2])


@rule("FTC573", "setting-without-vectors", "error", reads=())
def setting_without_vectors(case: Case) -> Iterator[Problem]:
    """What it is: The spec sets what the scripts do for a language model only.

    Why it matters: An embedding model is trained by sentence-transformers, as a whole or by LoRA,
    on one process or by DDP. It has no quantized base, no partly frozen layers, no sharded weights,
    and its rows come from one source of files.

    Example: {"objective": "embed", "method": "qlora"}

    Use instead: {"objective": "embed", "method": "lora"}
    """
    if not gives_vectors(case.spec.objective.type):
        return
    for pointer, values in _READ.items():
        value = reduce(getattr, split(pointer), case.spec)
        if value not in values:
            name = pointer.removeprefix("/").replace("/", ".")
            usable = [str(v).lower() if isinstance(v, bool) else v for v in values]
            words = [v for v in usable if isinstance(v, str)]
            yield problem(pointer, help="words" if words else "", name=name, words=words)


@rule("FTC574", "e5-without-prompts", "warning", reads=(), fix_safety="unsafe")
def e5_without_prompts(case: Case) -> Iterator[Problem]:
    """What it is: An E5 model is trained without the words that it expects before each text.

    Why it matters: E5 was trained with `query: ` before queries and `passage: ` before the texts
    that are searched. Without them it starts worse, and who uses the result must know which it was.

    Example: {"model": "intfloat/multilingual-e5-base", "objective": "embed"}

    Use instead: {"model": "intfloat/multilingual-e5-base", "objective": {"type": "embed",
     "query_prompt": "query: ", "document_prompt": "passage: "}}
    """
    objective, name = case.spec.objective, case.spec.model.id.rpartition("/")[2].lower()
    if not gives_vectors(objective.type) or "e5" not in name.split("-"):
        return
    for field, prompt in _E5_PROMPTS.items():
        if getattr(objective, field) is None:
            pointer = f"/objective/{field}"
            yield problem(
                pointer, fix=(put(pointer, prompt),), name=case.spec.model.id, prompt=prompt
            )


@rule("FTC575", "step-of-equal-documents", "warning", reads=("data", "plan"))
def step_of_equal_documents(case: Case) -> Iterator[Problem]:
    """What it is: A step has more rows than the data have different documents.

    Why it matters: No document may be in a step twice, as a row would be told apart from a right
    answer. Steps then are smaller than planned, and their number is larger.

    Example: {"objective": "embed", "data": "30-articles.csv", "training": {"global_batch": 64}}

    Use instead: {"objective": "embed", "data": "30-articles.csv", "training": {"global_batch": 16}}
    """
    rows = case.plan.decisions.global_batch.value // case.plan.decisions.world.value
    documents = case.data.documents
    is_told_apart = gives_vectors(case.spec.objective.type) and case.data.form != "scored"
    if is_told_apart and 0 < documents < rows:
        yield problem("/training/global_batch", rows=rows, documents=documents)
