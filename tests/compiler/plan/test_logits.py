"""The peak memory of losses over all logits: the plan against the pinned stack's own code."""

import weakref
from types import SimpleNamespace
from typing import Any

import pytest

from ftc.compiler.plan.job import Job, Teacher
from ftc.compiler.plan.memory.passes import whole_bytes
from tests.compiler.plan.test_optimizer import full

TOKENS, WORDS, HIDDEN = 512, 4096, 8
pytestmark = pytest.mark.filterwarnings("ignore:.*trl.experimental", "ignore:.*kernels")


def peak_of(run: Any) -> float:
    """Return the most bytes alive at once while a function makes a loss and its gradient.

    Per token and word; every storage that an operation returns is counted until it is gone.
    """
    torch = pytest.importorskip("torch")
    dispatch = pytest.importorskip("torch.utils._python_dispatch")
    alive, sizes = {"now": 0, "most": 0}, dict[int, int]()

    class Counting(dispatch.TorchDispatchMode):  # type: ignore[misc, name-defined]
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            out = func(*args, **(kwargs or {}))
            for leaf in torch.utils._pytree.tree_leaves(out):
                if isinstance(leaf, torch.Tensor):
                    count(leaf.untyped_storage())
            return out

    def count(storage: Any) -> None:
        key, size = storage._cdata, storage.nbytes()
        if key in sizes:
            return
        sizes[key] = size
        alive["now"] += size
        alive["most"] = max(alive["most"], alive["now"])
        weakref.finalize(storage, forget, key)

    def forget(key: int) -> None:
        alive["now"] -= sizes.pop(key)

    with Counting():
        run().backward()
    return alive["most"] / (TOKENS * WORDS)


def logits(rows: int) -> Any:
    """Return 16-bit logits as accelerate hands them out: in fp32."""
    torch = pytest.importorskip("torch")
    hidden = torch.randn(rows, TOKENS // rows, HIDDEN, requires_grad=True)
    return (hidden.bfloat16() @ torch.randn(HIDDEN, WORDS).bfloat16()).float()


def planned(**changes: Any) -> Job:
    """Return a job on a CPU, where the pinned code can be measured."""
    return full(gpu=False, **changes)


def test_label_smoothing() -> None:
    """Transformers' own `LabelSmoother`."""
    torch = pytest.importorskip("torch")
    tools = pytest.importorskip("transformers.trainer_pt_utils")
    labels = torch.randint(0, WORDS, (1, TOKENS))
    measured = peak_of(
        lambda: tools.LabelSmoother(0.1)({"logits": logits(1)}, labels, shift_labels=True)
    )
    assert measured == pytest.approx(whole_bytes(planned(smoothed=True)), rel=0.01)


def test_orpo() -> None:
    """TRL's own pass over both answers; on CUDA its kernel makes a copy fewer."""
    torch = pytest.importorskip("torch")
    trainer = pytest.importorskip("trl.experimental.orpo.orpo_trainer").ORPOTrainer
    labels = torch.randint(0, WORDS, (2, TOKENS // 2))
    side = {"input_ids": None, "attention_mask": None, "labels": None}
    batch = {
        f"{name}_{key}": torch.ones_like(labels[:1]) if key == "attention_mask" else part
        for name, part in (("chosen", labels[:1]), ("rejected", labels[1:]))
        for key in side
    }
    me = SimpleNamespace(
        is_encoder_decoder=False,
        padding_value=0,
        aux_loss_enabled=False,
        beta=0.1,
        accelerator=SimpleNamespace(device="cpu"),
        concatenated_inputs=trainer.concatenated_inputs,
        get_batch_logps=trainer.get_batch_logps,
    )

    def loss() -> Any:
        def model(*_: Any, **__: Any) -> Any:
            return SimpleNamespace(logits=logits(2))

        chosen, rejected, _, _, likelihood = trainer.concatenated_forward(me, model, batch)
        return likelihood - trainer.odds_ratio_loss(me, chosen, rejected)[0].mean()

    job = planned(objective="orpo")
    assert peak_of(loss) == pytest.approx(whole_bytes(job), rel=0.01)
    assert whole_bytes(full(objective="orpo")) < whole_bytes(job)


@pytest.mark.parametrize("beta", [0.0, 0.5, 1.0])
def test_gkd(beta: float) -> None:
    """Run TRL's own loss on separate logits of student and teacher."""
    torch = pytest.importorskip("torch")
    trainer = pytest.importorskip("trl.experimental.gkd.gkd_trainer").GKDTrainer
    labels = torch.randint(0, WORDS, (1, TOKENS))

    class Taught:
        def eval(self) -> None:
            """Do nothing: it has no dropout."""

        def __call__(self, **_: Any) -> Any:
            return SimpleNamespace(logits=logits(1).detach())

    me = SimpleNamespace(
        teacher_model=Taught(), beta=beta, generalized_jsd_loss=trainer.generalized_jsd_loss
    )
    batch = {"input_ids": None, "attention_mask": None, "labels": labels}

    def loss() -> Any:
        return trainer.compute_loss(me, lambda **_: SimpleNamespace(logits=logits(1)), batch)

    teacher = Teacher(shape=planned().shape, load_bytes=4, beta=beta)
    job = planned(objective="gkd", teacher=teacher)
    assert peak_of(loss) == pytest.approx(whole_bytes(job), rel=0.01)
