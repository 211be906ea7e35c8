"""Addresses of pages on the Hub in place of ids."""

from typing import Any, Literal

import pytest

from ftc.spec.patch import apply_patch
from ftc.spec.validate import judge
from ftc.spec.values.hub_page import find_repository

BASE = {"name": "x", "model": "m", "data": "d.csv"}


@pytest.mark.parametrize(
    ("address", "kind", "meant"),
    [
        ("https://huggingface.co/acme/triage", "model", "acme/triage"),
        ("https://huggingface.co/acme/triage/", "model", "acme/triage"),
        ("https://www.huggingface.co/acme/triage.v2/tree/main", "model", "acme/triage.v2"),
        ("huggingface.co/acme/triage?library=x", "model", "acme/triage"),
        ("https://huggingface.co/acme/triage.git", "model", "acme/triage"),
        ("hf.co/acme/triage", "model", "acme/triage"),
        ("hf://acme/triage", "model", "acme/triage"),
        ("https://huggingface.co/datasets/acme/rows/blob/main/a.csv", "dataset", "acme/rows"),
        ("hf://datasets/acme/rows", "dataset", "acme/rows"),
        ("https://huggingface.co/datasets/acme/rows", "model", None),
        ("https://huggingface.co/datasets/squad", "model", None),
        ("https://huggingface.co/spaces/acme/demo", "model", None),
        ("https://huggingface.co/acme", "model", None),
        ("https://example.com/acme/triage", "model", None),
        ("acme/triage", "model", None),
    ],
)
def test_the_repository_of_a_page(
    address: str, kind: Literal["model", "dataset"], meant: str | None
) -> None:
    """The id is found in what follows the host, and only for pages of the kind."""
    assert find_repository(address, kind) == meant


@pytest.mark.parametrize(
    ("publish", "pointer", "fixed"),
    [
        ("https://huggingface.co/acme/triage", "/publish", "acme/triage"),
        (
            {"repo": "https://huggingface.co/acme/triage/tree/main", "private": False},
            "/publish/repo",
            {"repo": "acme/triage", "private": False},
        ),
    ],
)
def test_the_address_of_a_repository_to_publish_in(publish: Any, pointer: str, fixed: Any) -> None:
    """The fix writes the id, as it does for a model."""
    spec = {**BASE, "publish": publish}
    (finding,) = judge(spec)
    assert (finding.code, finding.pointer) == ("FTC037", pointer)
    assert finding.help == "write its id: `acme/triage`"
    assert finding.fix_safety == "safe"
    assert apply_patch(spec, finding.fix)["publish"] == fixed
