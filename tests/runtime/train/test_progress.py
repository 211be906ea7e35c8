"""The line of progress: in a terminal, in a pipe, and what it says."""

import io
from types import SimpleNamespace

import pytest

from ftc.runtime.train.progress import Progress, format_seconds

STATE = SimpleNamespace(global_step=12, max_steps=1_000, epoch=0.25)


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        """Return True."""
        return True


def test_a_terminal_gets_one_line_that_is_rewritten() -> None:
    """After every step, and another message takes its place."""
    stream = Terminal()
    progress = Progress(stream)
    assert progress.is_due()
    progress.update(STATE, loss=1.5, memory_bytes=2**30)
    progress.update(STATE, loss=1.4, memory_bytes=2**30)
    progress.clear()

    assert "\n" not in stream.getvalue()
    assert stream.getvalue().count("\r\x1b[K") == 3


def test_a_pipe_gets_lines_when_nothing_else_is_printed() -> None:
    """Ten seconds after the last line."""
    stream = io.StringIO()
    progress = Progress(stream)
    assert not progress.is_due()
    progress.printed -= 11
    assert progress.is_due()
    progress.update(STATE, loss=1.5, memory_bytes=2**30)

    assert stream.getvalue().startswith("step 12 of 1,000, epoch 0.25, loss 1.5000, 1.00 GiB")
    assert stream.getvalue().endswith(" left\n")
    assert not progress.is_due()


def test_the_line_counts_from_where_training_was_resumed() -> None:
    """Two steps in 20 seconds leave 988 of 10 seconds each."""
    progress = Progress(io.StringIO())
    progress.begin(10)
    progress.tokens, progress.logged = 4_000, {"learning_rate": 2e-4}

    assert progress.describe(STATE, 20.0, loss=2.0, memory_bytes=3 * 2**29) == (
        "step 12 of 1,000, epoch 0.25, loss 2.0000, rate 0.0002, 200 tokens/s, 1.50 GiB,"
        " 2:44:40 left"
    )


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0:00"), (725, "12:05"), (12_307, "3:25:07")])
def test_durations(seconds: float, text: str) -> None:
    """Minutes and seconds, with hours if there are any."""
    assert format_seconds(seconds) == text
