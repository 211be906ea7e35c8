"""Folders whose config.json contradicts their safetensors headers are reported, others not."""

import json
import shutil
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.resolve.facts import ModelFacts
from ftc.compiler.resolve.model.config import Config, read_config
from ftc.compiler.resolve.model.facts import resolve_model
from ftc.compiler.resolve.model.weight_files.misfit import count_lacking, find_absent, find_misfit
from ftc.compiler.resolve.model.weight_files.weights import Weights

ROOT = Path(__file__).parents[3]
CASES = json.loads((ROOT / "tests/compiler/knowledge/architecture_cases.json").read_bytes())


def misfit_of(
    make_spec: Any, model: Path, folder: Path, **changes: Any
) -> tuple[str, int, int] | None:
    """Return the setting and the two sizes of a copy of the quickstart's model, changed so."""
    copy = folder / "model"
    shutil.copytree(model, copy)
    path = copy / "config.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()) | changes), encoding="utf-8")
    found = resolve_model(make_spec(), folder=folder)
    assert isinstance(found, ModelFacts), found
    misfit = found.misfit
    return None if misfit is None else (misfit.setting, misfit.said, misfit.held)


@pytest.mark.parametrize(
    "misfit",
    [
        ("intermediate_size", 1024, 768),
        ("num_hidden_layers", 4, 2),
        ("num_hidden_layers", 1, 2),
        ("vocab_size", 1024, 2048),
        ("vocab_size", 4096, 2048),
        ("hidden_size", 512, 256),
    ],
)
def test_a_contradiction_names_its_setting(
    make_spec: Any, model: Path, tmp_path: Path, misfit: tuple[str, int, int]
) -> None:
    """Each size of the config is compared with the headers."""
    setting, said, _ = misfit
    assert misfit_of(make_spec, model, tmp_path, **{setting: said}) == misfit


def test_heads_have_no_single_setting(make_spec: Any, model: Path, tmp_path: Path) -> None:
    """The side of a key projection comes from the heads and their size."""
    assert misfit_of(make_spec, model, tmp_path, num_key_value_heads=2) == ("", 128, 256)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"quantization_config": {"quant_method": "gptq"}, "intermediate_size": 1024},
        {"architectures": ["NovelForCausalLM"], "intermediate_size": 1024},
        {"num_hidden_layers": 1, "num_nextn_predict_layers": 1},
    ],
)
def test_what_fits_or_is_packed_or_unknown_is_silent(
    make_spec: Any, model: Path, tmp_path: Path, changes: dict[str, Any]
) -> None:
    """Packed matrices have other sides, and an unknown class is not described."""
    assert misfit_of(make_spec, model, tmp_path, **changes) is None


def config_of(folder: Path, data: dict[str, Any]) -> Config:
    """Return a config as read from a folder."""
    (folder / "config.json").write_text(json.dumps(data), encoding="utf-8")
    config = read_config(folder, "m")
    assert isinstance(config, Config), config
    return config


def weights_of(names: Iterable[str], parameters: int) -> Weights:
    """Return weights with these tensors and so many parameters."""
    return Weights(bytes=1, parameters=parameters, dtype="F32", names=tuple(names))


@pytest.mark.parametrize("name", CASES)
def test_real_classes_fit_their_configs(tmp_path: Path, name: str) -> None:
    """Models built by transformers raise nothing, and a missing layer is reported."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    for case in CASES[name][:1]:
        config = config_of(tmp_path, case["config"])
        facts = {k: v for k, v in config.data.items() if k not in {"architectures", "model_type"}}
        with warnings.catch_warnings(), torch.device("meta"):
            warnings.simplefilter("ignore")
            settings = transformers.AutoConfig.for_model(config.model_type, **facts)
            state = transformers.AutoModelForCausalLM.from_config(settings).state_dict()
        sides = {n: (t.shape[0], t.shape[1]) for n, t in state.items() if t.dim() == 2}
        assert find_misfit(config, sides) is None
        assert find_absent(config, state, "tokens") is None
        total = sum({id(t): t.numel() for t in state.values()}.values())
        assert count_lacking(config, weights_of(state, total), "tokens") == 0
        assert count_lacking(config, weights_of(state, 7), "tokens") > 0
        assert config.shape is not None
        last = f".{config.shape.layers - 1}."
        fewer = {n: pair for n, pair in sides.items() if last not in n}
        misfit = find_misfit(config, fewer)
        assert misfit is not None
        assert misfit.held == config.shape.layers - 1


@pytest.mark.parametrize(("columns", "setting"), [(128, None), (256, "embedding_size")])
def test_a_narrow_token_table_is_no_contradiction(
    tmp_path: Path, columns: int, setting: str | None
) -> None:
    """ELECTRA projects it to the width of the model, and has a key for its own width."""
    config = {"architectures": ["ElectraModel"], "model_type": "electra", "hidden_size": 256}
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    found = read_config(tmp_path, "a model", head="vectors")
    assert isinstance(found, Config)
    sides = {"electra.embeddings.word_embeddings.weight": (30_522, columns)}
    misfit = find_misfit(found, sides)
    assert (None if misfit is None else misfit.setting) == setting
