"""Makes deprecations of the pinned libraries errors in every process that tests start.

Python imports this module at its start when the folder is on PYTHONPATH. A deprecation says that a
bundle stops working with the next versions of its libraries, so it ends the process, unless
`ALLOWED` has its text and the reason. Libraries report deprecations as warnings, whose module is
theirs or that of the script that called them, and by their loggers. Standard library only.
"""

import logging
import re
import warnings

#: Names of loggers and modules; the last two are those of a bundle.
LIBRARIES = (
    "transformers",
    "trl",
    "peft",
    "accelerate",
    "datasets",
    "torch",
    "deepspeed",
    "bitsandbytes",
    "liger_kernel",
    "sentence_transformers",
    "compressed_tensors",
    "llama_cpp",
    "gguf",
    "__main__",
    "runtime",
)

#: The package that has the text, the text, and why it may be reported.
ALLOWED: tuple[tuple[str, str, str], ...] = (
    (
        "transformers",
        "`is_gradient_checkpointing` is deprecated",
        "transformers and PEFT read the old name themselves; no script of a bundle does",
    ),
    (
        "transformers",
        "`gradient_checkpointing_enable` is deprecated",
        "TRL's selective checkpointing calls transformers' method by its old name",
    ),
    (
        "transformers",
        "`gradient_checkpointing_disable` is deprecated",
        "TRL calls it by its old name before it generates answers",
    ),
    (
        "transformers",
        "only defines `gradient_checkpointing_enable`",
        "sentence-transformers' models have the old name alone",
    ),
    (
        "torch",
        "`torch.jit.script_method` is deprecated",
        "of a module of torch that DeepSpeed imports beside those that it uses",
    ),
    (
        "torch",
        "`torch.distributed.all_gather_into_tensor` is deprecated",
        "DeepSpeed and FSDP gather by this name",
    ),
    (
        "torch",
        "`torch.distributed.reduce_scatter_tensor` is deprecated",
        "DeepSpeed and FSDP reduce by this name",
    ),
    (
        "torch",
        "torch.distributed._functional_collectives.all_gather_single",
        "the name that replaces the one by which sentence-transformers gathers texts",
    ),
    (
        "torch",
        "`broadcast_buffers` is deprecated",
        "sentence-transformers turns it off, and the Trainer passes it on by its old name",
    ),
    (
        "torch",
        "should not be instantiated. Methods on autograd functions",
        "torch.compile does so itself when it traces TRL's loss in chunks",
    ),
    (
        "trl",
        "`label_smoothing_factor` is deprecated",
        "the pinned TRL still smooths; with TRL 2, `training.label_smoothing` needs another way",
    ),
)

_DEPRECATED = re.compile(r"deprecat|will be removed|removed in (?:version|v)? ?\d", re.IGNORECASE)
_MODULES = rf"(?:{'|'.join(LIBRARIES)})(?:\.|$)"


class Deprecated(Exception):  # noqa: N818 - shown as the last line of a process
    """A library reported by its logger that something is deprecated."""


def is_allowed(text: str) -> bool:
    """Return whether a message has an allowed text."""
    return any(part in text for _, part, _ in ALLOWED)


class Refusal(logging.LogRecord):
    """A record of a log, which is not made when a library reports a deprecation."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        """Make the record; raise Deprecated instead if it reports one that is not allowed."""
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        if self.levelno < logging.WARNING or not re.match(_MODULES, self.name):
            return
        text = self.getMessage()
        if _DEPRECATED.search(text) and not is_allowed(text):
            raise Deprecated(text)


for category in (DeprecationWarning, FutureWarning):
    warnings.filterwarnings("error", category=category, module=_MODULES)
for _, allowed, _ in ALLOWED:
    warnings.filterwarnings("ignore", message=rf".*{re.escape(allowed)}")
logging.setLogRecordFactory(Refusal)
