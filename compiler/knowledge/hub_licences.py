"""The licences that the Hub lists; a model card names any other one beside `other`."""

import json
from functools import cache
from pathlib import Path


@cache
def list_licences() -> frozenset[str]:
    """Return the identifiers of the Hub's documented list."""
    path = Path(__file__).with_name("hub_licences.json")
    return frozenset(json.loads(path.read_text(encoding="utf-8"))["identifiers"])


def describe_licence(name: str) -> dict[str, str]:
    """Return what the metadata of a card say of a licence."""
    identifier = name.lower()
    if identifier in list_licences():
        return {"license": identifier}
    return {"license": "other", "license_name": name}
