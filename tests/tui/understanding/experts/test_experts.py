"""Classes of experts' lines that were misread, each in other words, languages and fields."""

from collections.abc import Mapping
from typing import Any, Final

import pytest

from ftc.tui.state.draft import read_draft
from ftc.tui.understanding.reader import read
from ftc.tui.understanding.reading import Reading
from tests.tui.understanding.test_annotated import BASE as DRAFT

EMPTY: Final[Mapping[str, Any]] = {}
BASE: Final = read_draft(DRAFT).data
COUNT = "/hardware/count"
GPU = "/hardware/gpu"
METHOD = "/method/type"
LAYERS = "/method/layers"
ALSO = "/method/also_train"
RATE = "/training/learning_rate"
EMBEDDING_RATE = "/training/embedding_learning_rate"
SOURCE = "/data/source"
OFFLOAD = "/distribution/offload"
CHECKPOINTING = "/training/gradient_checkpointing"
REGRESSION = "/training/evaluation/regression"
VERIFY = "/export/verify/"
MODEL = "/model/id"
OBJECTIVE = "/objective/type"
REFERENCE = "/objective/reference"


def sets_of(reading: Reading) -> dict[str, Any]:
    """Return what a reading sets, by the fields."""
    return {each.pointer: each.value for each in reading.changes}


@pytest.mark.parametrize(
    ("text", "sets"),
    [
        (
            "lora w/ rank 8 & dropout 0.1",
            {METHOD: "lora", "/method/rank": 8, "/method/dropout": 0.1},
        ),
        ("qlora w/o packing", {METHOD: "qlora", "/data/packing": "none"}),
        ("freeze tuning, blocks 8 thru 11", {METHOD: "freeze", LAYERS: [8, 9, 10, 11]}),
        (
            "lora r32 incl. the experts",
            {"/method/rank": 32, METHOD: "lora", "/method/experts": True},
        ),
        ("2 a6000 w/ fsdp", {COUNT: 2, GPU: "RTX-A6000", "/distribution/strategy": "fsdp"}),
        ("pon 3 épocas & lr 1e-4", {"/training/epochs": 3, RATE: 1e-4}),
        ("l'lr que sigui la meitat de 2e-4", {RATE: 1e-4}),
        ("alpha el doble de 16", {"/method/alpha": 32}),
        ("set the lr to a tenth of 2e-4", {RATE: 2e-5}),
    ],
)
def test_shortened_words_and_parts_of_a_number(text: str, sets: dict[str, Any]) -> None:
    """They mean what the whole word, or the worked out number, means."""
    found = sets_of(read(text, EMPTY))
    assert found == sets


@pytest.mark.parametrize(
    "text",
    [
        "8 a100s, zero-2, bf16",
        "an A100, batch 32",
        "una V100 con lora r16",
        "entrena-ho amb 4 V100",
        "2x GH200, lora",
        "full ft en 8 A100, bs 80",
    ],
)
def test_a_card_in_two_sizes_is_asked_about(text: str) -> None:
    """A number that is no amount of memory chooses none."""
    reading = read(text, EMPTY)
    assert GPU not in sets_of(reading)
    assert reading.asked is not None
    asked = {each.pointer: each.values for each in reading.choices}
    assert len(asked[GPU]) > 1


@pytest.mark.parametrize(
    ("text", "card", "count"),
    [
        ("2x A100 with 80 GB, lora", "A100-SXM4-80GB", 2),
        ("four V100s of 32 gigs", "V100-SXM2-32GB", 4),
        ("8 \u00d7 B200, bf16", "B200-180GB", 8),
        ("b200 x4, r16", "B200-180GB", 4),
        ("qwen2.5 14b instruct en 2 a6000", "RTX-A6000", 2),
        ("llama 3.1 8b on 4 l40s", "L40S", 4),
        ("gemma 3 4b amb 3 rtx 4090", "RTX-4090", 3),
    ],
)
def test_a_count_belongs_to_the_card_behind_it(text: str, card: str, count: int) -> None:
    """Neither the model's name nor an abbreviated field takes it."""
    found = sets_of(read(text, EMPTY))
    assert (found[GPU], found[COUNT]) == (card, count)
    assert "/training/adam_beta2" not in found


@pytest.mark.parametrize(
    ("text", "sets"),
    [
        ("new run called rag-judge-v2", {"/name": "rag-judge-v2"}),
        ("nueva ejecución llamada faq-es-2", {"/name": "faq-es-2"}),
        ("l'execució es diu prova-9", {"/name": "prova-9"}),
        ("nom de l'execució: tiquets-3", {"/name": "tiquets-3"}),
        ("wandb, run called x-3", {"/tracking/type": "wandb", "/tracking/run": "x-3"}),
        (
            "mlflow (experiment tiquets, run prova-1)",
            {
                "/tracking/type": "mlflow",
                "/tracking/project": "tiquets",
                "/tracking/run": "prova-1",
            },
        ),
        (
            "run: mistral 7b v0.3, r16",
            {MODEL: "mistralai/Mistral-7B-Instruct-v0.3", "/method/rank": 16},
        ),
        ("MoE run: qwen3-30b-a3b-instruct-2507", {MODEL: "Qwen/Qwen3-30B-A3B-Instruct-2507"}),
        ("run 3 epochs", {"/training/epochs": 3}),
    ],
)
def test_the_name_of_a_run(text: str, sets: dict[str, Any]) -> None:
    """It is the tracker's only beside a tracker; a model is no name."""
    assert sets_of(read(text, EMPTY)) == sets


@pytest.mark.parametrize(
    ("text", "sets"),
    [
        (
            "modules_to_save embeddings + lm_head, and give those a 1e-5 lr",
            {ALSO: ["embeddings", "head"], EMBEDDING_RATE: 1e-5},
        ),
        ("lr 2e-4, embeddings at 1e-5", {RATE: 2e-4, EMBEDDING_RATE: 1e-5}),
        (
            "entrena també els embeddings a 2e-5; lr 1e-4",
            {ALSO: ["embeddings"], EMBEDDING_RATE: 2e-5, RATE: 1e-4},
        ),
        ("lm_head con lr 5e-6, el resto a 1e-4", {EMBEDDING_RATE: 5e-6, RATE: 1e-4}),
        ("router aux coef 1e-3, lr 2e-4", {"/training/router_loss": 1e-3, RATE: 2e-4}),
        ("moe load balancing loss 0.02", {"/training/router_loss": 0.02}),
        ("coeficient auxiliar del router 0,001", {"/training/router_loss": 0.001}),
        ("adamw 2e-4", {"/training/optimizer": "adamw", RATE: 2e-4}),
    ],
)
def test_a_rate_belongs_to_what_it_stands_with(text: str, sets: dict[str, Any]) -> None:
    """The rate of the embeddings, or a coefficient, is not the learning rate."""
    assert sets_of(read(text, EMPTY)) == sets


@pytest.mark.parametrize(
    ("text", "sets"),
    [
        (
            "no adapters. unfreeze the last 6 blocks + lm_head, everything else stays frozen",
            {METHOD: "freeze", LAYERS: 6, ALSO: ["head"]},
        ),
        ("sense adaptadors: entrena només les últimes 4 capes", {METHOD: "freeze", LAYERS: 4}),
        ("freeze tuning, capas 12 y 13", {METHOD: "freeze", LAYERS: [12, 13]}),
        ("congelar, capes de la 24 a la 27", {METHOD: "freeze", LAYERS: [24, 25, 26, 27]}),
        ("freeze layers 0-25", {METHOD: "freeze", LAYERS: [26, 27]}),
    ],
)
def test_layers_by_their_numbers(text: str, sets: dict[str, Any]) -> None:
    """A range lists all its layers; of frozen ones the others are trained."""
    assert sets_of(read(text, BASE)) == sets


@pytest.mark.parametrize(
    ("text", "sets"),
    [
        (
            "optimizer states offloaded to /mnt/nvme0",
            {OFFLOAD: "optimizer", "/distribution/nvme_path": "/mnt/nvme0"},
        ),
        ("pesos a la cpu", {OFFLOAD: "parameters"}),
        ("pesos y optimizador en cpu", {OFFLOAD: "parameters"}),
        ("l'optimitzador a la ram", {OFFLOAD: "optimizer"}),
        ("offload the weights", {OFFLOAD: "parameters"}),
        ("activacions offload a la RAM", {CHECKPOINTING: "offload"}),
        ("move the activations to the cpu", {CHECKPOINTING: "offload"}),
        ("descarga las activaciones en la ram", {CHECKPOINTING: "offload"}),
    ],
)
def test_what_is_kept_in_host_memory(text: str, sets: dict[str, Any]) -> None:
    """The weights, the optimizer and the activations are told apart; the CPU is no device."""
    draft = {**BASE, "distribution": {"strategy": "zero3"}}
    assert sets_of(read(text, draft)) == sets


@pytest.mark.parametrize(
    ("text", "checks"),
    [
        (
            "regression gate pls: neutral.txt, perplexity may go up 5% tops",
            [{"text": "neutral.txt", "max_drop": 0.05}],
        ),
        (
            "regressió: coneixements.jsonl 0,02 i neutre.txt 3%",
            [
                {"prompts": "coneixements.jsonl", "max_drop": 0.02},
                {"text": "neutre.txt", "max_drop": 0.03},
            ],
        ),
        (
            "que no pierda más de 2 puntos en general.jsonl",
            [{"prompts": "general.jsonl", "max_drop": 0.02}],
        ),
        ("guard against forgetting with arith.jsonl", [{"prompts": "arith.jsonl"}]),
        (
            "it must not get worse by more than 1 point on facts.jsonl or maths.jsonl",
            [
                {"prompts": "facts.jsonl", "max_drop": 0.01},
                {"prompts": "maths.jsonl", "max_drop": 0.01},
            ],
        ),
    ],
)
def test_a_regression_owns_its_files_and_numbers(text: str, checks: list[Any]) -> None:
    """Their files are not the training data, and their bounds are not those of the GGUF file."""
    assert sets_of(read(text, BASE)) == {REGRESSION: checks}


@pytest.mark.parametrize(
    ("text", "sets"),
    [
        (
            "KL <= 0.03 nats, top-1 agreement >= 95%, ppl ratio <= 1.02, compare over 16384 tokens",
            {
                f"{VERIFY}max_divergence": 0.03,
                f"{VERIFY}min_agreement": 0.95,
                f"{VERIFY}max_perplexity_ratio": 1.02,
                f"{VERIFY}tokens": 16384,
            },
        ),
        (
            "que falle si el KL pasa de 0.05 o la métrica cae más de 2 puntos",
            {f"{VERIFY}max_divergence": 0.05, f"{VERIFY}max_metric_drop": 0.02},
        ),
        ("fail if the kl divergence is over 0.1", {f"{VERIFY}max_divergence": 0.1}),
        ("si la divergència supera 0,04 que falli", {f"{VERIFY}max_divergence": 0.04}),
        (
            "5 mostres per eval, i si surt pitjor que la base que segueixi igualment",
            {"/training/evaluation/samples": 5, "/training/evaluation/allow_worse": True},
        ),
    ],
)
def test_a_bound_says_its_own_condition(text: str, sets: dict[str, Any]) -> None:
    """The "if" of a bound makes nothing doubtful."""
    assert sets_of(read(text, BASE)) == sets


@pytest.mark.parametrize(
    ("text", "sets"),
    [
        ("cpo amb alpha 0,5", {OBJECTIVE: "cpo", "/objective/answer_weight": 0.5}),
        ("orpo, alpha 0.1", {OBJECTIVE: "orpo", "/objective/beta": 0.1}),
        ("dpo, referència copiada", {OBJECTIVE: "dpo", REFERENCE: "copy"}),
        ("dpo, referencia = adapter desactivado", {OBJECTIVE: "dpo", REFERENCE: "adapter_off"}),
        (
            "dpo, robust loss assuming 10% flipped pairs",
            {OBJECTIVE: "dpo", "/objective/loss": "robust", "/objective/label_smoothing": 0.1},
        ),
        ("bge-m3, cls pooling", {MODEL: "BAAI/bge-m3", "/objective/pooling": "cls"}),
        (
            "cpt of Llama-3.1-8B (the base, not instruct) over corpus.jsonl",
            {OBJECTIVE: "cpt", MODEL: "meta-llama/Llama-3.1-8B", SOURCE: "corpus.jsonl"},
        ),
    ],
)
def test_a_word_means_what_its_objective_says(text: str, sets: dict[str, Any]) -> None:
    """A name that two fields have is that of the one that applies and takes the value."""
    assert sets_of(read(text, EMPTY)) == sets


@pytest.mark.parametrize(
    ("text", "sets"),
    [
        (
            "dpo / beta 0,05 / rpo? no / ipo",
            {OBJECTIVE: "dpo", "/objective/beta": 0.05, "/objective/loss": "ipo"},
        ),
        ("rank 16, tf32? whatever, lr 1e-4", {"/method/rank": 16, RATE: 1e-4}),
        (
            "quants: q6_k and q8_0 instead; kl < 0.03, top1 \u2265 .93",
            {
                "/export/types": ["Q6_K", "Q8_0"],
                f"{VERIFY}max_divergence": 0.03,
                f"{VERIFY}min_agreement": 0.93,
            },
        ),
        (
            "que no se aleje: KL por debajo de 0,02 y acuerdo del 97 %",
            {f"{VERIFY}max_divergence": 0.02, f"{VERIFY}min_agreement": 0.97},
        ),
        ("loss sobre todo (prompts incluidos)", {"/objective/loss_on": "all"}),
        ("2 tb of disk", {"/hardware/disk_gib": 2048}),
        ("we must not lose the accents, val 5%", {"/data/splits/validation": 0.05}),
        ("bump ga to 4, keep mbs 2", {"/training/micro_batch": 2, "/training/global_batch": 8}),
        ("wandb; log every 5 steps", {"/tracking/type": "wandb"}),
        (
            "skip the adapter gguf, check KL under 0.02 on 8192 tokens",
            {
                "/export/adapter": False,
                f"{VERIFY}max_divergence": 0.02,
                f"{VERIFY}tokens": 8192,
            },
        ),
        (
            "guarda el mejor por la métrica rouge_l",
            {
                "/training/evaluation/best_by": "metric",
                "/training/evaluation/metric": "rouge_l",
            },
        ),
        (
            "embed con bge-m3, prefijos 'query: ' y 'passage: '",
            {
                OBJECTIVE: "embed",
                MODEL: "BAAI/bge-m3",
                "/objective/query_prompt": "query: ",
                "/objective/document_prompt": "passage: ",
            },
        ),
        ("dora instead of plain lora", {"/method/dora": True}),
        (
            "lm-eval on hellaswag + arc_easy, limit 200 per task",
            {
                "/training/evaluation/harness": ["hellaswag", "arc_easy"],
            },
        ),
        (
            "un checkpoint cada 100 pasos, máximo 2 en disco",
            {
                "/training/evaluation/every_steps": 100,
                "/training/keep_checkpoints": 2,
            },
        ),
        (
            "lote global 64 con micro 4, acumula lo que haga falta",
            {
                "/training/global_batch": 64,
                "/training/micro_batch": 4,
            },
        ),
    ],
)
def test_a_number_of_something_else_sets_nothing(text: str, sets: dict[str, Any]) -> None:
    """What is logged, a limit per task and a denied word leave the fields beside them alone."""
    assert sets_of(read(text, BASE)) == sets
