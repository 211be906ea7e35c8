"""How a training session ends early: memory, divergence and a full disk; what it resumes with."""

import io
import json
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from ftc.runtime import stages
from ftc.runtime.files import write_json, write_rows
from ftc.runtime.train.training import make_savable
from tests.runtime.sessions import LADDER, make_session, run_cases

FAIL = """
try:
    {}
except Exception as error:
    {}.explain(error, trainer)
    raise
"""


def test_out_of_memory_uses_the_next_line_of_the_ladder(tmp_path: Path) -> None:
    """A real failure to allocate, in torch or by mmap, with the plan's figures in the message."""
    (tmp_path / "run/train").mkdir(parents=True)
    tensor = "torch.empty(2**60)"
    smaller, mapped, smallest = run_cases(
        tmp_path,
        FAIL.format(tensor, "session"),
        FAIL.format("import mmap; mmap.mmap(-1, 2**60)", "make_session(folder, [[8, 1], [4, 2]])"),
        FAIL.format(tensor, "make_session(folder, [[4, 2]])"),
    )

    assert smaller.code == 76
    assert "out of memory at step 3 with 4 rows per pass" in smaller.err
    assert "3.00 GiB planned; next with 2 x 4 passes, the same batch" in smaller.err
    assert mapped.code == 76
    assert "next with 4 x 2 passes, the same batch ([Errno 12] Cannot allocate" in mapped.err
    noted = json.loads((tmp_path / "run/train/batch.json").read_text())
    assert noted["row"] == 1
    assert noted["changes"][0]["to"] == [4, 2]
    assert smallest.code == 1
    assert "3.00 GiB planned; fewer rows are not possible" in smallest.err
    assert (tmp_path / "run/train/exit_code.json").read_text() == "1\n"


def test_a_loss_that_is_not_finite_names_its_rows(tmp_path: Path) -> None:
    """The rows of a batch are found by their tokens, whatever columns they have."""
    rows = [{"input_ids": [1, 2, 3]}, {"input_ids": [4, 5]}, {"chosen_ids": [6, 7, 8]}]
    write_rows(tmp_path / "run/data/train.jsonl", rows)
    batch = "{'input_ids': torch.tensor([[9, 6, 7, 8], [4, 5, 0, 0]])}"
    ended, cut_short = run_cases(
        tmp_path,
        "assert session.find_rows([{'prompt': 'a'}]) == []\n"
        f"session.leave_diverged('the loss is nan', {batch})\n",
        "(session.folder / 'exit_code.json').unlink()\n"
        "session.find_rows = lambda _: os.kill(os.getpid(), 9)\n"
        f"session.leave_diverged('the loss is nan', {batch})\n",
    )

    assert ended.code == 77
    assert "train.py: its batch has the lines [2, 3] of run/data/train.jsonl\n" in ended.err
    assert cut_short.code == -9
    for each in (ended, cut_short):  # the search comes last: the launcher may end it
        assert "train.py: the loss is nan; check the rows" in each.err
        assert "no checkpoint is saved yet: ./run.sh starts again" in each.err
    assert (tmp_path / "run/train/exit_code.json").read_text() == "77\n"


def test_the_search_for_rows_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of large data, only the lines that are read in time are named."""
    monkeypatch.setattr("ftc.runtime.train.training.SEARCH_SECONDS", -1)
    write_rows(tmp_path / "run/data/train.jsonl", [{"input_ids": [1, 2]}] * 3)

    found = make_session(tmp_path).find_rows({"input_ids": torch.tensor([[1, 2, 0]])})

    assert found == [1]


def test_the_line_of_the_ladder_is_that_of_the_same_ladder(tmp_path: Path) -> None:
    """What memory allowed before a new plan says nothing about that plan's batches."""
    write_json(tmp_path / "run/train/batch.json", {"row": 1, "ladder": LADDER, "changes": []})

    assert make_session(tmp_path).row == 1
    assert make_session(tmp_path).micro_batch == 2
    assert make_session(tmp_path, [[8, 1], [4, 2]]).row == 0


def test_a_training_with_other_inputs_is_set_aside(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is not mixed with the new one, and not deleted."""
    write_json(tmp_path / "run/train/fingerprint.json", "other")
    (tmp_path / "run/train-1").mkdir()
    session = make_session(tmp_path)
    session.identity = stages.Identity(fingerprint="own", sources={}, inputs={}, trainings=())
    session.prepare()
    session.run.release_lock()

    assert "the earlier training is in train-2" in capsys.readouterr().out
    assert json.loads((tmp_path / "run/train-2/fingerprint.json").read_text()) == "other"
    assert json.loads((tmp_path / "run/train/fingerprint.json").read_text()) == "own"
    assert json.loads((tmp_path / "run/train/batch.json").read_text())["row"] == 0


def test_the_journal_has_the_loss_of_a_long_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two logs of the Trainer, the loss of the last step is written after ten seconds."""
    session = make_session(tmp_path)
    monkeypatch.setattr(session.progress, "is_due", lambda: False)
    state = SimpleNamespace(
        is_world_process_zero=True, global_step=3, max_steps=9, epoch=0.5, log_history=[]
    )
    args = SimpleNamespace(device=torch.device("cpu"))
    for loss in (1.5, 0.25):
        session.note_pass({"input_ids": torch.zeros(2, 4)}, torch.tensor(loss))
    session.on_pre_optimizer_step(args, state, SimpleNamespace())

    session.on_step_end(args, state, SimpleNamespace())
    assert not (tmp_path / "run/train/log.jsonl").exists()
    session._logged -= 10
    session.on_step_end(args, state, SimpleNamespace())

    (line,) = (tmp_path / "run/train/log.jsonl").read_text().splitlines()
    assert json.loads(line)["loss"] == 1.75
    assert session.progress.tokens == 8 * 2


def test_a_step_costs_less_than_two_percent_of_a_fast_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the 50 ms of a fast step on a GPU, which is then idle; the best of five hundred steps."""
    session = make_session(tmp_path)
    monkeypatch.setattr(session.progress, "stream", io.StringIO())
    state = SimpleNamespace(global_step=3, max_steps=9, epoch=0.5)
    args, batch = SimpleNamespace(device=torch.device("cpu")), {"input_ids": torch.zeros(2, 4)}
    loss, control = torch.tensor(0.5), SimpleNamespace()

    def step(passes: int) -> float:
        begun = time.process_time()
        for _ in range(passes):
            session.note_pass(batch, loss)
        session.on_pre_optimizer_step(args, state, control)
        session.on_step_end(args, state, control)
        return time.process_time() - begun

    assert min(step(passes=8) for _ in range(500)) < 0.02 * 0.05
    assert not (tmp_path / "run/train/log.jsonl").exists()


def test_an_explosion_of_the_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than five times the first loss, or than 5 if that was small, twice in a row."""
    session = make_session(tmp_path)
    left: list[str] = []
    monkeypatch.setattr(session, "leave_diverged", left.append)
    args = SimpleNamespace(device=SimpleNamespace(type="cpu"))

    def log(*losses: float, **logs: float) -> int:
        history = [{"loss": loss} for loss in losses]
        state = SimpleNamespace(
            log_history=history, global_step=1, max_steps=9, epoch=0.1, is_world_process_zero=True
        )
        session.on_log(args, state, None, logs=logs or history[-1])
        return len(left)

    assert log(2.0, 9.9, 9.9) == 0
    assert log(0.1, 4.9, 4.9) == 0
    assert log(2.0, 40.0) == 0
    assert log(2.0, 40.0, 1.9) == 0
    assert log(2.0, 10.1, 10.2) == 1
    assert log(0.1, 5.1, 5.2) == 2
    assert log(0.1, eval_loss=float("nan")) == 3


def test_a_full_disk_at_a_checkpoint(tmp_path: Path, small_disk: Path) -> None:
    """Errors of libraries, which lose the error number, become one sentence."""
    (small_disk / "train").mkdir()
    saves = ("torch.save({'a': big}, at)", "save_file({'a': big}, at)")
    begin = "from safetensors.torch import save_file\nat, big = str(folder / 'run/big'), "
    cases = [f"{begin}torch.zeros(2**20)\n{FAIL.format(save, 'session')}" for save in saves]

    for ended in run_cases(tmp_path, *cases):
        assert ended.code == 1
        assert ended.err.count("\n") == 1
        assert f"{small_disk}: the disk is full; no checkpoint is saved yet" in ended.err


@pytest.mark.parametrize(
    ("settings", "kept"),
    [({"temperature": 0.6, "top_p": 0.9}, None), ({"temperature": 0.6, "do_sample": True}, 0.6)],
)
def test_settings_that_are_not_saved_again_are_removed(
    tmp_path: Path, settings: dict[str, object], kept: float | None
) -> None:
    """As the Trainer has aligned the special tokens, transformers checks them before it saves."""
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(
        vocab_size=8, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8
    )
    transformers.LlamaForCausalLM(config).save_pretrained(tmp_path)
    write_json(tmp_path / "generation_config.json", {"eos_token_id": [2, 3], **settings})
    model = transformers.LlamaForCausalLM.from_pretrained(tmp_path)
    make_savable(model)
    model.generation_config.pad_token_id = 2
    model.save_pretrained(tmp_path / "saved")
    saved = json.loads((tmp_path / "saved/generation_config.json").read_text())
    assert (saved["eos_token_id"], saved.get("temperature")) == ([2, 3], kept)
