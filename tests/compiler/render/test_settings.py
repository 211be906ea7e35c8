"""The table of settings agrees with train.py: its constants, their reasons, the arguments."""

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import pytest

from ftc.compiler.knowledge.training.settings import SETTINGS, Setting
from ftc.compiler.plan.decision import pass_through
from ftc.compiler.plan.memory.states import RULES
from ftc.compiler.plan.planner import make_plan
from ftc.compiler.plan.schedule.learning_rate import job_word
from ftc.compiler.render.bundle import BundleSource, render_bundle
from ftc.compiler.render.context.context import NEEDED_BY, make_context
from ftc.compiler.render.uses import Uses
from ftc.spec.schema import find_field
from ftc.spec.sections import Optimizer
from ftc.spec.values.expectation import words_of
from tests.compiler.conftest import BuildKnown
from tests.generators import load_generator

CASES: dict[str, dict[str, Any]] = {
    "as it comes": {},
    "nothing held out": {"/spec/data/splits/test": 0.0, "/spec/data/splits/validation": 0.0},
    "a number of steps": {"/spec/training/max_steps": 30, "/spec/training/early_stopping": 3},
    "rates": {
        "/spec/method/loraplus_ratio": 16.0,
        "/spec/method/also_train": ["embeddings"],
        "/spec/training/embedding_learning_rate": 1e-5,
    },
    "another curve": {"/spec/training/optimizer": "lion", "/spec/training/schedule": "polynomial"},
    "loaders": {"/spec/training/loader_workers": 2, "/spec/training/loader_prefetch": 4},
    "compiled": {"/spec/training/compile": True},
    "every second layer": {"/spec/training/gradient_checkpointing": 2},
    "what is rarely written": {
        f"/spec{setting.field}": find_field(setting.field).schema["examples"][0]
        for setting in SETTINGS
        if setting.field is not None and setting.unwritten
    },
    "the best answers": {
        "/spec/training/evaluation/best_by": "metric",
        "/spec/training/evaluation/metric": "exact_match",
    },
}
#: Constants of the block that no decision makes alone, and what they make.
OTHERS = {"LADDER", "PLANNED_BYTES"}
#: Settings that are decided only if the spec asks for them.
UNDECIDED = {"loraplus_ratio", "embedding_learning_rate"}


@pytest.fixture(params=CASES, ids=lambda name: name.replace(" ", "-"))
def source(request: pytest.FixtureRequest, build_known: BuildKnown) -> BundleSource:
    """Give what each case is rendered from."""
    return make_source(build_known, CASES[request.param])


def make_source(build_known: BuildKnown, edits: Mapping[str, Any]) -> BundleSource:
    """Return what a bundle of the base spec with edits is rendered from."""
    spec, facts = build_known(edits)
    return BundleSource(
        spec=spec,
        written={"name": spec.name},
        facts=facts,
        plan=make_plan(spec, facts),
        data_path="../tickets.csv",
        model_path=None,
        chat_template=None,
        compared_paths=tuple(f"../{file.path}" for file in facts.data.regression if file),
    )


def holds(setting: Setting, context: Mapping[str, Any]) -> bool:
    """Whether the bundle has the row's value."""
    return setting.name in context["value"]


def may_lack(setting: Setting) -> bool:
    """Whether some bundles have no such value."""
    depends = setting.field is not None and "x-when" in find_field(setting.field).schema
    return setting.name in {*NEEDED_BY, *UNDECIDED} or setting.unwritten or depends


def read_script(source: BundleSource) -> tuple[str, dict[str, Any], dict[str, str]]:
    """Return train.py on one line, without `#`, its constants and its TrainingArguments."""
    files = {file.name: file.text for file in render_bundle(source)}
    tree = ast.parse(files["train.py"])
    constants = {
        statement.targets[0].id: ast.literal_eval(statement.value)
        for statement in tree.body
        if isinstance(statement, ast.Assign)
        and isinstance(statement.targets[0], ast.Name)
        and statement.targets[0].id.isupper()
        and statement.targets[0].id not in {"HERE", "OUT"}
    }
    (call,) = (
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and "output_dir" in {word.arg for word in node.keywords}
    )
    given = {str(word.arg): ast.unparse(word.value) for word in call.keywords}
    return one_line(files["train.py"]), constants, given


def one_line(text: str) -> str:
    """Return a text without line ends and `#`."""
    return " ".join(text.replace("#", " ").split())


def test_the_template_is_generated(*, update_golden: bool) -> None:
    """The committed partial is what the table gives, byte for byte."""
    generator = load_generator("settings")
    if update_golden:
        generator.main()
    assert generator.TARGET.read_text(encoding="utf-8") == generator.generate(), (
        "run: make sections"
    )


def test_the_script_holds_each_row_whose_condition_holds(source: BundleSource) -> None:
    """The constant has the decision's value and its reason, and the argument gets it."""
    context = make_context(source, Uses(source))
    text, constants, given = read_script(source)

    for setting in SETTINGS:
        if not holds(setting, context):
            assert setting.constant not in constants
            assert setting.argument is None or setting.argument not in given
            continue
        literal = str(context["value"][setting.name])
        assert constants[setting.constant] == ast.literal_eval(literal)
        assert one_line(str(context["why"][setting.name])) in text
        if setting.argument is not None:
            expression = ast.parse(setting.given or setting.constant, mode="eval")
            assert given[setting.argument] == ast.unparse(expression)
        if setting.note is not None:
            assert setting.note in text


def test_no_constant_is_given_but_by_a_row(source: BundleSource) -> None:
    """The block ends with rows alone, and no argument gets a constant that has no row."""
    _, constants, given = read_script(source)
    names = list(constants)

    rows = {setting.constant for setting in SETTINGS}
    assert set(names[names.index("LADDER") :]) <= rows | OTHERS
    arguments = {argument for argument, value in given.items() if value.isupper()}
    by_metric = {"metric_for_best_model"}  # its constant is not one of the settings
    assert arguments <= {setting.argument for setting in SETTINGS} | by_metric


def test_every_condition_is_seen_both_ways(build_known: BuildKnown) -> None:
    """The cases above have every row, and leave out every row that may be."""
    seen = set()
    for edits in CASES.values():
        source = make_source(build_known, edits)
        context = make_context(source, Uses(source))
        seen |= {(setting.name, holds(setting, context)) for setting in SETTINGS}

    assert {name for name, held in seen if held} == {setting.name for setting in SETTINGS}
    assert {name for name, held in seen if not held} == {s.name for s in SETTINGS if may_lack(s)}


def test_what_is_passed_through(build_known: BuildKnown) -> None:
    """A decision holds what the spec says, or says that it is a default; nothing is derived."""
    spec, _ = build_known({"/spec/training/seed": 7, "/spec/training/neftune": 5.0})
    passed = pass_through(spec)

    assert (passed["seed"].value, passed["seed"].source) == (7, "spec")
    assert passed["seed"].because.values == {"field": "training.seed"}
    assert passed["weight_decay"].source == "default"
    assert passed["neftune"].value == 5.0
    assert "label_smoothing" not in passed


def test_a_field_that_is_not_read_is_not_passed_on(build_known: BuildKnown) -> None:
    """`x-when` says so: noise is for supervised fine-tuning."""
    spec, _ = build_known({"/spec/training/neftune": 5.0, "/spec/objective/type": "cpt"})

    assert "neftune" not in pass_through(spec)


def test_auto_is_no_value_to_pass_on() -> None:
    """Whoever takes "auto" derives the decision."""
    for setting in SETTINGS:
        if setting.field is not None:
            assert "auto" not in words_of(find_field(setting.field).schema)


@pytest.mark.parametrize("optimizer", get_args(Optimizer))
def test_the_optimizers_that_read_the_second_beta(optimizer: Optimizer, tmp_path: Path) -> None:
    """The pinned Trainer gives it to those that the schema names, and to no other."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path), optim=RULES[job_word(optimizer)].name, adam_beta2=0.95
    )
    make, options = transformers.Trainer.get_optimizer_cls_and_kwargs(arguments)
    made = make([torch.nn.Parameter(torch.zeros(2))], **options)

    reading = find_field("/training/adam_beta2").schema["x-when"]["/training/optimizer"]
    assert (made.defaults.get("betas", (None, None))[1] == 0.95) == (optimizer in reading)
