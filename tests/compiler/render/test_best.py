"""The best evaluation of any plan has a checkpoint, by the Trainer's own control flow."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from transformers.trainer_callback import DefaultFlowCallback, TrainerControl, TrainerState

from ftc.compiler.plan.planner import make_plan
from ftc.runtime.train.best import BestCheckpoint
from tests.compiler.conftest import BuildKnown
from tests.runtime.sessions import make_session


@settings(max_examples=100)
@given(data=st.data())
def test_the_best_evaluation_of_any_plan_has_a_checkpoint(
    build_known: BuildKnown, data: st.DataObject
) -> None:
    """Whatever the epochs, the cadence and the losses: the Trainer's own flow, without training."""
    edits = {
        "/spec/training/epochs": data.draw(st.floats(0.1, 60)),
        "/spec/training/evaluation/every_steps": data.draw(
            st.one_of(st.just("auto"), st.integers(1, 50))
        ),
        "/facts/data/usable_rows": data.draw(st.integers(40, 400)),
        "/spec/training/max_steps": data.draw(st.one_of(st.none(), st.integers(1, 300))),
    }
    decisions = make_plan(*build_known(edits)).decisions
    steps = decisions.training.total_steps.value
    saved, best = walk(
        steps,
        eval_steps=decisions.training.eval_steps.value,
        save_steps=decisions.training.save_steps.value,
        draw=lambda: data.draw(st.sampled_from((1.0, 2.0, 3.0, 4.0))),
        choice=BestCheckpoint(make_session(Path())),
    )
    assert best in saved
    assert steps in saved


def walk(
    steps: int, *, eval_steps: int, save_steps: int, draw: Callable[[], float], choice: Any
) -> tuple[set[int], int]:
    """Return the steps that are saved and the best one, by the Trainer's flow of each step."""
    args: Any = SimpleNamespace(
        metric_for_best_model="loss",
        greater_is_better=False,
        logging_strategy="no",
        logging_first_step=False,
        eval_strategy="steps",
        save_strategy="steps",
        eval_delay=0,
        per_device_eval_batch_size=1,
    )
    state = TrainerState(max_steps=steps, eval_steps=eval_steps, save_steps=save_steps)
    saved = set()
    for step in range(1, steps + 1):
        state.global_step, control = step, TrainerControl()
        DefaultFlowCallback().on_step_end(args, state, control)
        if control.should_evaluate:
            loss = draw()
            state.log_history.append({"eval_loss": loss, "step": step})
            choice.on_evaluate(args, state, control, metrics={"eval_loss": loss})
            if state.best_metric is None or loss < state.best_metric:
                state.best_metric, state.best_global_step = loss, step
        if control.should_save:
            saved.add(step)
    assert state.best_global_step is not None
    return saved, state.best_global_step
