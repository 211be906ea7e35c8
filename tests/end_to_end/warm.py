"""An interpreter that has imported what scripts of bundles import, and lends itself to them.

    python -m tests.end_to_end.warm FOLDER

Each start of a script costs five seconds of imports, and a run has six starts and more. With FOLDER
first on PATH, `python` and `accelerate` are a client that hands its arguments, environment and
streams to a fork of this process: everything else of `run.sh` is as it is.
"""

import gc
import json
import multiprocessing.process
import os
import runpy
import select
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Final

from tests.end_to_end.process import DEPRECATIONS, ROOT, environment

_IMPORTED: Final[tuple[str, ...]] = (
    "accelerate.commands.accelerate_cli",
    "bitsandbytes",
    "datasets",
    "deepspeed",
    "matplotlib.figure",
    "peft",
    "torch.distributed.run",
    "transformers.models.auto.modeling_auto",
    "transformers.models.llama.modeling_llama",
    "transformers.models.llama.tokenization_llama",
    "transformers.trainer",
    "trl.experimental.orpo",
    "trl.trainer.distillation_trainer",
    "trl.trainer.dpo_trainer",
    "trl.trainer.grpo_trainer",
    "trl.trainer.kto_trainer",
    "trl.trainer.reward_trainer",
    "trl.trainer.sft_trainer",
)
_CLIENT: Final = """#!{python} -IS
import json, os, socket, sys
script = [word for word in sys.argv[1:2] + sys.argv[2:3] if word != "-u"][:1]
launches = os.path.basename(sys.argv[0]) == "accelerate"
if not launches and not (script and script[0].endswith(".py")):
    os.execv("{python}", ["{python}", *sys.argv[1:]])
asked = json.dumps([os.getcwd(), sys.argv, dict(os.environ)]).encode()
with socket.socket(socket.AF_UNIX) as line:
    line.connect("{address}")
    socket.send_fds(line, [len(asked).to_bytes(4, "big")], [0, 1, 2])
    line.sendall(asked)
    sys.exit(int(line.recv(8) or b"1"))
"""


@contextmanager
def warm_interpreter(folder: Path) -> Iterator[Path]:
    """Start one with its clients in a folder, whose path is short; end it at the end."""
    started = subprocess.Popen(
        [sys.executable, "-m", "tests.end_to_end.warm", str(folder)],
        cwd=ROOT,
        env=environment({"OMP_NUM_THREADS": "1", "PYTHONPATH": f"{DEPRECATIONS}:{ROOT}"}),
        stdout=subprocess.PIPE,
        text=True,
    )
    with started as server:
        try:
            assert server.stdout is not None
            assert any(line == "ready\n" for line in server.stdout)
            yield folder
        finally:
            server.kill()


def _write_clients(folder: Path) -> None:
    for name in ("python", "accelerate"):
        client = folder / name
        text = _CLIENT.format(python=sys.executable, address=folder / "line")
        client.write_text(text, encoding="utf-8")
        client.chmod(client.stat().st_mode | stat.S_IXUSR)


def _serve(folder: Path) -> None:
    """Fork for each client, for ever; return only in a fork that has a script to run."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(folder / "line"))
        door.listen()
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while True:
            line, _ = door.accept()
            if os.fork() == 0:
                door.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                with line:
                    _take(folder, line)
                return
            line.close()


def _take(folder: Path, line: socket.socket) -> None:
    """Read what is asked; in a fork become it, and here tell the client how that ended."""
    size, streams, _, _ = socket.recv_fds(line, 4, 3)
    asked = b""
    while len(asked) < int.from_bytes(size, "big"):
        asked += line.recv(1 << 16)
    cwd, arguments, variables = json.loads(asked)
    child = os.fork()
    if child:
        watched, _, _ = select.select([line.fileno(), os.pidfd_open(child)], [], [])
        if line.fileno() in watched:  # the client was killed
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        line.sendall(str(os.waitstatus_to_exitcode(status) & 255).encode())
        os._exit(0)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(cwd)
    multiprocessing.process.ORIGINAL_DIR = cwd  # type: ignore[attr-defined]  # where a worker looks
    os.environ.clear()
    os.environ.update(variables)
    sys.argv = arguments
    sys.executable = str(folder / "python")


def _run() -> None:
    """Be the script, or the launcher, that `sys.argv` names."""
    if Path(sys.argv[0]).name == "accelerate":
        from accelerate.commands.accelerate_cli import main  # noqa: PLC0415

        main()
        return
    sys.argv = sys.argv[2:] if sys.argv[1] == "-u" else sys.argv[1:]
    sys.path[0] = str(Path(sys.argv[0]).resolve().parent)
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    for _module in _IMPORTED:
        import_module(_module)
    gc.freeze()  # or each fork would copy what it only looks at
    _write_clients(Path(sys.argv[1]))
    _serve(Path(sys.argv[1]))
    _run()
