"""The lock's view of a spec: the same for the user's spec and the bundle's copy.

A spec and the copy in its bundle have different paths of the same files. A lock has the hashes of a
form that both share: paths relative to the bundle, and the content instead of the name of each file
that the bundle copies.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from ftc.compiler.relocation import (
    FUNCTIONS_NAME,
    SCHEMA_NAME,
    TOOLS_NAME,
    first_file,
    from_folder,
    place_image,
    read_template,
)
from ftc.compiler.resolve.content.rewards import RewardFileError, read_functions, read_schema
from ftc.compiler.resolve.facts import DataFacts, ModelFacts, TeacherFacts
from ftc.compiler.resolve.regression import KINDS
from ftc.compiler.resolve.resolver import Fact, canonical_hash
from ftc.spec.findings.finding import EnvironmentFailure
from ftc.spec.sections import Match, Objective, RegressionCheck, Reward, Source, Spec

_Move = Callable[[str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """The folders of a spec and its bundle."""

    folder: Path
    bundle: Path

    def place_spec(self, spec: Spec, facts: Mapping[str, Fact]) -> Spec:
        """Return the spec as its bundle sees it; `facts` distinguish local files from Hub names."""
        move, model, teacher = self._to_bundle, spec.model, facts.get("teacher")
        if _is_local(facts.get("model")):
            model = replace(model, id=move(model.id))
        if model.chat_template is not None:
            model = replace(model, chat_template=self._hash_template(model.chat_template))
        objective = self._place_files(spec.objective)
        if isinstance(teacher, TeacherFacts) and _is_local(teacher.model):
            named = objective.teacher.id or ""
            objective = replace(objective, teacher=replace(objective.teacher, id=move(named)))
        image = place_image(spec.launch.container, self.folder, self.bundle)
        launch = replace(spec.launch, container=image)
        placed = replace(spec, model=model, objective=objective, launch=launch)
        data = facts.get("data")
        return self._place_data(placed, data) if isinstance(data, DataFacts) else placed

    def move_in(self, fact: Fact) -> Fact:
        """Return a fact whose paths are relative to the spec with paths relative to the bundle."""
        return _move_fact(fact, self._to_bundle)

    def move_out(self, fact: Fact) -> Fact:
        """Return a fact whose paths are relative to the bundle with paths relative to the spec."""
        return _move_fact(fact, partial(_move_path, start=self.bundle, end=self.folder))

    def _to_bundle(self, path: str) -> str:
        return _move_path(path, start=self.folder, end=self.bundle)

    def _place_data(self, spec: Spec, data: DataFacts) -> Spec:
        """Return the spec with the paths of its sources and of its regression files."""
        move, said, training = self._to_bundle, spec.data, spec.training
        if said.sources is not None and len(data.sources) == len(said.sources):
            pairs = zip(said.sources, data.sources, strict=True)
            placed = [
                _place_source(source, move) if part.path else source for source, part in pairs
            ]
            said = replace(said, sources=tuple(placed))
        elif data.path and said.source is not None:
            said = replace(said, source=move(said.source))
        checks = training.evaluation.regression
        if checks and len(checks) == len(data.regression):
            files = zip(checks, data.regression, strict=True)
            asked = tuple(_place_check(check, move) if file else check for check, file in files)
            training = replace(training, evaluation=replace(training.evaluation, regression=asked))
        return replace(spec, data=said, training=training)

    def _place_files(self, objective: Objective) -> Objective:
        """Return the objective with the contents of its files in place of their names."""
        if objective.tools is not None:
            text = self._hash_file(objective.tools, TOOLS_NAME, read_functions)
            objective = replace(objective, tools=text)
        if objective.rewards == "auto":
            return objective
        return replace(objective, rewards=tuple(map(self._place_reward, objective.rewards)))

    def _place_reward(self, reward: Match | Reward) -> Match | Reward:
        if not isinstance(reward, Reward):
            return reward
        if reward.functions is not None:
            text = self._hash_file(reward.functions, FUNCTIONS_NAME, read_functions)
            reward = replace(reward, functions=text)
        if isinstance(name := reward.json_schema, str):
            text = self._hash_file(name, SCHEMA_NAME, partial(read_schema, name))
            reward = replace(reward, json_schema=text)
        return reward

    def _hash_template(self, path: str) -> str:
        with suppress(EnvironmentFailure, OSError, UnicodeDecodeError):
            text = read_template(self.folder, path, self.bundle) or ""
            return sha256(text.encode()).hexdigest()
        return self._to_bundle(path)

    def _hash_file(self, path: str, copy: str, read: Callable[[Path], Any]) -> str:
        """Return the hash of a file or of the bundle's copy, or the path if neither exists."""
        try:
            held = read(first_file((self.folder / path, self.bundle / copy)))
        except RewardFileError:
            return self._to_bundle(path)
        return canonical_hash(held)


def _move_path(path: str, *, start: Path, end: Path) -> str:
    return from_folder(str(Path(path).expanduser()), start, end) or path


def _place_source(source: str | Source, move: _Move) -> str | Source:
    return move(source) if isinstance(source, str) else replace(source, source=move(source.source))


def _place_check(check: RegressionCheck, move: _Move) -> RegressionCheck:
    """Return a check with the path of its file."""
    named = {kind: path for kind in KINDS if (path := getattr(check, kind)) is not None}
    moved: dict[str, Any] = {kind: move(path) for kind, path in named.items()}
    return replace(check, **moved)


def _is_local(fact: Fact | None) -> bool:
    return isinstance(fact, ModelFacts) and fact.path is not None


def _move_fact(fact: Fact, move: _Move) -> Fact:
    if isinstance(fact, TeacherFacts):
        return replace(fact, model=_move_model(fact.model, move))
    if isinstance(fact, ModelFacts):
        return _move_model(fact, move)
    return _move_data(fact, move) if isinstance(fact, DataFacts) else fact


def _move_model(model: ModelFacts, move: _Move) -> ModelFacts:
    if model.path is None:
        return model
    return replace(model, id=move(model.id), path=move(model.path))


def _move_data(data: DataFacts, move: _Move) -> DataFacts:
    here: dict[str, Any] = {}
    if data.path is not None:
        here = {"source": move(data.source), "path": move(data.path)}
    return replace(
        data,
        **here,
        sources=tuple(_move_data(part, move) for part in data.sources),
        regression=tuple(file and replace(file, path=move(file.path)) for file in data.regression),
    )
