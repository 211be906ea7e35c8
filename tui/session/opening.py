"""The start of a conversation: its folder, its language and the saved draft."""

from pathlib import Path

from ftc.spec.findings.finding import EnvironmentFailure
from ftc.spec.load import load_document
from ftc.spec.message import Message
from ftc.tui.agent.address import Wanted, open_agent
from ftc.tui.agent.local import open_file
from ftc.tui.languages.voice import Voice, find_language
from ftc.tui.session.session import Session
from ftc.tui.state.draft import Draft, read_draft
from ftc.tui.state.saved_state import find_kept
from ftc.tui.state.situation import Observer


def make_session(
    folder: Path, *, language: str | None, spec: Path | None, model: Wanted | None = None
) -> Session:
    """Return a session that has not started; `spec` is an existing spec to change.

    `model` is a language model for messages that the reader does not understand. Raises
    EnvironmentFailure if the spec or the model cannot be read, or its server does not answer.
    """
    model = model or Wanted()
    observer = Observer(folder=folder)
    voice = Voice(language=find_language(language))
    agent = open_agent(model) if model.file is None else open_file(model.file)
    if spec is not None:
        draft = _read(spec)
        own = spec if spec.suffix == ".json" else None
        return Session(
            observer=observer,
            voice=voice,
            draft=draft,
            spec=own,
            agent=agent,
            follows=language is None,
        )
    kept = find_kept(folder)
    return Session(
        observer=observer,
        voice=voice,
        kept=kept.draft if kept else None,
        sent=kept.said if kept else (),
        agent=agent,
        follows=language is None,
    )


def _read(spec: Path) -> Draft:
    document = load_document(str(spec))
    if isinstance(document, tuple):
        raise EnvironmentFailure(message=document[0].problem, help=document[0].remedy)
    if not isinstance(document.data, dict):
        raise EnvironmentFailure(
            message=Message("failure.no_spec.message", {"name": str(spec)}),
            help=Message("failure.no_spec.help"),
        )
    return read_draft(document.data)
