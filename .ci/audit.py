"""Ask a service of advisories about every package that a bundle may install.

    .venv/bin/python .ci/audit.py

Runs pip-audit in an environment of its own. Exit code 0: all of them were looked up and none has a
known fault; 1: some have; 3: some were not looked up, and how many is said. Nothing passes unsaid.
"""

import json
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Any

from ftc.compiler.knowledge.locked_packages import find_closure
from ftc.compiler.render.pins import PINS

AUDITOR = "pip-audit==2.10.1"
SECONDS = 300


def main() -> int:
    """Look up all packages, and say what came of it."""
    packages = {package.name: package.version for package in find_closure(PINS)}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        listed = folder / "requirements.txt"
        lines = (f"{package}=={version}\n" for package, version in packages.items())
        listed.write_text("".join(lines), encoding="utf-8")
        said, why = look_up(folder, listed)
    answers = {entry["name"].lower(): entry for entry in said}
    faults = {name: entry["vulns"] for name, entry in answers.items() if entry.get("vulns")}
    unasked = [name for name in packages if "vulns" not in answers.get(name, {})]
    for name, found in faults.items():
        print(f"{name} {packages.get(name)}: {', '.join(fault['id'] for fault in found)}")
    print(f"{len(packages) - len(unasked)} packages audited, {len(faults)} with known faults")
    if unasked:
        print(f"not audited: {len(unasked)} packages ({why or 'the service does not know them'})")
    return 1 if faults else 3 if unasked else 0


def look_up(folder: Path, listed: Path) -> tuple[list[dict[str, Any]], str]:
    """Return what pip-audit says of each package, and why it says nothing."""
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    for command in (
        [python, "-m", "pip", "install", "--quiet", AUDITOR],
        [python, "-m", "pip_audit", "--no-deps", "--disable-pip", "-f", "json", "-r", listed],
    ):
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=SECONDS
            )
        except subprocess.TimeoutExpired:
            return [], "no answer in time"
    try:
        said: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        return [], (done.stderr.strip().splitlines() or ["no answer"])[-1][:120]
    return said, ""


if __name__ == "__main__":
    sys.exit(main())
