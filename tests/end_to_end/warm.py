"""An interpreter that has imported what scripts of bundles import, and lends itself to them.

    python -m tests.end_to_end.warm FOLDER

Each start of a script costs five seconds of imports, and a run has six starts and more. With FOLDER
first on PATH, `python`, `accelerate` and `ftc` are a client that hands its arguments, environment
and streams to a fork of this process: everything else of `run.sh` is as it is. A signal that ends
the client reaches the fork, and the client ends as the fork does. It ends with its standard input.
"""

import atexit
import gc
import json
import multiprocessing.process
import os
import runpy
import select
import signal
import socket
import stat
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Final, NoReturn

import psutil

_IMPORTED: Final[tuple[str, ...]] = (
    "accelerate.commands.accelerate_cli",
    "bitsandbytes",
    "datasets",
    "deepspeed",
    "ftc.compiler.pipeline",
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
import json, os, signal, socket, sys
name, words = os.path.basename(sys.argv[0]), sys.argv[1:]
rest = words[1:] if words[:1] == ["-u"] else words
modules = ("tests.", "runtime.compare.")
warm = rest and (rest[0].endswith(".py") or rest[0] == "-m" and rest[1].startswith(modules))
if name == "python" and not warm:
    os.execv("{python}", ["{python}", *words])
asked = json.dumps([os.getcwd(), sys.argv, dict(os.environ)]).encode()
with socket.socket(socket.AF_UNIX) as line:
    line.connect("{address}")
    socket.send_fds(line, [len(asked).to_bytes(4, "big")], [0, 1, 2])
    line.sendall(asked)
    fork = int.from_bytes(line.recv(4), "big")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
        signal.signal(number, lambda number, _: os.kill(fork, number))
    code = os.waitstatus_to_exitcode(int.from_bytes(line.recv(4), "big"))
if code < 0:
    signal.signal(-code, signal.SIG_DFL) if -code != signal.SIGKILL else None
    os.kill(os.getpid(), -code)
sys.exit(code)
"""


def _write_clients(folder: Path) -> None:
    for name in ("python", "accelerate", "ftc"):
        client = folder / name
        text = _CLIENT.format(python=sys.executable, address=folder / "line")
        client.write_text(text, encoding="utf-8")
        client.chmod(client.stat().st_mode | stat.S_IXUSR)


def _serve(folder: Path) -> None:
    """Fork for each client until the standard input ends; return only in a fork with a script."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(folder / "line"))
        door.listen()
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while sys.stdin not in select.select([door, sys.stdin], [], [])[0]:
            line, _ = door.accept()
            if os.fork() == 0:
                door.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                with line:
                    _take(folder, line)
                return
            line.close()
    os._exit(0)


def _take(folder: Path, line: socket.socket) -> None:
    """Read what is asked; in a fork become it, and here tell the client how that ended."""
    size, streams, _, _ = socket.recv_fds(line, 4, 3)
    asked = b""
    while len(asked) < int.from_bytes(size, "big"):
        asked += line.recv(1 << 16)
    cwd, arguments, variables = json.loads(asked)
    child = os.fork()
    if child:
        for stream in streams:
            os.close(stream)
        line.sendall(child.to_bytes(4, "big"))
        watched, _, _ = select.select([line.fileno(), os.pidfd_open(child)], [], [])
        if line.fileno() in watched:  # the client was killed, by one who kills its family too
            fork = psutil.Process(child)
            for process in (*fork.children(recursive=True), fork):
                process.kill()
        _, status = os.waitpid(child, 0)
        with suppress(OSError):
            line.sendall(status.to_bytes(4, "big"))
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
    tempfile.tempdir = None  # of the variables


def _run() -> None:
    """Be the script, the module or the command that `sys.argv` names."""
    name = Path(sys.argv[0]).name
    if name == "accelerate":
        from accelerate.commands.accelerate_cli import main  # noqa: PLC0415

        main()
    elif name == "ftc":
        from ftc.__main__ import main as start  # noqa: PLC0415

        start()
    else:
        words = sys.argv[2:] if sys.argv[1] == "-u" else sys.argv[1:]
        is_module = words[0] == "-m"
        sys.argv = words[1:] if is_module else words
        here = str(Path.cwd() if is_module else Path(sys.argv[0]).resolve().parent)
        sys.path[0] = here
        if is_module:
            runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(sys.argv[0], run_name="__main__")


def _end(run: Callable[[], None]) -> NoReturn:
    """Run it and end as Python does, without taking apart what is imported, which is slow."""
    code: object = 0
    try:
        run()
    except SystemExit as ended:
        code = ended.code or 0
    except BaseException:  # noqa: BLE001 - as at the top of a program
        sys.excepthook(*sys.exc_info())
        code = 1
    if not isinstance(code, int):
        sys.stderr.write(f"{code}\n")
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code & 255)


if __name__ == "__main__":
    for _module in _IMPORTED:
        import_module(_module)
    # or DeepSpeed compiles C++ for a minute, which processes that share a CPU exchange tensors by
    sys.modules["deepspeed"].ops.__compatible_ops__["deepspeed_shm_comm"] = False
    gc.freeze()  # or each fork would copy what it only looks at
    _write_clients(Path(sys.argv[1]))
    _serve(Path(sys.argv[1]))
    _end(_run)
