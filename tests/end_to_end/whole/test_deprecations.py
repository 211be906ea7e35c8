"""Deprecations of the pinned libraries end the processes that tests start."""

import importlib.metadata
import importlib.util
import re
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from ftc.compiler.knowledge.locked_packages import find_closure
from tests.end_to_end.deprecations.sitecustomize import ALLOWED
from tests.end_to_end.process import run

pytestmark = pytest.mark.prove

#: The last version of `kernels` on the package index.
LAST_KERNELS = "0.17.2"
WARNING = """
import warnings
exec({text!r}, {{"__name__": {module!r}, "warnings": warnings}})
"""


@pytest.mark.parametrize("category", ["DeprecationWarning", "FutureWarning"])
@pytest.mark.parametrize(
    ("module", "is_error"),
    [("transformers.trainer", True), ("__main__", True), ("runtime.run", True), ("torchx", False)],
)
def test_a_warning(tmp_path: Path, category: str, module: str, *, is_error: bool) -> None:
    """It is an error where a pinned library or a bundle's own code is its place."""
    text = f"warnings.warn('`old` is deprecated', {category})"
    script = WARNING.format(text=text, module=module)
    ended = run(sys.executable, "-c", script, cwd=tmp_path)
    assert (ended.code != 0) == is_error, ended.said
    assert ("Traceback" in ended.err) == is_error


def test_a_logged_deprecation(tmp_path: Path) -> None:
    """It is an error as well, and no other line of a log is."""
    script = "import logging, sys; logging.getLogger('trl.trainer').warning(sys.argv[1])"
    for text, code in (("`old` is deprecated", 1), ("`old` will be removed in v6", 1), ("odd", 0)):
        ended = run(sys.executable, "-c", script, text, cwd=tmp_path)
        assert ended.code == code, ended.said
        assert text in ended.err


@pytest.mark.parametrize(("package", "text", "reason"), ALLOWED)
def test_what_is_allowed_is_still_reported(
    tmp_path: Path, package: str, text: str, reason: str
) -> None:
    """An entry whose text no longer stands in its package is to be deleted."""
    assert reason
    ended = run(
        sys.executable, "-c", f"import warnings; warnings.warn({text!r}, FutureWarning)",
        cwd=tmp_path,
    )  # fmt: skip
    assert (ended.code, ended.err) == (0, "")
    spec = importlib.util.find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    sources = Path(spec.origin).parent.rglob("*.py")
    assert any(text in path.read_text(encoding="utf-8") for path in sources)


def test_bundles_silence_nothing_else() -> None:
    """Each deprecation that `runtime/` hides from users is one that tests allow."""
    hidden = []
    for path in sorted((Path(__file__).parents[3] / "runtime").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        hidden += re.findall(r'filterwarnings\("ignore", "(?:\.\*)?([^"]+)"', text)
    assert len(hidden) >= 2
    assert all(any(text in allowed for _, allowed, _ in ALLOWED) for text in hidden), hidden


def test_no_other_attention_can_be_pinned() -> None:
    """FTC326 is true as long as this passes: neither kernel of FlashAttention-2 can be locked.

    The lock has no `flash-attn`, which has no wheel on the package index, and no `kernels`, because
    the pinned transformers refuses the last version there (test_locked.py asks the index). When
    either is locked, a bundle can require it: revise FTC326 and the choice of attention.
    """
    assert not find_closure(["flash-attn"])
    assert not find_closure(["kernels"])
    asked = [Requirement(line) for line in importlib.metadata.requires("transformers") or ()]
    (accepted,) = {str(each.specifier) for each in asked if each.name == "kernels"}
    specifier = Requirement(f"kernels{accepted}").specifier
    assert LAST_KERNELS not in specifier, f"transformers takes kernels {LAST_KERNELS}"
