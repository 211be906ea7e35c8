"""The rules about embedding models and rerankers.

FTC249, 514, 516 to 518, 544, 547, 548, 571 to 578, 649 and 666.
"""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

import math
from collections.abc import Iterator, Mapping
from functools import reduce
from typing import Any, Final

from ftc.compiler.checks.rule import Problem, problem, put, rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.knowledge.architectures.encoders import is_encoder
from ftc.compiler.knowledge.objectives import compares_texts, gives_relevance, gives_vectors
from ftc.compiler.plan.batch.sizes import LEAST_CONTRASTED, least_rows
from ftc.compiler.plan.objective.vectors import count_mined
from ftc.spec.pointer import split

#: The types whose rounding has a bound in `runtime/export/vector_files.py`.
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
_OWN_POOLING: Final = put("/objective/pooling", "auto")
_MOST_SCALE: Final = 1000.0
_MOST_LEFT_OUT: Final = 0.1  # of the rows, in an epoch
_E5_PROMPTS: Final = {"query_prompt": "query: ", "document_prompt": "passage: "}


@rule("FTC249", "one-score-for-all", "error", reads=("data",))
def one_score_for_all(case: Case) -> Iterator[Problem]:
    """What it is: All pairs of the data have the same score.

    Why it matters: An embedding model learns from pairs of different scores and stays as it is. A
    reranker learns to give every text the same score.

    Example: {"objective": "embed", "data": "pairs-that-all-have-score-1.csv"}

    Use instead: {"objective": "embed", "data": {"source": "pairs-that-all-have-score-1.csv",
     "form": "prompt_completion"}}
    """
    if case.data.form == "scored" and len(case.data.labels) == 1:
        yield problem("/data/source", score=case.data.labels[0].name, rows=case.data.usable_rows)


@rule("FTC571", "type-without-cosine-bound", "error", reads=(), fix_safety="unsafe")
def type_without_cosine_bound(case: Case) -> Iterator[Problem]:
    """What it is: A GGUF file of vectors or scores is requested in a type that is not verified.

    Why it matters: The export compares the vectors or scores of each file with those of the trained
    model, and only for 16 bits and 8 bits is it known how close they must be. A separate adapter
    has none.

    Example: {"objective": "embed", "export": ["Q4_K_M"]}

    Use instead: {"objective": "embed", "export": ["Q8_0"]}
    """
    if not compares_texts(case.spec.objective.type):
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
    """What it is: A bound of `export.verify` is set, and the objective is `embed` or `rerank`.

    Why it matters: These bounds are about the next token, which such a model does not predict. Its
    files are compared by their vectors or scores.

    Example: {"objective": "embed", "export": {"types": ["F16"], "verify": {"max_divergence": 0.1}}}

    Use instead: {"objective": "embed", "export": ["F16"]}
    """
    if compares_texts(case.spec.objective.type):
        for pointer in sorted(case.spec.said):
            if pointer.startswith("/export/verify/"):
                fix = ({"op": "remove", "path": pointer},)
                yield problem(pointer, fix=fix, field=pointer.rpartition("/")[2])


@rule("FTC573", "setting-without-vectors", "error", reads=(), fix_safety="unsafe")
def setting_without_vectors(case: Case) -> Iterator[Problem]:
    """What it is: The spec sets what the scripts do for a language model only.

    Why it matters: Embedding models and rerankers are trained by sentence-transformers, as a whole
    or by LoRA, on one process or by DDP. There is no quantized base, no partly frozen layers, no
    sharded weights, and the rows come from one source of files.

    Example: {"objective": "embed", "method": "qlora"}

    Use instead: {"objective": "embed", "method": "lora"}
    """
    if not compares_texts(case.spec.objective.type):
        return
    for pointer, values in _READ.items():
        value = reduce(getattr, split(pointer), case.spec)
        if value not in values:
            name = pointer.removeprefix("/").replace("/", ".")
            usable = [str(v).lower() if isinstance(v, bool) else v for v in values]
            words = [v for v in usable if isinstance(v, str)]
            yield problem(
                pointer,
                help="words" if words else "",
                fix=_without(pointer, value),
                name=name,
                words=words,
            )


def _without(pointer: str, value: Any) -> tuple[Mapping[str, Any], ...]:
    """Return the fix that removes a setting, but never one that drops data or unfreezes layers."""
    if pointer == "/method/type":
        return (put(pointer, "lora"),) if value == "qlora" else ()
    return () if pointer == "/data/sources" else ({"op": "remove", "path": pointer},)


@rule("FTC574", "e5-without-prompts", "warning", reads=(), fix_safety="unsafe")
def e5_without_prompts(case: Case) -> Iterator[Problem]:
    """What it is: An E5 model is trained without the words that it expects before each text.

    Why it matters: E5 was trained with `query: ` before queries and `passage: ` before the texts
    that are searched. Without them it starts worse, and users of the result must know whether they
    were there.

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
                pointer,
                fix=(put(pointer, prompt),),
                name=case.spec.model.id,
                field=f"objective.{field}",
                prompt=prompt,
            )


@rule("FTC575", "step-of-equal-documents", "warning", reads=("data", "plan"))
def step_of_equal_documents(case: Case) -> Iterator[Problem]:
    """What it is: A step needs more different documents than the data have.

    Why it matters: A document may be in a step only once, because a right answer would otherwise
    count as a wrong one. Steps are then smaller than planned, and the trainer ends an epoch after
    the planned number of them, so that it leaves rows out. So it does where a few documents belong
    to most rows.

    Example: {"objective": "embed", "data": "30-articles.csv", "training": {"global_batch": 64}}

    Use instead: {"objective": "embed", "data": "30-articles.csv", "training": {"global_batch": 16}}
    """
    rows = case.plan.decisions.batch.global_batch.value
    documents, mined = case.data.documents, count_mined(case.spec, case.data)
    is_told_apart = gives_vectors(case.spec.objective.type) and case.data.form != "scored"
    is_short = mined < documents < rows * (1 + mined)  # FTC516 says where a row alone needs more
    if not is_told_apart or _has_no_wrong_text(case):
        return
    if not is_short:
        yield from _name_frequent(case, rows)
        return
    if case.plan.decisions.distribution.world.value > 1:
        return  # FTC514 says that no step is full
    fewer = max(0, documents // rows - 1)
    yield problem(
        "/objective/hard_negatives" if mined else "/training/global_batch",
        message="mined" if mined else "",
        help=("fewer" if fewer else "none") if mined else "",
        rows=rows,
        documents=documents,
        mined=mined,
        fewer=fewer,
    )


def _name_frequent(case: Case, step_rows: int) -> Iterator[Problem]:
    """Report rows that an epoch skips because many rows share their document."""
    labels = case.data.labels if case.data.documents else ()
    most = max(labels, key=lambda label: label.rows, default=None)
    left = _left_out(case, step_rows)
    if most is None or left <= _MOST_LEFT_OUT:
        return
    world = case.plan.decisions.distribution.world.value
    fewer = step_rows
    while fewer > LEAST_CONTRASTED and _left_out(case, fewer) > _MOST_LEFT_OUT:
        fewer //= 2
    enough = fewer % world == 0 and _left_out(case, fewer) <= _MOST_LEFT_OUT
    yield problem(
        "/training/global_batch",
        message="frequent",
        help="smaller" if enough else "frequent",
        document=most.name,
        share=most.rows / sum(label.rows for label in labels),
        left=left,
        fewer=fewer,
    )


def _left_out(case: Case, step_rows: int) -> float:
    """Return the share of rows that an epoch skips: a step contains a document only once."""
    rows = sum(label.rows for label in case.data.labels)
    steps = math.ceil(rows / step_rows)
    return 1 - sum(min(label.rows, steps) for label in case.data.labels) / max(1, rows)


@rule("FTC547", "one-row-to-compare", "error", reads=("data", "plan"))
def one_row_to_compare(case: Case) -> Iterator[Problem]:
    """What it is: An embedding model learns from pairs, and each row is compared with no other.

    Why it matters: The wrong texts of a pair are the right texts of the other rows of its step, and
    a scored pair is ranked among the pairs of its pass. With one row the loss is 0 at every step,
    and the model stays as it is.

    Example: {"objective": "embed", "training": {"global_batch": 1}}

    Use instead: {"objective": "embed", "training": {"global_batch": 32}}
    """
    decided, form = case.plan.decisions.batch, case.data.form
    if not gives_vectors(case.spec.objective.type) or form == "preference":
        return
    scored = form == "scored"
    rows = decided.micro_batch.value if scored else decided.global_batch.value
    if rows < least_rows(case.spec.objective):
        written = scored and "/training/micro_batch" in case.spec.said
        yield problem(
            "/training/micro_batch" if written else "/training/global_batch",
            message="scored" if scored else "",
            help="scored" if scored else "",
        )


@rule("FTC548", "temperature-as-similarity-scale", "warning", reads=(), fix_safety="unsafe")
def temperature_as_similarity_scale(case: Case) -> Iterator[Problem]:
    """What it is: The similarity scale is below 1, as a temperature is.

    Why it matters: `similarity_scale` multiplies the cosines, and a temperature divides them. A
    cosine is between -1 and 1. Multiplied by less than 1, right and wrong texts remain about
    equally probable whatever the vectors are, so the loss hardly falls.

    Example: {"objective": {"type": "embed", "similarity_scale": 0.05}}

    Use instead: {"objective": {"type": "embed", "similarity_scale": 20}}
    """
    scale, pointer = case.spec.objective.similarity_scale, "/objective/similarity_scale"
    if gives_vectors(case.spec.objective.type) and scale < 1:
        inverse = min(_MOST_SCALE, float(f"{1 / scale:.3g}"))
        yield problem(pointer, fix=(put(pointer, inverse),), scale=scale, inverse=inverse)


@rule("FTC576", "one-text-for-all", "error", reads=("data",))
def one_text_for_all(case: Case) -> Iterator[Problem]:
    """What it is: An embedding model or a reranker learns from pairs that all have the same text.

    Why it matters: Each query needs a text that does not belong to it. A reranker draws that text
    from the other rows, and an embedding model takes those of the same step. Here all are equal.

    Example: {"objective": "rerank", "data": "questions-about-one-article.csv"}

    Use instead: {"objective": "rerank", "data": "questions-about-many-articles.csv"}
    """
    if _has_no_wrong_text(case):
        yield problem("/data/source", rows=case.data.usable_rows)


def _has_no_wrong_text(case: Case) -> bool:
    """Return whether wrong texts come from the other rows, and all rows have the same text."""
    takes = compares_texts(case.spec.objective.type) and case.data.form == "prompt_completion"
    return takes and case.data.documents == 1


@rule("FTC578", "reranker-without-encoder", "error", reads=("model",))
def reranker_without_encoder(case: Case) -> Iterator[Problem]:
    """What it is: The model of a reranker is not an encoder that ftc supports.

    Why it matters: The scripts train the class with one score of encoders: BERT, DistilBERT, MPNet,
    RoBERTa, XLM-R, DeBERTa v3, ModernBERT and others. Rerankers that are causal models answer `yes`
    or `no` in a prompt of their own, or have a head that llama.cpp reads as those two words, as
    with `Qwen3ForSequenceClassification`.

    Example: {"model": "Qwen/Qwen3-Reranker-0.6B", "objective": "rerank"}

    Use instead: {"model": "BAAI/bge-reranker-v2-m3", "objective": "rerank"}
    """
    name = case.model.architecture
    if gives_relevance(case.spec.objective.type) and not is_encoder(name):
        yield problem("/model/id", architecture=name)


@rule("FTC649", "first-token-of-causal-model", "error", reads=("model",), fix_safety="unsafe")
def first_token_of_causal_model(case: Case) -> Iterator[Problem]:
    """What it is: The vector of the first token stands for the text, in a model that reads forward.

    Why it matters: The first token of such a model has seen none that follow it, so that all texts
    with the same beginning have the same vector. The last token has seen all others.

    Example: {"model": "Qwen/Qwen3-Embedding-0.6B", "objective": {"type": "embed",
     "pooling": "cls"}}

    Use instead: {"model": "Qwen/Qwen3-Embedding-0.6B", "objective": "embed"}
    """
    if _reads_first_token(case):
        yield problem("/objective/pooling", fix=(_OWN_POOLING,), name=case.model.id)


@rule("FTC666", "pooling-unlike-model", "warning", reads=("model",), fix_safety="unsafe")
def pooling_unlike_model(case: Case) -> Iterator[Problem]:
    """What it is: `objective.pooling` is another than the one that the model was trained with.

    Why it matters: The model has learned to put the meaning of a text into the vectors that its own
    pooling reads. With another the training starts from worse vectors.

    Example: {"model": "BAAI/bge-m3", "objective": {"type": "embed", "pooling": "lasttoken"}}

    Use instead: {"model": "BAAI/bge-m3", "objective": "embed"}
    """
    objective, own = case.spec.objective, _own_pooling(case)
    if not gives_vectors(objective.type) or objective.pooling == "auto" or own is None:
        return
    if objective.pooling != own and not _reads_first_token(case):
        yield problem(
            "/objective/pooling",
            fix=(_OWN_POOLING,),
            name=case.model.id,
            own=own,
            said=objective.pooling,
        )


def _reads_first_token(case: Case) -> bool:
    """Return whether a vector is that of the first token, which sees no other in this model."""
    objective, model = case.spec.objective, case.model
    if not gives_vectors(objective.type) or objective.pooling != "cls":
        return False
    sees_all = is_encoder(model.architecture) or model.reads_both_ways or model.custom_code
    return not (sees_all or _own_pooling(case) == "cls")


def _own_pooling(case: Case) -> str | None:
    """Return the one pooling that the model's modules.json names, or the table; None if unknown."""
    modules = case.model.text_modules
    return modules.poolings[0] if modules is not None and len(modules.poolings) == 1 else None


@rule("FTC544", "wrong-texts-not-drawn", "warning", reads=("data",))
def wrong_texts_not_drawn(case: Case) -> Iterator[Problem]:
    """What it is: `objective.wrong_texts` is set, and the rows have wrong texts or scores already.

    Why it matters: Wrong texts are drawn for rows that have only a right text. Triplets and scored
    pairs are learned as they are.

    Example: {"objective": {"type": "rerank", "wrong_texts": 5}, "data": "scored-pairs.csv"}

    Use instead: {"objective": "rerank", "data": "scored-pairs.csv"}
    """
    pointer = "/objective/wrong_texts"
    is_drawn = case.data.form == "prompt_completion"
    if gives_relevance(case.spec.objective.type) and pointer in case.spec.said and not is_drawn:
        yield problem(pointer, fix=({"op": "remove", "path": pointer},))


@rule("FTC516", "more-negatives-than-texts", "warning", reads=("data",), fix_safety="unsafe")
def more_negatives_than_texts(case: Case) -> Iterator[Problem]:
    """What it is: More hard negatives are requested for a row than the data have other texts.

    Why it matters: The texts that do not belong to a query are those of the other rows. Where there
    are fewer than requested, a row gets some of them twice, which costs time and teaches nothing.

    Example: {"objective": {"type": "embed", "hard_negatives": 8}, "data": "5-articles.csv"}

    Use instead: {"objective": {"type": "embed", "hard_negatives": 2}, "data": "5-articles.csv"}
    """
    many, others = count_mined(case.spec, case.data), case.data.documents - 1
    if 0 < others < many:
        pointer = "/objective/hard_negatives"
        yield problem(pointer, fix=(put(pointer, others),), many=many, others=others)


@rule("FTC517", "negatives-not-mined", "warning", reads=("data",))
def negatives_not_mined(case: Case) -> Iterator[Problem]:
    """What it is: `objective.hard_negatives` is set, and the rows have wrong texts or scores.

    Why it matters: Hard negatives are found for rows that have only a right text. Triplets and
    scored pairs are learned as they are.

    Example: {"objective": {"type": "embed", "hard_negatives": 3}, "data": "triplets.csv"}

    Use instead: {"objective": "embed", "data": "triplets.csv"}
    """
    pointer = "/objective/hard_negatives"
    asked = gives_vectors(case.spec.objective.type) and case.spec.objective.hard_negatives > 0
    if asked and case.data.form != "prompt_completion":
        yield problem(pointer, fix=({"op": "remove", "path": pointer},))


@rule("FTC518", "size-beyond-vectors", "error", reads=("model",), fix_safety="unsafe")
def size_beyond_vectors(case: Case) -> Iterator[Problem]:
    """What it is: `objective.matryoshka_dimensions` has a size above that of the model's vectors.

    Why it matters: A shorter vector is the first numbers of the full one, which has as many as the
    model's hidden state. The training stops at a larger size. The full size is always trained too,
    so it need not be listed.

    Example: {"model": "intfloat/e5-small-v2",
     "objective": {"type": "embed", "matryoshka_dimensions": [768, 256]}}

    Use instead: {"model": "intfloat/e5-small-v2",
     "objective": {"type": "embed", "matryoshka_dimensions": [256, 128]}}
    """
    dimensions, full = case.spec.objective.matryoshka_dimensions, _count_numbers(case)
    if full is None or not gives_vectors(case.spec.objective.type):
        return
    if larger := [size for size in dimensions if size > full]:
        pointer = "/objective/matryoshka_dimensions"
        if kept := [size for size in dimensions if size not in larger]:
            yield problem(pointer, fix=(put(pointer, kept),), sizes=larger, full=full, kept=kept)
        else:
            fix = ({"op": "remove", "path": pointer},)
            yield problem(pointer, help="none", fix=fix, sizes=larger, full=full)


def _count_numbers(case: Case) -> int | None:
    """Return how many numbers a vector of the model has; None where a module decides it."""
    shape, modules = case.model.known_shape, case.model.text_modules
    if shape is None:
        return None
    if modules is None or case.spec.objective.pooling != "auto":
        return shape.hidden
    return None if modules.others else shape.hidden * max(1, len(modules.poolings))


@rule("FTC514", "step-never-full", "error", reads=("data", "plan"))
def step_never_full(case: Case) -> Iterator[Problem]:
    """What it is: Several processes train an embedding model, and none can fill a step.

    Why it matters: The processes compare their rows with each other, so each must have as many.
    sentence-transformers therefore leaves out every step that is not full. A step is never full if
    it has more rows than there are different texts, and an evaluation if a process has not even two
    validation rows. The training then ends without a step, or without a validation loss.

    Example: {"objective": "embed", "data": "8-articles.csv", "hardware": "2x A100-80GB",
     "training": {"global_batch": 64}}

    Use instead: {"objective": "embed", "data": "8-articles.csv", "hardware": "2x A100-80GB",
     "training": {"global_batch": 8}}
    """
    decided = case.plan.decisions
    world = decided.distribution.world.value
    if not gives_vectors(case.spec.objective.type) or world == 1:
        return
    scored = case.data.form == "scored"
    rows = decided.batch.global_batch.value
    documents = min(case.data.documents, decided.splits.train_rows.value)
    texts = documents // (1 + count_mined(case.spec, case.data))
    held = decided.splits.validation_rows.value
    pointer = "/training/global_batch"
    if 0 < texts < rows and not (scored or _has_no_wrong_text(case)):
        most = max(1, texts // world) * world
        yield problem(pointer, rows=rows, documents=documents, most=most)
    elif 0 < held < 2 * world:
        pointer = "/data/splits/validation"
        yield problem(pointer, message="validation", help="validation", held=held, needed=2 * world)
