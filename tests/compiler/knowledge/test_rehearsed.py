"""The table of rehearsals: its families exist, and its results have reasons."""

import json
from importlib.resources import files

from benchmarks.families import read_cases
from benchmarks.rehearsals import read_families
from benchmarks.wrapped import list_wrappers
from ftc.compiler.knowledge.architectures.architecture import is_convertible
from ftc.compiler.knowledge.exports.rehearsed import Rehearsed, find_rehearsed
from ftc.compiler.rehearse.meaning import MEANINGS

TABLE = json.loads((files("ftc.compiler.knowledge.exports") / "rehearsed.json").read_text())


def test_every_entry_has_its_case() -> None:
    """Only what the benchmarks run stands in the table, with all of the two that are reported."""
    families = (*read_families(), *read_cases())
    cases = {family.config["architectures"][0] for family in families}
    assert cases <= set(TABLE["architectures"]) <= cases | set(list_wrappers())
    assert all(map(is_convertible, cases))


def test_a_key_of_the_config_lifts_a_stop() -> None:
    """The reason of a stop is in the config, and another config does not stop."""
    dots = find_rehearsed("Dots1ForCausalLM")
    assert dots is not None
    assert dots.stage == "convert"
    assert [dots.is_lifted({"scoring_func": said}) for said in ("sigmoid", "noaux_tc")] == [
        *(True, False),
    ]
    assert not dots.is_lifted({})
    lifted = Rehearsed(stage="convert", reason="", unless={"sparse": []})
    assert lifted.is_lifted({"text_config": {"sparse": {}}})
    assert not lifted.is_lifted({"text_config": {"sparse": None}})
    llama = find_rehearsed("LlamaForCausalLM")
    assert llama is not None
    assert not llama.is_lifted({"scoring_func": "sigmoid"})


def test_a_stop_has_a_stage_and_a_reason() -> None:
    """One without the other would tell nobody anything."""
    for name in TABLE["architectures"]:
        known = find_rehearsed(name)
        assert known is not None
        assert (known.stage is None) == (known.reason is None)
        assert known.stage is None or known.stage in MEANINGS
        assert known.seen is None or (known.stage is None and known.seen in MEANINGS)
    assert find_rehearsed("UnheardOfForCausalLM") is None
