"""The derived table against the classes of transformers, and against what its generator finds."""

import json
import re
import warnings
from importlib import import_module
from math import prod
from typing import Any

import pytest

from ftc.compiler.knowledge.architectures.derived import (
    Entry,
    derived_table,
    linear_keys,
    read_entry,
)
from ftc.compiler.knowledge.multimodal.wrappers import wrapper_named
from tests.compiler.knowledge.derived_rows import BASES, CASES, HERE, ROOT, shape_of

#: Linear layers with a custom `forward`. A router's layers are left out: they get no adapter.
OWN_LINEARS = frozenset({"Conv1D", "FalconLinear"})
ROWS = [(name, number) for name, rows in CASES.items() for number in range(len(rows))]
#: The most used classes, which the generator gives as they are.
STUDIED = sorted(json.loads((HERE / "architecture_cases.json").read_text(encoding="utf-8")))


def switches(entry: Entry) -> set[str]:
    """Return the sizes that also say whether a tensor is there."""
    rows = [*entry["layer"], *entry["model"]]
    sizes = {key for _, sides, _ in rows for key in re.findall(r"[A-Za-z_]\w*", sides)}
    return sizes & {word.removeprefix("!") for *_, when in rows for word in when.split()}


SAMPLE = ("DeepseekV3ForCausalLM", "JambaForCausalLM", "NemotronHForCausalLM")


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the generator's module that builds classes."""
    pytest.importorskip("transformers")
    monkeypatch.syspath_prepend(str(ROOT / ".ci"))
    return import_module("builds")


@pytest.mark.parametrize("name", SAMPLE)
def test_a_real_class(name: str, builds: Any) -> None:
    """The class on the meta device has these parameters, tensors and linear modules."""
    compare(CASES[name][0], builds)


@pytest.mark.prove_all
@pytest.mark.parametrize(("name", "number"), ROWS)
def test_real_classes(name: str, number: int, builds: Any) -> None:
    """All five configurations of each class, built on the meta device."""
    compare(CASES[name][number], builds)


@pytest.mark.prove_all
@pytest.mark.parametrize("name", sorted(derived_table()))
def test_what_transformers_writes(name: str) -> None:
    """A config with all keys, those among them that a class computes, counts the same."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    transformers.logging.set_verbosity_error()
    entry = derived_table()[name]
    flags = {key: True for key, allowed in entry["requires"].items() if [*allowed] == [True]}
    with warnings.catch_warnings(), torch.device("meta"):
        warnings.simplefilter("ignore")
        try:
            settings = transformers.AutoConfig.for_model(entry["model_type"], **flags)
            model = transformers.AutoModelForCausalLM.from_config(settings)
        except Exception as error:  # noqa: BLE001 - each class has its own
            pytest.skip(f"it has no default: {str(error)[:60]}")
    if type(model).__name__ != name or wrapper_named(name) is not None:
        pytest.skip("its language model has no class of its own: see test_wrappers.py")
    written = json.loads(settings.to_json_string(use_diff=False))
    counted = sum(tensor.numel() for tensor in model.parameters())
    assert shape_of({**written, "architectures": [name]}).parameters == counted


def compare(row: dict[str, Any], builds: Any) -> None:
    """Hold a case against the class of transformers."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    transformers.logging.set_verbosity_error()
    facts = {k: v for k, v in row["config"].items() if k not in {"architectures", "model_type"}}
    shape = shape_of(row["config"])
    if wrapper_named(shape.architecture) is not None:
        pytest.skip("its language model has no class of its own: see test_wrappers.py")
    with warnings.catch_warnings(), torch.device("meta"):
        warnings.simplefilter("ignore")
        settings = transformers.AutoConfig.for_model(row["config"]["model_type"], **facts)
        model = getattr(transformers, shape.architecture)(settings)
    assert type(model).__name__ == shape.architecture
    assert sum(tensor.numel() for tensor in model.parameters()) == shape.parameters
    keys = linear_keys(derived_table()[shape.architecture])
    head, forward = model.get_output_embeddings(), torch.nn.Linear.forward
    names = [path for path, _ in model.named_parameters()]
    stacks = builds.find_stacks(shape.architecture, names, shape.layers)
    sides: dict[str, list[tuple[int, int]]] = {}
    for path, module in model.named_modules():
        is_plain = isinstance(module, torch.nn.Linear) and type(module).forward is forward
        is_linear = is_plain or type(module).__name__ in OWN_LINEARS
        stack = next((each for each in stacks if path.startswith(each)), None)
        if is_linear and module is not head and stack is not None:
            inner = path.removeprefix(stack).partition(".")[2]
            if inner not in keys:  # its weight is that of several layers
                assert "shared_transf" in inner
                continue
            outputs, inputs = module.weight.shape
            pair = (outputs, inputs) if type(module).__name__ == "Conv1D" else (inputs, outputs)
            sides.setdefault(keys[inner], []).append(pair)
    assert {key: len(found) for key, found in sides.items()} == {
        key: linear.count for key, linear in shape.linear_shapes.items()
    }
    for key, found in sides.items():
        linear = shape.linear_shapes[key]
        assert max(found)[0] <= linear.in_features
        assert linear.sides in (None, sum(map(sum, found)))
    whole = sum(prod(pair) for found in sides.values() for pair in found)
    assert whole == shape.linear_parameters


@pytest.mark.prove_all
@pytest.mark.parametrize("name", STUDIED)
def test_the_generator_gives_the_entry(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Running the generator on a class again gives the entry of the table."""
    pytest.importorskip("transformers")
    monkeypatch.syspath_prepend(str(ROOT / ".ci"))
    architectures: Any = import_module("architectures")
    studied = json.loads(json.dumps(architectures.study(name, BASES[name])))
    assert studied == derived_table()[name]


@pytest.mark.prove_all
@pytest.mark.parametrize("name", sorted(n for n, e in derived_table().items() if "unlearned" in e))
def test_modules_without_gradients(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The class itself runs these modules with gradients turned off."""
    transformers: Any = pytest.importorskip("transformers")
    monkeypatch.syspath_prepend(str(ROOT / ".ci"))
    architectures: Any = import_module("architectures")
    builds: Any = import_module("builds")
    gradients: Any = import_module("gradients")
    family = builds.family_of(name, BASES[name])
    family.base = architectures._base(family, transformers.CONFIG_MAPPING[BASES[name]["type"]])
    family.builds = [family.build(family.base)]
    assert gradients.find_unlearned(family) == derived_table()[name].get("unlearned")


def test_the_generator_finds_older_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the legacy keys that change a size are recorded."""
    pytest.importorskip("transformers")
    monkeypatch.syspath_prepend(str(ROOT / ".ci"))
    architectures: Any = import_module("architectures")
    for name in ("BloomForCausalLM", "LlamaForCausalLM"):
        family = architectures.family_of(name, BASES[name])
        cls = architectures.transformers.CONFIG_MAPPING[BASES[name]["type"]]
        family.base = architectures._base(family, cls)
        found = architectures.find_older_names(family)
        assert found == derived_table()[name].get("older", {})


@pytest.mark.prove_all
@pytest.mark.filterwarnings("ignore:Initializing zero-element tensors")
@pytest.mark.parametrize("name", [n for n, e in derived_table().items() if switches(e)])
def test_a_size_of_zero_in_the_classes(name: str, builds: Any) -> None:
    """With 0, a key that switches tensors off counts as in the class, or is noted."""
    entry = derived_table()[name]
    family = builds.family_of(name, BASES[name])
    plain = CASES[name][0]["config"] | {"use_bias": False}
    for key in switches(entry):
        config = plain | {key: 0}
        facts = {k: v for k, v in config.items() if k not in ("architectures", "model_type")}
        built = family.build(facts)
        assert built is not None
        shape = read_entry(name, entry, config)
        if key in entry.get("positive", ()):
            assert shape is None
            assert any(0 in sides for sides in built.tensors().values())
        else:
            assert shape is not None
            assert shape.parameters == built.parameters
