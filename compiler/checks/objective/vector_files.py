"""The rules about GGUF files of embedding models and rerankers (FTC579 and FTC648)."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

from collections.abc import Iterator
from typing import Final, get_args

from ftc.compiler.checks.rule import Problem, problem, put, rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.knowledge.architectures.architecture import is_convertible
from ftc.compiler.knowledge.architectures.encoders import is_encoder, scoring_class
from ftc.compiler.knowledge.objectives import gives_relevance, gives_vectors
from ftc.spec.sections import Pooling

#: Encoders whose GGUF files give the same scores as their class with a score head.
_HEADS_IN_GGUF: Final = ("XLMRobertaModel",)
#: Encoders whose GGUF files give the same vectors; all but RobertaModel are compared by tests.
_VECTORS_IN_GGUF: Final = (
    *("BertModel", "DistilBertModel", "ModernBertModel", "RobertaModel", "XLMRobertaModel"),
)
#: Causal classes whose GGUF files contain the pooling. Those of encoders always do.
_POOLED_IN_GGUF: Final = (
    *("Qwen2ForCausalLM", "Qwen3ForCausalLM"),
    *("Gemma3ForCausalLM", "Gemma3TextModel", "Lfm2ForCausalLM"),
)


@rule("FTC579", "head-lost-in-gguf", "error", reads=("model",), fix_safety="unsafe")
def head_lost_in_gguf(case: Case) -> Iterator[Problem]:
    """What it is: A GGUF file of a reranker is requested, and llama.cpp does not have its head.

    Why it matters: The converter leaves out the pooler of `BertForSequenceClassification`: it ends
    without an error, and the file gives wrong scores. For the other classes no file is known to
    give the same scores; only those of `XLMRobertaForSequenceClassification` do.

    Example: {"model": "cross-encoder/ms-marco-MiniLM-L6-v2", "objective": "rerank", "export":
     ["F16"]}

    Use instead: {"model": "BAAI/bge-reranker-base", "objective": "rerank", "export": ["F16"]}
    """
    name = case.model.architecture
    if not (gives_relevance(case.spec.objective.type) and is_encoder(name)):
        return
    if case.spec.export.types and is_convertible(name) and name not in _HEADS_IN_GGUF:
        lost = "pooler" if name == "BertModel" else ""
        fix = (put("/export/types", []),)
        yield problem("/export/types", message=lost, fix=fix, architecture=scoring_class(name))


@rule("FTC648", "pooling-lost-in-gguf", "error", reads=("model",), fix_safety="unsafe")
def pooling_lost_in_gguf(case: Case) -> Iterator[Problem]:
    """What it is: A GGUF file is requested of a model whose vectors llama.cpp does not compute.

    Why it matters: The model's `modules.json` says how the vectors of its tokens become one.
    llama.cpp has their mean, that of the first token and that of the last one. Its converter stops
    at another pooling such as `max`, and leaves out modules such as `Dense`. `objective.pooling`
    replaces the model's own pooling and all modules after it; the model then has to learn to give
    good vectors that way. Of causal models it writes the pooling only for some, Qwen2 and Qwen3
    among them; from the file of a Llama no vector of a text can be read. It stops at some encoders
    that it lists, because transformers writes their config.json with other keys.

    Example: {"model": "./model-with-max-pooling", "objective": "embed", "export": ["F16"]}

    Use instead: {"model": "./model-with-max-pooling", "objective": {"type": "embed", "pooling":
     "mean"}, "export": ["F16"]}
    """
    objective, modules = case.spec.objective, case.model.text_modules
    name = case.model.architecture
    if gives_vectors(objective.type) and case.spec.export.types and not _writes_pooling(name):
        kind = "encoder" if is_encoder(name) else "converter"
        if is_convertible(name):  # FTC620 is about the others
            drop = (put("/export/types", []),)
            yield problem("/export/types", message=kind, help=kind, fix=drop, architecture=name)
        return
    is_replaced = objective.pooling != "auto" or not gives_vectors(objective.type)
    if modules is None or is_replaced or not case.spec.export.types:
        return
    poolings, others = modules.poolings, modules.others
    fix = (put("/objective/pooling", "mean"),)
    if len(poolings) > 1 or any(name not in get_args(Pooling) for name in poolings):
        yield problem("/model/id", fix=fix, names=poolings)
    elif others:
        yield problem("/model/id", message="others", fix=fix, names=others)


def _writes_pooling(architecture: str) -> bool:
    """Return whether the converter writes the pooling of a class (`_try_set_pooling_type`)."""
    return architecture in (*_VECTORS_IN_GGUF, *_POOLED_IN_GGUF)
