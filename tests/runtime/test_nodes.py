"""The wait of a node that is not the first; test_supervise.py starts real ones."""

import signal
import socket
from pathlib import Path

import pytest

from ftc.runtime import nodes
from ftc.runtime.exit_codes import PREEMPTED
from ftc.runtime.supervise import Supervisor


@pytest.fixture(name="supervisor")
def _supervisor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Supervisor:
    """Return a supervisor that leaves the signals of this process alone."""
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    return Supervisor(tmp_path)


@pytest.mark.parametrize(
    ("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")]
)
def test_a_listening_node_ends_the_wait(
    supervisor: Supervisor, family: socket.AddressFamily, host: str
) -> None:
    """An address of IPv6 has colons of its own before the port."""
    with socket.create_server((host, 0), family=family) as server:
        nodes.wait_for_node(supervisor, f"{host}:{server.getsockname()[1]}", 1)


def test_a_signal_ends_the_wait(supervisor: Supervisor, capsys: pytest.CaptureFixture[str]) -> None:
    """The first node may never start; the exit code is that of a job that is resumed."""
    supervisor.is_stopping = True
    with pytest.raises(SystemExit) as ended:
        nodes.wait_for_node(supervisor, "127.0.0.1:1", 1)

    assert ended.value.code == PREEMPTED
    assert "stopped by a signal" in capsys.readouterr().err
