"""The progress of training in the terminal: one line that is rewritten, or lines when piped."""

import resource
import sys
import time
from typing import Any

import torch

LINE_SECONDS = 10  # at most between two lines, or one step if that takes longer


class Progress:
    """Prints where training is, how fast it goes and how long it will take.

    On a terminal one line is rewritten after every step. Otherwise a line is printed if nothing
    else was printed for LINE_SECONDS.
    """

    def __init__(self, stream: Any = None) -> None:
        self.stream = sys.stdout if stream is None else stream
        self.is_terminal = self.stream.isatty()
        self.started = self.printed = time.monotonic()
        self.first_step = 0
        self.tokens = 0  # of all passes since the start, on this process
        self.logged: dict[str, float] = {}

    def begin(self, step: int) -> None:
        """Start the clock at a step; a resumed run does not count the steps before it."""
        self.started = self.printed = time.monotonic()
        self.first_step, self.tokens = step, 0

    def is_due(self) -> bool:
        """Return whether it is time to print."""
        return self.is_terminal or time.monotonic() - self.printed >= LINE_SECONDS

    def clear(self) -> None:
        """Make room for another line; it counts as a line of progress."""
        self.printed = time.monotonic()
        if self.is_terminal:
            self.stream.write("\r\x1b[K")

    def update(self, state: Any, *, loss: float, memory_bytes: int) -> None:
        """Print the progress after a step."""
        now = time.monotonic()
        line = self.describe(state, now - self.started, loss=loss, memory_bytes=memory_bytes)
        self.stream.write(f"\r\x1b[K{line}" if self.is_terminal else f"{line}\n")
        self.stream.flush()
        self.printed = now

    def describe(self, state: Any, seconds: float, *, loss: float, memory_bytes: int) -> str:
        """Return the line; `seconds` have passed since the start."""
        step, steps = state.global_step, state.max_steps
        left_seconds = seconds / max(1, step - self.first_step) * (steps - step)
        parts = [f"step {step:,} of {steps:,}", f"epoch {state.epoch:.2f}", f"loss {loss:.4f}"]
        if "learning_rate" in self.logged:
            parts.append(f"rate {self.logged['learning_rate']:.2g}")
        if self.tokens:
            parts.append(f"{self.tokens / max(seconds, 1e-9):,.0f} tokens/s")
        parts += [f"{memory_bytes / 2**30:.2f} GiB", f"{format_seconds(left_seconds)} left"]
        return ", ".join(parts)


def peak_memory_bytes(args: Any) -> int:
    """Return the peak of torch's reserved GPU memory, or on a CPU of the process's memory."""
    if args.device.type == "cuda":
        return torch.cuda.max_memory_reserved()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def format_seconds(seconds: float) -> str:
    """Return a duration as 0:42, 12:05 or 3:25:07."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
