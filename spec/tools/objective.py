"""Reads what a foreign config trains the model for: objective, loss and learned tokens."""

from typing import Final

from ftc.spec.tools.work import Work

_OBJECTIVES: Final = (
    "@rl",
    "@stage",
    "@command",
    "@trainer",
    "@loss_component",
    "@reward",
    "@objective",
)
_CLASSES: Final = {
    "AutoModelForSequenceClassification": "classification",
    "AutoModelForTokenClassification": None,
    "AutoModelForImageTextToText": "modality",
}
#: The tools whose scripts name the labels of a classification.
_SCRIPTED: Final = frozenset({"Unsloth", "TRL"})
_TYPE: Final = "/objective/type"
_LOSSES: Final = {"dpop": None, "kto": None, "apo_zero_unpaired": None, "orpo": None, "simpo": None}


def derive_objective(work: Work) -> None:
    """Set the objective by what states it: a trainer, a stage, a loss, or the model's class."""
    for name in _OBJECTIVES:
        entry = work.entry(name)
        if entry is None:
            continue
        word = work.meaning(name)
        if name == "@reward":
            word = "reward" if entry.value else None
        if _TYPE in work.fields and name == "@objective":
            continue
        if word == "ipo":
            work.put(entry, "/objective/loss", "ipo")
            word = "dpo"
        if word is None or not work.put(entry, _TYPE, word):
            work.refuse(entry, "objective")
    _read_class(work)


def derive_loss(work: Work) -> None:
    """Set the loss and the tokens that are learned, once the objective is known."""
    _read_losses(work)
    _read_learned(work)
    for name, pointer in (
        ("@answer_tokens", "/objective/answer_tokens"),
        ("@policy_loss", "/objective/policy_loss"),
    ):
        if (entry := work.entry(name)) is not None:
            work.put(entry, pointer, entry.value, "carried")
    if (entry := work.entry("@answer_weight")) is not None:
        if work.fields.get(_TYPE) in ("cpo", "simpo"):
            work.put(entry, "/objective/answer_weight", entry.value, "carried")
        elif entry.value:
            work.refuse(entry, "loss")
        else:
            work.leave(entry, "off")
    if (entry := work.entry("@precompute")) is not None:
        if entry.value:
            work.put(entry, "/objective/reference", "precomputed")
        else:
            work.leave(entry, "off")


def _read_class(work: Work) -> None:
    """Set the objective that a classifier's class or number of labels means."""
    entry, labels = work.entry("@model_class"), work.entry("@labels")
    objective = _CLASSES.get(str(entry.value), "") if entry is not None else ""
    rewarded = work.fields.get(_TYPE) == "reward"
    if entry is not None:
        if objective == "modality":
            work.refuse(entry, "modality")
        elif objective is None:
            work.refuse(entry, "objective")
        elif objective == "" or rewarded:
            work.leave(entry, "class")
        else:
            work.put(entry, _TYPE, objective)
    if labels is not None:
        if work.table.title in _SCRIPTED and not rewarded:
            work.put(labels, _TYPE, "classification")
        else:
            work.leave(labels, "data")


def derive_continuation(work: Work) -> None:
    """Rows of plain text are continued, not answered."""
    forms = [entry for entry in work.facts.get("@data.form", []) if entry.value == "text"]
    everything = work.facts.get("@data.form", [])
    if forms and len(forms) == len(everything) and work.fields.get(_TYPE) in (None, "sft"):
        work.put(forms[-1], _TYPE, "cpt")


def _read_losses(work: Work) -> None:
    entry = work.entry("@loss_type")
    if entry is None:
        return
    value = entry.value
    word = value[0] if isinstance(value, list) and len(value) == 1 else value
    objective = work.fields.get(_TYPE)
    staged = word in ("orpo", "simpo") and work.entry("@stage") is not None
    if staged or (objective == "cpo" and word == "simpo"):
        work.put(entry, _TYPE, word)
    elif objective == "grpo":
        work.put(entry, "/objective/policy_loss", word, "carried")
    elif objective == "dpo" and word not in _LOSSES:
        work.put(entry, "/objective/loss", word, "carried")
    elif word in ("nll", "kto", None):
        work.leave(entry, "default_alike")
    else:
        work.refuse(entry, "loss")


def _read_learned(work: Work) -> None:
    """Set which tokens are learned; only supervised fine-tuning has this field."""
    pointer = "/objective/loss_on"
    rules: tuple[tuple[str, dict[bool, str]], ...] = (
        ("@train_on_inputs", {True: "all", False: "completion"}),
        ("@completion_only", {True: "completion", False: "all"}),
        ("@assistant_only", {True: "completion"}),
        ("@responses_only", {True: "completion", False: "completion"}),
        ("@last_turn", {True: "last_turn"}),
    )
    for name, words in rules:
        entry = work.entry(name)
        if entry is None:
            continue
        on = _completes(work) if entry.value is None else bool(entry.value)
        if on not in words:
            work.leave(entry, "off")
        elif pointer not in work.sources or not entry.path.startswith("("):
            work.put(entry, pointer, words[on])
    for entry in work.facts.get("@responses_only", []):
        work.use(entry, {pointer: "completion"})


def _completes(work: Work) -> bool:
    """Return whether all rows keep the prompt apart; then TRL learns their completions alone."""
    named, shown = work.facts.get("@data.form", []), work.facts.get("@data.shown", [])
    return {each.value for each in named or shown} == {"prompt_completion"}
