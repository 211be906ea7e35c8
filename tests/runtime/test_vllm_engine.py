"""Running a command beside a server: a real process that answers `/health`, or does not."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from ftc.runtime.vllm_engine import (
    FILE,
    PORTS,
    UNAVAILABLE,
    Server,
    ServerError,
    answers,
    divide_gpus,
    find_ports,
    make_command,
    make_url,
    read_arguments,
    run_beside,
)

#: What stands for `vllm`: it tells how it was started, answers after a while, and has a child.
SERVER = """#!{python}
import json, os, signal, subprocess, sys, time
from http.server import BaseHTTPRequestHandler, HTTPServer
end = os.environ.get("SERVER_ENDS")
if end:
    sys.exit(int(end))
if os.environ.get("SERVER_IS_DEAF"):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
told = {{"arguments": sys.argv[1:], "pids": [os.getpid(), child.pid],
        "gpus": os.environ["CUDA_VISIBLE_DEVICES"], "mode": os.environ["VLLM_SERVER_DEV_MODE"]}}
open("server.json", "w").write(json.dumps(told))
began = time.monotonic()
class Health(BaseHTTPRequestHandler):
    def do_GET(self):
        ready = time.monotonic() - began > float(os.environ.get("SERVER_LOADS", "0.5"))
        self.send_response(200 if ready and self.path == "/health" else 503)
        self.end_headers()
    def log_message(self, *_):
        pass
port = int(sys.argv[sys.argv.index("--port") + 1])
HTTPServer(("127.0.0.1", port), Health).serve_forever()
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder to run in, with a `vllm` on the path and two GPUs."""
    script = tmp_path / "bin" / "vllm"
    script.parent.mkdir()
    script.write_text(SERVER.format(python=sys.executable), encoding="utf-8")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{script.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,7")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def make_server(**other: Any) -> dict[str, Any]:
    """Return what vllm.json says of a server."""
    return {"model": "owner/name", "gpus": 2, "arguments": ["--max-logprobs", "-1"]} | other


def write_environment() -> list[str]:
    """Return a command that writes the GPUs that it gets and both ports, and ends with 7."""
    code = "import os; open('own.txt', 'w').write(os.environ['CUDA_VISIBLE_DEVICES']);"
    code += f" open('ports.txt', 'w').write(os.environ['{PORTS}']); exit(7)"
    return [sys.executable, "-c", code]


def is_gone(pid: int) -> bool:
    """Return whether a process has ended, within two seconds; a zombie has."""
    for _ in range(40):
        try:
            status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
        except OSError:
            return True
        if status.rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.05)
    return False


def test_the_command_runs_while_the_server_does(place: Path) -> None:
    """Each has its GPUs, the exit code is the command's, and no process of the server is left."""
    said: list[str] = []
    server = make_server()

    code = run_beside(server, write_environment(), seconds=30, say=said.append)

    told = json.loads((place / "server.json").read_text(encoding="utf-8"))
    assert code == 7
    assert (place / "own.txt").read_text(encoding="utf-8") == "4"
    assert (told["gpus"], told["mode"]) == ("7", "1")
    ports = (place / "ports.txt").read_text(encoding="utf-8")
    url = make_url(int(ports.partition(",")[0]))
    assert told["arguments"] == make_command(server, [], int(ports.partition(",")[0]))[1:]
    assert all(map(is_gone, told["pids"]))
    assert not answers(url)
    assert said[-1].endswith(f"answers at {url}")
    FILE.write_text(json.dumps({"trainer": {"vllm_mode": "server"}}), encoding="utf-8")
    assert read_arguments(FILE, {PORTS: ports})["vllm_server_base_url"] == url


def test_two_runs_share_a_machine(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each run has a port of its own, while the server of the first one answers."""
    first = find_ports()
    other = Server(make_command(make_server(), [], first[0]), make_url(first[0]), os.environ)
    try:
        other.wait(30)
        monkeypatch.chdir(place / "bin")
        assert run_beside(make_server(), write_environment(), seconds=30) == 7
    finally:
        other.stop()
    ports = (place / "bin" / "ports.txt").read_text(encoding="utf-8").split(",")
    assert len({*map(str, first), *ports}) == 4


@pytest.mark.usefixtures("place")
def test_training_alone_is_told_how_to_start() -> None:
    """Without the ports of a server it does not begin."""
    FILE.write_text(json.dumps({"trainer": {"vllm_mode": "server"}}), encoding="utf-8")
    with pytest.raises(SystemExit, match=r"as run\.sh does"):
        read_arguments(FILE, {})


@pytest.mark.parametrize(
    ("environment", "seconds", "says"),
    [
        ({"SERVER_ENDS": "3"}, 30, "ended with exit code 3"),
        ({"SERVER_LOADS": "600"}, 1, "cannot be reached"),
        ({"PATH": "/nowhere"}, 30, "cannot start `vllm`"),
        ({"CUDA_VISIBLE_DEVICES": "0"}, 30, "1 of 2 GPUs are visible"),
    ],
)
def test_without_a_server_nothing_is_trained(
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    environment: Mapping[str, str],
    seconds: float,
    says: str,
) -> None:
    """One sentence says why; the command was not started, and the server is gone."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ServerError, match=says):
        run_beside(make_server(), write_environment(), seconds=seconds)

    assert not (place / "own.txt").exists()
    if (place / "server.json").is_file():
        told = json.loads((place / "server.json").read_text(encoding="utf-8"))
        assert all(map(is_gone, told["pids"]))


@pytest.mark.usefixtures("place")
def test_another_server_is_not_used() -> None:
    """It may serve another model, and its weights must not be replaced."""
    port, environment = find_ports()[0], dict(os.environ)
    command, url = make_command(make_server(), [], port), make_url(port)
    first = Server(command, url, environment)
    try:
        first.wait(30)
        with pytest.raises(ServerError, match="another server answers"):
            Server(command, url, environment)
    finally:
        first.stop()


def test_a_deaf_server_is_killed(place: Path) -> None:
    """It ignores SIGTERM; its child goes as well."""
    port = find_ports()[0]
    deaf = {**os.environ, "SERVER_IS_DEAF": "1"}
    started = Server(make_command(make_server(), [], port), make_url(port), deaf)
    started.wait(30)
    started.stop(0.5)

    told = json.loads((place / "server.json").read_text(encoding="utf-8"))
    assert all(map(is_gone, told["pids"]))


def test_a_stopped_run_stops_its_server(place: Path) -> None:
    """SIGTERM to the module that run.sh starts ends command and server."""
    server = make_server()
    FILE.write_text(json.dumps({"server": server, "trainer": {}}), encoding="utf-8")
    wait = [sys.executable, "-c", "import time; open('began', 'w').close(); time.sleep(600)"]
    module = [sys.executable, "-m", "ftc.runtime.vllm_engine", *wait]
    process = subprocess.Popen(module, start_new_session=True)
    for _ in range(600):
        if (place / "began").exists() or process.poll() is not None:
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)

    assert process.wait(30) == 128 + signal.SIGTERM
    told = json.loads((place / "server.json").read_text(encoding="utf-8"))
    assert all(map(is_gone, told["pids"]))


def test_the_module_says_in_one_line_what_is_wrong(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No traceback, and an exit code of its own."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    (place / FILE).write_text(json.dumps({"server": make_server()}), encoding="utf-8")
    module = [sys.executable, "-m", "ftc.runtime.vllm_engine", *write_environment()]
    done = subprocess.run(module, capture_output=True, text=True, check=False)

    assert done.returncode == UNAVAILABLE
    assert done.stderr.startswith("vllm: 0 of 2 GPUs are visible")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("count", "environment", "divided"),
    [
        (2, {}, ("0", "1")),
        (4, {}, ("0,1,2", "3")),
        (2, {"CUDA_VISIBLE_DEVICES": "GPU-a, GPU-b"}, ("GPU-a", "GPU-b")),
        (2, {"CUDA_VISIBLE_DEVICES": "5,6,7"}, ("5", "6")),
    ],
)
def test_gpus_are_divided(
    count: int, environment: Mapping[str, str], divided: tuple[str, str]
) -> None:
    """The server gets the last of those that the plan counts."""
    assert divide_gpus(count, environment) == divided


@pytest.mark.parametrize("command", [["train.py", "--model", "folder"], ["train.py"]])
def test_the_server_has_the_model_of_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Sequence[str]
) -> None:
    """A folder by its whole path, as the server may be started elsewhere."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    made = make_command({"model": "owner/name", "arguments": ["--seed", 8]}, command, 4001)

    model = str(tmp_path / "folder") if len(command) > 1 else "owner/name"
    assert made == [
        "vllm",
        "serve",
        model,
        *["--host", "127.0.0.1", "--port", "4001", "--seed", "8"],
    ]
