"""The options of a chat template: the variables that it reads and that a caller may set."""

from typing import Final

from jinja2 import meta, nodes
from jinja2.defaults import DEFAULT_NAMESPACE

from ftc.compiler.resolve.chat_template.rendering import ChatTemplate, ChatTemplateError

#: What transformers and llama.cpp give to every template, besides the special tokens.
RENDERED: Final = frozenset(
    {
        *("messages", "tools", "documents", "add_generation_prompt", "continue_final_message"),
        *("raise_exception", "strftime_now"),
    }
)
#: What Jinja itself defines or reads as syntax.
_SYNTAX: Final = frozenset(
    {
        *("and", "or", "not", "in", "is", "if", "else", "elif", "for", "recursive", "import"),
        *("with", "context", "without", "true", "false", "none", "True", "False", "None"),
        *("loop", "self", "caller", "varargs", "kwargs", "super", *DEFAULT_NAMESPACE),
    }
)


def is_reserved(name: str) -> bool:
    """Return whether the renderer, or Jinja, already gives this name a meaning."""
    is_token = name.endswith("_token")  # as the names of special tokens do
    return is_token or name in RENDERED or name in _SYNTAX


def list_options(source: str, template: ChatTemplate) -> tuple[str, ...]:
    """Return the variables that a template with the text `source` takes from its caller, sorted.

    A variable that the template sets is one only where the template asks whether it is defined, or
    has a default for it. Raises ChatTemplateError for a template that is nested too deeply.
    """
    tree = template.environment.parse(source)
    try:
        undeclared = meta.find_undeclared_variables(tree)
    except (RecursionError, MemoryError) as error:
        raise ChatTemplateError(type(error).__name__) from error
    stored = {name.name for name in tree.find_all(nodes.Name) if name.ctx != "load"}
    asked = {*_list_asked(tree, nodes.Test, ("defined", "undefined", "none"))}
    asked |= {*_list_asked(tree, nodes.Filter, ("default", "d"))}
    free = undeclared - (stored - asked)
    return tuple(sorted(name for name in free if not is_reserved(name)))


def _list_asked(
    tree: nodes.Template, kind: type[nodes.Test | nodes.Filter], names: tuple[str, ...]
) -> list[str]:
    """Return the variables that a test or a filter of one of these names is applied to."""
    found = (node.node for node in tree.find_all(kind) if node.name in names)
    return [node.name for node in found if isinstance(node, nodes.Name)]
