"""Conversations in real environments: a tmux terminal, a pipe, and a dumb terminal."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ftc.tui.state.saved_state import find_kept

EVERYTHING = "llama 3.1 8b on my 4090, tickets.csv, I need a q4 gguf for ollama"
FTC = (sys.executable, "-m", "ftc")
_PATIENCE_SECONDS = 60.0


class Terminal:
    """A terminal of 80 by 24 in its own tmux server."""

    def __init__(self, folder: Path) -> None:
        self.tmux = ["tmux", "-f", os.devnull, "-S", str(folder / "tmux")]

    def do(self, *words: str) -> str:
        """Run one command of tmux and return what it prints."""
        return subprocess.run(
            [*self.tmux, *words], check=True, capture_output=True, text=True
        ).stdout

    def wait_for(self, text: str) -> str:
        """Wait for a text, and return the screen."""
        until = time.monotonic() + _PATIENCE_SECONDS
        screen = ""
        while time.monotonic() < until:
            screen = self.do("capture-pane", "-p")
            if text in screen:
                return screen
            time.sleep(0.1)
        pytest.fail(f"{text!r} never came:\n{screen}")

    def is_alive(self) -> bool:
        """Return whether the command still runs: the server ends with its last session."""
        done = subprocess.run([*self.tmux, "list-sessions"], check=False, capture_output=True)
        return done.returncode == 0

    def end(self) -> None:
        """End the server, if it exists."""
        subprocess.run([*self.tmux, "kill-server"], check=False, capture_output=True)

    def type(self, text: str) -> None:
        """Type a message and send it."""
        self.do("send-keys", "-l", text)
        self.do("send-keys", "Enter")


@pytest.mark.prove
@pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")
def test_a_conversation_in_a_real_terminal(folder: Path, tmp_path: Path) -> None:
    """Typed and read like a user would; the saved spec compiles to the same bytes."""
    terminal = Terminal(tmp_path)
    command = " ".join([*FTC, "chat", "--lang", "en"])
    terminal.do("new-session", "-d", "-x", "80", "-y", "24", "-c", str(folder), command)
    try:
        terminal.wait_for("What should the model learn to do?")
        terminal.type(EVERYTHING)
        terminal.wait_for("1. lora: fits with")
        terminal.type("lora")
        terminal.wait_for("What should this fine-tune be called?")
        terminal.type("triage")
        terminal.wait_for("I have all I need.")
        terminal.do("send-keys", "F9")
        terminal.wait_for("Next: cd triage && ./run.sh")
    finally:
        terminal.do("kill-server")
    assert json.loads((folder / "spec.json").read_text(encoding="utf-8"))["name"] == "triage"
    checked = subprocess.run(
        [*FTC, "compile", "spec.json", "-o", "triage", "--check"], cwd=folder, check=False
    )
    assert checked.returncode == 0


@pytest.mark.prove
@pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")
def test_plain_lines_are_edited_recalled_and_saved(folder: Path, tmp_path: Path) -> None:
    """Backspace and Up work, a paste of lines is one message, and a kill loses no draft."""
    terminal = Terminal(tmp_path)
    command = " ".join([*FTC, "chat", "--plain", "--lang", "en"])
    terminal.do("new-session", "-d", "-x", "100", "-y", "60", "-c", str(folder), command)
    try:
        terminal.wait_for("6. answer from given documents")
        terminal.do("send-keys", "-l", "lora with qwen3 4b, tickets.csvX")
        terminal.do("send-keys", "BSpace", "Enter")
        terminal.wait_for("data.source = tickets.csv")
        terminal.wait_for("Which GPU will run the training?")
        terminal.do("send-keys", "Up")
        terminal.wait_for("> lora with qwen3 4b, tickets.csv")
        terminal.do("send-keys", "C-u")
        pasted = tmp_path / "pasted.yaml"
        pasted.write_text("training:\n  epochs: 2\n  seed: 7\n", encoding="utf-8")
        terminal.do("load-buffer", str(pasted))
        terminal.do("paste-buffer", "-p")
        terminal.do("send-keys", "Enter")
        terminal.wait_for("Config recognised")
        terminal.wait_for("training.epochs = 2, training.seed = 7")
        terminal.type("a 4090")
        terminal.wait_for("! warning[FTC123]")
    finally:
        terminal.do("kill-server")
    kept = find_kept(folder)
    assert kept is not None
    assert kept.draft.get("/training/epochs") == 2
    assert kept.draft.get("/hardware/gpu") == "RTX-4090"


@pytest.mark.parametrize("arguments", [(), ("chat",), ("chat", "--plain", "--lang", "en")])
def test_a_pipe_gets_numbered_questions(arguments: tuple[str, ...], folder: Path) -> None:
    """So does plain `ftc`; no character moves the cursor, and nothing is printed to stderr."""
    said = subprocess.run(
        [*FTC, *arguments],
        cwd=folder,
        input=f"{EVERYTHING}\n2\ntriage\ncompile\n",
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
    )
    assert said.stderr == ""
    assert "\x1b" not in said.stdout
    assert "  1. sort texts into labels" in said.stdout
    assert "  full: does not fit: " in said.stdout
    assert "Next: cd triage && ./run.sh" in said.stdout
    assert (folder / "triage" / "run.sh").is_file()


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_dumb_terminal_gets_lines(folder: Path) -> None:
    """With a dumb terminal, no escape sequence is written."""
    import pty  # noqa: PLC0415 - not on Windows

    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "dumb", "LC_ALL": "C.UTF-8"}
    with subprocess.Popen(
        FTC, cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    ) as process:
        os.close(theirs)
        said = b""
        while b"answer from given documents" not in said:
            said += os.read(ours, 4096)
        os.write(ours, b"quit\n")
        assert process.wait(30) == 0
    os.close(ours)
    assert b"\x1b" not in said
