"""The functions of `runtime/` that prepare.py reads rows with and makes records with, by form."""

from ftc.compiler.render.output.values import Word
from ftc.compiler.render.uses import Uses


def form_words(uses: Uses) -> dict[str, Word]:
    """Return the functions that read a row, make records, and count and cut those of a pair.

    Of texts that are compared, also the modules that merge and verify the model.
    """
    whole = "whole_" if uses.spec.objective.type == "reward" else ""
    words = {"read": _name_reader(uses), "make": _name_maker(uses), "learn": _name_learner(uses)}
    is_labelled = uses.conversations or uses.plain_answers or uses.facts.data.form == "text"
    words["show"] = "show_row" if is_labelled else "show_unlabelled"
    words["row_kind"] = "row_kinds" if uses.template else "plain_rows"
    tried = uses.facts.data.round_trip
    is_tried = tried is not None and not tried.other_rows
    words["check_tokenizer"] = "match_tokenizer" if is_tried else "check_tokenizer"
    if uses.texts:
        kind = "relevance" if uses.objective.head == "relevance" else "vector"
        words |= {"merging": f"{kind}_merging", "judging": f"{kind}_files"}
        words["asking"] = f"ask_{uses.objective.head}"
    if uses.rewards:
        words |= _name_preference_measures(uses)
    if uses.pairs:
        words |= {"count_pair": f"count_{whole}pair", "whole": str(bool(whole))}
    if uses.objective.splits or uses.truncate:
        words["shorten"] = "split_text" if uses.objective.splits else "overlong.truncate"
    if uses.compared and uses.truncate:
        words["cut_pair"] = f"cut_{whole}answers"
    if uses.vision:
        words["collator"] = "images.collate_pairs" if uses.pairs else "images.collate"
    if "jsonl" in uses.formats or "parquet" in uses.formats:
        words["unpack"] = "parse_lines" if "jsonl" in uses.formats else "unpack_batch"
    return {name: Word(word) for name, word in words.items()}


def list_readers(uses: Uses) -> list[tuple[Word, Word]]:
    """Return the forms of a mixture with the function that reads a row of each."""
    chat = "read_calling_chat" if uses.facts.data.calls else "read_chat"
    readers = {
        "chat": chat if "chat" in uses.forms else None,
        "instruction": "read_instruction" if "instruction" in uses.forms else None,
        "prompt_completion": _name_pair_reader(uses) if "prompt_completion" in uses.forms else None,
    }
    return [(Word(form), Word(name)) for form, name in readers.items() if name is not None]


def _name_preference_measures(uses: Uses) -> dict[str, str]:
    """Return the module that measures preferences, and its function that reads no other model."""
    if not uses.pairs:
        return {"preference_module": "feedback", "measure_preferences": "measure_likelier"}
    own = "measure_totals" if uses.spec.objective.type == "cpo" else "measure_odds"
    measure = "measure_likelier" if uses.decisions.comparison.reference is not None else own
    return {"preference_module": "preferences", "measure_preferences": measure}


def _name_reader(uses: Uses) -> str:
    if uses.facts.data.form in ("text", "prompt"):
        return "read_text" if uses.facts.data.form == "text" else "read_prompt"
    if uses.facts.data.form == "scored":
        return "read_scored"
    if uses.texts and uses.facts.data.form == "preference":
        return "read_pair"
    if uses.compared:
        return "read_pair" if uses.pairs else "read_verdict"
    if uses.facts.data.calls:
        return "read_calling_chat"
    if "chat" in uses.forms:
        return "read_chat"
    return "read_instruction" if "instruction" in uses.forms else _name_pair_reader(uses)


def _name_pair_reader(uses: Uses) -> str:
    """Return the function that reads a prompt and its completion."""
    return "read_answer" if any(part.has_message_cells for part in uses.parts) else "read_texts"


def _name_learner(uses: Uses) -> str:
    """Return the function that decides which tokens of a conversation are learned."""
    if uses.spec.objective.loss_on == "all":
        return "learn_everything"
    return (
        "learn_last_answer"
        if (uses.spec.objective.loss_on == "last_turn" or uses.facts.data.form != "chat")
        else "learn_every_answer"
    )


def _name_maker(uses: Uses) -> str:
    if uses.spec.objective.type == "classification":
        return "make_classes"
    if uses.texts:
        return "make_vectors"
    if uses.facts.data.form == "text":
        return "make_texts"
    plain = "" if uses.template else "plain_"
    if uses.facts.data.form == "prompt":
        return f"make_{plain}prompts"
    if uses.compared:
        return f"make_{plain}pairs" if uses.pairs else f"make_{plain}feedback"
    return "make_chats" if uses.template else "make_answers"
