"""The table of artifacts: every file of a bundle, its source and its condition."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from ftc.compiler.knowledge.objectives import OBJECTIVES, compares_texts
from ftc.compiler.render.files.accelerate import accelerate_config
from ftc.compiler.render.files.deepspeed import deepspeed_config
from ftc.compiler.render.files.engine import engine_config
from ftc.compiler.render.files.image import devcontainer, dockerignore, write_dockerfile
from ftc.compiler.render.files.launch import container_lines, sky_task, trainjob
from ftc.compiler.render.files.modelfile import (
    adapter_modelfile_data,
    modelfile_data,
    write_adapter_modelfile,
    write_modelfile,
)
from ftc.compiler.render.files.notebook import notebook_data
from ftc.compiler.render.files.passages import list_absent
from ftc.compiler.render.files.picture import draw_plan
from ftc.compiler.render.files.plan_file import plan_data
from ftc.compiler.render.output.file import Language
from ftc.compiler.render.pins import requirements, requirements_lock
from ftc.compiler.render.source import BundleSource
from ftc.compiler.render.uses import Uses


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """One file, made from exactly one of `text`, `template` and `data` (dumped in its format).

    The template may depend on the run, and leaves out the blocks that `absent` names. With one of
    the others, `data` is what parsing the file must give. `about` is its line in the README's
    table of files.
    """

    name: str
    language: Language
    about: str
    template: Callable[[BundleSource], str] | None = None
    absent: Callable[[Uses], Iterable[str]] | None = None
    data: Callable[[BundleSource], Any] | None = None
    text: Callable[[BundleSource, Uses], str] | None = None
    when: Callable[[Uses], bool] = lambda _: True
    executable: bool = False


def _script(
    name: str,
    about: str,
    when: Callable[[Uses], bool] = lambda _: True,
    template: Callable[[BundleSource], str] | None = None,
) -> Artifact:
    chosen = template or (lambda _: f"{name}.j2")
    return Artifact(name=name, language="python", about=about, template=chosen, when=when)


def _ignored(uses: Uses) -> tuple[str, ...]:
    """Return the lines of .gitignore."""
    logs = ("slurm-*.log",) if uses.spec.launch.type == "slurm" else ()
    return ("run/", ".venv/", "__pycache__/", "*.gguf", *logs, ".ftc-*")


def _preparer(source: BundleSource) -> str:
    """Return the template of prepare.py for a mixture, a stream or files."""
    if source.facts.data.sources:
        return "sources/mixture.j2"
    streamed = source.facts.data.streamed_rows is not None
    return "sources/stream.j2" if streamed else "prepare.py.j2"


def _evaluator(source: BundleSource) -> str:
    """Return the template of evaluate.py: of prompts alone, the model's own answers are judged."""
    if source.facts.data.form == "prompt":
        return "evaluate_prompts.py.j2"
    head = OBJECTIVES[source.spec.objective.type].head
    return "evaluate.py.j2" if head == "tokens" else f"evaluate_{head}.py.j2"


def _asker(source: BundleSource) -> str:
    """Return the template of ask.py: a question gets an answer, a score or a ranking of texts."""
    if compares_texts(source.spec.objective.type):
        return "ask_texts.py.j2"
    head = OBJECTIVES[source.spec.objective.type].head
    return "ask.py.j2" if head == "tokens" else "ask_scores.py.j2"


def _exporter(source: BundleSource) -> str:
    """Return the template of export.py: texts that are compared are verified in another way."""
    return "export_texts.py.j2" if compares_texts(source.spec.objective.type) else "export.py.j2"


def _trainer(source: BundleSource) -> str:
    """Return the template of the objective's train.py."""
    return f"objectives/{OBJECTIVES[source.spec.objective.type].script}.j2"


ARTIFACTS: Final = (
    Artifact(
        name="README.md",
        language="markdown",
        about="this page",
        template=lambda _: "README.md.j2",
        absent=list_absent,
    ),
    Artifact(
        name="README.ca.md",
        language="markdown",
        about="the main parts of this page in Catalan",
        template=lambda _: "README.ca.md.j2",
        absent=list_absent,
        when=lambda uses: "readme_ca" in uses.source.extras,
    ),
    Artifact(
        name="README.es.md",
        language="markdown",
        about="the main parts of this page in Spanish",
        template=lambda _: "README.es.md.j2",
        absent=list_absent,
        when=lambda uses: "readme_es" in uses.source.extras,
    ),
    Artifact(
        name=".gitignore",
        language="text",
        about="keeps the run folder and GGUF files out of git",
        text=lambda _, uses: "".join(f"{line}\n" for line in _ignored(uses)),
    ),
    Artifact(
        name="spec.json",
        language="json",
        about="the spec that this folder was compiled from",
        data=lambda source: source.written,
    ),
    Artifact(
        name="requirements.txt",
        language="text",
        about="the packages, at the tested versions",
        text=lambda _, uses: requirements(uses),
    ),
    Artifact(
        name="requirements.lock",
        language="text",
        about="the packages and their dependencies, with the hash of every file",
        text=lambda _, uses: requirements_lock(uses),
    ),
    _script("prepare.py", "cleans, splits and tokenizes the data", template=_preparer),
    _script(
        "train.py", "trains; resumes from the last checkpoint if there is one", template=_trainer
    ),
    _script(
        "evaluate.py",
        "measures the result on the test split",
        lambda uses: uses.decisions.splits.test_rows.value > 0,
        _evaluator,
    ),
    Artifact(
        name="reward_functions.py",
        language="copy",
        about="an unchanged copy of the reward functions that the spec names",
        text=lambda source, _: source.reward_functions or "",
        when=lambda uses: uses.reward_functions,
    ),
    Artifact(
        name="tool_functions.py",
        language="copy",
        about="an unchanged copy of the tools that the model may call",
        text=lambda source, _: source.tool_functions or "",
        when=lambda uses: uses.callable_tools,
    ),
    Artifact(
        name="answer_schema.json",
        language="json",
        about="the JSON Schema that answers must match",
        data=lambda source: source.answer_schema,
        when=lambda uses: uses.reward_schema,
    ),
    Artifact(
        name="vllm.json",
        language="json",
        about="what vLLM is given, which generates the answers",
        data=engine_config,
        when=lambda uses: uses.decisions.engine.vllm_share is not None,
    ),
    _script(
        "harness.py",
        "runs public benchmarks; run.sh does not call it",
        lambda uses: uses.decisions.evaluation.harness is not None,
    ),
    _script(
        "export.py",
        "merges what was trained; writes the files that `export` names, and verifies them",
        template=_exporter,
    ),
    _script(
        "publish.py",
        "writes a model card and uploads the result to the Hub; run.sh does not call it",
        lambda uses: uses.decisions.published is not None,
    ),
    _script("ask.py", "asks the result one question", template=_asker),
    Artifact(
        name="accelerate.yaml",
        language="yaml",
        about="the settings of accelerate, such as the number of processes",
        data=accelerate_config,
    ),
    Artifact(
        name="deepspeed.json",
        language="json",
        about="the settings of DeepSpeed",
        data=deepspeed_config,
        when=lambda uses: uses.deepspeed,
    ),
    Artifact(
        name="plan.json",
        language="json",
        about="the plan's numbers, which ftc watch shows beside the run",
        data=plan_data,
    ),
    Artifact(
        name="plan.svg",
        language="text",
        about="a picture of the memory of each phase",
        text=lambda source, _: draw_plan(source.spec.name, source.plan) + "\n",
    ),
    Artifact(
        name="run.sh",
        language="shell",
        about="runs all stages in order",
        template=lambda _: "run.sh.j2",
        executable=True,
    ),
    Artifact(
        name="node.sh",
        language="shell",
        about="starts the processes of one node, for run.sh",
        template=lambda _: "node.sh.j2",
        when=lambda uses: uses.facts.hardware.nodes > 1,
        executable=True,
    ),
    Artifact(
        name="slurm.sh",
        language="shell",
        about="the Slurm job: `sbatch slurm.sh`",
        template=lambda _: "slurm.sh.j2",
        when=lambda uses: uses.spec.launch.type == "slurm",
        executable=True,
    ),
    Artifact(
        name="modules.txt",
        language="text",
        about="the modules that slurm.sh loads with `module load`",
        text=lambda source, _: "".join(f"{name}\n" for name in source.spec.launch.modules),
        when=lambda uses: uses.spec.launch.type == "slurm" and bool(uses.spec.launch.modules),
    ),
    Artifact(
        name="container.txt",
        language="text",
        about="the Apptainer image that the scripts run in, and the paths that it needs",
        text=lambda source, _: container_lines(source),
        when=lambda uses: uses.container,
    ),
    Artifact(
        name="k8s.yaml",
        language="yaml",
        about="the TrainJob: `kubectl create -f k8s.yaml`",
        data=trainjob,
        when=lambda uses: uses.spec.launch.type == "kubernetes",
    ),
    Artifact(
        name="sky.yaml",
        language="yaml",
        about="the SkyPilot task: `sky jobs launch sky.yaml`",
        data=sky_task,
        when=lambda uses: uses.spec.launch.type == "skypilot",
    ),
    Artifact(
        name="Modelfile",
        language="modelfile",
        about="runs the result in Ollama",
        text=lambda source, _: write_modelfile(source),
        data=modelfile_data,
        when=lambda uses: bool(uses.spec.export.types) and not uses.texts,
    ),
    Artifact(
        name="Modelfile.adapter",
        language="modelfile",
        about="runs the adapter on its base in Ollama",
        text=lambda source, _: write_adapter_modelfile(source),
        data=adapter_modelfile_data,
        when=lambda uses: uses.spec.export.adapter,
    ),
    Artifact(
        name="notebook.ipynb",
        language="json",
        about="the same stages as the cells of a notebook, for Colab or Jupyter",
        data=notebook_data,
        when=lambda uses: "notebook" in uses.source.extras,
    ),
    Artifact(
        name="Dockerfile",
        language="text",
        about="the container image of the packages in requirements.lock",
        text=write_dockerfile,
        when=lambda uses: "image" in uses.source.extras,
    ),
    Artifact(
        name=".dockerignore",
        language="text",
        about="what the image is built without",
        text=lambda *_: dockerignore(),
        when=lambda uses: "image" in uses.source.extras,
    ),
    Artifact(
        name=".devcontainer/devcontainer.json",
        language="json",
        about="opens the bundle in that image, in VS Code and others",
        data=devcontainer,
        when=lambda uses: "image" in uses.source.extras,
    ),
    Artifact(
        name="chat_template.jinja",
        language="text",
        about="the chat template that the spec names",
        text=lambda source, _: source.chat_template or "",
        when=lambda uses: uses.source.chat_template is not None,
    ),
)
