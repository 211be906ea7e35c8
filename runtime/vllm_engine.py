"""Runs a command beside vLLM's server, which it starts before and stops after the command.

    python -m runtime.vllm_engine accelerate launch --config_file accelerate.yaml train.py

vllm.json has the server's model and arguments. The server gets the last of the visible GPUs, and
the command all others. Its port, and the port over which it receives weights, are free on this
machine, so that several runs can share it. Standard library only.
"""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from .files import read_json

FILE = Path("vllm.json")
HOST = "127.0.0.1"
PORTS = "FTC_VLLM_PORTS"  # in the command's environment: the server's port, and that of weights
START_SECONDS = 900.0  # to load the weights and record the graphs
STOP_SECONDS = 30.0
POLL_SECONDS = 0.5
UNAVAILABLE = 69  # EX_UNAVAILABLE of sysexits.h
_PORTS = 2


class ServerError(Exception):
    """The server cannot be used; the message says why and what to do."""


def read_arguments(path: Path, environment: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """Return the arguments of TRL's config that concern vLLM.

    Raises SystemExit if they need a server, and this command does not run beside one.
    """
    found: dict[str, Any] = read_json(path)["trainer"]
    if found["vllm_mode"] != "server":
        return found
    ports = environment.get(PORTS, "").split(",")
    if len(ports) != _PORTS:
        raise SystemExit("train.py runs beside vLLM's server: start it as run.sh does")
    return found | {
        "vllm_server_base_url": make_url(int(ports[0])),
        "vllm_group_port": int(ports[1]),
    }


def find_ports() -> list[int]:
    """Return two free ports of this machine."""
    with ExitStack() as opened:
        sockets = [opened.enter_context(socket.socket()) for _ in range(_PORTS)]
        for each in sockets:
            each.bind((HOST, 0))
        return [each.getsockname()[1] for each in sockets]


def make_url(port: int) -> str:
    """Return the address of a server of this machine."""
    return f"http://{HOST}:{port}"


def divide_gpus(count: int, environment: Mapping[str, str]) -> tuple[str, str]:
    """Return the GPUs of the command and of the server, as CUDA_VISIBLE_DEVICES has them.

    Raises ServerError if there are fewer than two.
    """
    visible = environment.get("CUDA_VISIBLE_DEVICES", ",".join(map(str, range(count))))
    names = [name.strip() for name in visible.split(",") if name.strip()][:count]
    if len(names) < max(2, count):
        raise ServerError(
            f"{len(names)} of {count} GPUs are visible; training needs the first {count - 1},"
            " and vLLM's server the last: set CUDA_VISIBLE_DEVICES"
        )
    return ",".join(names[:-1]), names[-1]


def answers(url: str) -> bool:
    """Return whether a server passes its health check."""
    with suppress(OSError, ValueError), urllib.request.urlopen(f"{url}/health", timeout=5):  # noqa: S310 - http
        return True  # another status than 200 raises
    return False


def make_command(server: Mapping[str, Any], command: Sequence[str], port: int) -> list[str]:
    """Return the command that starts the server, with the model that training was told to take."""
    model = str(server["model"])
    if "--model" in command:
        model = command[list(command).index("--model") + 1]
    folder = Path(model)
    named = str(folder.resolve()) if folder.is_dir() else model
    address = ("--host", HOST, "--port", str(port))
    return ["vllm", "serve", named, *address, *map(str, server["arguments"])]


class Server:
    """A server in a separate session, so that all its processes can be stopped."""

    def __init__(self, command: Sequence[str], url: str, environment: Mapping[str, str]) -> None:
        """Start the server. Raises ServerError if that is not possible."""
        self.url = url
        if answers(url):
            raise ServerError(f"another server answers at {url}: stop it, or wait for its run")
        try:
            self.process = subprocess.Popen(
                command,
                env={**environment, "VLLM_SERVER_DEV_MODE": "1"},
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            raise ServerError(
                f"cannot start `{command[0]}` ({error.strerror}): pip install -r requirements.txt"
            ) from error

    def wait(self, seconds: float = START_SECONDS) -> None:
        """Wait until it answers. Raises ServerError if it ends before or takes too long."""
        end = time.monotonic() + seconds
        while not answers(self.url):
            if self.process.poll() is not None:
                raise ServerError(
                    f"vLLM's server ended with exit code {self.process.returncode}: see above"
                )
            if time.monotonic() > end:
                raise ServerError(
                    f"vLLM's server cannot be reached at {self.url} after {seconds:.0f} s"
                )
            time.sleep(POLL_SECONDS)

    def stop(self, seconds: float = STOP_SECONDS) -> None:
        """Ask all its processes to end, and kill those that do not."""
        self._send(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)
        self._send(signal.SIGKILL)
        self.process.wait()

    def _send(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)


def run_beside(
    server: Mapping[str, Any],
    command: Sequence[str],
    *,
    seconds: float = START_SECONDS,
    say: Callable[[str], None] = lambda text: print(text, file=sys.stderr, flush=True),
) -> int:
    """Run the command while the server runs, and return its exit code.

    Raises ServerError if there is no server to run it with.
    """
    own, last = divide_gpus(server["gpus"], os.environ)
    ports = find_ports()
    url, words = make_url(ports[0]), make_command(server, command, ports[0])
    with_last = {**os.environ, "CUDA_VISIBLE_DEVICES": last}
    started = Server(words, url, with_last)
    try:
        say(f"vllm: starting the server on GPU {last}")
        started.wait(seconds)
        say(f"vllm: the server answers at {url}")
        with_own = {"CUDA_VISIBLE_DEVICES": own, PORTS: ",".join(map(str, ports))}
        return subprocess.call(command, env={**os.environ, **with_own})
    finally:
        started.stop()


def main() -> int:
    """Run the command of the arguments; return its exit code."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    server = read_json(FILE)["server"]
    try:
        code = run_beside(server, sys.argv[1:])
    except ServerError as error:
        print(f"vllm: {error}", file=sys.stderr)
        return UNAVAILABLE
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
