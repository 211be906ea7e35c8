"""The package as a whole: its layers, forbidden imports, and the speed of a failing check."""

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from ftc.compiler.render.pins import llama_cpp_command
from tests.end_to_end.process import children_seconds

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("cli", "compiler", "runtime", "spec", "templates", "tui")
HEAVY = ("torch", "transformers", "datasets", "accelerate", "trl", "peft", "deepspeed")
SOURCES = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]


def run_python(code: str, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh interpreter, as a user's shell would."""
    env = {**os.environ, "HF_HUB_OFFLINE": "1"}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def bad_spec(tmp_path: Path) -> Path:
    """Return a spec with one misspelt key."""
    path = tmp_path / "spec.json"
    path.write_text('{\n  "name": "a",\n  "modle": "m",\n  "data": "d.csv"\n}\n')
    return path


def test_the_floors_hold() -> None:
    """A lower floor never imports an upper one; templates import nothing; textual stays in tui."""
    lint = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([lint], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "0 broken" in done.stdout


@pytest.mark.parametrize(("length", "is_rejected"), [(72, False), (73, True)])
def test_a_hook_bounds_the_subject_of_a_commit(length: int, *, is_rejected: bool) -> None:
    """pre-commit searches the whole message for the pattern; later lines may be longer."""
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    hooks = {hook["id"]: hook for repo in config["repos"] for hook in repo["hooks"]}
    hook = hooks["commit-subject"]
    message = f"{'x' * length}\n\n{'y' * 100}\n".encode()

    found = re.search(hook["entry"].encode(), message, re.MULTILINE | re.DOTALL)

    assert (found is not None) == is_rejected
    assert (hook["language"], hook["stages"]) == ("pygrep", ["commit-msg"])
    assert set(hook["stages"]) <= set(config["default_install_hook_types"])


def test_every_folder_of_modules_is_a_package() -> None:
    """A folder that pyproject.toml forgets works in the tree and is missing from the wheel."""
    tables = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    listed = set(tables["packages"])
    for source in SOURCES:
        folder, *inside = source.relative_to(ROOT).parent.parts
        package = ".".join(["ftc", *([] if folder == "cli" else [folder]), *inside])
        assert package in listed, f"add {package} to pyproject.toml"


@pytest.mark.parametrize("name", ["compiler", "runtime", "spec", "tui/understanding"])
def test_folders_stay_small(name: str) -> None:
    """A folder of more than 15 modules is divided by subject."""
    top = ROOT / name
    for folder in (top, *(path for path in top.rglob("*") if path.is_dir())):
        modules = [path.stem for path in folder.glob("*.py") if path.stem != "__init__"]
        assert len(modules) <= 15, f"{folder.relative_to(ROOT)}: {sorted(modules)}"


@pytest.mark.parametrize("command", ["check", "compile", "data", "plan"])
def test_nothing_that_trains_is_imported(bad_spec: Path, command: str) -> None:
    """Not by name, and not through a library."""
    code = (
        "import json, sys\n"
        "from ftc.__main__ import run\n"
        "code = run(sys.argv[1:])\n"
        "print(json.dumps([code, sorted({name.split('.')[0] for name in sys.modules})]))"
    )
    done = run_python(code, command, bad_spec.name, folder=bad_spec.parent)
    code_of_ftc, modules = json.loads(done.stdout.splitlines()[-1])
    assert code_of_ftc == 1, done.stdout + done.stderr
    assert not set(modules) & {*HEAVY, "textual"}
    assert "click" in modules


def test_templates_hold_no_code() -> None:
    """The folder is data: its one module is a docstring."""
    for path in sorted((ROOT / "templates").rglob("*.py")):
        (only,) = ast.parse(path.read_text(encoding="utf-8")).body
        assert isinstance(only, ast.Expr)


def test_sizes() -> None:
    """No module above 500 lines but the generated one, no function above 60; tests likewise."""
    for path in (*SOURCES, *sorted((ROOT / "tests").rglob("*.py"))):
        text = path.read_text(encoding="utf-8")
        assert text.count("\n") <= 500 or path == ROOT / "spec" / "sections.py", path
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                assert lines <= 60, f"{path}:{node.lineno} {node.name}"


def test_extras_are_pinned() -> None:
    """Every requirement of an extra that runs or develops is exact, or pinned by the set-up."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = (ROOT / ".ci" / "constraints.txt").read_text().splitlines()
    pins = {
        requirement.name.lower(): str(requirement.specifier)
        for requirement in map(Requirement, (line for line in lines if not line.startswith("#")))
    }
    extras = project["optional-dependencies"]
    assert all("==" in requirement for requirement in extras["run"])
    for requirement in map(Requirement, [*project["dependencies"], *extras["dev"], *extras["run"]]):
        if not str(requirement.specifier).startswith("=="):
            pin = pins[requirement.name.lower()]
            assert requirement.specifier.contains(pin.removeprefix("==")), requirement


def test_an_unreadable_spec_is_told_fast(bad_spec: Path) -> None:
    """`ftc check` costs little more than the libraries that it cannot do without.

    A spec that can be read is judged by the rules as well. A ratio of processor seconds within one
    run, the best of several each: machines and their load differ.
    """
    bad_spec.write_text('{"name": "x"', encoding="utf-8")
    baseline = "import click, jsonschema, jinja2, tokenizers"
    check = "from ftc.__main__ import main; main()"

    def measure(code: str, *arguments: str) -> float:
        started = children_seconds()
        run_python(code, *arguments, folder=bad_spec.parent)
        return children_seconds() - started

    # in turn, so that other work on the machine slows both alike
    pairs = [(measure(check, "check", bad_spec.name), measure(baseline)) for _ in range(7)]
    checking, importing = (min(times) for times in zip(*pairs, strict=True))
    assert checking < 1.6 * importing


def test_a_stale_install_is_told(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """A source without its link, and a link without its source, are both found."""
    conftest = pytestconfig.pluginmanager.get_plugin(str(ROOT / "tests" / "conftest.py"))
    assert conftest is not None
    root, installed = tmp_path / "root", tmp_path / "installed"
    for folder in FOLDERS:
        (root / folder).mkdir(parents=True)
    (installed / "spec").mkdir(parents=True)
    source, link = root / "spec" / "page.py", installed / "spec" / "page.py"
    source.write_text("")
    assert conftest.stale_links(root, installed) == ["spec/page.py"]
    link.symlink_to(source)
    assert conftest.stale_links(root, installed) == []
    source.unlink()
    assert conftest.stale_links(root, installed) == ["page.py"]


def test_no_text_installs_ftc_by_its_name() -> None:
    """The name is on no package index, where anybody could take it: ftc is installed from a clone.

    Installing means by pip, uv or pipx, with or without an extra; no file says so.
    """
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("this is no git checkout")
    tool = rb"\b(?:pip\d?|pipx|uv(?: pip| tool)?) (?:install|add|run)|\buvx"
    by_name = re.compile(rb"\bftc\[[a-z]|(?:" + tool + rb") (?:-\S+ )*[\"'`]?ftc(?![\w./-])")
    said = [
        name
        for name in listed.stdout.splitlines()
        if (ROOT / name).is_file() and by_name.search((ROOT / name).read_bytes())
    ]
    assert said == []
    for words in ("pip install -U %s", "uv tool install '%s'", 'needs "%s[serve]"'):
        assert by_name.search((words % "ftc").encode())
    assert not by_name.search(b'pip install ".[serve]"')


def test_what_trains_is_installed_as_it_must_be() -> None:
    """With the build of llama.cpp that does not crash, and the CPU build of the pinned torch."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = [block for block in text.split("```")[1::2] if ".[run]" in block]
    (pin,) = re.findall(r'"(torch==[^"]+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))

    assert blocks
    for block in blocks:
        before, line, *_ = (line for line in block.splitlines() if "install" in line)
        assert before.startswith(f"pip install {pin} --index-url ")
        assert line.startswith('CMAKE_ARGS="-DGGML_NATIVE=OFF" pip install ')
    assert llama_cpp_command().startswith('CMAKE_ARGS="-DGGML_NATIVE=OFF" pip install llama-cpp-')


def test_waiting_threads_sleep_in_every_test() -> None:
    """Otherwise two trainings side by side take four times as long: make and pytest set it."""
    unset = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    shown = "printenv OMP_WAIT_POLICY"
    conftest = "import tests.conftest, os; print(os.environ['OMP_WAIT_POLICY'])"
    for command in (
        ["make", "-s", f"--eval=shown: ; @{shown}", "shown"],
        [sys.executable, "-c", conftest],
    ):
        done = subprocess.run(
            command, cwd=ROOT, env=unset, capture_output=True, text=True, check=False
        )
        assert done.stdout == "passive\n", (command, done.stderr)
