"""Reads what a foreign config trains on: data sets, their form and columns, held-out rows."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from ftc.spec.sections import FORMS
from ftc.spec.tools.entry import Entry, flatten
from ftc.spec.tools.tables import find_target, find_value, is_alike
from ftc.spec.tools.work import Work
from ftc.spec.values.admission import admits

FindForm = Callable[[str], str | None]
_ROLES: Final = (
    "messages", "prompt", "completion", "instruction", "input", "output", "text", "tools",
    "chosen", "rejected", "label",
)  # fmt: skip
#: Facts that are not those of one data set.
_ABOUT_ALL: Final = ("@data.form", "@data.shown", "@data.registered")
_LOADERS: Final = frozenset({"json", "csv", "parquet", "text", "pandas"})
_SLICE: Final = re.compile(
    r"(?P<split>[\w.-]+)\[:(?P<count>\d+)(?P<percent>%?)\]|(?P<other>[\w.-]+)[\[+].*"
)
_FORMS: Final = {
    "instruction": "instruction", "chat": "chat", "text": "text",
    "pairs": "preference",
}  # fmt: skip
_GROUP: Final = re.compile(r"\[(\d+)\]")
#: The objectives that learn only from preferences.
PAIRED: Final = frozenset(
    objective for objective, forms in FORMS.items() if forms == ("preference",)
)


def derive_rows(work: Work, registry: Mapping[str, Any], find_form: FindForm | None = None) -> None:
    """Set the data sets and their held-out rows; `find_form` tells the form of a file's rows."""
    _read_known(work)
    groups: dict[str, dict[str, list[Entry]]] = {}
    for name, entries in work.facts.items():
        if name.startswith("@data.") and name not in _ABOUT_ALL:
            for each in entries:
                index = _GROUP.search(each.path)
                group = groups.setdefault(index[1] if index else "", {})
                group.setdefault(name.removeprefix("@data."), []).append(each)
    sources = [
        _Source(work, groups[key]) for key in sorted(groups, key=lambda key: (len(key), key))
    ]
    _read_registered(work, sources, registry)
    sources = [each for each in sources if each.fields.get("source")]
    if (most := work.entry("@rows_each")) is not None:
        for source in sources:
            source.limit(most)
        if not sources:
            work.put(most, "/data/max_rows", most.value, "carried")
    for source in sources:
        source.read_form()
        place = source.fields["source"]
        if find_form is not None and (form := find_form(str(place[0]))) is not None:
            shown = Entry(path=place[1].path, value=form)
            work.facts.setdefault("@data.shown", []).append(shown)
    if len(sources) == 1:
        only = sources[0]
        for key, (value, stated_by) in only.fields.items():
            only.place(f"/data/{key}", value, stated_by)
    elif sources:
        whole = [source.item() for source in sources]
        owner = sources[-1].fields["source"][1]
        if work.put(owner, "/data/sources", whole):
            for number, source in enumerate(sources):
                for key, (value, stated_by) in source.fields.items():
                    work.use(stated_by, {f"/data/sources/{number}/{key}": value})
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
        if (entry := self.last("max_rows")) is not None:
            self.limit(entry)
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

    def limit(self, entry: Entry) -> None:
        """Let a key limit the rows; of several limits the lowest holds."""
        earlier = self.fields.get("max_rows", (entry.value, entry))
        if not admits("/data/max_rows", entry.value):
            self.work.leave(entry, "value", pointer="/data/max_rows")
        elif earlier[0] < entry.value:
            self.work.leave(entry, "limited")
        else:
            if earlier[1] is not entry:
                self.work.leave(earlier[1], "limited")
            self.fields["max_rows"] = (entry.value, entry)

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
            if isinstance(word, str) and word.startswith("!"):
                self.work.refuse(entry, word[1:])
                continue
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
        keys: dict[str, list[Entry]] = {}
        known = registry.get(name)
        if isinstance(known, Mapping):
            for listed in flatten(known):
                _read_listed(work, name, listed, keys)
        if (file := keys.pop("file_name", None)) is not None:
            place = f"{registry.get('', '')}{file[-1].value}"
            keys["source"] = [Entry(path=file[-1].path, value=place)]
        if "source" not in keys:
            keys["source"] = [Entry(path=entry.path, value=name)]
        sources.append(_Source(work, keys))
    places = [source.fields["source"][0] for source in sources if "source" in source.fields]
    unlisted = any(
        "/" not in (name := str(each).strip()) and name not in registry for each in names
    )
    why = "unlisted" if unlisted else ""
    if len(places) > 1:
        work.use(entry, {"/data/sources": places}, why)
    elif places:
        work.use(entry, {"/data/source": places[0]}, why)


def _read_listed(work: Work, name: str, listed: Entry, keys: dict[str, list[Entry]]) -> None:
    """Sort a key of LLaMA-Factory's list of data sets."""
    path = f"dataset_info[].{listed.path}"
    target = find_target(work.table, path)
    entry = Entry(path=f"dataset_info.{name}.{listed.path}", value=listed.value)
    if target.startswith("="):
        target = "-default_alike" if is_alike(work.table, path, entry.value) else target[1:]
    if entry.value in (None, "", []):
        work.leave(entry, "empty")
    elif target.startswith("@data."):
        role = target.removeprefix("@data.")
        if ".columns." in path:
            role = _column(path.rpartition(".")[2], work.fields.get("/objective/type"))
        if role:
            keys.setdefault(role, []).append(entry)
        else:
            work.leave(entry, "column_unread")
    elif target.startswith("!"):
        work.refuse(entry, target[1:])
    else:
        work.leave(entry, target.removeprefix("-"))


def _column(role: str, objective: Any) -> str:
    """Return ftc's role for a column of LLaMA-Factory's list, or "" if the objective has none."""
    kept = {"tools": "tools", "chosen": "chosen", "rejected": "rejected"}
    if objective == "cpt":
        return {"prompt": "text"}.get(role, "")
    if objective in PAIRED:
        return {**kept, "messages": "prompt", "prompt": "prompt"}.get(role, "")
    if objective == "kto":
        answers = {"messages": "completion", "response": "completion", "kto_tag": "label"}
        return {**answers, "prompt": "prompt"}.get(role, "")
    answers = {"query": "input", "response": "output", "prompt": "instruction"}
    return {**answers, "messages": "messages", "tools": "tools"}.get(role, "")


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
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 1:
        work.leave(entry, "rows")
        return
    if work.put(entry, "/data/splits/validation", value, "carried") and work.whole:
        work.put(entry, "/data/splits/test", 0, "carried")
