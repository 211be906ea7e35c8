"""A model in a GGUF file: llama.cpp answers the requests of the server protocol in this process.

The file's chat template writes the prompt. A grammar made from the schema of the request restricts
the answer to one tool call. The chunks have the format of a server's stream.
"""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Thread
from typing import Any, Final

from ftc.compiler.render.pins import llama_cpp_command
from ftc.spec.findings.finding import EnvironmentFailure
from ftc.tui.agent.flow import Stopped, follow
from ftc.tui.state.served_model import Agent, Limits, LocalModel, ModelError

_CONTEXT_TOKENS: Final = 8192
_MOST_TOKENS: Final = 1024
_LEAST_TOKENS: Final = 64
#: A prompt of thousands of tokens takes a minute or more on a CPU; Escape stops it.
_SECONDS: Final = 300.0
_RESULT_LETTERS: Final = 4000
_Pieces = SimpleQueue[Mapping[str, Any] | ModelError | None]


def open_file(path: Path) -> Agent:
    """Open a GGUF file; raises EnvironmentFailure if it is missing or cannot be read."""
    if not path.is_file():
        raise EnvironmentFailure(
            message=f"there is no file `{path}`", help="name a GGUF file, or leave --llm out"
        )
    try:
        from llama_cpp import Llama  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise EnvironmentFailure(
            message="a language model needs llama-cpp-python, which is not installed",
            help=f"run `{llama_cpp_command()}`, or leave --llm out",
        ) from error
    try:
        _silence()
        limit = Llama(str(path), vocab_only=True, verbose=False).metadata
        own = next((int(v) for k, v in limit.items() if k.endswith(".context_length")), 0)
        context = min(_CONTEXT_TOKENS, own or _CONTEXT_TOKENS)
        llm = Llama(str(path), n_ctx=context, verbose=False)
    except (ValueError, OSError, AssertionError) as error:
        raise EnvironmentFailure(
            message=f"`{path}` is no GGUF file that llama.cpp can open",
            help="download it again, or leave --llm out",
        ) from error
    return Agent(
        server=LocalModel(llm=llm, name=path.name),
        model=path.name,
        mode="object",
        limits=Limits(seconds=_SECONDS, result_letters=_RESULT_LETTERS),
    )


@cache
def _silence() -> Any:
    """Silence llama.cpp's log; the caller must keep the returned object alive."""
    import llama_cpp  # noqa: PLC0415 - an extra

    quiet = llama_cpp.llama_log_callback(lambda level, text, about: None)  # noqa: ARG005
    llama_cpp.llama_log_set(quiet, None)
    return quiet


def complete(
    model: LocalModel, body: Mapping[str, Any], limits: Limits, stopped: Stopped
) -> Iterator[Mapping[str, Any]]:
    """Yield the chunks of an answer from a thread, so that a timeout or a stop acts at once.

    Raises ModelError if the messages leave no room for an answer, or if llama.cpp fails.
    """
    pieces: _Pieces = SimpleQueue()
    over = Event()
    Thread(target=_pump, args=(model, body, pieces, over), daemon=True).start()
    try:
        yield from follow(pieces, limits, stopped)
    finally:
        over.set()


def _pump(model: LocalModel, body: Mapping[str, Any], pieces: _Pieces, over: Event) -> None:
    """Put the chunks into the queue, then None or a failure."""
    try:
        with model.turn:
            for chunk in _answer(model, body, over):
                pieces.put(chunk)
        pieces.put(None)
    except ModelError as failure:
        pieces.put(failure)
    except Exception as error:  # noqa: BLE001 - the failure is shown to the user
        why = " ".join(str(error).split())[:200] or type(error).__name__
        pieces.put(ModelError("agent.file.failed", file=model.name, why=why))


def _answer(model: LocalModel, body: Mapping[str, Any], over: Event) -> Iterator[Mapping[str, Any]]:
    """Yield the chunks as a server sends them; a stop takes effect before the next token."""
    from llama_cpp import StoppingCriteriaList  # noqa: PLC0415 - an extra

    llm = model.llm
    tokens, stops = _write_prompt(llm, body["messages"])
    room = llm.n_ctx() - len(tokens)
    if room < _LEAST_TOKENS:
        raise ModelError("agent.file.full", tokens=llm.n_ctx(), file=model.name)
    pieces = llm.create_completion(
        tokens,
        grammar=_grammar(json.dumps(body["response_format"]["schema"])),
        stop=stops,
        stopping_criteria=StoppingCriteriaList([lambda _tokens, _scores: over.is_set()]),
        max_tokens=min(_MOST_TOKENS, room),
        temperature=0.0,
        stream=True,
    )
    for piece in pieces:
        said = piece["choices"][0]
        delta = {"content": said["text"]}
        yield {"choices": [{"delta": delta, "finish_reason": said["finish_reason"]}]}


def _write_prompt(llm: Any, messages: list[dict[str, Any]]) -> tuple[list[int], list[str]]:
    """Return the tokens of the prompt, by the file's chat template, and the stop texts.

    A file without a template gets the template of ChatML. Some templates reject the system role.
    """
    from llama_cpp.llama_chat_format import (  # noqa: PLC0415 - an extra
        Jinja2ChatFormatter,
        format_chatml,
    )

    template = llm.metadata.get("tokenizer.chat_template")
    write = format_chatml
    if template:
        ends = (llm.token_eos(), llm.token_bos())
        eos, bos = (llm.detokenize([each], special=True).decode() for each in ends)
        write = Jinja2ChatFormatter(template, eos_token=eos, bos_token=bos)
    try:
        written = write(messages=messages)
    except Exception:  # noqa: BLE001 - whatever a template raises
        written = write(messages=_without_system(messages))
    tokens = llm.tokenize(written.prompt.encode(), add_bos=not written.added_special, special=True)
    return tokens, [written.stop] if isinstance(written.stop, str) else written.stop or []


@cache
def _grammar(schema: str) -> Any:
    from llama_cpp.llama_grammar import LlamaGrammar  # noqa: PLC0415 - an extra

    return LlamaGrammar.from_json_schema(schema, verbose=False)


def _without_system(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages with the system message prepended to the user's first message."""
    system, user, *rest = messages
    return [{**user, "content": f"{system['content']}\n\n{user['content']}"}, *rest]
