"""Write a tiny gpt-oss with experts in MXFP4, and follow the help of FTC120: a 16-bit copy."""

import json
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, GptOssConfig, GptOssForCausalLM
from transformers.utils.quantization_config import Mxfp4Config

_GROUP = 32  # weights that share a scale; a byte of a block holds two of them


def main(folder: Path) -> None:
    """Print whether the copy is quantized, and by how much its logits differ."""
    config = GptOssConfig(
        num_hidden_layers=1,
        num_local_experts=4,
        num_experts_per_tok=2,
        vocab_size=64,
        hidden_size=64,
        intermediate_size=32,
        head_dim=16,
        num_attention_heads=4,
        num_key_value_heads=2,
        layer_types=["full_attention"],
    )
    published, copy = folder / "published", folder / "copy"
    torch.manual_seed(1)
    GptOssForCausalLM(config).bfloat16().save_pretrained(published)
    weights = {}
    for name, tensor in load_file(published / "model.safetensors").items():
        if name.endswith(("experts.gate_up_proj", "experts.down_proj")):
            experts, inside, outside = tensor.shape
            blocks = (experts, outside, inside // _GROUP, _GROUP // 2)
            weights[f"{name}_blocks"] = torch.randint(0, 255, blocks, dtype=torch.uint8)
            weights[f"{name}_scales"] = torch.full(blocks[:-1], 121, dtype=torch.uint8)
        else:
            weights[name] = tensor
    save_file(weights, published / "model.safetensors", metadata={"format": "pt"})
    path = published / "config.json"
    said = json.loads(path.read_text(encoding="utf-8"))
    said["quantization_config"] = {"quant_method": "mxfp4"}
    path.write_text(json.dumps(said), encoding="utf-8")

    model = AutoModelForCausalLM.from_pretrained(
        published, quantization_config=Mxfp4Config(dequantize=True), dtype=torch.bfloat16
    )
    model.save_pretrained(copy, save_original_format=False)

    again = AutoModelForCausalLM.from_pretrained(copy, dtype=torch.bfloat16)
    tokens = torch.arange(10)[None]
    away = float((model(tokens).logits - again(tokens).logits).abs().max())
    quantized = "quantization_config" in json.loads((copy / "config.json").read_text("utf-8"))
    sys.stdout.write(json.dumps({"quantized": quantized, "away": away}) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
