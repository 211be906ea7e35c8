"""Replaces a private part of PEFT; see tests/runtime/upstream/test_upstream.py."""


def load_by_names_in_memory() -> None:
    """Make PEFT load the tensors of a saved adapter by their names.

    PEFT renames them as transformers renames those of a published model. Some of its rules also
    match names in memory: `language_model.layers` becomes `language_model.language_model.layers`,
    and no tensor is loaded. A bundle saves its adapters by the names in memory.
    """
    from peft.utils import transformers_weight_conversion  # noqa: PLC0415 - it prints unless silenced

    transformers_weight_conversion.convert_peft_adapter_state_dict_for_transformers = (
        lambda *, adapter_state_dict, **_: adapter_state_dict
    )
