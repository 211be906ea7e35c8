"""Connects the model to a session: which messages it gets, and how its answers are shown."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Final

from ftc.tui.agent.address import shorten
from ftc.tui.agent.finder import Finder
from ftc.tui.agent.tools import reads_nothing
from ftc.tui.agent.turn import Turn, take_turn
from ftc.tui.agent.wire import list_models
from ftc.tui.conversation.conversation import Conversation
from ftc.tui.languages.voice import LANGUAGES, read_catalogue
from ftc.tui.state.line import Line
from ftc.tui.state.served_model import Agent, LocalModel, ModelError, Server
from ftc.tui.understanding.reading import Change
from ftc.tui.understanding.text.message import fold

#: A message that begins with this goes directly to the model.
_DIRECT: Final = "@"
_LISTING_SECONDS: Final = 5.0


def disclose(conversation: Conversation) -> list[Line]:
    """Return a notice about which data leaves the machine, and where it goes, or nothing."""
    agent = conversation.agent
    if agent is None:
        return []
    say, server = conversation.voice.say, agent.server
    if isinstance(server, LocalModel):
        return [conversation.line("agent.file", file=server.name)]
    key = "agent.here" if server.is_here else "agent.away"
    told = [say(key, model=agent.model, address=server.url), say("agent.sends")]
    told += [say("agent.open")] if server.is_open else []
    told += [say("agent.with_key", variable=server.key_variable)] if server.key_variable else []
    told.append(say("agent.rows_on" if agent.sees_rows else "agent.rows_off"))
    return [Line(who="ftc", text="\n".join(told))]


def offer_server(conversation: Conversation, finder: Finder | None) -> list[Line]:
    """Return the offer to use a server on this machine, once; nothing while a model is on."""
    if finder is None or conversation.agent is not None or (found := finder.offer()) is None:
        return []
    name, agent = found
    address = agent.server.url
    return [conversation.line("agent.offer", name=name, model=agent.model, address=address)]


def hear(conversation: Conversation, text: str, finder: Finder | None) -> list[Line] | None:
    """Answer messages about the model itself, and messages sent directly to it.

    Returns None for every other message.
    """
    said = fold(text).strip(" .!")
    agent = conversation.agent
    if agent is None:
        return _turn_on(conversation, finder) if said in _phrases("agent.says.on") else None
    if said in _phrases("agent.says.off"):
        conversation.agent = None
        return [conversation.line("agent.is_off"), *conversation.ask()]
    for key, sees in (("agent.says.show", True), ("agent.says.hide", False)):
        if said in _phrases(key):
            conversation.agent = replace(agent, sees_rows=sees, history=())
            told = "agent.rows_on" if sees else "agent.rows_off"
            return [conversation.line(told), *conversation.ask()]
    if text.startswith(_DIRECT) and (message := text.removeprefix(_DIRECT).strip()):
        return consult(conversation, message)
    return None


@cache
def _phrases(key: str) -> frozenset[str]:
    """Return a phrase in all languages, folded."""
    return frozenset(fold(read_catalogue(language)[key]) for language in LANGUAGES)


def _turn_on(conversation: Conversation, finder: Finder | None) -> list[Line] | None:
    """Turn on the model of the server that was found; None if the search is off."""
    if finder is None:
        return None
    for thread in finder.threads:
        thread.join()
    if not finder.found:
        return [conversation.line("agent.none_found"), *conversation.ask()]
    conversation.agent = finder.found[0][1]
    return [*disclose(conversation), *conversation.ask()]


def consult(conversation: Conversation, text: str) -> list[Line]:
    """Give a message to the model, and return its answer, or the reason why there is none."""
    agent = conversation.agent
    if agent is None:
        return []
    try:
        turn = take_turn(agent, conversation, text)
    except ModelError as failure:
        told = conversation.line("not_understood", text=text)
        return [*_excuse(conversation, agent, failure), told, *conversation.ask()]
    conversation.agent = turn.agent
    return [*_show(conversation, agent, turn)]


def _excuse(conversation: Conversation, agent: Agent, failure: ModelError) -> Iterator[Line]:
    """Yield why the model gave no answer, and that ftc goes on without it."""
    if failure.key == "agent.missing" and isinstance(agent.server, Server):
        names = _names(agent.server)
        yield conversation.line("agent.missing", "trouble", model=agent.model, names=names)
    else:
        yield conversation.line(failure.key, "trouble", **failure.values)


def _names(server: Server) -> str:
    try:
        return shorten(list_models(server, seconds=_LISTING_SECONDS))
    except ModelError:
        return "-"


def _show(conversation: Conversation, before: Agent, turn: Turn) -> Iterator[Line]:
    """Yield the model's words, marked as the model's, and its proposal, which waits for a yes."""
    model = turn.agent.model
    if turn.text:
        text = conversation.voice.say("agent.said", model=model, text=turn.text)
        yield Line(who="ftc", text=text, kind="speech", by=model, said=turn.text)
    if turn.agent.mode != before.mode:
        key = "agent.mode.plain" if turn.agent.mode == "plain" else "agent.mode.json"
        yield conversation.line(key, model=model)
    if turn.wants_rows:
        yield conversation.line("agent.wants_rows", model=model)
    if not turn.changes:
        yield from conversation.ask()
        return
    if reads_nothing(turn.changes):
        after = conversation.draft.changed(turn.changes)
        plan = conversation.observer.look(after, offers=False).plan
        if plan is not None:
            what = conversation.listed(turn.changes)
            yield conversation.line("with_it", what=what, plan=conversation.outlook(plan))
    conversation.proposal = turn.changes
    yield tell_proposal(conversation, turn.changes, model)


def tell_proposal(conversation: Conversation, changes: tuple[Change, ...], model: str) -> Line:
    """Return the card of a model's proposal, with the old and the new values."""
    what = conversation.compared(changes)
    text = conversation.voice.say("agent.proposal", model=model, what=what)
    return Line(who="ftc", text=text, kind="proposal", by=model)
