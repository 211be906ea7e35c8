"""The settings with which no GGUF file computes what transformers does are those measured."""

import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from benchmarks.families import read_cases
from benchmarks.rehearsals import read_families
from ftc.compiler.knowledge.exports.unlike_settings import (
    NUMBER,
    ROPE_TYPE,
    find_unlike,
    list_codes,
)
from ftc.compiler.knowledge.multimodal.wrappers import find_wrapper
from ftc.compiler.knowledge.well_known.models import all_models
from tests.compiler.knowledge.other_settings import LAYERS
from tests.compiler.knowledge.setting_changes import (
    ACTIVATIONS,
    list_bases,
    list_changes,
    read_settings,
)

ROOT: Final = Path(__file__).parents[3]
TABLE: Final = ROOT / "compiler/knowledge/exports/unlike_settings.json"
SOURCE: Final = (
    "miniatures of transformers 5.23.0 with one setting other than that of one which passes, "
    "converted, loaded and compared by tests/compiler/knowledge/converted_settings.py with the "
    "converter of the llama-cpp-python 0.3.36 source distribution"
)
SECONDS: Final = 60
#: llama.cpp would start a debugger where it ends the process, which keeps the pipes open.
SETTINGS: Final = {"PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1", "GGML_NO_BACKTRACE": "1"}
SIZES: Final = ("num_attention_heads", "hidden_size", "head_dim")
#: What transformers has where a config with YaRN does not say it.
DEFAULTS: Final = {"beta_fast": "32", "beta_slow": "1"}
#: A longer rehearsal than a miniature's of two layers is not repeated for each setting.
MOST_LAYERS: Final = 16


class Converting:
    """The script that answers for one config after another, started again when it is ended."""

    def __init__(self, converter: Path, work: Path) -> None:
        self.converter, self.work = converter, work
        self.process: subprocess.Popen[str] | None = None

    def ask(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Return the stage at which a miniature with this config stops, and the cause."""
        self.process = self.process or self._start()
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(config) + "\n")
        self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [], SECONDS)
        if ready and (line := self.process.stdout.readline()):
            found: dict[str, Any] = json.loads(line)
            return found
        self.end()
        return {"stage": (self.work / "stage").read_text(encoding="utf-8"), "cause": "ended"}

    def _start(self) -> subprocess.Popen[str]:
        script = Path(__file__).with_name("converted_settings.py")
        return subprocess.Popen(
            [sys.executable, script, self.converter, self.work],
            env=os.environ | SETTINGS,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def end(self) -> None:
        """Kill the script."""
        if self.process is not None:
            with self.process:  # which closes its pipes and waits
                self.process.kill()
            self.process = None


@pytest.fixture(scope="module")
def converting(converter: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Converting]:
    """Yield the script, ready to answer."""
    pytest.importorskip("transformers")
    pytest.importorskip("llama_cpp")
    script = Converting(converter, tmp_path_factory.mktemp("converting"))
    yield script
    script.end()


def find_base(ask: Any, bases: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the first miniature of a class that a GGUF file reproduces."""
    few = (base for base in bases if int(base.get("num_hidden_layers") or 2) <= MOST_LAYERS)
    return next((base for base in few if ask(base)["stage"] is None), None)


def measure(ask: Any, base: dict[str, Any]) -> dict[str, dict[str, str | None]]:
    """Return the stage at which each changed setting of a class stops, by key and value."""
    found: dict[str, dict[str, str | None]] = {}
    for key, value in list_changes(base):
        changed = {**base, key: value}
        if key == "rope_parameters":
            changed = {k: v for k, v in changed.items() if k not in ("rope_scaling", "rope_theta")}
        name, code = code_change(base, key, value)
        stage = confirm(ask, changed, name, code)
        if stage != "build":
            found.setdefault(name, {})[code] = stage
    return found


def confirm(ask: Any, changed: Mapping[str, Any], key: str, code: str) -> str | None:
    """Return the stage at which a setting stops with as many layers as a well-known model has.

    llama.cpp tells a few models by their number of layers, and expects other tensors of them.
    """
    stage: str | None = ask(changed)["stage"]
    for entry in all_models():
        same = entry.config.get("architectures") == changed["architectures"]
        if stage is not None and same and dict(list_codes(entry.config)).get(key) == code:
            deep = ask({**changed, LAYERS: entry.config.get(LAYERS)})["stage"]
            stage = stage if deep == "build" else deep
    return stage


def code_change(base: Mapping[str, Any], key: str, value: object) -> tuple[str, str]:
    """Return a changed setting as the table has it; of the parts of a section it is the last."""
    sizes = {name: base.get(name) for name in SIZES}
    return [*list_codes({**sizes, key: value})][-1]


def fitting(seen: Mapping[str, str | None]) -> set[str]:
    """Return the values that do not stop."""
    return {code for code, stage in seen.items() if stage is None}


def fold(base: Mapping[str, Any], found: Mapping[str, Mapping[str, str | None]]) -> dict[str, Any]:
    """Return the entry of a class: the values that stop, and what all others do where that is seen.

    Where two numbers stop and only one does not, no other fits either, and where all that do not
    are lower, none above those. Where llama.cpp computes two other activations than the config
    names, it computes the same one whatever the config names.
    """
    own = dict(list_codes({**read_settings(base).to_dict(), **base}))
    own |= DEFAULTS if "yarn" in fitting(found.get(ROPE_TYPE, {})) else {}
    entry = {}
    for key, seen in sorted(found.items()):
        stops = {c: s for c, s in sorted(seen.items()) if s is not None and c != own.get(key)}
        fits = fitting(seen) | ({own[key]} if key in own else set())
        numbers = [code for code in stops if NUMBER.fullmatch(code)]
        known = sorted(code for code in fits if NUMBER.fullmatch(code))
        others = [names for names in ACTIVATIONS if not fits & {*names}]
        if "act" in key and len([names for names in others if names[0] in stops]) > 1:
            stops = {name: "compare" for names in others for name in names}
        said: dict[str, Any] = {"stops": stops}
        highest = max((float(code) for code in known if code != "heads"), default=None)
        is_above = highest is not None and all(float(code) > highest for code in numbers)
        if len(numbers) > 1 and (len(known) == 1 or is_above):
            said = {
                "stops": {code: s for code, s in stops.items() if code not in numbers},
                "fits": known,
                "rest": stops[numbers[0]],
                **({"above": highest} if is_above else {}),
            }
        if stops:
            entry[key] = said
    return entry


@pytest.mark.prove_all
@pytest.mark.timeout(7200)
def test_the_table(converting: Converting, *, update_golden: bool) -> None:
    """Each setting of each class, changed alone, stops where the table says, and no other does.

    `--update-golden` measures every class that has a passing miniature.
    """
    known, classes = json.loads(TABLE.read_bytes())["architectures"], {}
    for name, bases in sorted(list_bases().items()):
        base = find_base(converting.ask, bases) if update_golden or name in known else None
        if base is not None:
            classes[name] = fold(base, measure(converting.ask, base))
    real = {"source": SOURCE, "architectures": classes}
    if update_golden:
        TABLE.write_text(json.dumps(real, separators=(",", ":")) + "\n", encoding="utf-8")
    assert json.loads(TABLE.read_bytes()) == real


@pytest.mark.prove
@pytest.mark.parametrize(
    ("name", "more", "stage"),
    [
        ("StableLmForCausalLM", {"qk_layernorm": True}, "convert"),
        ("Gemma2ForCausalLM", {"attn_logit_softcapping": None}, "convert"),
        ("Qwen3MoeForCausalLM", {"decoder_sparse_step": 2}, "convert"),
        ("Qwen3MoeForCausalLM", {"mlp_only_layers": [0]}, "convert"),
        ("LlamaForCausalLM", {"hidden_act": "gelu"}, "compare"),
        ("LlamaForCausalLM", {"attention_bias": True}, None),
    ],
)
def test_settings_in_the_real_libraries(
    converting: Converting, name: str, more: dict[str, Any], stage: str | None
) -> None:
    """A miniature with the setting stops where the table says, and one without it does not."""
    base = find_base(converting.ask, list_bases()[name])
    assert base is not None
    assert converting.ask({**base, **more})["stage"] == stage
    found = find_unlike(name, {**base, **more})
    assert (found.stage if found else None) == stage
    assert find_unlike(name, base) is None


@pytest.mark.parametrize(
    ("name", "config", "told"),
    [
        ("StableLmForCausalLM", {"qk_layernorm": True}, ("qk_layernorm", "true")),
        ("StableLmForCausalLM", {"qk_layernorm": False}, None),
        ("Qwen3MoeForCausalLM", {"decoder_sparse_step": 3}, ("decoder_sparse_step", "3")),
        ("Qwen3MoeForCausalLM", {"mlp_only_layers": []}, None),
        ("Qwen2ForCausalLM", {"rope_scaling": {"type": "llama3"}}, ("rope_type", "llama3")),
        ("NewForCausalLM", {"qk_layernorm": True}, None),
    ],
)
def test_settings_of_the_table(
    name: str, config: dict[str, Any], told: tuple[str, str] | None
) -> None:
    """A number that was not tried stops where every other than one did."""
    found = find_unlike(name, config)
    assert (None if found is None else (found.key, found.value)) == told


def test_published_configs_that_are_refused() -> None:
    """The converter forgets the norms of StableLM 2 12B; the other well-known models pass.

    So do the families that went the whole way.
    """
    cases = {case.name: case.config for case in (*read_families(), *read_cases())}
    refused = set()
    for label, config in (cases | {entry.id: entry.config for entry in all_models()}).items():
        name = (config.get("architectures") or [""])[0]
        if find_wrapper(config) is None and find_unlike(name, config) is not None:
            refused.add(label)
    assert refused == {"stabilityai/stablelm-2-12b", "stabilityai/stablelm-2-12b-chat"}
