"""The end of a conversation: writes the spec and compiles the bundle."""

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ftc.compiler.pipeline import compile_bundle, write
from ftc.compiler.render.extras import Extra
from ftc.compiler.write.lock import LOCK_NAME
from ftc.spec.findings.finding import EnvironmentFailure, Finding
from ftc.spec.message import Message, reason_of
from ftc.tui.bundle.next_steps import NextSteps, find_next_steps
from ftc.tui.languages.voice import Language, Voice
from ftc.tui.state.chain import free_path
from ftc.tui.state.draft import Draft, written

SPEC_NAME: Final = "spec.json"
README_NAME: Final = "README.md"
_READMES: Final[Mapping[Language, Extra]] = {"ca": "readme_ca", "es": "readme_es"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The files written, and the next steps.

    If `findings` has errors, there is a spec but no bundle, and there are no next steps.
    """

    spec: Path
    bundle: Path | None
    files: tuple[str, ...] = ()
    steps: NextSteps | None = None
    findings: tuple[Finding, ...] = ()


def spec_path(draft: Draft, folder: Path, own: Path | None) -> Path:
    """Return the path for the spec: its current file, `spec.json`, or a file with the run's name.

    A file that the conversation did not write or load is not overwritten.
    """
    if own is not None:
        return own
    usual = folder / SPEC_NAME
    if not usual.exists():
        return usual
    return free_path(folder, draft.get("/name") or usual.stem)


def save(draft: Draft, path: Path) -> None:
    """Write the spec; raises EnvironmentFailure if the file cannot be written."""
    try:
        path.write_text(_file_text(draft), encoding="utf-8")
    except OSError as error:
        raise EnvironmentFailure(
            message=Message(
                "failure.unwritable.message", {"path": str(path), "reason": reason_of(error)}
            ),
            help=Message("failure.unwritable.help"),
        ) from error


def is_written(draft: Draft, path: Path) -> bool:
    """Return whether a file contains the draft's spec as `save` writes it."""
    try:
        return path.read_text(encoding="utf-8") == _file_text(draft)
    except (OSError, UnicodeError):
        return False


def find_written(draft: Draft, folder: Path) -> Path | None:
    """Return the spec in a folder that a draft was saved to and that still has its values."""
    names = (SPEC_NAME, f"{draft.get('/name')}.json")
    return next((folder / name for name in names if is_written(draft, folder / name)), None)


def _file_text(draft: Draft) -> str:
    return json.dumps(written(draft), indent=2, ensure_ascii=False) + "\n"


def finish(draft: Draft, path: Path, *, force: bool = False) -> Finished:
    """Write the spec and its bundle; raises EnvironmentFailure if that fails.

    `force` replaces files that were edited. Without it they raise Conflict, after the spec is
    written.
    """
    save(draft, path)
    return _compile(path, force=force)


def add_readme(finished: Finished, language: Language) -> Finished:
    """Write the bundle again, with a README in a language; raises EnvironmentFailure."""
    return _compile(finished.spec, _READMES[language])


def _compile(path: Path, *extras: Extra, force: bool = False) -> Finished:
    outcome = compile_bundle(str(path), extras=dict.fromkeys(extras, True))
    if outcome.failed:
        return Finished(spec=path, bundle=None, findings=outcome.findings)
    write(outcome, force=force)
    names = tuple(sorted((*(file.name for file in outcome.files), LOCK_NAME)))
    readme = next((file.text for file in outcome.files if file.name == README_NAME), None)
    launcher = outcome.spec.launch.type if outcome.spec else "local"
    return Finished(
        spec=path,
        bundle=outcome.folder,
        files=names,
        findings=outcome.findings,
        steps=find_next_steps(readme or "", launcher),
    )


def say_next(finished: Finished, voice: Voice) -> str:
    """Return the next commands, one per line; "" without a bundle."""
    steps, bundle = finished.steps, finished.bundle
    if steps is None or bundle is None:
        return ""
    parts, folder = [], _in_shell(bundle)
    if steps.install:
        install = "\n".join(f"  {line}" for line in steps.install)
        parts.append(voice.say("next.install", bundle=folder, install=install))
        parts += [voice.say("next.address")] if "ADDRESS" in install else []
    parts.append(voice.say("next", bundle=folder, start=steps.start))
    spec = _in_shell(finished.spec)
    parts.append(voice.say("next.others", spec=spec, bundle=folder))
    return "\n".join(parts)


def _in_shell(path: Path) -> str:
    """Return a path quoted as one word of a shell command."""
    return shlex.quote(str(path))
