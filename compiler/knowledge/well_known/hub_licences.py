"""The licences that the Hub lists; a model card names any other one beside `other`."""

from functools import cache

from ftc.compiler.knowledge.tables import read_table


@cache
def list_licences() -> frozenset[str]:
    """Return the identifiers of the Hub's documented list."""
    return frozenset(read_table(__name__, "hub_licences.json")["identifiers"])


def describe_licence(name: str) -> dict[str, str]:
    """Return the licence in the metadata of a model card."""
    identifier = name.lower()
    if identifier in list_licences():
        return {"license": identifier}
    return {"license": "other", "license_name": name}
