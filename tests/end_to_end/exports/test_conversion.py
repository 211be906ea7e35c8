"""What `ftc check` says of a conversion to GGUF is what the real converter and llama.cpp do."""

import json
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from ftc.compiler.pipeline import check
from tests.end_to_end.conftest import WholeRun
from tests.end_to_end.process import run, write_json
from tests.real_tokenizers import real_tokenizer
from tests.tiny_tokenizers import byte_level_tokenizer, sentencepiece_tokenizer

#: The codes that predict how a conversion ends.
CODES: Final = {"FTC126", "FTC147", "FTC620", "FTC622"} | {f"FTC64{n}" for n in range(8)}
STOPPED: Final = {"FTC620", "FTC640", "FTC641", "FTC642", "FTC646"}
TEXTS: Final = (
    "the parcel is late",
    "I still haven't received my new card, I ordered it over a week ago.",
    "Hola, no recuerdo la contraseña y el correo para cambiarla no llega.",
    "def add(a, b):\n    return a + b  # 42 + 1,000",
)
SIZES: Final[Mapping[str, Any]] = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
    "rms_norm_eps": 1e-5,
    "tie_word_embeddings": False,
}
GPT: Final[Mapping[str, Any]] = {
    "n_embd": 64,
    "n_layer": 2,
    "n_head": 4,
    "n_positions": 128,
    "n_ctx": 128,
}
TEMPLATE: Final = "{% for m in messages %}<|turn|>{{ m.content }}{{ eos_token }}{% endfor %}"

Make = Callable[[Path], Path]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A model's folder: its tokenizer, its config, and the code that it is to raise."""

    make: Make | str
    kind: tuple[str, str]  # the architecture and the model type
    rows: int
    config: Mapping[str, Any] = field(default_factory=lambda: SIZES)
    markers: str = ""
    model: bool = True
    code: str | None = None


LLAMA: Final = ("LlamaForCausalLM", "llama")
PHI3: Final = ("Phi3ForCausalLM", "phi3")
GPT2: Final = ("GPT2LMHeadModel", "gpt2")
GEMMA2: Final = ("Gemma2ForCausalLM", "gemma2")
GEMMA: Final = {**SIZES, "head_dim": 16, "query_pre_attn_scalar": 16, "sliding_window": 64}
PIECES: Final = partial(sentencepiece_tokenizer, added=("<|turn|>",))
ROWS: Final = 310  # pieces of the small sentencepiece tokenizer, its one added token left out

CASES: Final[Mapping[str, Case]] = {
    "llama-2": Case(make="llama-2", rows=32_000, kind=LLAMA),
    "llama-2-no-model": Case(make="llama-2", rows=32_000, model=False, code="FTC622", kind=LLAMA),
    "llama-2-padded": Case(make="llama-2", rows=32_064, kind=LLAMA),
    "llama-2-padded-no-model": Case(
        make="llama-2", rows=32_064, model=False, code="FTC644", kind=LLAMA
    ),
    "phi-3": Case(make="phi-3", rows=32_064, kind=PHI3),
    "phi-3-no-model": Case(make="phi-3", rows=32_064, model=False, code="FTC640", kind=PHI3),
    "gpt-2": Case(make="gpt-2", rows=50_257, kind=GPT2, config=GPT),
    "gpt-2-padded": Case(make="gpt-2", rows=50_304, kind=GPT2, config=GPT),
    "gpt-2-saved-again": Case(
        make="gpt-2",
        rows=50_257,
        kind=GPT2,
        config={key: value for key, value in GPT.items() if key != "n_ctx"},
        code="FTC646",
    ),
    "gpt-j": Case(
        make="gpt-2",
        rows=50_257,
        kind=("GPTJForCausalLM", "gptj"),
        config={**GPT, "rotary_dim": 16},
        code="FTC620",
    ),
    "own-bpe": Case(make=byte_level_tokenizer, rows=512, code="FTC641", kind=LLAMA),
    "listed": Case(make=PIECES, rows=512, markers="<|turn|>", kind=LLAMA),
    "respaced": Case(
        make=partial(PIECES, legacy=False),
        rows=512,
        markers="<|turn|>",
        code="FTC647",
        kind=LLAMA,
    ),
    "unlisted": Case(
        make=partial(PIECES, listed=False), rows=512, markers="<|turn|>", code="FTC643", kind=LLAMA
    ),
    "beyond": Case(make=PIECES, rows=ROWS, code="FTC147", kind=LLAMA),
    "beyond-phi": Case(make=PIECES, rows=ROWS, code="FTC642", kind=PHI3),
    "beyond-used": Case(make=PIECES, rows=ROWS, markers="<|turn|>", code="FTC126", kind=LLAMA),
    "gemma-2": Case(
        make=partial(sentencepiece_tokenizer, prefix=False),
        rows=512,
        config={**GEMMA, "tie_word_embeddings": True},
        kind=GEMMA2,
    ),
    "gemma-2-no-model": Case(
        make=partial(sentencepiece_tokenizer, model=False),
        rows=512,
        config={**GEMMA, "tie_word_embeddings": True},
        code="FTC640",
        kind=GEMMA2,
    ),
    "gemma-2-untied": Case(
        make=sentencepiece_tokenizer, rows=512, config=GEMMA, code="FTC645", kind=GEMMA2
    ),
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory, sdist: Path) -> Mapping[str, Path]:
    """Write the model of every case, and a spec beside it."""
    top = tmp_path_factory.mktemp("models")
    return {name: write(case, top / name, sdist) for name, case in CASES.items()}


@pytest.fixture(scope="module")
def ends(folders: Mapping[str, Path], converter: Path) -> Mapping[str, Any]:
    """Take every model to llama.cpp, in one process."""
    script = Path(__file__).with_name("convert_folders.py")
    models = {name: str(folder / "model") for name, folder in folders.items()}
    done = run(sys.executable, script, converter, *models.values(), cwd=converter)
    assert done.code == 0, done.said
    found = json.loads(done.out)
    return {name: found[model] for name, model in models.items()}


@pytest.mark.prove
@pytest.mark.parametrize("name", CASES)
def test_what_is_said_is_what_happens(
    folders: Mapping[str, Path], ends: Mapping[str, Any], name: str
) -> None:
    """The code is raised where its consequence is seen, and no code where all is well."""
    code, end = CASES[name].code, ends[name]
    outcome = check(str(folders[name] / "spec.json"))

    assert {finding.code for finding in outcome.findings} & CODES == ({code} if code else set())
    assert end["trains"] == (code != "FTC126"), end
    assert bool(end["stopped"]) == (code in STOPPED), end
    if end["stopped"]:
        return
    assert end["loads"] == (code != "FTC644"), end
    if code == "FTC645":
        assert not end["head"]
    elif end["loads"] and code != "FTC126":
        assert bool(end["otherwise"]) == (code in {"FTC622", "FTC643", "FTC647"}), end


def test_an_architecture_that_the_converter_lacks_fails_in_check(
    tmp_path: Path, sdist: Path
) -> None:
    """Before anything is trained: one error, on the field that asks for the file."""
    folder = write(CASES["gpt-j"], tmp_path / "gpt-j", sdist)
    done = run("ftc", "check", "spec.json", cwd=folder)
    assert done.code == 1, done.said
    assert "error[FTC620] unconvertible-architecture" in done.out
    assert "llama.cpp cannot convert `GPTJForCausalLM` to GGUF" in done.out
    spec = json.loads((folder / "spec.json").read_bytes())
    write_json(folder / "spec.json", spec | {"export": []})
    assert run("ftc", "check", "spec.json", cwd=folder).code == 0


@pytest.mark.prove
def test_merging_brings_back_what_saving_leaves_out(model: Path, whole_run: WholeRun) -> None:
    """`tokenizer.model`, which transformers does not save, and every key of the base's config."""
    saved, merged = whole_run.bundle / "run/train/model", whole_run.bundle / "run/merged"

    assert not (saved / "tokenizer.model").exists()
    pieces = (model / "tokenizer.model").read_bytes()
    assert (merged / "tokenizer.model").read_bytes() == pieces
    assert json.loads((merged / "config.json").read_bytes()).keys() >= (
        json.loads((model / "config.json").read_bytes()).keys() - {"torch_dtype"}
    )


@pytest.mark.prove
def test_merging_leaves_one_chat_template(model: Path, whole_run: WholeRun, tmp_path: Path) -> None:
    """Of a base with two, the GGUF gets the one that training used, which is not the base's own."""
    gguf = pytest.importorskip("gguf")
    bundle = Path(shutil.copytree(whole_run.bundle, tmp_path / "a" / "bundle", symlinks=True))
    base = Path(shutil.copytree(model, tmp_path / "base"))
    settings = json.loads((base / "tokenizer_config.json").read_bytes())
    write_json(base / "tokenizer_config.json", {**settings, "chat_template": "another"})
    assert gguf.SpecialVocab(base).chat_template == "another", "what the converter takes"

    done = run(sys.executable, "export.py", "--merge", "--model", base, cwd=bundle)

    assert done.code == 0, done.said
    template = (base / "chat_template.jinja").read_text(encoding="utf-8")
    assert gguf.SpecialVocab(bundle / "run/merged").chat_template == template
    kept = json.loads((bundle / "run/merged/tokenizer_config.json").read_bytes())
    assert kept == settings


def write(case: Case, folder: Path, sdist: Path) -> Path:
    """Write the folder of one case: `spec.json`, its data, and the model without weights."""
    model = folder / "model"
    if isinstance(case.make, str):
        real_tokenizer(case.make, model, sdist=sdist)
    else:
        case.make(model)
    if not case.model:
        (model / "tokenizer.model").unlink(missing_ok=True)
    config = {
        "architectures": [case.kind[0]],
        "model_type": case.kind[1],
        "vocab_size": case.rows,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": None,
        **case.config,
    }
    write_json(model / "config.json", config)
    answers = ("refund", "delivery")
    rows = [
        {"prompt": f"{text} {number}", "completion": answers[number % 2]}
        for number in range(100)
        for text in TEXTS
    ]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    spec: dict[str, Any] = {
        "name": "triage",
        "model": "./model",
        "data": "rows.jsonl",
        "hardware": "cpu",
        "method": "full",
        "export": ["Q8_0"],
    }
    if case.markers:
        (folder / "template.jinja").write_text(TEMPLATE)
        spec["model"] = {"id": "./model", "chat_template": "template.jinja"}
    write_json(folder / "spec.json", spec)
    write_json(model / "texts.json", [case.markers + text for text in TEXTS])
    return folder
