"""vllm.json: the pinned TRL takes its arguments, and `vllm serve` 0.30.0 has its flags.

vllm_serve.json lists the flags and routes in the source of vLLM's wheel, and what it requires.
"""

import importlib.util
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from trl.trainer.grpo_config import GRPOConfig
from trl.trainer.rloo_config import RLOOConfig

from ftc.compiler.knowledge.locked_packages import find_closure, list_pythons
from ftc.compiler.render.files.notebook import list_stages, notebook_data
from ftc.compiler.render.pins import PINS
from ftc.compiler.render.uses import Uses
from ftc.runtime.vllm_engine import PORTS, make_command, read_arguments
from tests.compiler.conftest import BuildKnown
from tests.compiler.render.test_bundle import render
from tests.compiler.render.test_settings import make_source

WHEEL = json.loads(Path(__file__).with_name("vllm_serve.json").read_text(encoding="utf-8"))
GRPO: Mapping[str, Any] = {
    "/spec/objective/type": "grpo",
    "/facts/data/labels": [],
    "/facts/data/rewards": {"rows": 1000, "numbered_rows": 1000},
    "/facts/hardware/count": 2,
}
Files = Mapping[str, str]


@pytest.fixture
def files_of(build_known: BuildKnown) -> Callable[..., Files]:
    """Give the texts of the files of a bundle that samples answers."""

    def find(mode: str, objective: str = "grpo") -> Files:
        edits = {"/spec/objective/type": objective, "/spec/objective/vllm": mode}
        return {name: file.text for name, file in render(build_known, {**GRPO, **edits}).items()}

    return find


@pytest.mark.parametrize(("objective", "config"), [("grpo", GRPOConfig), ("rloo", RLOOConfig)])
@pytest.mark.parametrize("mode", ["colocate", "server"])
def test_the_pinned_config_takes_the_arguments(
    files_of: Callable[..., Files], tmp_path: Path, mode: str, objective: str, config: Any
) -> None:
    """All of them; a name that it does not have would raise."""
    files = files_of(mode, objective)
    (tmp_path / "vllm.json").write_text(files["vllm.json"], encoding="utf-8")
    given = read_arguments(tmp_path / "vllm.json", {PORTS: "4001,4002"})
    plain = {"use_cpu": True, "bf16": False, "activation_checkpointing": False}
    made = config(output_dir=str(tmp_path), **plain, **given)

    assert {name: getattr(made, name) for name in given} == given
    assert made.use_vllm
    assert given.get("vllm_group_port") == (4002 if mode == "server" else None)
    assert "**vllm_engine.read_arguments(" in files["train.py"]
    assert ("runtime.vllm_engine accelerate" in files["run.sh"]) == (mode == "server")


def test_every_flag_of_the_server_is_vllm_s(files_of: Callable[..., Files]) -> None:
    """Of the pinned version, as the wheel with the locked hash has them."""
    server = json.loads(files_of("server")["vllm.json"])["server"]
    flags = [word for word in make_command(server, [], 4001) if word.startswith("--")]
    (locked,) = (each for each in find_closure(["vllm"]) if each.name == "vllm")

    assert len(flags) >= 9
    assert not set(flags) - set(WHEEL["flags"])
    assert server["arguments"][-6:] == [
        "--weight-transfer-config", '{"backend":"nccl"}',
        "--logprobs-mode", "processed_logprobs",
        "--max-logprobs", "-1",
    ]  # fmt: skip
    assert locked.version == PINS["vllm"]
    assert WHEEL["sha256"] in locked.hashes


def test_the_server_has_every_route_that_trl_asks() -> None:
    """Those of sending weights among them, which need VLLM_SERVER_DEV_MODE."""
    place = importlib.util.find_spec("trl")
    assert place is not None
    assert place.origin is not None
    client = Path(place.origin).parent / "generation" / "vllm_client.py"
    text = client.read_text(encoding="utf-8")
    asked = set(re.findall(r"\{self\.base_url\}(/[a-z0-9_/]+)", text))

    assert {"/health", "/init_weight_transfer_engine", "/update_weights"} <= asked
    assert asked <= set(WHEEL["routes"])


@pytest.mark.parametrize("mode", ["off", "colocate", "server"])
def test_only_bundles_with_vllm_lock_it(files_of: Callable[..., Files], mode: str) -> None:
    """With what it needs, at the versions that the lock has for it."""
    files = files_of(mode)
    lines = files["requirements.lock"].splitlines()
    locked = dict(line.split()[0].split("==") for line in lines if re.match(r"[\w.-]+==", line))

    assert ("vllm" in locked) == (mode != "off")
    assert ("vllm.json" in files) == (mode != "off")
    assert ("vllm==0.30.0" in files["requirements.txt"]) == (mode != "off")
    if mode != "off":
        assert {name: locked[name] for name in ("torch", "transformers", "trl")} == {
            name: PINS[name] for name in ("torch", "transformers", "trl")
        }


@pytest.mark.parametrize("python", list_pythons())
def test_the_lock_has_all_that_vllm_requires(python: str) -> None:
    """Its own list of requirements, at the versions that the exact pins lead to."""
    bundle = ["torch", "transformers", "trl", "accelerate", "datasets", "peft", "vllm"]
    locked = {package.name: package.version for package in find_closure(bundle)}
    environment = {
        "python_version": python,
        "python_full_version": f"{python}.0",
        "platform_system": "Linux",
        "sys_platform": "linux",
        "platform_machine": "x86_64",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "extra": "",
    }
    missing = []
    for line in WHEEL["requires"]:
        needed = Requirement(line)
        if needed.marker and not needed.marker.evaluate(environment):
            continue
        name = re.sub(r"[-_.]+", "-", needed.name).lower()
        if not needed.specifier.contains(locked.get(name, "0"), prereleases=True):
            missing.append((line, locked.get(name)))

    assert not missing
    assert len(WHEEL["requires"]) > 50


@pytest.mark.parametrize(("mode", "name"), [("colocate", "CUDA_ALLOC"), ("off", "ALLOC")])
def test_the_allocator_is_set_by_the_name_that_vllm_reads(
    files_of: Callable[..., Files], mode: str, name: str
) -> None:
    """It turns expandable segments off around its own pool, if it knows of them."""
    assert f"\nexport PYTORCH_{name}_CONF=expandable_segments:True" in files_of(mode)["run.sh"]


@pytest.mark.parametrize(("mode", "name"), [("server", "CUDA_ALLOC"), ("off", "ALLOC")])
def test_a_notebook_trains_as_run_sh_does(
    build_known: BuildKnown, files_of: Callable[..., Files], mode: str, name: str
) -> None:
    """It starts the server where there is one, and sets the allocator by the same name."""
    source = make_source(build_known, {**GRPO, "/spec/objective/vllm": mode})
    cells = ["".join(cell["source"]) for cell in notebook_data(source)["cells"]]
    train = dict(list_stages(Uses(source)))["Train"]

    assert f"%env PYTORCH_{name}_CONF=expandable_segments:True" in "\n".join(cells)
    assert train.startswith("python -m runtime.vllm_engine ") == (mode == "server")
    assert train.removeprefix("python -m ") in files_of(mode)["run.sh"]


@pytest.mark.parametrize(
    ("mode", "path"), [("colocate", None), ("colocate", "../m"), ("server", None)]
)
def test_vllm_reads_the_commit_of_the_plan(
    build_known: BuildKnown, mode: str, path: str | None
) -> None:
    """Beside the training TRL names no revision; a server gets it as a flag."""
    edits = {**GRPO, "/spec/objective/vllm": mode}
    made = render(build_known, edits, model_path=path)
    files = {name: file.text for name, file in made.items()}
    pinned = "engine_model.pin_model(model, MODEL, MODEL_REVISION)" in files["train.py"]

    assert pinned == (mode == "colocate" and path is None)
    assert ("engine_model.name_base(" in files["train.py"]) == pinned
    assert ("--revision" in files["vllm.json"]) == (mode == "server")
