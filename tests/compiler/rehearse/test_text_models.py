"""The rehearsal of embedding models and rerankers: small encoders, and what stands beside them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import ftc.compiler.rehearse.rehearsal as module
from ftc.compiler.knowledge.architectures.encoders import read_encoder
from ftc.compiler.rehearse.miniature import shrink
from ftc.compiler.rehearse.stage import StageFailed
from ftc.compiler.rehearse.text_modules import copy_modules

BASE = {
    "hidden_size": 768,
    "intermediate_size": 3072,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "vocab_size": 30522,
}
CONFIGS: Mapping[str, Mapping[str, Any]] = {
    "bert": {**BASE, "model_type": "bert", "architectures": ["BertForMaskedLM"]},
    "minilm": {
        **BASE,
        "model_type": "bert",
        "architectures": ["BertModel"],
        "hidden_size": 384,
        "intermediate_size": 1536,
        "num_hidden_layers": 6,
    },
    "modernbert": {
        **BASE,
        "model_type": "modernbert",
        "architectures": ["ModernBertForMaskedLM"],
        "intermediate_size": 1152,
        "num_hidden_layers": 22,
        "global_attn_every_n_layers": 3,
        "local_attention": 128,
    },
    "distilbert": {
        "model_type": "distilbert",
        "architectures": ["DistilBertForMaskedLM"],
        "dim": 768,
        "hidden_dim": 3072,
        "n_layers": 6,
        "n_heads": 12,
        "vocab_size": 30522,
    },
    "mpnet": {**BASE, "model_type": "mpnet", "architectures": ["MPNetModel"]},
    "electra": {
        **BASE,
        "model_type": "electra",
        "architectures": ["ElectraModel"],
        "embedding_size": 128,
    },
    "deberta": {
        **BASE,
        "model_type": "deberta-v2",
        "relative_attention": True,
        "position_buckets": 256,
        "share_att_key": True,
        "position_biased_input": False,
        "norm_rel_ebd": "layer_norm",
        "type_vocab_size": 0,
        "pos_att_type": "p2c|c2p",
        "architectures": ["DebertaV2ForSequenceClassification"],
    },
    "eurobert": {
        **BASE,
        "model_type": "eurobert",
        "num_key_value_heads": 12,
        "architectures": ["EuroBertForMaskedLM"],
    },
    "reranker": {
        **BASE,
        "model_type": "xlm-roberta",
        "architectures": ["XLMRobertaForSequenceClassification"],
        "max_position_embeddings": 514,
        "num_labels": 1,
    },
}
MODULES = [
    {"path": "", "type": "sentence_transformers.models.Transformer"},
    {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
    {"path": "2_Normalize", "type": "sentence_transformers.models.Normalize"},
]


@pytest.mark.parametrize("name", sorted(CONFIGS))
def test_an_encoder_has_a_miniature(name: str) -> None:
    """It is small, of the same class, and its heads are together as wide as the model."""
    config = CONFIGS[name]
    small = shrink(config)
    assert small is not None
    real, found = read_encoder(config, scores=True), read_encoder(small, scores=True)
    assert real is not None
    assert found is not None
    assert found.parameters - found.embedding_parameters < 5e6
    assert found.heads * found.head_dim == found.hidden <= 384
    assert found.architecture == real.architecture
    assert found.context_tokens == real.context_tokens
    assert (found.linear_shapes.keys(), found.vocab) == (real.linear_shapes.keys(), real.vocab)
    assert small["architectures"] == config["architectures"]
    assert small.keys() <= {*config, "num_hidden_layers", "head_dim"}
    assert found.layers >= config.get("global_attn_every_n_layers", 2)


def write_modules(place: Path, modules: Sequence[Mapping[str, str]]) -> None:
    """Write a folder as sentence-transformers publishes one."""
    (place / "1_Pooling").mkdir(parents=True)
    (place / "modules.json").write_text(json.dumps(modules))
    pooling = {"word_embedding_dimension": 768, "pooling_mode_cls_token": True}
    (place / "1_Pooling" / "config.json").write_text(json.dumps(pooling))


def test_the_pooling_gets_the_new_width(tmp_path: Path) -> None:
    """Its mode is kept; a module without a folder of its own is none to copy."""
    write_modules(tmp_path / "real", MODULES)
    (tmp_path / "small").mkdir()
    copy_modules(tmp_path / "real", tmp_path / "small", width=256)
    found = json.loads((tmp_path / "small" / "1_Pooling" / "config.json").read_text())
    assert found == {"word_embedding_dimension": 256, "pooling_mode_cls_token": True}


def test_a_module_with_weights_is_told(tmp_path: Path) -> None:
    """It would have another size; so is a folder that was not downloaded."""
    dense = {"path": "2_Dense", "type": "sentence_transformers.models.Dense"}
    write_modules(tmp_path / "dense", [*MODULES[:2], dense])
    with pytest.raises(StageFailed, match="lists a `Dense`"):
        copy_modules(tmp_path / "dense", tmp_path / "small", width=256)
    write_modules(tmp_path / "bare", MODULES)
    (tmp_path / "bare" / "1_Pooling" / "config.json").unlink()
    with pytest.raises(StageFailed, match=r"`1_Pooling/config\.json` of the model is missing"):
        copy_modules(tmp_path / "bare", tmp_path / "small", width=256)


def test_what_differs_by_more_than_rounding() -> None:
    """Vectors are held by their angle, and scores by their difference."""
    turned = module._measure({"cosine": 0.9995, "texts": 10}, 0.001)
    assert turned == ("F16: a cosine of 0.999500 or more on 10 texts", 1 - 0.9995, 0.0001)
    scored = module._measure({"difference": 0.004, "pairs": 7}, 0.01)
    assert scored == ("F16: scores within 4.0e-03 on 7 pairs", 0.004, 0.001)


@pytest.mark.parametrize(
    ("rope", "exact"),
    [
        ({"rope_type": "yarn", "factor": 32.0, "truncate": False}, True),
        ({"rope_type": "yarn", "factor": 32.0}, False),
        (None, False),
    ],
)
def test_a_yarn_on_an_exact_range_has_a_bound_of_its_own(
    rope: dict[str, object] | None, *, exact: bool
) -> None:
    """Under either name of the section."""
    for key in ("rope_parameters", "rope_scaling"):
        assert module._stretches_unrounded({key: rope}) is exact
