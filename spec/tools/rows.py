"""What a foreign config trains on: its data sets, their form and columns, what is held out."""

import re
from collections.abc import Mapping
from typing import Any, Final

from ftc.spec.admission import admits
from ftc.spec.tools.entry import Entry
from ftc.spec.tools.tables import find_value
from ftc.spec.tools.work import Work

_ROLES: Final = (
    "messages", "prompt", "completion", "instruction", "input", "output", "text", "tools",
    "chosen", "rejected", "label",
)  # fmt: skip
_LOADERS: Final = frozenset({"json", "csv", "parquet", "text", "pandas"})
_SLICE: Final = re.compile(
    r"(?P<split>[\w.-]+)\[:(?P<count>\d+)(?P<percent>%?)\]|(?P<other>[\w.-]+)[\[+].*"
)
_FORMS: Final = {
    "instruction": "instruction", "chat": "chat", "text": "text",
    "pairs": "preference",
}  # fmt: skip
_GROUP: Final = re.compile(r"\[(\d+)\]")
_MOST_HELD_OUT: Final = 0.5
#: The objectives that learn from preferences alone, as the compiler's table of objectives says.
PAIRED: Final = frozenset({"dpo", "orpo", "cpo", "simpo", "reward"})


def derive_rows(work: Work, registry: Mapping[str, Any]) -> None:
    """Set the data sets, and what is held out of them."""
    _read_known(work)
    groups: dict[str, dict[str, list[Entry]]] = {}
    for name, entries in work.facts.items():
        if name.startswith("@data.") and name not in ("@data.form", "@data.registered"):
            for each in entries:
                index = _GROUP.search(each.path)
                group = groups.setdefault(index[1] if index else "", {})
                group.setdefault(name.removeprefix("@data."), []).append(each)
    sources = [
        _Source(work, groups[key]) for key in sorted(groups, key=lambda key: (len(key), key))
    ]
    _read_registered(work, sources, registry)
    sources = [each for each in sources if each.fields.get("source")]
    for source in sources:
        source.read_form()
    if len(sources) == 1:
        only = sources[0]
        for key, (value, stated_by) in only.fields.items():
            only.place(f"/data/{key}", value, stated_by)
    elif sources:
        whole = [source.item() for source in sources]
        owner = sources[-1].fields["source"][1]
        if work.put(owner, "/data/sources", whole):
            for place, source in enumerate(sources):
                for key, (value, stated_by) in source.fields.items():
                    work.use(stated_by, {f"/data/sources/{place}/{key}": value})
    _read_held_out(work)
    if (system := work.entry("@system")) is not None:
        work.put(system, "/data/system", system.value, "carried")
    stated = work.facts.get("@template_option", [])
    for option in stated:
        options = {each.key: each.value for each in stated}
        work.put(option, "/data/template_options", options, "carried")
    if (new := work.entry("@new_tokens")) is not None:
        tokens = new.value if isinstance(new.value, list) else str(new.value).split(",")
        if tokens:
            work.put(new, "/model/new_tokens", tokens, "carried")
        else:
            work.leave(new, "empty")


#: The end of the name of a file of rows, which has no splits.
_FILE: Final = re.compile(r"\.(?:csv|tsv|tab|jsonl|ndjson|json|parquet)$", re.IGNORECASE)


class _Source:
    """One data set: the fields that its keys lead to, each with the key."""

    def __init__(self, work: Work, keys: Mapping[str, list[Entry]]) -> None:
        self.work = work
        self.fields: dict[str, tuple[Any, Entry]] = {}
        self.keys = keys
        self.read_place()
        for role in _ROLES:
            if (entry := self.last(role)) is not None and entry.value:
                self.fields[f"columns/{role}"] = (entry.value, entry)
        for key in ("revision", "subset"):
            if (entry := self.last(key)) is not None and entry.value not in (None, ""):
                self.fields[key] = (str(entry.value), entry)

    def last(self, name: str) -> Entry | None:
        entries = self.keys.get(name, [])
        for earlier in entries[:-1]:
            self.work.leave(earlier, "repeated")
        return entries[-1] if entries else None

    def read_place(self) -> None:
        source, file, split = self.last("source"), self.last("file"), self.last("split")
        place = file if file is not None and _is_loader(source) else source
        value = place.value if place is not None else None
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if isinstance(value, dict) and isinstance(value.get("train"), str):
            value = value["train"]
        if place is not None and isinstance(value, str):
            self.fields["source"] = (value, place)
        elif place is not None:
            self.work.leave(place, "value")
        for other in (source, file):
            if other is not None and other is not place and place is not None:
                self.work.leave(other, "data")
        if split is not None:
            self.read_split(split)
            named = str(self.fields.get("source", ("",))[0])
            is_file = place is not None and (place is file or _FILE.search(named) is not None)
            if is_file and "split" in self.fields:
                del self.fields["split"]
                self.work.leave(split, "default_alike" if split.value == "train" else "slice")
        if (entry := self.last("format")) is not None:
            self.work.leave(entry, "data")

    def read_split(self, entry: Entry) -> None:
        match = _SLICE.fullmatch(str(entry.value))
        if match is None:
            self.fields["split"] = (str(entry.value), entry)
            return
        self.fields["split"] = (match["split"] or match["other"], entry)
        if match["count"] and not match["percent"]:
            self.fields["max_rows"] = (int(match["count"]), entry)

    def read_form(self) -> None:
        """Set the form by the type that axolotl names, or by what a data set of torchtune is."""
        objective = self.work.fields.get("/objective/type")
        for name in ("type", "pretrain"):
            entry = self.last(name)
            if entry is None:
                continue
            try:
                word = find_value(self.work.table, f"@data.{name}", entry.value)
            except KeyError:
                word = None
            form = _FORMS.get(word) if isinstance(word, str) else None
            if form == "preference" or objective in PAIRED:
                form = "feedback" if objective == "kto" else "preference"
            if form is None:
                self.work.leave(entry, "data")
                continue
            self.fields["form"] = (form, entry)
            self.work.facts.setdefault("@data.form", []).append(Entry(path=entry.path, value=form))
        place = self.fields["source"][1]
        if place.path.startswith("pretraining_dataset"):
            self.fields["form"] = ("text", self.fields.get("form", ("", place))[1])
            self.work.facts.setdefault("@data.form", []).append(
                Entry(path=place.path, value="text")
            )
        if "columns/text" in self.fields and "form" not in self.fields and not self.known_form():
            self.fields["form"] = ("text", self.fields["columns/text"][1])
            self.work.facts.setdefault("@data.form", []).append(
                Entry(path=place.path, value="text")
            )
        form_of = self.fields.get("form", ("", None))[0]
        if form_of in ("preference", "feedback") and "columns/messages" in self.fields:
            self.fields["columns/prompt"] = self.fields.pop("columns/messages")
        if form_of == "chat" and "columns/text" in self.fields:
            del self.fields["columns/text"]

    def known_form(self) -> bool:
        """Return whether the tool's name for the data set states its form."""
        return "/data/form" in self.work.fields or self.last("type") is not None

    def place(self, pointer: str, value: Any, entry: Entry) -> None:
        sliced = pointer == "/data/split" and value != str(entry.value)
        said = str(value) in str(entry.value) or pointer == "/data/form"
        self.work.put(entry, pointer, value, "carried" if said and not sliced else "derived")

    def item(self) -> Mapping[str, Any]:
        """Return the source as an item of `data.sources`."""
        item: dict[str, Any] = {}
        for key, (value, entry) in self.fields.items():
            first, _, role = key.partition("/")
            if role:
                item.setdefault(first, {})[role] = value
            else:
                item[first] = value
            if not admits("/data/sources", [{"source": "x.json", **item}]):
                item.pop(first)
                self.work.leave(entry, "value")
        return item


def _is_loader(source: Entry | None) -> bool:
    return source is None or source.value in _LOADERS


def _read_known(work: Work) -> None:
    """Take a data set that torchtune names by a function: its source, its form and its columns."""
    entry = work.entry("@tune_data")
    if entry is None:
        return
    known = work.meaning("@tune_data")
    if not isinstance(known, Mapping):
        work.refuse(entry, "modality" if "multimodal" in str(entry.value) else "data")
        return
    for key, value in known.items():
        stated = work.facts.get(f"@data.{key}")
        if key == "form":
            work.put(entry, "/data/form", value)
            work.facts.setdefault("@data.form", []).append(Entry(path=entry.path, value=value))
        elif key == "learns":
            if work.entry("@train_on_inputs") is None:
                work.put(entry, "/objective/loss_on", value)
        elif not stated:
            work.facts[f"@data.{key}"] = [Entry(path=entry.path, value=value)]


def _read_registered(work: Work, sources: list[_Source], registry: Mapping[str, Any]) -> None:
    """Names of LLaMA-Factory's own list, separated by commas: each is looked up in the list."""
    entry = work.entry("@data.registered")
    if entry is None:
        return
    names = entry.value if isinstance(entry.value, list) else str(entry.value).split(",")
    for name in (str(each).strip() for each in names):
        known = registry.get(name)
        keys: dict[str, list[Entry]] = {"source": [Entry(path=entry.path, value=name)]}
        if isinstance(known, Mapping):
            place = known.get("file_name") or known.get("hf_hub_url") or name
            folder = registry.get("", "") if known.get("file_name") else ""
            keys["source"] = [Entry(path=entry.path, value=f"{folder}{place}")]
            columns = known.get("columns")
            columns = columns if isinstance(columns, Mapping) else {}
            if columns.keys() & {"images", "videos", "audios"}:
                work.refuse(entry, "modality")
            for role, column in columns.items():
                ours = _column(str(role), work.fields.get("/objective/type"))
                if ours in _ROLES:
                    keys[ours] = [Entry(path=entry.path, value=column)]
            if isinstance(known.get("subset"), str):
                keys["subset"] = [Entry(path=entry.path, value=known["subset"])]
        sources.append(_Source(work, keys))


def _column(role: str, objective: Any) -> str:
    """Return ftc's role for a column of LLaMA-Factory's list."""
    if objective == "cpt" and role == "prompt":
        return "text"
    if objective in PAIRED:
        return {"messages": "prompt"}.get(role, role)
    if objective == "kto":
        return {"messages": "completion", "kto_tag": "label"}.get(role, role)
    return {"query": "input", "response": "output", "prompt": "instruction"}.get(role, role)


def _read_held_out(work: Work) -> None:
    """Set the share that is held out while training; these tools keep no rows for a last test.

    A file that evaluates on other rows says no share: that of ftc is held out.
    """
    if (none := work.entry("@test_share")) is not None:
        work.put(none, "/data/splits/test", none.value)
    entry = work.entry("@holdout")
    if entry is None:
        return
    value = entry.value
    if entry.key.endswith("percentage") and isinstance(value, int | float):
        value = value / 100
    if not isinstance(value, int | float) or isinstance(value, bool) or value > _MOST_HELD_OUT:
        rows = isinstance(value, int | float) and value >= 1
        work.leave(entry, "rows" if rows else "value")
        return
    work.put(entry, "/data/splits/validation", value, "carried")
    if work.whole:
        work.put(entry, "/data/splits/test", 0, "carried")
