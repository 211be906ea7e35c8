"""The data of vllm.json: what TRL's config and vLLM's own server are given."""

from typing import Any, Final

from ftc.compiler.render.source import BundleSource

#: What TRL 1.16 asks of a server that it sends weights to (docs: speeding up training).
_TRANSFER: Final = (
    *("--weight-transfer-config", '{"backend":"nccl"}'),
    *("--logprobs-mode", "processed_logprobs"),
    *("--max-logprobs", "-1"),
)


def engine_config(source: BundleSource) -> dict[str, Any]:
    """Return the arguments of TRL's config and, with a server, how to start it.

    The run chooses the address of the server (`runtime/vllm_engine.py`). Other flags of `vllm
    serve` keep their defaults in vLLM 0.30. Raises ValueError for a plan without a GPU.
    """
    decided, facts = source.plan.decisions, source.facts
    if decided.engine.vllm_share is None:
        raise ValueError("vLLM has no share of a GPU in this plan")
    mode, share = source.spec.objective.vllm, decided.engine.vllm_share.value
    longest = decided.rows.max_length.value + decided.most_answer_tokens
    length = min(facts.model.context_tokens, longest)
    trainer: dict[str, Any] = {"use_vllm": True, "vllm_mode": mode}
    if mode == "colocate":
        trainer |= {
            "vllm_gpu_memory_utilization": share,
            "vllm_max_model_length": length,
            "vllm_enable_sleep_mode": True,
        }
        return {"trainer": trainer}
    revision = facts.model.revision if source.model_path is None else None
    arguments = [
        *("--gpu-memory-utilization", str(share), "--max-model-len", str(length)),
        *(("--revision", revision, "--tokenizer-revision", revision) if revision else ()),
        *_TRANSFER,
    ]
    server = {
        "model": facts.model.id if source.model_path is None else source.model_path,
        "gpus": facts.hardware.count,
        "arguments": arguments,
    }
    return {"trainer": trainer, "server": server}
