"""What a GPU must get right: losses, resuming, the reduced batch, and a whole run to a GGUF."""

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks.gpu.bundles import Bundle, Workshop
from benchmarks.gpu.cases import Case
from benchmarks.gpu.processes import LAUNCH, Clock, Ended, run, watch_nothing
from ftc.runtime.llama_cpp.converter import find_version

_QUICKSTART: Final = Path(__file__).parents[2] / "examples" / "quickstart"
#: Relative, of a step's loss: bf16 has 8 bits, so a product is 0.4% off at most, and a loss is the
#: mean of over 800 tokens whose errors have different signs.
LOSS_BOUND: Final = 0.01
_RESUMED_BOUND: Final = 0.005  # relative: a GPU adds in a different order each time
_STEPS, _KILLED, _SAVED = 16, 11, 4
_MICRO: Final = 4
_CONTEXT_BYTES: Final = 900 * 2**20  # of a process on a GPU, at most


def check_losses(shop: Workshop, *, clock: Clock, gpu: bool) -> Mapping[str, Any]:
    """Compare the losses of the same steps on this device, a GPU in bf16, and in fp32 on a CPU."""
    curves = []
    for name, on_gpu in (("this", gpu), ("cpu", False)):
        bundle = _make(shop, f"losses {name}", clock=clock, gpu=gpu, on_gpu=on_gpu)
        failure = _train(shop, bundle, clock=clock, gpu=on_gpu).failure
        if failure is not None:
            return {"failed": f"{name}: {failure}"}
        curves.append(_read_losses(bundle.folder))
    worst = _compare(*curves)
    return {"worst": worst, "bound": LOSS_BOUND, "steps": _STEPS, "passed": worst <= LOSS_BOUND}


def check_resume(shop: Workshop, *, clock: Clock, gpu: bool) -> Mapping[str, Any]:
    """Kill a training with signal 9, resume it, and compare it with one that was left alone."""
    whole = _make(shop, "resume whole", clock=clock, gpu=gpu, on_gpu=gpu)
    if (failure := _train(shop, whole, clock=clock, gpu=gpu).failure) is not None:
        return {"failed": failure}
    broken = _make(shop, "resume broken", clock=clock, gpu=gpu, on_gpu=gpu)
    killed = _train(
        shop, broken, clock=clock, gpu=gpu, watch=lambda line: f"step {_KILLED} of" in line
    )
    if killed.code is None or killed.code >= 0:
        return {"failed": f"it was not killed: {killed.failure}"}
    again = _train(shop, broken, clock=clock, gpu=gpu)
    if again.failure is not None:
        return {"failed": again.failure}
    worst = _compare(_read_losses(whole.folder), _read_losses(broken.folder))
    resumed = "resuming from run/train/checkpoints/checkpoint-" in again.out
    return {
        "worst": worst,
        "bound": _RESUMED_BOUND,
        "resumed": resumed,
        "passed": resumed and worst <= _RESUMED_BOUND,
    }


def check_memory(shop: Workshop, *, clock: Clock, gpu: bool) -> Mapping[str, Any]:
    """Hold so much of a GPU's memory that the planned micro-batch cannot fit, and run a pilot.

    On a CPU nothing is held, so the planned micro-batch must remain.
    """
    bundle = _make_large(shop, clock=clock, gpu=gpu)
    shop.give_weights(bundle)
    first, second = bundle.plan["rungs"][:2]
    left = (first["allocated"] + second["memory"]) // 2 + _CONTEXT_BYTES
    held = _hold_gpu(left) if gpu else None
    ended = run(("./run.sh", "--pilot"), bundle.folder, clock=clock, gpu=gpu)
    del held
    if ended.failure is not None:
        return {"failed": ended.failure}
    pilot = json.loads((bundle.folder / "run/pilot/pilot.json").read_text(encoding="utf-8"))
    rows = [first["micro"], pilot["micro_batch"]]
    fell = bool(pilot["out_of_memory"]) and rows[1] < rows[0]
    return {"left_bytes": left, "rows": rows, "passed": fell == gpu}


def check_whole_run(shop: Workshop, *, clock: Clock, gpu: bool) -> Mapping[str, Any]:
    """Run the quickstart on this device, to a GGUF that answers.

    Needs llama-cpp-python, and its source package in FTC_LLAMA_CPP_SDIST or the converters of it,
    which `pack` copies, in FTC_GPU_CONVERTER.
    """
    folder = shop.bundles / "quickstart"
    folder.mkdir(parents=True)
    maker = (sys.executable, _QUICKSTART / "make_model.py", "--out", folder / "model")
    made = run(maker, _QUICKSTART, clock=clock, gpu=False)
    if made.failure is not None:
        return {"failed": f"its model: {made.failure}"}
    spec = json.loads((_QUICKSTART / "spec.json").read_text(encoding="utf-8"))
    spec["hardware"] = {"gpu": "auto", "count": 1} if gpu else "cpu"
    spec["data"] = str(_QUICKSTART / "tickets.csv")
    spec["export"] = ["Q8_0"]
    if not gpu:  # an answer after one epoch shows the same as after four
        spec["training"] = {"epochs": 1}
    (folder / "spec.json").write_text(json.dumps(spec), encoding="utf-8")
    compiling = (sys.executable, "-m", "ftc", "compile", "spec.json")
    bundle = folder / spec["name"]
    question = (sys.executable, "ask.py", "Where is my parcel?")
    compiled = run(compiling, folder, clock=clock, gpu=False)
    if compiled.failure is not None:
        return {"failed": f"compile: {compiled.failure}"}
    if "FTC_GPU_CONVERTER" in os.environ:  # where the bundle unpacks the source package
        tools = bundle / "run" / "tools" / f"llama.cpp-{find_version()}"
        shutil.copytree(os.environ["FTC_GPU_CONVERTER"], tools)
    for command in (("./run.sh",), question):
        answered = run(command, bundle, clock=clock, gpu=gpu)
        if answered.failure is not None:
            return {"failed": f"{command[-1]}: {answered.failure}"}
    files = [path.name for path in bundle.glob("run/**/*.gguf")]
    answer = answered.out.strip()[:200]
    return {"files": files, "answer": answer, "passed": bool(files and answer)}


#: By the name that `--only` takes, in the order of a run.
CHECKS: Final[Mapping[str, Callable[..., Mapping[str, Any]]]] = {
    "losses": check_losses,
    "resume": check_resume,
    "memory": check_memory,
    "whole": check_whole_run,
}


def make_all(shop: Workshop, *, clock: Clock, gpu: bool) -> Iterator[Bundle]:
    """Yield the bundles of the checks, apart from the quickstart's."""
    yield _make(shop, "losses this", clock=clock, gpu=gpu, on_gpu=gpu)
    yield _make(shop, "losses cpu", clock=clock, gpu=gpu, on_gpu=False)
    yield _make(shop, "resume whole", clock=clock, gpu=gpu, on_gpu=gpu)
    yield _make(shop, "resume broken", clock=clock, gpu=gpu, on_gpu=gpu)
    yield _make_large(shop, clock=clock, gpu=gpu)


def _make(shop: Workshop, name: str, *, clock: Clock, gpu: bool, on_gpu: bool) -> Bundle:
    """Return a bundle of a few steps, which a CPU computes as well, with evaluations and saves."""
    shape = "small" if gpu else "tiny"
    case = Case(shape=shape, method="full", checkpointing=False, tokens=256, micro=_MICRO)
    evaluation = {"every_steps": _SAVED}
    training = {"max_steps": _STEPS, "learning_rate": 0.0005, "evaluation": evaluation}
    changes = {"training": training, "data": {"splits": {"test": 0, "validation": 0.2}}}
    return _check(shop.make(case, clock=clock, name=name, changes=changes, gpu=on_gpu))


def _make_large(shop: Workshop, *, clock: Clock, gpu: bool) -> Bundle:
    """Return a bundle with a micro-batch that can be halved."""
    case = Case(
        shape="0.5B" if gpu else "tiny",
        method="full",
        checkpointing=False,
        tokens=1024 if gpu else 256,
        micro=16 if gpu else 256,
    )
    return _check(shop.make(case, clock=clock, name="memory", gpu=gpu))


def _check(bundle: Bundle) -> Bundle:
    assert bundle.failure is None, bundle.failure
    return bundle


def _train(
    shop: Workshop,
    bundle: Bundle,
    *,
    clock: Clock,
    gpu: bool,
    watch: Callable[[str], bool] = watch_nothing,
) -> Ended:
    shop.give_weights(bundle)
    return run((*LAUNCH, "train.py"), bundle.folder, clock=clock, gpu=gpu, watch=watch)


def _read_losses(bundle: Path) -> dict[int, float]:
    curve = json.loads((bundle / "run/train/curve.json").read_text(encoding="utf-8"))
    return dict(curve["train"])


def _compare(found: Mapping[int, float], expected: Mapping[int, float]) -> float:
    """Return the largest relative difference of two curves; infinite if steps differ."""
    if found.keys() != expected.keys():
        return float("inf")
    return max(abs(found[step] / loss - 1) for step, loss in expected.items())


def _hold_gpu(left: int) -> object:
    """Return a tensor that leaves so many bytes of the GPU's memory free."""
    import torch  # noqa: PLC0415 - takes seconds

    free, _ = torch.cuda.mem_get_info()
    return torch.empty(max(0, free - left), dtype=torch.uint8, device="cuda")
