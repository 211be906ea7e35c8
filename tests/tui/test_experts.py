"""Classes of experts' lines that were misread, each in other words, languages and fields."""

from collections.abc import Mapping
from typing import Any, Final

import pytest

from ftc.tui.understanding.reader import read
from ftc.tui.understanding.reading import Reading

EMPTY: Final[Mapping[str, Any]] = {}
BASE: Final[Mapping[str, Any]] = {
    "name": "demo",
    "model": {"id": "Qwen/Qwen2.5-7B-Instruct"},
    "data": {"source": "tickets.csv"},
    "method": {"type": "lora"},
    "hardware": {"gpu": "RTX-4090", "count": 1},
    "export": {"types": ["Q4_K_M"]},
}
COUNT, GPU = "/hardware/count", "/hardware/gpu"
METHOD, LAYERS, ALSO = "/method/type", "/method/layers", "/method/also_train"
RATE, EMBEDDING_RATE = "/training/learning_rate", "/training/embedding_learning_rate"
SOURCE, SOURCES, SPLIT, SUBSET = "/data/source", "/data/sources", "/data/split", "/data/subset"
OFFLOAD, CHECKPOINTING = "/distribution/offload", "/training/gradient_checkpointing"
REGRESSION, VERIFY = "/training/evaluation/regression", "/export/verify/"
MODEL, TEACHER, WIDTH = "/model/id", "/objective/teacher/id", "/objective/teacher/quantization"
OBJECTIVE, REWARDS, REFERENCE = "/objective/type", "/objective/rewards", "/objective/reference"


def _sets(reading: Reading) -> dict[str, Any]:
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
    found = _sets(read(text, EMPTY))
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
    assert GPU not in _sets(reading)
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
    found = _sets(read(text, EMPTY))
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
    assert _sets(read(text, EMPTY)) == sets


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
    assert _sets(read(text, EMPTY)) == sets


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
    assert _sets(read(text, BASE)) == sets


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
    assert _sets(read(text, draft)) == sets


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
    """They are no data and no bound of the quantized file."""
    assert _sets(read(text, BASE)) == {REGRESSION: checks}


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
            "Q5_K_M, i si surt pitjor que la base que segueixi igualment",
            {"/export/types": ["Q5_K_M"], "/training/evaluation/allow_worse": True},
        ),
    ],
)
def test_a_bound_says_its_own_condition(text: str, sets: dict[str, Any]) -> None:
    """The "if" of a bound makes nothing doubtful."""
    assert _sets(read(text, BASE)) == sets


@pytest.mark.parametrize(
    ("text", "sets"),
    [
        (
            "KD from Qwen2.5-72B-Instruct (load it in nf4) into qwen2.5 7b instruct",
            {
                OBJECTIVE: "distill",
                TEACHER: "Qwen/Qwen2.5-72B-Instruct",
                WIDTH: "nf4",
                MODEL: "Qwen/Qwen2.5-7B-Instruct",
            },
        ),
        (
            "destil·la des de Qwen3-32B (carregat en nf4) cap a qwen3 4b",
            {
                OBJECTIVE: "distill",
                TEACHER: "Qwen/Qwen3-32B",
                WIDTH: "nf4",
                MODEL: "Qwen/Qwen3-4B",
            },
        ),
        (
            "KD: teacher Qwen2.5-32B-Instruct in 4 bit, student qwen2.5 1.5b",
            {
                OBJECTIVE: "distill",
                TEACHER: "Qwen/Qwen2.5-32B-Instruct",
                WIDTH: "nf4",
                MODEL: "Qwen/Qwen2.5-1.5B-Instruct",
            },
        ),
    ],
)
def test_the_model_behind_from_teaches(text: str, sets: dict[str, Any]) -> None:
    """What is said beside it of its width is its own."""
    assert _sets(read(text, EMPTY)) == sets


@pytest.mark.parametrize(
    ("text", "sets"),
    [
        (
            'load_dataset("acme/stack-smol", "python", split="train_v2", streaming=True)',
            {
                SOURCE: "acme/stack-smol",
                SUBSET: "python",
                SPLIT: "train_v2",
                "/data/streaming": True,
            },
        ),
        (
            "load_dataset('acme/web', name='ca', revision='v1.1')",
            {SOURCE: "acme/web", SUBSET: "ca", "/data/revision": "v1.1"},
        ),
        ("acme/gsm (config main), lr 1e-6", {SOURCE: "acme/gsm", SUBSET: "main", RATE: 1e-6}),
        ("acme/web [es], 2 epochs", {SOURCE: "acme/web", SUBSET: "es", "/training/epochs": 2}),
        (
            "acme/xats (ca, train, màxim 5k files)",
            {SOURCE: "acme/xats", SUBSET: "ca", SPLIT: "train", "/data/max_rows": 5000},
        ),
        (
            "data mix 70/30: domain.jsonl vs acme/chats (train_sft, capped at 20k rows)",
            {
                SOURCES: [
                    {"source": "domain.jsonl", "weight": 70},
                    {
                        "source": "acme/chats",
                        "weight": 30,
                        "split": "train_sft",
                        "max_rows": 20000,
                    },
                ]
            },
        ),
        (
            "mezcla 80/20 de acme/chats y acme/noticias",
            {
                SOURCES: [
                    {"source": "acme/chats", "weight": 80},
                    {"source": "acme/noticias", "weight": 20},
                ]
            },
        ),
    ],
)
def test_a_data_set_of_the_hub_with_what_is_beside_it(text: str, sets: dict[str, Any]) -> None:
    """It is no model, and its split, subset and rows are its own."""
    assert _sets(read(text, EMPTY)) == sets


@pytest.mark.parametrize(
    ("text", "sets"),
    [
        (
            "Qwen/Qwen3-8B a 3f2a9c1, i el dataset acme/parallel a la branca v1.2",
            {
                MODEL: "Qwen/Qwen3-8B",
                "/model/revision": "3f2a9c1",
                SOURCE: "acme/parallel",
                "/data/revision": "v1.2",
            },
        ),
        (
            "Qwen/Qwen3-8B rama dev, acme/web (es) commit 9b1c0de44",
            {
                MODEL: "Qwen/Qwen3-8B",
                "/model/revision": "dev",
                SOURCE: "acme/web",
                SUBSET: "es",
                "/data/revision": "9b1c0de44",
            },
        ),
        ("pin Qwen/Qwen3-8B at tag v2.0", {MODEL: "Qwen/Qwen3-8B", "/model/revision": "v2.0"}),
        ("sharegpt.json | r32", {SOURCE: "sharegpt.json", "/method/rank": 32}),
    ],
)
def test_a_revision_belongs_to_what_is_named_before(text: str, sets: dict[str, Any]) -> None:
    """A commit needs no word; a branch and a tag do."""
    assert _sets(read(text, EMPTY)) == sets


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        (
            "embed bge-m3 on pairs.csv (query, passage)",
            {"prompt": "query", "completion": "passage"},
        ),
        (
            "rerank amb bge-m3 / cerques.csv, cols consulta i document / 10 negatius",
            {"prompt": "consulta", "completion": "document"},
        ),
        (
            "stsb_es.csv → frase1, frase2 y la nota en puntuacion. Bi-encoder con bge-m3",
            {"prompt": "frase1", "completion": "frase2", "score": "puntuacion"},
        ),
        (
            "messages are in `conv`, function schemas in `fns`",
            {"messages": "conv", "tools": "fns"},
        ),
        (
            "los mensajes están en `hilo` y las funciones en `api`",
            {"messages": "hilo", "tools": "api"},
        ),
    ],
)
def test_lists_of_columns(text: str, columns: dict[str, str]) -> None:
    """Each name has one role; none is taken twice."""
    found = _sets(read(text, EMPTY))
    own = {at.rpartition("/")[2]: name for at, name in found.items() if at.startswith("/data/col")}
    assert own == columns


@pytest.mark.parametrize("text", ["faq.csv, salida en q8_0", "faq.csv, output in q5_k_m"])
def test_a_quantization_type_is_no_column(text: str) -> None:
    """An output word beside it tells what is exported."""
    found = _sets(read(text, EMPTY))
    assert set(found) == {SOURCE, "/export/types"}


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Tune LM and projector, tower stays frozen", ["language_model", "projector"]),
        ("entrena projector i torre de visió, LM congelat", ["projector", "vision_tower"]),
        (
            "entrena el proyector y la torre de visión, el LM se queda congelado",
            ["projector", "vision_tower"],
        ),
        ("qwen2.5-vl-7b, LM + projector trained", ["language_model", "projector"]),
    ],
)
def test_a_frozen_part_is_none_of_the_trained(text: str, parts: list[str]) -> None:
    """What stands behind the last comma is not trained."""
    assert _sets(read(text, EMPTY))["/method/parts"] == parts


@pytest.mark.parametrize(
    ("text", "sets"),
    [
        (
            "push_to_hub acme-ml/triage-7b as a public repo - apache-2.0, adapter + gguf only",
            {
                "/publish/repo": "acme-ml/triage-7b",
                "/publish/licence": "apache-2.0",
                "/publish/what": ["adapter", "gguf"],
                "/publish/private": False,
            },
        ),
        (
            "puja-ho al hub com a acme/bot: només el model fusionat",
            {"/publish/repo": "acme/bot", "/publish/what": ["merged"]},
        ),
        (
            "quiero tb el adapter en un gguf aparte",
            {"/export/adapter": True},
        ),
        ("give me the adapter as its own gguf", {"/export/adapter": True}),
    ],
)
def test_what_is_published(text: str, sets: dict[str, Any]) -> None:
    """A list beside a repository is what goes there, and no export."""
    assert _sets(read(text, BASE)) == sets


@pytest.mark.parametrize(
    ("text", "rewards"),
    [
        (
            "rloo, rewards.py: correctness (weight 1) and brevity (0.1)",
            [
                {"functions": "rewards.py", "names": ["correctness"]},
                {"functions": "rewards.py", "names": ["brevity"], "weight": 0.1},
            ],
        ),
        (
            "grpo con recompensas.py: es_correcto, es_breve",
            [{"functions": "recompensas.py", "names": ["es_correcto", "es_breve"]}],
        ),
        (
            "grpo, numeric reward plus 0.2 for matching the regex #### -?\\d+$ , lr 1e-6",
            ["numeric", {"regex": "#### -?\\d+$", "weight": 0.2}],
        ),
    ],
)
def test_rewards_of_a_file_and_of_a_pattern(text: str, rewards: list[Any]) -> None:
    """Each function has its own weight; the question mark of a pattern asks nothing."""
    found = _sets(read(text, EMPTY))
    assert found[REWARDS] == rewards
    assert not found.keys() & {"/objective/tools", "/training/weight_decay", "/data/columns/prompt"}


@pytest.mark.parametrize(
    ("text", "sets"),
    [
        ("mask everything except the final assistant turn", {"/objective/loss_on": "last_turn"}),
        ("la pérdida solo en la última respuesta", {"/objective/loss_on": "last_turn"}),
        ("emmascara-ho tot menys l'últim torn", {"/objective/loss_on": "last_turn"}),
        (
            "the dupes are oversampled on purpose so keep em",
            {"/data/cleaning/drop_duplicates": False},
        ),
        ("els duplicats són volguts, deixa'ls", {"/data/cleaning/drop_duplicates": False}),
        ("no em reparis l'encoding", {"/data/cleaning/repair_encoding": False}),
        ("CoT in the rows gets stripped", {"/data/reasoning": "strip"}),
        ("el raonament s'ha de llegir però no aprendre", {"/data/reasoning": "mask"}),
        ("mask the chain of thought", {"/data/reasoning": "mask"}),
        ("la foto es una URL, permite bajarlas", {"/data/allow_download": True}),
        ("it has no extension but it's parquet", {"/data/format": "parquet"}),
    ],
)
def test_what_happens_to_the_rows(text: str, sets: dict[str, Any]) -> None:
    """Prose about rare fields is read in three languages."""
    assert _sets(read(text, BASE)) == sets


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
    assert _sets(read(text, EMPTY)) == sets


@pytest.mark.parametrize(
    ("text", "sets"),
    [
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
    assert _sets(read(text, BASE)) == sets
