"""A conversation ends when its server dies."""

import os
import subprocess
import sys
import time
from pathlib import Path

DRIVER = "textual.drivers.web_driver:WebDriver"
PATIENCE_SECONDS = 30
SERVER = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-m", "ftc", "chat"], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE)
child.stdout.read(10)
print(child.pid, flush=True)
"""


def test_it_ends_with_the_server_that_started_it(folder: Path) -> None:
    """The process ends soon after its parent."""
    environment = {**os.environ, "TEXTUAL_DRIVER": DRIVER, "COLUMNS": "80", "ROWS": "24"}
    command = [sys.executable, "-c", SERVER]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    child = Path("/proc") / done.stdout.strip()
    until = time.monotonic() + PATIENCE_SECONDS
    while child.exists() and time.monotonic() < until:
        time.sleep(0.2)
    assert not child.exists()
