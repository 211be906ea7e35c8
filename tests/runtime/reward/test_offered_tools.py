"""The tools that a model may call: which functions they are, and how long a call may take."""

import signal
import time
from types import ModuleType
from typing import Any

import pytest

from ftc.runtime.reward.offered_tools import Tool, read_tools

SOURCE = '''
import time


def echo(text):
    """Return a number."""
    return 7


def sleep(text):
    """Wait."""
    time.sleep(30)


def spin(text):
    """Loop, and catch what a careless tool catches."""
    while True:
        try:
            sum(range(1000))
        except Exception:
            pass


def _own():
    """Belong to the others."""
'''


def offer(seconds: float | None) -> dict[str, Tool]:
    """Return the tools of the source by name."""
    module: Any = ModuleType("tools")
    exec(SOURCE, vars(module))  # noqa: S102 - the test's own text
    return {tool.__name__: tool for tool in read_tools(module, seconds)}


@pytest.fixture
def quiet_timer() -> None:
    """Stop the timer that pytest-timeout may have set."""
    signal.setitimer(signal.ITIMER_REAL, 0)


def test_a_result_is_text() -> None:
    """With a limit and without one."""
    assert list(offer(None)) == ["echo", "sleep", "spin"]
    assert offer(None)["echo"]("x") == offer(5)["echo"]("x") == "7"


@pytest.mark.parametrize("name", ["sleep", "spin"])
def test_a_call_that_hangs_is_ended(name: str) -> None:
    """A system call that waits and a loop both become an error that the model reads."""
    began = time.monotonic()
    with pytest.raises(TimeoutError, match=r"no result after 0\.2 seconds"):
        offer(0.2)[name]("x")
    assert time.monotonic() - began < 10


@pytest.mark.usefixtures("quiet_timer")
def test_another_timer_goes_on() -> None:
    """A limit leaves the handler and the remaining time of a timer that was set before."""
    fired: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, _: fired.append(number))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        assert offer(20)["echo"]("x") == "7"
        assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= 0.3
        time.sleep(0.5)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert fired == [signal.SIGALRM]
