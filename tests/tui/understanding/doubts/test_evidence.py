"""Values in unlikely requests, other specs, concessions or questions are not set."""

from typing import Any, Final

import pytest

from ftc.tui.state.draft import read_draft
from ftc.tui.understanding.reader import read
from tests.tui.understanding.test_annotated import BASE

DRAFT: Final = read_draft(BASE).data
BARE: Final[dict[str, Any]] = {}

UNASKED: Final[list[tuple[str, dict[str, Any]]]] = [
    ("note for the legal-bot project, not this one: rank 64, two epochs", {}),
    ("per al bot de vendes, que és un altre projecte, caldrà un rang de 64", {}),
    ("para el otro proyecto hará falta zero3 y 5 épocas", {}),
    ("seed 12, even though the notebook sets a dropout of 0.2", {"/training/seed": 12}),
    ("llavor 12, encara que el tutorial posi un dropout de 0,2", {"/training/seed": 12}),
    ("semilla 12, aunque la guía marque un dropout de 0,2", {"/training/seed": 12}),
    ("OOM at step 40, seq 4096, mbs 8", {}),
    ("in axolotl I'd write lora_r: 64 for that. Do you have the same?", {}),
    ("a colleague told me that dora on a 3060 is slow, is that true?", {}),
    (
        "the old notebook caps the rows at 1024 tokens. Set the max length to 4096",
        {"/data/max_length": 4096},
    ),
    ("three lines above it says use rank 8", {}),
]


@pytest.mark.parametrize(("text", "sets"), UNASKED)
def test_what_nobody_asked_for_is_not_set(text: str, sets: dict[str, Any]) -> None:
    """Only the message's own wishes change the draft; the rest leads to a question."""
    assert {each.pointer: each.value for each in read(text, DRAFT).changes} == sets


WANTED: Final[list[tuple[str, dict[str, Any]]]] = [
    ("run 3 epochs", {"/training/epochs": 3}),
    ("rank 16, although with alpha 16 is fine too", {"/method/rank": 16}),
    ("use 5 epochs. My boss says that 1 is plenty, but he won't read it", {"/training/epochs": 5}),
    ("we have three of those 4090s", {"/hardware/count": 3}),
    (
        "give me q8, nah, that's too big, make it q5_k_m and lose the q4",
        {"/export/types": ["Q5_K_M"]},
    ),
    ("rename the lot to spring-intake", {"/name": "spring-intake"}),
]


@pytest.mark.parametrize(("text", "sets"), WANTED)
def test_what_is_asked_for_is_set_beside_it(text: str, sets: dict[str, Any]) -> None:
    """The doubts of the other test do not reach a plain request."""
    found = {each.pointer: each.value for each in read(text, DRAFT).changes}
    assert {at: found.get(at) for at in sets} == sets


EXPERTS: Final[list[tuple[str, dict[str, Any]]]] = [
    (
        "distill from Qwen/Qwen2.5-14B-Instruct, T=2",
        {"/objective/teacher/id": "Qwen/Qwen2.5-14B-Instruct"},
    ),
    ("target_modules q,v,o_proj", {"/method/targets": ["q_proj", "v_proj", "o_proj"]}),
    ("grpo, 6 gens/prompt", {"/objective/num_generations": 6, "/objective/type": "grpo"}),
    (
        "grpo, rewards: exact + regex ^Total: (w 0.3), 4 gens",
        {"/objective/rewards": ["exact", {"regex": "^Total:", "weight": 0.3}]},
    ),
    (
        'template_kwargs={"enable_thinking": true}',
        {"/data/template_options": {"enable_thinking": True}},
    ),
    (
        "via slurm: -p gpu --qos night -A lab7 --time 04:00:00",
        {"/launch/partition": "gpu", "/launch/qos": "night", "/launch/account": "lab7"},
    ),
    (
        "slurm, modules cuda/12.4 gcc/12.2, bf16",
        {"/launch/modules": ["cuda/12.4", "gcc/12.2"], "/training/precision": "bf16"},
    ),
    ("slurm, sif at /scratch/img/ft.sif", {"/launch/container": "/scratch/img/ft.sif"}),
    ("verify: min_top1 0.9, 8192 tokens", {"/export/verify/tokens": 8192}),
    ("q6_k + f16, fail if KL > 0.02", {"/export/types": ["Q6_K", "F16"]}),
    ("polynomial p=2, warmup 3%", {"/training/power": 2}),
    ("cosine, lr floor 10%", {"/training/learning_rate_floor": 0.1}),
    ("lora r8, embeddings trainable", {"/method/also_train": ["embeddings"]}),
    ("export q5_k_m, lora gguf too", {"/export/types": ["Q5_K_M"], "/export/adapter": True}),
    ("acme/web-corpus config ca, streaming, cpt", {"/data/subset": "ca"}),
]


@pytest.mark.parametrize(("text", "sets"), EXPERTS)
def test_more_of_an_experts_line_is_read(text: str, sets: dict[str, Any]) -> None:
    """Each part of the line goes to its own field."""
    found = {each.pointer: each.value for each in read(text, BARE).changes}
    assert {at: found.get(at) for at in sets} == sets
    assert not {"/model/id", "/data/form"} & (found.keys() - sets.keys())


@pytest.mark.parametrize(
    "text",
    [
        "a single 3090. The A100 node belongs to the speech team",
        "una sola 3090. La A100 pertenece al equipo de voz",
    ],
)
def test_who_owns_a_machine_describes_no_objective(text: str) -> None:
    """A team is a category only of what is sorted."""
    assert "/objective/type" not in {each.pointer for each in read(text, BARE).changes}
