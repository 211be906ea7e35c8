"""The functions of `runtime/` that prepare.py reads rows with and makes records with, by form."""

from ftc.compiler.render.uses import Uses
from ftc.compiler.render.values import Word


def form_words(uses: Uses) -> dict[str, Word]:
    """Return the functions that read a row, make records, and count and cut those of a pair.

    Of texts that are compared, also the modules that merge and verify the model.
    """
    whole = "whole_" if uses.reward_model else ""
    words = {"read": _name_reader(uses), "make": _name_maker(uses), "learn": _name_learner(uses)}
    is_labelled = uses.conversations or uses.plain_answers or uses.form_text
    words["show"] = "show_row" if is_labelled else "show_unlabelled"
    words["row_kind"] = "plain_rows" if uses.raw else "row_kinds"
    words["check_tokenizer"] = "match_tokenizer" if uses.tried_tokenizer else "check_tokenizer"
    if uses.texts:
        kind = "relevance" if uses.relevance else "vector"
        words |= {"merging": f"{kind}_merging", "judging": f"{kind}_files"}
    if uses.rewards:
        words |= _name_preference_measures(uses)
    if uses.pairs:
        words |= {"count_pair": f"count_{whole}pair", "whole": str(uses.reward_model)}
    if uses.split or uses.truncate:
        words["shorten"] = "split_text" if uses.split else "overlong.truncate"
    if uses.compared and uses.truncate:
        words["cut_pair"] = f"cut_{whole}answers"
    if uses.vision:
        words["collator"] = "images.collate_pairs" if uses.pairs else "images.collate"
    if uses.jsonl or uses.parquet:
        words["unpack"] = "parse_lines" if uses.jsonl else "unpack_batch"
    return {name: Word(word) for name, word in words.items()}


def list_readers(uses: Uses) -> list[tuple[Word, Word]]:
    """Return the forms of a mixture with the function that reads a row of each."""
    chat = "read_calling_chat" if uses.tools else "read_chat"
    readers = {
        "chat": chat if uses.form_chat else None,
        "instruction": "read_instruction" if uses.form_instruction else None,
        "prompt_completion": _name_pair_reader(uses) if uses.form_pairs else None,
    }
    return [(Word(form), Word(name)) for form, name in readers.items() if name is not None]


def _name_preference_measures(uses: Uses) -> dict[str, str]:
    """Return the module that measures preferences, and its function that reads no other model."""
    if not uses.pairs:
        return {"preference_module": "feedback", "measure_preferences": "measure_likelier"}
    own = "measure_totals" if uses.whole_answers else "measure_odds"
    measure = "measure_likelier" if uses.referred else own
    return {"preference_module": "preferences", "measure_preferences": measure}


def _name_reader(uses: Uses) -> str:
    if uses.form_text or uses.form_prompt:
        return "read_text" if uses.form_text else "read_prompt"
    if uses.scored_pairs:
        return "read_scored"
    if uses.triplets:
        return "read_pair"
    if uses.compared:
        return "read_pair" if uses.pairs else "read_verdict"
    if uses.tools:
        return "read_calling_chat"
    if uses.form_chat:
        return "read_chat"
    return "read_instruction" if uses.form_instruction else _name_pair_reader(uses)


def _name_pair_reader(uses: Uses) -> str:
    """Return the function that reads a prompt and its completion."""
    return "read_answer" if uses.message_cells else "read_texts"


def _name_learner(uses: Uses) -> str:
    """Return the function that decides which tokens of a conversation are learned."""
    if uses.loss_on_all:
        return "learn_everything"
    return "learn_last_answer" if uses.last_answer else "learn_every_answer"


def _name_maker(uses: Uses) -> str:
    if uses.classes:
        return "make_classes"
    if uses.texts:
        return "make_vectors"
    if uses.form_text:
        return "make_texts"
    plain = "" if uses.template else "plain_"
    if uses.form_prompt:
        return f"make_{plain}prompts"
    if uses.compared:
        return f"make_{plain}pairs" if uses.pairs else f"make_{plain}feedback"
    return "make_chats" if uses.template else "make_answers"
