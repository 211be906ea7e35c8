"""The phases of a run, and the bytes allocated at the peak of each."""

from dataclasses import replace

from ftc.compiler.plan.job import Job
from ftc.compiler.plan.memory.activations import (
    cache_bytes,
    checkpoint_bytes,
    engine_bytes,
    engine_cache_bytes,
    engine_weights,
    generated_rows,
    head_bytes,
    held_bytes,
    layer_bytes,
    own_input_bytes,
    prefill_tokens,
    product_bytes,
    recompute_bytes,
    residual_bytes,
    sampling_bytes,
    stored_bytes,
    token_cache_bytes,
    word_bytes,
)
from ftc.compiler.plan.memory.attention import mask_bytes
from ftc.compiler.plan.memory.passes import (
    asks_beside,
    asks_reference,
    passes_without_gradient,
    reference_bytes,
    teaching,
)
from ftc.compiler.plan.memory.sending import gathered_to_send, packed_bytes
from ftc.compiler.plan.memory.states import (
    earlier_bytes,
    gradient_bytes,
    reducer_bytes,
    static_bytes,
    step_copies,
    trained_bytes,
)
from ftc.compiler.plan.memory.tower import (
    feature_bytes,
    forward_bytes,
    kept_bytes,
    pixel_bytes,
    recomputed_bytes,
)
from ftc.compiler.plan.memory.weights import (
    autocast_copies,
    base_weights,
    expert_gradients,
    kept_matrices,
    largest_linear,
    layer_weights,
    merged_experts,
    passing_matrices,
    root_weights,
    token_copies,
)

_BATCH_BYTES = 24  # int64 ids, labels and attention mask, per token
_REUSED = 10**9  # DeepSpeed's default of `stage3_max_reuse_distance`, in weights


def phases(job: Job) -> dict[str, int]:
    """Return the allocated peak of each phase; the run's peak is the largest, not their sum."""
    return {phase: sum(parts.values()) for phase, parts in parts_of_phases(job).items()}


def parts_of_phases(job: Job) -> dict[str, dict[str, int]]:
    """Return the parts of each phase's peak.

    `static` are weights and optimizer states, `activations` include the batch, `copies` are of
    weights (autocast's, the optimizer's), `gathered` are the whole weights of a sharded run.
    """
    static, earlier, tokens = static_bytes(job), earlier_bytes(job), job.tokens
    batch = tokens * _BATCH_BYTES + pixel_bytes(job, rows=job.sequences * job.accumulation)
    features = feature_bytes(job) + kept_bytes(job) + mask_bytes(job)
    seen, layer = _evaluated(job), layer_bytes(job)
    kept = checkpoint_bytes(job) + stored_bytes(job, layer)
    kept += job.stored_layers * own_input_bytes(job)
    active = (layer if job.checkpointing else 0) + recompute_bytes(job)
    active -= product_bytes(job) if job.checkpointing else 0  # freed before the temporaries
    backward = _largest_backward(job, layer=layer, kept=kept, active=active)
    backward["activations"] += batch + features
    gathered = gathered_bytes(job, layers=2 if job.sharding == "fsdp" else 1)
    held = reused_bytes(job)
    stored = job.stored_layers if job.checkpointing else job.shape.layers
    recomputed = kept_matrices(job, layers=stored + 1)
    passing = autocast_copies(job) + token_copies(job)
    copies = passing + kept_matrices(job, layers=stored)
    waiting = tokens * kept + features if asks_beside(job) else 0
    return {
        "load": {"static": load_bytes(job)},
        "loss": {
            "static": static,
            "gradients": earlier,
            "activations": batch + features + tokens * kept,
            "loss": head_bytes(job, training=True),
            "copies": copies,
            "gathered": gathered_bytes(job, layers=0) + held,
        },
        "layer_backward": {
            "static": static,
            **backward,
            "copies": passing_matrices(job)
            + expert_gradients(job)
            + (token_copies(job) + recomputed if job.checkpointing else copies),
            "gathered": gathered + held,
        },
        "optimizer_step": {
            "static": static,
            "gradients": gradient_bytes(job),
            "activations": batch,
            "copies": step_copies(job),
        },
        "evaluation": {
            "static": static,
            "gradients": reducer_bytes(job),
            "activations": _evaluation_bytes(seen, active=active),
            "copies": passing + kept_matrices(job, layers=1),
            "gathered": gathered,
        },
        **_vision(job, seen, static, earlier, batch=batch),
        **_answers(job, static, active=active),
        **_passes_without_gradients(job, static, earlier, batch + waiting, active=active),
    }


def _evaluation_bytes(seen: Job, *, active: int) -> int:
    """Return the activations of an evaluation's pass; `active` are one layer's bytes per token."""
    batch = seen.tokens * _BATCH_BYTES + pixel_bytes(seen, rows=seen.sequences)
    passing = max(seen.tokens * active, head_bytes(seen, training=False))
    return batch + mask_bytes(seen) + passing


def _vision(
    job: Job, seen: Job, static: int, earlier: int, *, batch: int
) -> dict[str, dict[str, int]]:
    """Return the tower's forward pass, in training or evaluation, and its backward pass."""
    if job.sight is None:
        return {}
    passing = max(
        batch + forward_bytes(job, rows=job.sequences) + kept_bytes(job),
        pixel_bytes(seen, rows=seen.sequences) + forward_bytes(seen, rows=seen.sequences),
    )
    found = {"vision": {"static": static, "gradients": earlier, "activations": passing}}
    if job.sight.trains_tower:
        found["vision_backward"] = {
            "static": static,
            "gradients": max(gradient_bytes(job), earlier),
            "activations": batch + kept_bytes(job) + recomputed_bytes(job),
        }
    return found


def _answers(job: Job, static: int, *, active: int) -> dict[str, dict[str, int]]:
    """Return the phase in which an evaluation generates answers, if it does.

    `active` are the bytes of one layer per token. All tokens of the prompts are read at once.
    """
    if not job.written_rows:
        return {}
    tokens = job.written_rows * job.written_length_tokens
    reading = max(tokens * active, job.written_rows * word_bytes(job))
    return {
        "answers": {
            "static": static,
            "gradients": reducer_bytes(job),
            "cache": tokens * token_cache_bytes(job),
            "activations": reading,
            "copies": merged_experts(job),
            "gathered": gathered_bytes(job, layers=1),
        }
    }


def _largest_backward(job: Job, *, layer: int, kept: int, active: int) -> dict[str, int]:
    """Return the gradients and activations of the layer whose backward pass needs the most memory.

    That of the last layer comes first and has all activations; the first layer's comes last and has
    all gradients; that of the embedding follows. `layer`, `kept` and `active` are bytes per token.
    """
    most = kept + active
    if job.freed_layers:  # the last layer is stored, and freed before one is recomputed
        most = kept + max(recompute_bytes(job), active - job.freed_layers * layer)
    earlier = earlier_bytes(job)
    first = {"gradients": earlier + fresh_bytes(job), "activations": job.tokens * most}
    last = {
        "gradients": max(gradient_bytes(job), earlier),
        "activations": job.tokens * (active + held_bytes(job, layer)),
    }
    embedding = {
        "gradients": last["gradients"] + embedding_bytes(job),
        "activations": job.tokens * residual_bytes(job),
    }
    return max(first, last, embedding, key=lambda parts: sum(parts.values()))


def _evaluated(job: Job) -> Job:
    """Return the job with the rows per pass of an evaluation."""
    micro = job.eval_micro or job.micro
    length = job.eval_length_tokens or job.length_tokens
    if (micro, length) == (job.micro, job.length_tokens):
        return job
    return replace(job, micro=micro, length_tokens=length, packed=False, even=False)


def _passes_without_gradients(
    job: Job, static: int, earlier: int, waiting: int, *, active: int
) -> dict[str, dict[str, int]]:
    """Return the phases that only some objectives have: passes of other models, and generation.

    `waiting` are the batch and the activations of the policy's own pass, `active` those of one
    layer per token. The tower reads the images again in each pass.
    """
    found = {}
    gathered = gathered_bytes(job, layers=1)
    if passes_without_gradient(job):
        passing = max(
            job.tokens * active + feature_bytes(job),
            head_bytes(job, training=False),
            forward_bytes(job, rows=job.sequences),
        )
        second = autocast_copies(job) if reference_bytes(job) else 0
        found["reference" if asks_reference(job) else "extra_pass"] = {
            "static": static,
            "gradients": earlier,
            "activations": waiting + passing,
            "copies": autocast_copies(job) + second + merged_experts(job),
            "gathered": gathered,
        }
    if (taught := teaching(job)) is not None:
        one_layer = layer_bytes(taught) + recompute_bytes(taught)
        found["teacher"] = {
            "static": static,
            "gradients": earlier,
            "activations": job.tokens * one_layer + waiting,
            "copies": autocast_copies(job),
            "gathered": gathered,
        }
    if generated_rows(job) and job.engine == "colocate":
        weights, cache = engine_weights(job), engine_cache_bytes(job)
        found["generation"] = {
            "static": static,
            "gradients": reducer_bytes(job),
            "copies": weights,
            "cache": cache,
            "activations": engine_bytes(job) - weights - cache,
        }
    elif generated_rows(job) and job.engine == "off":
        found["generation"] = {
            "static": static,
            "gradients": reducer_bytes(job),
            "cache": cache_bytes(job),
            "activations": max(prefill_tokens(job) * active, sampling_bytes(job)),
            "copies": merged_experts(job),
            "gathered": gathered,
        }
    if generated_rows(job) and job.engine != "off":
        copies = engine_weights(job) if job.engine == "colocate" else packed_bytes(job)
        found["sending"] = {
            "static": static,
            "gradients": reducer_bytes(job),
            "copies": copies,
            "gathered": gathered_to_send(job),
        }
    return found


def fresh_bytes(job: Job) -> int:
    """Return the bytes of gradients at the first layer's backward pass: of head and one linear."""
    if not job.full:
        return 0
    head = job.shape.head_parameters or job.shape.vocab * job.shape.hidden
    head = head if job.head_moves else 0
    width = job.compute_bytes if job.fsdp else trained_bytes(job)
    return (head + largest_linear(job)) * width


def embedding_bytes(job: Job) -> int:
    """Return the bytes of the gradient that the embedding adds to that of the head, if tied.

    Autograd has both at once before it stores their sum. Sharded runs were not measured.
    """
    alone = not (job.gathers or job.deepspeed)
    if not (job.full and alone and job.shape.tied and job.head_moves) or job.frozen_layers:
        return 0
    return job.shape.vocab * job.shape.hidden * trained_bytes(job)


def load_bytes(job: Job) -> int:
    """Return the bytes while weights are loaded; ZeRO-3 and FSDP divide them from the start.

    A base in 4 or 8 bits is an exception: accelerate 1.15 divides it after each process has loaded
    all of it (FTC427). While a base is quantized, one 16-bit matrix at a time is there in addition
    (transformers' `core_model_loading.py` then loads in order, without threads).
    """
    base = base_weights(job)
    if job.weights_on_host and job.storage == "plain":
        return base.whole_bytes + root_weights(job)
    if job.gathers and (job.storage == "plain" or job.sharding not in ("fsdp", "zero3")):
        return base.shared_bytes // job.world + base.whole_bytes
    rounded = job.storage == "int8" or job.storage.startswith("nf4")
    rounding = largest_linear(job) * job.load_bytes if rounded else 0
    return base.shared_bytes + base.whole_bytes + rounding


def gathered_bytes(job: Job, *, layers: int) -> int:
    """Return the bytes of gathered weights: embedding and head, and this many layers.

    ZeRO-3 always counts two layers, since it fetches the next one ahead. FSDP1 gathers its root
    unit and one layer, the root alone during the loss (measured, on 2 and 4 GPUs alike); FSDP2
    fetches the next layer ahead (derived).
    """
    if job.sharding == "zero3":
        return 2 * layer_weights(job) + root_weights(job)
    if job.fsdp:
        return layers * layer_weights(job) + root_weights(job)
    return 0


def reused_bytes(job: Job) -> int:
    """Return the bytes of the last layers, beyond two, that ZeRO-3 keeps for their backward pass.

    It keeps a weight if fewer than `_REUSED` weights are used before it is used again
    (`__params_to_release` of DeepSpeed 0.19). Those are the weights of the head (once if its loss
    is fused, else twice) and of each later layer: forward, backward, and again if it is recomputed.
    A miniature under DeepSpeed on a CPU kept as many layers. Weights on a disk are never kept.
    """
    if job.sharding != "zero3" or (job.swaps and job.weights_on_host):
        return 0
    head = (1 if job.stack.loss == "fused" else 2) * job.shape.vocab * job.shape.hidden
    passed = (2 + job.recomputed_share) * max(1, job.shape.largest_layer_parameters)
    layers = min(job.shape.layers, round((_REUSED - head) / passed))
    return max(0, layers - 2) * layer_weights(job)
