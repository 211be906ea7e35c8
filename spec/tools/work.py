"""One translation in progress: the fields so far, and what became of each key."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ftc.spec.tools.entry import Became, Entry, Kind
from ftc.spec.tools.tables import Table, find_value
from ftc.spec.values.admission import admits


@dataclass(slots=True)
class Work:
    """Collects what became of the keys; `facts` holds the keys that mean no single field.

    `stated` holds the targets of keys that have a value, whether it could be read or not.
    """

    table: Table
    whole: bool = True
    gpus: int | None = None
    facts: dict[str, list[Entry]] = field(default_factory=dict)
    stated: set[str] = field(default_factory=set)
    fields: dict[str, Any] = field(default_factory=dict)
    sources: dict[str, Entry] = field(default_factory=dict)
    became: dict[str, Became] = field(default_factory=dict)

    def entry(self, name: str) -> Entry | None:
        """Return the key that states a fact; of several the last, and the others are left."""
        entries = self.facts.get(name, [])
        for earlier in entries[:-1]:
            if earlier.path not in self.became:
                self.leave(earlier, "repeated")
        return entries[-1] if entries else None

    def meaning(self, name: str) -> Any:
        """Return a fact in ftc's words, or None if it is not stated or has no such word."""
        entry = self.entry(name)
        if entry is None:
            return None
        try:
            return find_value(self.table, name, entry.value)
        except KeyError:
            return None

    def put(self, entry: Entry, pointer: str, value: Any, kind: Kind = "derived") -> bool:
        """Set a field because of a key; return whether the field takes the value."""
        if not admits(pointer, value):
            self.leave(entry, "value", pointer=pointer)
            return False
        earlier = self.sources.get(pointer)
        if earlier is not None and earlier.path != entry.path:
            if self.fields[pointer] == value and not earlier.path.startswith("("):
                self.use(entry, {pointer: value})
                return True
            self.forget(pointer, "repeated")
        self.fields[pointer] = value
        self.sources[pointer] = entry
        known = self.became.get(entry.path)
        set_by = {**(known.fields if known else {}), pointer: value}
        default = entry.path.startswith("(")
        self.became[entry.path] = Became(
            key=entry.path,
            value=entry.value,
            kind="default" if default else kind,
            fields=set_by,
            reason=known.reason if known and known.fields else "",
        )
        return True

    def forget(self, pointer: str, reason: str) -> None:
        """Take a field back; a key that leads to nothing else is left for this reason."""
        entry = self.sources.pop(pointer)
        del self.fields[pointer]
        known = self.became[entry.path]
        rest = {name: value for name, value in known.fields.items() if name != pointer}
        if rest:
            self.became[entry.path] = Became(
                key=known.key, value=known.value, kind=known.kind, fields=rest
            )
        else:
            del self.became[entry.path]
            self.leave(entry, reason)

    def use(self, entry: Entry, fields: Mapping[str, Any], reason: str = "") -> None:
        """Say that a key led to fields that another key set with it."""
        known = self.became.get(entry.path)
        if (known is None or known.kind == "left") and not entry.path.startswith("("):
            self.became[entry.path] = Became(
                key=entry.path,
                value=entry.value,
                kind="derived",
                fields=dict(fields),
                reason=reason,
            )

    def leave(
        self,
        entry: Entry,
        reason: str,
        kind: Kind = "left",
        *,
        pointer: str = "",
        near: str = "",
    ) -> None:
        """Record the reason why a key has no field, and the field that rejects its value, if any.

        `near` is the known key that is most like an unknown one.
        """
        known = self.became.get(entry.path)
        used = known is not None and bool(known.fields) and kind == "left"
        if used or entry.path.startswith("("):
            return
        self.became[entry.path] = Became(
            key=entry.path,
            value=entry.value,
            kind=kind,
            fields={},
            reason=reason,
            pointer=pointer,
            near=near,
        )

    def refuse(self, entry: Entry, reason: str) -> None:
        """Say that a key asks for a training that ftc does not do."""
        if not entry.path.startswith("("):
            self.leave(entry, reason, kind="refused")
