"""Models that compare texts: what is merged gives the vectors and scores of what was trained."""

from pathlib import Path
from typing import Any

import peft
import pytest

from ftc.runtime.ask import ask_relevance, ask_vectors
from ftc.runtime.files import read_json, write_rows
from ftc.runtime.run import Run

sentence_transformers = pytest.importorskip("sentence_transformers")
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from ftc.runtime.merge import relevance_merging, vector_merging  # noqa: E402 - they need torch
from ftc.runtime.models import relevance, vectors  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:.*gradient_checkpointing:FutureWarning")
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"abcdefgh", "card", "late", "lost", "where"]
ROWS = [
    {"anchor": "where card", "positive": "card lost", "negative": "late a b"},
    {"anchor": "late", "positive": "a b c d"},
]
PAIRS = [("where card", "card lost"), ("where card", "late a b"), ("late", "a b c d")]
KINDS = [(vector_merging, "vectors"), (relevance_merging, "scores")]


def write_base(folder: Path) -> Path:
    """Write a BERT of 16 dimensions without a head."""
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(WORDS), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=64,
    )  # fmt: skip
    transformers.BertModel(config).save_pretrained(folder)
    vocabulary = {word: place for place, word in enumerate(WORDS)}
    transformers.BertTokenizer(vocab=vocabulary, model_max_length=64).save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(WORDS), encoding="utf-8")
    return folder


@pytest.fixture(name="base", scope="module")
def _base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_base(tmp_path_factory.mktemp("base"))


def load(kind: Any, source: Path, **options: Any) -> Any:
    """Return a model of a kind in fp32."""
    if kind is vector_merging:
        return vectors.load(source, pooling="mean", dtype="float32", **options)
    return relevance.load(source, dtype="float32", **options)


def compute(kind: Any, model: Any) -> Any:
    """Return the vectors or the scores of the rows."""
    if kind is vector_merging:
        texts = [row[name] for row in ROWS for name in ("anchor", "positive")]
        return vectors.encode(model, texts, vectors.DOCUMENT)
    return relevance.score(model, PAIRS)


def make_job(folder: Path, base: Path, kind: Any, **more: Any) -> vector_merging.Job:
    """Return a merge of a run that has come to its trained model."""
    run = Run(folder, stage="merge", script="export.py")
    write_rows(run.folder / "data" / "train.jsonl", ROWS)
    loading: dict[str, Any] = {"dtype": "float32", "max_length": 8}
    loading |= {"pooling": "mean"} if kind is vector_merging else {}
    settings: dict[str, Any] = {"dtype": "float16", "is_adapter": False, "loading": loading}
    return vector_merging.Job(run=run, base=base, **{**settings, **more})


def train(kind: Any, job: vector_merging.Job) -> Any:
    """Save a model, or an adapter of the base, whose weights are not those of the base."""
    model = load(kind, Path(job.base))
    torch.manual_seed(1)
    if job.is_adapter:
        heads = relevance.list_heads(model) if kind is relevance_merging else None
        targets = ["query", "value", "intermediate.dense"]
        settings = peft.LoraConfig(r=8, target_modules=targets, modules_to_save=heads)
        model[0].model = peft.get_peft_model(model[0].model, settings)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.requires_grad and "LayerNorm" not in name:
                weight.add_(0.3 * torch.randn_like(weight))
    if job.is_adapter:
        model[0].model.save_pretrained(str(job.trained))
    else:
        model.save_pretrained(str(job.trained), create_model_card=False)
    return compute(kind, model)


@pytest.mark.parametrize("is_adapter", [False, True])
@pytest.mark.parametrize(("kind", "what"), KINDS)
def test_the_merged_model_computes_what_was_trained(
    tmp_path: Path,
    base: Path,
    kind: Any,
    what: str,
    capsys: pytest.CaptureFixture[str],
    *,
    is_adapter: bool,
) -> None:
    """In 16 bits, from a folder that reads texts as long as the base does."""
    job = make_job(tmp_path, base, kind, is_adapter=is_adapter)
    trained = train(kind, job)
    kind.write_merged(job)

    merged = job.run.folder / "merged"
    assert compute(kind, load(kind, merged)) == pytest.approx(trained, abs=0.02)
    assert abs(compute(kind, load(kind, base)) - trained).max() > 0.02
    assert f"the {what} of the merged model" in capsys.readouterr().out
    assert read_json(merged / "tokenizer_config.json")["model_max_length"] == 64
    assert (merged / "modules.json").is_file()
    assert (merged / "vocab.txt").read_bytes() == (base / "vocab.txt").read_bytes()
    config = read_json(merged / "config.json")
    assert (config.get("dtype") or config["torch_dtype"]) == "float16"
    assert not merged.with_name("merged.partial").exists()


def test_an_earlier_folder_is_replaced(tmp_path: Path, base: Path) -> None:
    """Also where an earlier start was killed while it wrote."""
    job = make_job(tmp_path, base, vector_merging)
    train(vector_merging, job)
    for name in ("merged", "merged.partial"):
        (job.run.folder / name).mkdir()
        (job.run.folder / name / "old.safetensors").write_bytes(b"old")
    vector_merging.write_merged(job)

    assert not list(job.run.folder.rglob("old.safetensors"))


@pytest.mark.parametrize(("kind", "what"), KINDS)
def test_a_weight_that_16_bits_cannot_hold_ends_the_stage(
    tmp_path: Path, base: Path, kind: Any, what: str
) -> None:
    """Nothing is written that gives other vectors or scores."""
    job = make_job(tmp_path, base, kind)
    model = load(kind, base)
    with torch.no_grad():
        next(model.parameters()).fill_(1e6)
    model.save_pretrained(str(job.trained), create_model_card=False)

    with pytest.raises(SystemExit, match="every weight is a finite number in float16"):
        kind.write_merged(job)
    assert not (job.run.folder / "merged").exists(), what


@pytest.mark.parametrize(
    ("kind", "name"), [(vector_merging, "LEAST_COSINE"), (relevance_merging, "MOST_APART")]
)
def test_another_model_ends_the_stage(
    tmp_path: Path, base: Path, kind: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a bound that no rounding meets."""
    job = make_job(tmp_path, base, kind)
    train(kind, job)
    monkeypatch.setattr(kind, name, 1.1 if name == "LEAST_COSINE" else -1.0)

    with pytest.raises(SystemExit, match="the merged model agrees with the trained one in float16"):
        kind.write_merged(job)


def test_an_adapter_without_an_effect_ends_the_stage(tmp_path: Path, base: Path) -> None:
    """As PEFT begins: its second matrix is zero."""
    job = make_job(tmp_path, base, vector_merging, is_adapter=True)
    model = load(vector_merging, base)
    model[0].model = peft.get_peft_model(
        model[0].model, peft.LoraConfig(r=2, target_modules=["query"])
    )
    model[0].model.save_pretrained(str(job.trained))

    with pytest.raises(SystemExit, match="merging changed the weights of the base"):
        vector_merging.write_merged(job)


def test_modern_bert_has_the_names_that_the_converter_reads() -> None:
    """Layers that see a whole text stand at a regular distance, or are not named at all."""
    kinds = ["full_attention", "sliding_attention", "sliding_attention"]
    config = {"norm_eps": 1e-5, "layer_types": kinds * 2}
    named = vector_merging._older_names(config)
    odd = vector_merging._older_names({**config, "layer_types": kinds[1:]})

    assert named == {"layer_norm_eps": 1e-5, "global_attn_every_n_layers": 3}
    assert odd == {"layer_norm_eps": 1e-5}


# -----------------------------------------------------------------------------
# The reranker itself


def test_a_new_head_is_always_the_same(base: Path) -> None:
    """Of a base that has none; an adapter is trained beside it and needs it again."""
    heads = [relevance.load(base)[0].model.classifier.weight for _ in range(2)]

    assert torch.equal(*heads)


def test_a_head_of_several_labels_is_replaced(tmp_path: Path, base: Path) -> None:
    """A classifier is a base as well."""
    model = transformers.BertForSequenceClassification.from_pretrained(base, num_labels=3)
    model.save_pretrained(tmp_path)
    transformers.AutoTokenizer.from_pretrained(base).save_pretrained(tmp_path)

    assert relevance.load(tmp_path)[0].model.classifier.weight.shape == (1, 16)


def test_scores_are_those_before_the_sigmoid(base: Path) -> None:
    """One number per pair, in their order, and none for none."""
    model = relevance.load(base, dtype="float32")
    found = relevance.score(model, PAIRS)

    assert found.shape == (3,)
    assert found.dtype == "float32"
    assert relevance.score(model, PAIRS[::-1]) == pytest.approx(found[::-1], abs=1e-6)
    assert relevance.score(model, [("late", "x " * 200)]).shape == (1,)


def test_the_heads_are_the_modules_behind_the_layers(base: Path) -> None:
    """They are trained in full beside an adapter."""
    assert relevance.list_heads(relevance.load(base)) == ["classifier", "pooler"]


def test_a_long_pair_is_cut(base: Path) -> None:
    """To the length of training."""
    model = relevance.load(base, max_length=8)

    assert len(model.preprocess([["a " * 20, "b " * 20]])["input_ids"][0]) == 8


# -----------------------------------------------------------------------------
# What ask.py prints of them


def test_texts_are_ranked_by_the_merged_model(base: Path) -> None:
    """By their cosine to the query, or by the score of the pair, from 0 to 1."""
    texts = ["card lost", "where card", "late a b c"]
    near = ask_vectors.rank(base, "where card", texts, max_length=8, pooling="mean")
    scored = ask_relevance.rank(base, "where card", texts, max_length=8)

    assert near[0][1] == "where card"
    assert near[0][0] == pytest.approx(1)
    for ranked in (near, scored):
        assert sorted(text for _, text in ranked) == sorted(texts)
        assert [score for score, _ in ranked] == sorted((s for s, _ in ranked), reverse=True)
    assert all(0 < score < 1 for score, _ in scored)
