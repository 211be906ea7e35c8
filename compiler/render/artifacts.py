"""The table of artifacts: every file of a bundle, where it comes from and when it is there."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from ftc.compiler.render.accelerate import accelerate_config
from ftc.compiler.render.deepspeed import deepspeed_config
from ftc.compiler.render.file import Language
from ftc.compiler.render.launch import sky_task, trainjob
from ftc.compiler.render.modelfile import adapter_modelfile_data, modelfile_data, read_go_template
from ftc.compiler.render.picture import draw_plan
from ftc.compiler.render.pins import requirements, requirements_lock
from ftc.compiler.render.plan_file import plan_data
from ftc.compiler.render.source import BundleSource
from ftc.compiler.render.uses import Uses


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """One file: exactly one of `template`, `data` (dumped as its language) and `text` makes it.

    `data` beside a template is what the file must read back as.
    `about` is the line that the README says of it.
    """

    name: str
    language: Language
    about: str
    template: str | None = None
    data: Callable[[BundleSource], Any] | None = None
    text: Callable[[BundleSource, Uses], str] | None = None
    when: Callable[[Uses], bool] = lambda _: True
    executable: bool = False


def _script(name: str, about: str, when: Callable[[Uses], bool] = lambda _: True) -> Artifact:
    return Artifact(name=name, language="python", about=about, template=f"{name}.j2", when=when)


ARTIFACTS: Final = (
    Artifact(name="README.md", language="markdown", about="this page", template="README.md.j2"),
    Artifact(
        name=".gitignore",
        language="text",
        about="keeps the run folder and GGUF files out of the repository",
        template="gitignore.j2",
    ),
    Artifact(
        name="spec.json",
        language="json",
        about="the spec that all of this was compiled from",
        data=lambda source: source.written,
    ),
    Artifact(
        name="requirements.txt",
        language="text",
        about="the packages, each at the version that was tested",
        text=lambda _, uses: requirements(uses),
    ),
    Artifact(
        name="requirements.lock",
        language="text",
        about="the same and all that they need, with the hash of every file",
        text=lambda _, uses: requirements_lock(uses),
    ),
    _script("prepare.py", "cleans, splits and tokenises the data"),
    _script("examples.py", "what a row of the data says, and its tokens"),
    _script("stream.py", "takes rows from the Hub as they come", lambda uses: uses.streamed),
    _script("mixture.py", "how much of each source an epoch holds", lambda uses: uses.weighed),
    _script("train.py", "trains, from the last checkpoint if there is one"),
    _script("journal.py", "notes what the stages do, for those who watch"),
    _script("tracker.py", "tells the tracker which run this is", lambda uses: uses.tracker),
    _script("survival.py", "what training survives: kills, signals, too little memory"),
    _script(
        "gain.py",
        "holds the result against the model before training",
        lambda uses: uses.validation,
    ),
    _script("killed.py", "says why training ended without a word"),
    _script("packing.py", "lays short rows one behind the other", lambda uses: uses.packed),
    _script("rates.py", "gives some weights a learning rate of their own", lambda uses: uses.rates),
    _script("guard.py", "what every stage shares"),
    _script(
        "grouping.py",
        "orders rows by length, for less padding",
        lambda uses: uses.sorted_rows,
    ),
    _script(
        "shards.py",
        "sees that the processes divide the weights",
        lambda uses: uses.zero3 or uses.fsdp,
    ),
    _script(
        "swap.py",
        "sees that the disk holds what is offloaded, and that all of it is resumed",
        lambda uses: uses.nvme,
    ),
    _script("merge.py", "writes the trained model as a 16-bit folder"),
    _script("evaluate.py", "judges the result on the test split", lambda uses: uses.test),
    _script(
        "answers.py",
        "has a model answer, and measures how good that is",
        lambda uses: uses.answered or uses.best_by_metric,
    ),
    _script("rewards.py", "says what tried answers are worth", lambda uses: uses.sampled),
    Artifact(
        name="reward_functions.py",
        language="copy",
        about="the functions of the spec, copied as they are: training and evaluation run them",
        text=lambda source, _: source.reward_functions or "",
        when=lambda uses: uses.reward_functions,
    ),
    Artifact(
        name="answer_schema.json",
        language="json",
        about="the JSON Schema that answers are held to",
        data=lambda source: source.answer_schema,
        when=lambda uses: uses.reward_schema,
    ),
    _script(
        "harness.py",
        "asks the model the questions of public benchmarks; run.sh does not call it",
        lambda uses: uses.harness,
    ),
    _script("head.py", "sets up the head that gives rewards", lambda uses: uses.reward_model),
    _script("labels.py", "names the labels, and judges what is said", lambda uses: uses.classes),
    _script("reader.py", "reads and writes with a GGUF file", lambda uses: uses.converted),
    _script(
        "importance.py",
        "finds the columns that matter, for quantize.py",
        lambda uses: uses.importance,
    ),
    _script("fidelity.py", "measures how faithful a GGUF file is", lambda uses: uses.converted),
    _script("quantize.py", "writes and verifies the GGUF files", lambda uses: uses.gguf),
    _script("adapter.py", "writes and verifies the adapter as GGUF", lambda uses: uses.adapter),
    _script("converter.py", "calls llama.cpp's converters", lambda uses: uses.converted),
    _script("modelfile.py", "holds the Modelfile to the rows", lambda uses: uses.ollama_checked),
    Artifact(
        name="go_template.py",
        language="python",
        about="renders Go templates, for modelfile.py",
        text=lambda _source, _uses: read_go_template(),
        when=lambda uses: uses.ollama_checked,
    ),
    _script("report.py", "says what the run came to, in one table"),
    _script("ask.py", "asks the result one question"),
    Artifact(
        name="accelerate.yaml",
        language="yaml",
        about="how many processes train",
        data=accelerate_config,
    ),
    Artifact(
        name="deepspeed.json",
        language="json",
        about="what the processes share",
        data=deepspeed_config,
        when=lambda uses: uses.deepspeed,
    ),
    Artifact(
        name="plan.json",
        language="json",
        about="the plan's numbers, which `ftc watch` holds the run against",
        data=plan_data,
    ),
    Artifact(
        name="plan.svg",
        language="text",
        about="the memory of each phase, as a picture",
        text=lambda source, _: draw_plan(source.spec.name, source.plan) + "\n",
    ),
    Artifact(
        name="run.sh",
        language="shell",
        about="all stages in order",
        template="run.sh.j2",
        executable=True,
    ),
    Artifact(
        name="node.sh",
        language="shell",
        about="the processes of one node, for run.sh",
        template="node.sh.j2",
        when=lambda uses: uses.nodes,
        executable=True,
    ),
    Artifact(
        name="slurm.sh",
        language="shell",
        about="the Slurm job: `sbatch slurm.sh`",
        template="slurm.sh.j2",
        when=lambda uses: uses.slurm,
        executable=True,
    ),
    Artifact(
        name="modules.txt",
        language="text",
        about="what slurm.sh loads by `module load`",
        text=lambda source, _: "".join(f"{name}\n" for name in source.spec.launch.modules),
        when=lambda uses: uses.modules,
    ),
    Artifact(
        name="container.txt",
        language="text",
        about="the Apptainer image that the scripts run in",
        text=lambda source, _: f"{source.spec.launch.container}\n",
        when=lambda uses: uses.container,
    ),
    Artifact(
        name="k8s.yaml",
        language="yaml",
        about="the TrainJob: `kubectl create -f k8s.yaml`",
        data=trainjob,
        when=lambda uses: uses.kubernetes,
    ),
    Artifact(
        name="sky.yaml",
        language="yaml",
        about="the SkyPilot task: `sky jobs launch sky.yaml`",
        data=sky_task,
        when=lambda uses: uses.skypilot,
    ),
    Artifact(
        name="Modelfile",
        language="modelfile",
        about="runs the result in Ollama",
        template="Modelfile.j2",
        data=modelfile_data,
        when=lambda uses: uses.gguf,
    ),
    Artifact(
        name="Modelfile.adapter",
        language="modelfile",
        about="runs the adapter on its base in Ollama",
        template="Modelfile.adapter.j2",
        data=adapter_modelfile_data,
        when=lambda uses: uses.adapter,
    ),
    Artifact(
        name="chat_template.jinja",
        language="text",
        about="the chat template that the spec names",
        text=lambda source, _: source.chat_template or "",
        when=lambda uses: uses.chat_template_file,
    ),
)
