"""The peak of one process: allocated, reserved and seen by the device, against its capacity."""

from dataclasses import replace

from ftc.compiler.knowledge.architectures.architecture import Shape
from ftc.compiler.plan.job import Job
from ftc.compiler.plan.memory.activations import layer_bytes
from ftc.compiler.plan.memory.phases import parts_of_phases
from ftc.compiler.plan.memory.states import optimizer_bytes
from ftc.compiler.plan.plan import Memory
from ftc.compiler.plan.software import GIB
from ftc.compiler.resolve.facts import HardwareFacts, ModelFacts

_HOPPER = 9.0
_CPU_SHARE = 0.8  # the rest is the system's, the page cache's and the data loader's
_CONTEXT_BYTES = 963 * 2**20  # upper bound measured on A100, torch 2.4, libraries included
# free bytes between tensors: a share of the peak, and so many bytes, less for a small peak
_SCATTERED_FULL, _SCATTERED = (0.018, 0), (0.005, 140 * 2**20)
_SMALL_SHARE = 16
_MARGIN_FULL, _MARGIN, _MARGIN_DEEPSPEED, _MARGIN_CPU = 0.05, 0.03, 0.05, 0.12
_LEAST_MARGIN, _LEAST_MARGIN_CPU = 300 * 2**20, 128 * 2**20
_NCCL_BYTES = 688 * 10**6  # per communicator of more than two ranks on A100, NVIDIA/nccl#964
# of a CPU (`python -m benchmarks.processor_memory`): a process with torch, transformers
# and TRL, and of what the layers of a pass allocate, the share that its heap does not use again
_PROCESS_BYTES, _UNUSED = 13 * GIB // 20, 0.65


def measure(job: Job, hardware: HardwareFacts) -> Memory:
    """Predict the peak of one process of a job on this hardware, in bytes.

    If a pilot has measured it, everything is scaled by what it found, except for the margin and, on
    a GPU, for what is outside torch's allocator.
    """
    factor, parts = 1.0, parts_of_phases(job)
    if hardware.calibration is not None:
        factor = hardware.calibration.memory
        parts = {
            phase: {part: round(size * factor) for part, size in of_phase.items()}
            for phase, of_phase in parts.items()
        }
    by_phase = {phase: sum(of_phase.values()) for phase, of_phase in parts.items()}
    largest = max(by_phase, key=lambda phase: by_phase[phase])
    allocated = by_phase[largest]
    overhead = round(overhead_bytes(job) * (1.0 if job.gpu else factor))
    capacity = capacity_bytes(hardware)
    expected = allocated + round(scattered_bytes(job, round(allocated / factor)) * factor)
    margin = margin_bytes(job, allocated)
    device = expected + margin + overhead
    return Memory(
        allocated_bytes=allocated,
        expected_bytes=expected,
        margin_bytes=margin,
        reserved_bytes=expected + margin,
        device_bytes=device,
        capacity_bytes=capacity,
        fits=None if capacity is None else device <= capacity,
        phases=by_phase,
        largest_phase=largest,
        parts=parts,
        optimizer_bytes=round(optimizer_bytes(job) * factor),
    )


def scattered_bytes(job: Job, allocated: int) -> int:
    """Return the free bytes between tensors that the caching allocator is expected to hold.

    With expandable segments, as `run.sh` sets them. The two numbers for each method are fitted to
    replays of half of the models in `python -m benchmarks.fragmentation`, which checks them with
    the other half. In a full fine-tune gradients are allocated between activations.

    On a CPU it is the heap of glibc. Until 2.38 its `memalign`, with which torch allocates, hardly
    uses freed memory again (bug 14581 of sourceware.org), so that what recomputed layers free stays
    with the process as well.
    """
    if not job.gpu:
        return round(_UNUSED * job.tokens * job.backward_layers * layer_bytes(job))
    share, most = _SCATTERED_FULL if job.full else _SCATTERED
    return round(share * allocated) + min(allocated // _SMALL_SHARE, most)


def bound_bytes(job: Job, allocated: int) -> int:
    """Return the memory that torch needs: the peak, free bytes between tensors, and the margin."""
    return allocated + scattered_bytes(job, allocated) + margin_bytes(job, allocated)


def margin_bytes(job: Job, allocated: int) -> int:
    """Return the margin beyond what is expected that must be free for a run to count as fitting.

    It covers 99 of 100 replays (`scattered_bytes`), and what the formulas miss of measured peaks
    (`python -m benchmarks.memory`). Under DeepSpeed it is an assumption, as no measurement is
    published with its configuration. A small model's is smaller. A CPU's covers the runs of
    `python -m benchmarks.processor_memory`.
    """
    if not job.gpu:  # the heap varies from run to run
        allocated += scattered_bytes(job, allocated)
        share, least = _MARGIN_CPU, _LEAST_MARGIN_CPU
    elif job.deepspeed:
        share, least = _MARGIN_DEEPSPEED, GIB // 2
    else:
        share, least = _MARGIN_FULL if job.full else _MARGIN, _LEAST_MARGIN
    return max(round(share * allocated), min(allocated // 4, least))


def overhead_bytes(job: Job) -> int:
    """Return the bytes outside torch's allocator: the CUDA context and NCCL's buffers."""
    if not job.gpu:
        return _PROCESS_BYTES
    if job.world == 1:
        return _CONTEXT_BYTES
    communicators = 2 if job.deepspeed else 1
    return _CONTEXT_BYTES + communicators * _NCCL_BYTES


def capacity_bytes(hardware: HardwareFacts) -> int | None:
    """Return the bytes that one process may use: of its GPU, or its share of the host's RAM."""
    if hardware.kind == "gpu":
        return hardware.memory_bytes or None
    if hardware.host_ram_bytes is None:
        return None
    return round(hardware.host_ram_bytes * _CPU_SHARE) // max(1, hardware.count)


def workspace_bytes(hardware: HardwareFacts) -> int:
    """Return cuBLAS's workspace for the forward and autograd threads, inside torch's allocator.

    Source: PyTorch's CUDABlas.cpp: 8,519,680 bytes per handle, 32 MiB on Hopper and later.
    """
    if hardware.kind == "cpu":
        return 0
    hopper = hardware.compute_capability is not None and hardware.compute_capability >= _HOPPER
    return 2 * (32 * 2**20 if hopper else 8_519_680)


def shape_of(model: ModelFacts) -> Shape:
    """Return the model's shape, or a stand-in of a Llama-like model with as many parameters.

    The shape is that of the table, or else what the tensors' names and sides say. The stand-in
    solves parameters = 12 x layers x hidden^2 (arXiv 2001.08361, section 2.1) with
    hidden = 128 x layers, the proportion of Llama's 7B to 70B; it has no linear modules to name.
    """
    known = model.shape or model.tensor_shape
    if known is not None:
        return replace(known, parameters=max(1, model.parameters))
    layers = max(1, round((model.parameters / (12 * 128**2)) ** (1 / 3)))
    hidden = 128 * layers
    embedding = model.embedding_rows * hidden
    return Shape(
        architecture=model.architecture,
        model_type=model.model_type,
        layers=layers,
        hidden=hidden,
        intermediate=4 * hidden,
        heads=max(1, hidden // 128),
        kv_heads=max(1, hidden // 128),
        head_dim=128,
        vocab=max(1, model.embedding_rows),
        context_tokens=model.context_tokens,
        tied=False,
        attention_bias=False,
        norm="rms",
        gated_mlp=True,
        experts=0,
        experts_per_token=0,
        expert_intermediate=0,
        parameters=max(1, model.parameters),
        embedding_parameters=embedding,
        head_parameters=embedding,
        expert_parameters=0,
        linear_parameters=max(0, model.parameters - 2 * embedding),
        largest_layer_parameters=max(1, model.parameters // layers),
        linear_shapes={},
    )
