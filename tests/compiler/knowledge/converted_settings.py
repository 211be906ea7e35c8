"""How far miniatures with given settings come on the way to a GGUF file that computes the same.

    python converted_settings.py CONVERTER WORK

CONVERTER is the folder of `convert_hf_to_gguf.py`. Each line of stdin is a config as JSON. A model
with it and random weights is saved by transformers, converted at 32 bits without its tokenizer,
loaded by llama.cpp and compared with transformers on random tokens. Each line of stdout has the
stage at which it stopped, null where it did not, and why. llama.cpp may end the process: the stage
is then in the file WORK/stage.
"""

import json
import logging
import os
import shutil
import sys
import warnings
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from ftc.compiler.knowledge.architectures.architecture import read_shape
from ftc.compiler.knowledge.exports.converter import (
    expects_drafts,
    hides_rotation,
    reads_published,
    wanted_keys,
)

EMPTY: Final = {"model": {"vocab": {}}, "added_tokens": []}
TOKENS: Final = 80
CONTEXT: Final = 128
#: As in build_model.py: wide enough for logits that differ by more than rounding.
SPREAD: Final = 0.0625
OFFSET: Final = 0.05
MOST_DIVERGENCE: Final = 1e-3  # nats per token; rounding alone gives a hundredth of it
torch: Any = import_module("torch")
transformers: Any = import_module("transformers")


def main() -> None:
    """Answer each line of stdin."""
    converter, work = Path(sys.argv[1]), Path(sys.argv[2])
    sys.path[:0] = [str(converter), str(converter / "gguf-py")]
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    logging.disable(logging.CRITICAL)
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    log = os.open(work / "log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    for line in sys.stdin:
        os.ftruncate(log, 0)
        answers.write(json.dumps(run(json.loads(line), work)) + "\n")


def run(config: dict[str, Any], work: Path) -> dict[str, Any]:
    """Return the stage at which a miniature stops, None for none, and the cause."""
    stage, folder = work / "stage", work / "model"
    shutil.rmtree(folder, ignore_errors=True)
    try:
        stage.write_text("build", encoding="utf-8")
        try:
            ids, logits = build(config, folder, "eager")
        except RuntimeError:  # PyTorch's own attention takes more than its plain products
            ids, logits = build(config, folder, "sdpa")
        stage.write_text("convert", encoding="utf-8")
        convert(folder, config["architectures"][0])
        stage.write_text("load", encoding="utf-8")
        apart = compare(folder / "model.gguf", ids, logits)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - each library has its own
        said = (str(error) or repr(error)).strip().splitlines()[-1]
        return {"stage": stage.read_text(encoding="utf-8"), "cause": said[:200]}
    if apart < MOST_DIVERGENCE:
        return {"stage": None, "cause": ""}
    return {"stage": "compare", "cause": f"{apart:.1e} nats per token"}


def build(config: dict[str, Any], folder: Path, attention: str) -> tuple[list[int], Any]:
    """Save an untrained model; return random tokens and the logits that follow each of them."""
    given = {k: v for k, v in config.items() if k not in ("model_type", "architectures")}
    settings = transformers.AutoConfig.for_model(config["model_type"], **given)
    settings.initializer_range = SPREAD
    torch.manual_seed(20)
    model = transformers.AutoModelForCausalLM.from_config(
        settings, dtype=torch.float32, attn_implementation=attention
    ).eval()
    ids = torch.randint(5, config["vocab_size"], (1, TOKENS))
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter), alpha=OFFSET)
        for module in model.modules():
            if getattr(module, "scaling", None) == 1.0 and hasattr(module, "k_norm"):
                module.k_norm.weight *= module.k_norm.weight.numel() ** -0.5
        head = model.get_output_embeddings().weight
        head /= model(ids, use_cache=False).logits.std()
        logits = model(ids, use_cache=False).logits[0].float()
    model.save_pretrained(folder)
    write_config(folder / "config.json", config)
    (folder / "tokenizer.json").write_text(json.dumps(EMPTY), encoding="utf-8")
    return ids[0].tolist(), logits


def write_config(path: Path, config: dict[str, Any]) -> None:
    """Change what transformers wrote into what a bundle's merge writes."""
    name = config["architectures"][0]
    said = json.loads(path.read_bytes())
    said |= {key: config[key] for key in wanted_keys(name) if key in config}
    if reads_published(name):
        said = config
    path.write_text(json.dumps({**said, "architectures": [name]}), encoding="utf-8")
    merged_files = import_module("ftc.runtime.merge.merged_files")
    if hides_rotation(name):
        merged_files.name_rotary_share(path.parent)
    shape = read_shape(config)
    if name == "FalconForCausalLM" and shape is not None and shape.kv_heads == 1:
        merged_files.use_one_key_head(path.parent)


def convert(folder: Path, name: str) -> None:
    """Convert a folder as a bundle of its class does, without the tokens."""
    hide_type = import_module("ftc.runtime.llama_cpp.published_config").hide_type
    is_hidden = reads_published(name)
    import_module("conversion").get_model_class(name).set_vocab = name_no_tokens
    with hide_type(folder) if is_hidden else nullcontext(folder) as shown:
        sys.argv = ["convert_hf_to_gguf.py", str(shown), "--outtype", "f32"]
        sys.argv += ["--outfile", str(folder / "model.gguf")]
        sys.argv += ["--no-mtp"] if expects_drafts(name) else []
        import_module("convert_hf_to_gguf").main()


def name_no_tokens(self: Any) -> None:
    """Write a vocabulary of so many nameless tokens."""
    self._set_vocab_none()
    self.gguf_writer.add_vocab_size(self.find_hparam(["vocab_size"]))


def compare(path: Path, ids: list[int], logits: Any) -> float:
    """Return the mean divergence of a file's probabilities from others; NaN counts as infinity."""
    llm = import_module("llama_cpp").Llama(str(path), n_ctx=CONTEXT, logits_all=True, n_threads=1)
    llm.eval(ids)
    theirs = torch.log_softmax(torch.tensor(llm.scores[: len(ids)]).float(), dim=-1)
    llm.close()
    ours = torch.log_softmax(logits, dim=-1)
    apart = float((ours.exp() * (ours - theirs[:, : ours.shape[-1]])).sum(dim=-1).mean())
    return apart if apart == apart else float("inf")  # noqa: PLR0124 - NaN


if __name__ == "__main__":
    main()
