"""What processes that train together decide: hangs, whole weights, and the disk of offloading."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM

from ftc.runtime.exit_codes import HUNG
from ftc.runtime.files import write_json
from ftc.runtime.parallel.distributed import DistributedSession
from ftc.runtime.parallel.nvme import OffloadDisk
from ftc.runtime.parallel.shards import ShardCheck
from ftc.runtime.run import Run


class Left(Exception):  # noqa: N818 - it stands for the end of the process
    """The process has ended."""


def make_session(folder: Path, monkeypatch: pytest.MonkeyPatch, rank: int) -> DistributedSession:
    """Return the session of one process."""
    monkeypatch.setenv("RANK", str(rank))
    monkeypatch.setenv("WORLD_SIZE", "2")
    run = Run(folder, stage="train")
    return DistributedSession(run, ladder=[[1, 1]], row=None, planned_bytes=1, keep=1)


def beat(number: int, moves: int, rank: int) -> dict[str, Any]:
    """Return a heartbeat."""
    return {"who": f"rank {rank}", "beat": number, "moves": moves, "where": "wait of x.py"}


@pytest.mark.parametrize(
    ("now", "said"),
    [
        ({"0": beat(2, 5, 0), "1": beat(1, 5, 1)}, "no heartbeat of rank 1"),
        ({"0": beat(2, 5, 0), "1": beat(2, 4, 1)}, "behind: rank 1 in wait of x.py"),
    ],
)
def test_a_hang_names_the_process_that_others_wait_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, now: dict[str, Any], said: str
) -> None:
    """A silent one, or the one that has made the fewest steps; the first that lives says it."""
    session = make_session(tmp_path, monkeypatch, 0)
    told: list[tuple[int, str]] = []

    def leave(code: int, sentence: str) -> None:
        told.append((code, sentence))
        raise Left

    monkeypatch.setattr(session, "leave", leave)
    before = {"0": beat(1, 5, 0), "1": beat(1, 4, 1)}
    if said.startswith("no"):
        before["1"] = now["1"]

    with pytest.raises(Left):
        session._leave_hung(before, now)

    ((code, sentence),) = told
    assert code == HUNG
    assert said in sentence


def test_other_processes_resume_from_the_same_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first process has found it."""
    session = make_session(tmp_path, monkeypatch, 1)
    write_json(session.folder / "resume.json", "run/train/checkpoints/checkpoint-3")

    session.prepare()

    assert session.checkpoint == "run/train/checkpoints/checkpoint-3"


@pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing:FutureWarning")
@pytest.mark.parametrize("adapted", [False, True])
def test_each_generated_token_is_progress(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: Path, *, adapted: bool
) -> None:
    """A model that answers validation rows for a long time does not hang."""
    session = make_session(tmp_path, monkeypatch, 1)
    loaded: Any = AutoModelForCausalLM.from_pretrained(model)
    if adapted:
        loaded = get_peft_model(loaded, LoraConfig(target_modules=["q_proj"]))
    args = SimpleNamespace(
        per_device_train_batch_size=1, world_size=2, load_best_model_at_end=False
    )
    state = SimpleNamespace(global_step=0, max_steps=9, is_world_process_zero=False)
    session.on_train_begin(args, state, SimpleNamespace(), model=loaded)
    session.on_train_end(args, state, SimpleNamespace())  # which ends the watch

    before = session.moves
    loaded.generate(input_ids=torch.tensor([[5, 6]]), max_new_tokens=7, eos_token_id=[])

    assert session.moves - before == 7


def test_a_whole_weight_ends_the_stage(tmp_path: Path) -> None:
    """It says that the launcher has ignored the sharding of the plan."""
    check = ShardCheck(Run(tmp_path, stage="train"))
    model: Any = torch.nn.Linear(2, 2)

    with pytest.raises(SystemExit, match="weight"):
        check.on_train_begin(None, None, None, model=model)
    for weight in model.parameters():
        weight.ds_tensor = weight
    check.on_train_begin(None, None, None, model=model)


def test_the_folder_of_a_checkpoint_is_there_before_it_is_saved(tmp_path: Path) -> None:
    """And only if one is saved."""
    check = ShardCheck(Run(tmp_path, stage="train"))
    args, state = SimpleNamespace(output_dir=tmp_path), SimpleNamespace(global_step=4)

    check.on_evaluate(args, state, SimpleNamespace(should_save=False))
    assert not (tmp_path / "checkpoint-4").exists()
    check.on_evaluate(args, state, SimpleNamespace(should_save=True))
    assert (tmp_path / "checkpoint-4").is_dir()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # no process ends
def test_the_disk_of_offloading_is_there_and_has_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an earlier run left is removed; a folder that is missing, or full, is one sentence."""
    monkeypatch.setattr("ftc.runtime.parallel.nvme.AsyncIOBuilder.is_compatible", lambda _: True)
    run, disk = Run(tmp_path, stage="train"), tmp_path / "disk"
    offload = {"offload_optimizer": {"nvme_path": str(disk / "bundle")}}
    write_json(tmp_path / "deepspeed.json", {"zero_optimization": offload})

    with pytest.raises(SystemExit, match="is not a folder: mount the disk"):
        OffloadDisk(run, file_bytes=1)
    (disk / "bundle/zero_stage_3").mkdir(parents=True)
    opened = OffloadDisk(run, file_bytes=1)
    assert not (disk / "bundle/zero_stage_3").exists()
    with pytest.raises(SystemExit, match="another run of this name"):
        OffloadDisk(run, file_bytes=1)
    opened.lock.close()
    with pytest.raises(SystemExit, match="GiB are free"):
        OffloadDisk(run, file_bytes=2**60)
    monkeypatch.setattr(os, "environ", {**os.environ, "LOCAL_RANK": "1"})
    OffloadDisk(run, file_bytes=2**60)
