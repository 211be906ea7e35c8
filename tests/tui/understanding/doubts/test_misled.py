"""Values that a message retracts, shows, reports of others or only wishes are not set."""

from typing import Any

import pytest

from ftc.tui.understanding.reader import read

DRAFT: dict[str, Any] = {
    "model": {"id": "Qwen/Qwen2.5-7B-Instruct"},
    "data": {"source": "tickets.csv"},
    "method": {"type": "lora"},
    "hardware": {"gpu": "RTX-4090", "count": 1},
    "export": {"types": ["Q4_K_M"]},
}

TAKEN_BACK: list[tuple[str, dict[str, Any]]] = [
    ("weight decay 0.05 and a seed of 9. Nah, forget everything I said", {}),
    ("put the batch at 64... actually, never mind, thanks", {}),
    ("use DoRA and rslora. On second thought, scratch all that", {}),
    ("quiero 7 épocas con warmup del 3%. Bah, olvida lo que te he dicho", {}),
    ("súbelo al hub como acme/bot. Mejor no, déjalo como estaba", {}),
    ("iba a pedirte rango 64, pero da igual, olvídalo", {}),
    ("posa-hi un dropout de 0,2. Ai no, tant se val", {}),
    ("fes-ho amb fp16 i 4 èpoques... res, com si no hagués dit res", {}),
    (
        "rank 8. Dropout too? no, forget all that. Learning rate 3e-5",
        {"/training/learning_rate": 3e-5},
    ),
    ("rank 48. I also wanted a Q6_K, but never mind", {"/method/rank": 48}),
    ("llavor 77. Volia també un test del 10%, però deixa-ho estar", {"/training/seed": 77}),
    ("lora or qlora, never mind which; seed 5", {"/training/seed": 5}),
    (
        "drop the duplicates and don't change anything else",
        {"/data/cleaning/drop_duplicates": True},
    ),
]

SHOWN: list[tuple[str, dict[str, Any]]] = [
    (
        "{'loss': 1.92, 'grad_norm': 4.4, 'learning_rate': 8e-05, 'epoch': 0.5}\nis that loss ok?",
        {},
    ),
    ('{"eval_loss": 2.1, "eval_samples_per_second": 3.2, "epoch": 1.0}\n¿esto es normal?', {}),
    (
        "RuntimeError: shape mismatch, max_length 512\nset the max length to 1024",
        {"/data/max_length": 1024},
    ),
    (
        "[2025-03-02 11:20:31] epoch 3 lr 0.0004 batch 8\nque baixi el learning rate a 1e-4",
        {"/training/learning_rate": 1e-4},
    ),
    (
        "WARNING: lora_alpha 64 is larger than the rank\nwhat does that warning mean?",
        {},
    ),
    ("the readme says:\nlora_r: 64\nlora_dropout: 0.1\nwhere do these come from?", {}),
    (
        "al quadern hi surt:\nlearning_rate: 3e-4\nwarmup_ratio: 0.1\nés gaire alt, això?",
        {},
    ),
    ("mi compañera tiene:\nseed: 99\nnum_train_epochs: 8\n¿para qué sirve la semilla?", {}),
    (
        "please use these:\nlora_r: 64\nlora_dropout: 0.1\nthanks",
        {"/method/rank": 64, "/method/dropout": 0.1},
    ),
    ("Llama-3.2-3B-Instruct... what does the Instruct stand for?", {}),
]

OTHERS: list[tuple[str, dict[str, Any]]] = [
    ("My supervisor always takes a rank of 256. Ignore her, 32", {"/method/rank": 32}),
    ("Marta's config has a dropout of 0.3, I'd go with 0.05", {"/method/dropout": 0.05}),
    ("the guys from search train with a batch of 512", {}),
    ("a blog uses warmup 0.2 and weight decay 0.1", {}),
    ("el meu veí fa servir rang 8 i alfa 8", {}),
    (
        "els de Màrqueting avaluen cada 900 passos. Nosaltres cada 150",
        {"/training/evaluation/every_steps": 150},
    ),
    ("en Quim posa 12 èpoques, jo en faré la meitat", {"/training/epochs": 6}),
    ("mi cuñada usa un dropout de 0,4; a mí ponme 0,1", {"/method/dropout": 0.1}),
    ("los de Legal ponen semilla 1, no les hagas caso", {}),
    ("mi tutor insiste en rango 8, yo prefiero el doble", {"/method/rank": 16}),
    ("last year we trained with a weight decay of 0.3", {}),
    ("el curs passat vam fer 9 èpoques", {}),
    ("la primera vez pusimos un lote de 4. Esta vez 16", {"/training/global_batch": 16}),
    ("back in May it was seed 3. This time make it 11", {"/training/seed": 11}),
    ("ojalá tuviera dos H100", {}),
    ("tant de bo pogués entrenar el Llama 3.3 70B", {}),
    ("I wish we could afford 20 epochs", {}),
    ("if only rank 512 were possible here", {}),
    ("Aina says Adafactor, Pol says Lion. I'll go with Pol", {"/training/optimizer": "lion"}),
    ("my brother lends me his 3090", {"/hardware/gpu": "RTX-3090"}),
]

CORRECTED: list[tuple[str, dict[str, Any]]] = [
    ("10% for validation... hang on, that is too much. 5", {"/data/splits/validation": 0.05}),
    ("un 25% per al test... espera, és massa. 15%", {"/data/splits/test": 0.15}),
    ("rank 8 and alpha 32. No, the other way round", {"/method/rank": 32, "/method/alpha": 8}),
    (
        "test 5% y validación 10%. Perdón, al revés",
        {"/data/splits/test": 0.1, "/data/splits/validation": 0.05},
    ),
    ("rang 64, alfa 16... ui, al revés", {"/method/rank": 16, "/method/alpha": 64}),
    ("rank 16 and alpha 32, not the other way round", {"/method/rank": 16, "/method/alpha": 32}),
    ("no more than 5 epochs", {"/training/epochs": 5}),
    ("no más de 3 épocas", {"/training/epochs": 3}),
    ("no més de 2 èpoques", {"/training/epochs": 2}),
    ("I don't want you to not pack the rows", {"/data/packing": "best-fit"}),
    ("no vull que no empaquetis les files", {"/data/packing": "best-fit"}),
    ("no quiero que no empaquetes las filas", {"/data/packing": "best-fit"}),
    ("stop if it has not improved in 6 checks", {"/training/early_stopping": 6}),
]

REMOVED: list[tuple[str, dict[str, Any]]] = [
    ("only the Q6_K, the Q4 can go", {"/export/types": ["Q6_K"]}),
    ("just Q8_0", {"/export/types": ["Q8_0"]}),
    ("solo Q5_K_M, el Q4 sobra", {"/export/types": ["Q5_K_M"]}),
    ("quítale el Q4_K_M y ponle un Q8_0 en su lugar", {"/export/types": ["Q8_0"]}),
    ("lleva-li el Q4_K_M", {"/export/types": []}),
    ("només el Q6_K, el Q4 ja no el necessito", {"/export/types": ["Q6_K"]}),
    ("add a Q8_0 too", {"/export/types": ["Q4_K_M", "Q8_0"]}),
    ("apaga el mlflow", {"/tracking/type": "none"}),
    ("desconecta wandb", {"/tracking/type": "none"}),
    ("weight decay no en vull gens", {"/training/weight_decay": 0}),
    ("el dropout sobra", {"/method/dropout": 0}),
    ("la validación no hace falta", {"/data/splits/validation": 0}),
    ("warmup is not needed", {"/training/warmup": 0}),
    ("sense gguf, desa només l'adaptador", {"/export/types": []}),
]

UNWANTED: list[tuple[str, dict[str, Any]]] = [
    ("the 32B won't fit, stay with what I have", {}),
    ("el 72B no em cap a la targeta", {}),
    ("el 32B es demasiado grande", {}),
    ("no need for dora", {}),
    ("no cal que hi posis DoRA", {}),
    ("no hace falta que uses rslora", {}),
    ("right now we do not use mlflow", {}),
    ("ara mateix no fem servir wandb", {}),
    ("I can't decide between rank 8 and rank 64", {}),
    ("no sé si posar 3 èpoques o 5", {}),
    ("no tengo claro si usar a.csv o b.csv", {}),
    ("I get FTC231, is that bad?", {}),
    ("surt l'avís FTC152, què vol dir?", {}),
    ("ignore FTC231", {"/allow": ["FTC231"]}),
    ("switch to QLoRA because the 7B does not fit", {"/method/type": "qlora"}),
    ("our rows are twice as long as theirs", {}),
]

STRAY: list[tuple[str, dict[str, Any]]] = [
    ("apparently a dropout of 0.3 works wonders", {}),
    ("imagine rank 512, on this card", {}),
    ("rank 99. Just kidding, 32", {"/method/rank": 32}),
    ("weight decay 0.2 was a disaster", {}),
    ("seed 4? In principle, yes", {}),
    ("por lo visto con warmup 0,1 va mejor", {}),
    ("llavor 13... fa broma", {}),
    ("en teoría con 9 épocas bastaría", {}),
    ("no 64 rank yet, for the record", {}),
    ("lo del packing ya lo veremos otro día", {}),
    ("la taxa a 3e-3 ja la discutirem", {}),
    ("would rank 128 fit in there?", {}),
    ("apparently 3 epochs is usual, but I want 5", {"/training/epochs": 5}),
    ("seguim amb ganes i amb rang 24, potser", {}),
    ("please don't turn off packing", {}),
    (
        "cut what is over 900 tokens, no sorry, drop it",
        {
            "/data/max_length": 900,
            "/data/cleaning/overlong": "drop",
        },
    ),
]

PAST: list[tuple[str, dict[str, Any]]] = [
    ("until April we ran with a weight decay of 0.2", {}),
    ("the previous attempt had warmup 0.1 and it diverged", {}),
    ("abans pos\u00e0vem dropout 0,3", {}),
    ("fins fa poc entren\u00e0vem amb llavor 5", {}),
    ("hasta junio registr\u00e1bamos en wandb", {}),
    ("antes us\u00e1bamos un lote de 64", {}),
    ("we tried 9 epochs last spring, so 3 epochs now", {"/training/epochs": 3}),
    ("train it for 3 epochs like we always do", {"/training/epochs": 3}),
]

IRONIC: list[tuple[str, dict[str, Any]]] = [
    ("wow, great idea, 90 epochs", {}),
    ("yeah right, dropout 0.9", {}),
    ("quina gran idea, 80 \u00e8poques", {}),
    ("com vols que posi 50 \u00e8poques si no tinc temps!", {}),
    ("qu\u00e9 buena idea, semilla 666, genial", {}),
    ("\u00bfc\u00f3mo pretendes que use rango 1024?", {}),
    ("sure, let's use rank 24", {"/method/rank": 24}),
    ("good, rank 24 then", {"/method/rank": 24}),
]

UNASKED: list[tuple[str, dict[str, Any]]] = [
    ("nobody told you to turn packing on", {}),
    ("we were not asking for DoRA", {}),
    ("no he dit pas que vulguis posar llavor 4", {}),
    ("ning\u00fa m'ha demanat 6 \u00e8poques", {}),
    ("nadie ha pedido rslora", {}),
    ("anava a posar rang 64, per\u00f2 ho he reconsiderat", {}),
    ("10 epochs, seed 3... I've reconsidered", {}),
    ("seed 4 and weight decay 0.1, hmm, forget them both", {}),
    ("rang 8 i llavor 3. Oblida-les totes dues", {}),
    ("semilla 8 y rango 12, no, olv\u00eddalas", {}),
    ("no he dit 4080, he dit 3090!", {"/hardware/gpu": "RTX-3090"}),
    ("they asked me for 6 epochs, so use 6 epochs", {"/training/epochs": 6}),
]

RIVALS: list[tuple[str, dict[str, Any]]] = [
    ("until May it was rank 8, now rank 24", {"/method/rank": 24}),
    ("rank 64 for them, I'm fine with 20.", {"/method/rank": 20}),
    ("they allow 12 epochs; go with four", {"/training/epochs": 4}),
    ("la beca paga 30 \u00e9pocas, ponme 5", {"/training/epochs": 5}),
    ("warmup 0.05 was short, double that", {}),
    ("la taxa era 1e-4, la meitat", {}),
    ("un weight decay de 0,1 y 0,2; el mayor de los dos", {}),
    ("learning rate 2e-4 and rank 8", {"/training/learning_rate": 2e-4, "/method/rank": 8}),
    ("test 4%, and 0 for validation", {"/data/splits/test": 0.04, "/data/splits/validation": 0}),
    (
        "guarda un 4 % per al test; de validaci\u00f3, zero",
        {"/data/splits/test": 0.04, "/data/splits/validation": 0},
    ),
    ("aqu\u00ed s\u00ed, y la cabeza de salida tambi\u00e9n", {}),
    ("they train the embeddings, and the head too", {}),
    ("Q8_0 and Q6_K, no, drop the Q6", {"/export/types": ["Q8_0"]}),
    ("Q5_K_M i Q8_0... treu el Q5", {"/export/types": ["Q8_0"]}),
    ("Q4_K_S y Q8_0, mejor quita el Q8", {"/export/types": ["Q4_K_S"]}),
    (
        "validation 5% and test 10%, we want exactly the other way round",
        {"/data/splits/validation": 0.1, "/data/splits/test": 0.05},
    ),
    (
        "5% de test y 15% de validaci\u00f3n; quiero justo al rev\u00e9s",
        {"/data/splits/test": 0.15, "/data/splits/validation": 0.05},
    ),
    ("besides that one, a Q6_K", {}),
    ("add a Q6_K", {"/export/types": ["Q4_K_M", "Q6_K"]}),
]

ASKED_ABOUT: list[tuple[str, dict[str, Any]]] = [
    ("the card shows `lr: 3e-4` and `packing: true`. What does the second one do?", {}),
    ("la fitxa posa \u00abmax_length: 4096\u00bb. D'on surt?", {}),
    ("en el yaml sale `seed: 7`; \u00bfqu\u00e9 significa?", {}),
    ("{'train_loss': 0.9, 'learning_rate': 3e-05} is this ok?", {}),
    ("the old log had 'seed 9 | warmup 0.2', nothing else", {}),
    ("set packing to true. What does it do?", {"/data/packing": "best-fit"}),
    ("use rank 24. Is that enough?", {"/method/rank": 24}),
]

NODES: list[tuple[str, dict[str, Any]]] = [
    (
        "8 L40S in total, in 4 nodes",
        {"/hardware/gpu": "L40S", "/hardware/count": 2, "/hardware/nodes": 4},
    ),
    (
        "2 nodes with 4 L40S each",
        {"/hardware/gpu": "L40S", "/hardware/count": 4, "/hardware/nodes": 2},
    ),
]


@pytest.mark.parametrize(
    ("text", "sets"),
    [
        *[*PAST, *IRONIC, *UNASKED, *RIVALS, *ASKED_ABOUT, *NODES],
        *[*STRAY, *TAKEN_BACK, *SHOWN, *OTHERS, *CORRECTED, *REMOVED, *UNWANTED],
    ],
)
def test_only_what_is_wanted_is_set(text: str, sets: dict[str, Any]) -> None:
    """A message sets what it asks for itself, and nothing else."""
    changes = {each.pointer: each.value for each in read(text, DRAFT).changes}
    assert changes == sets


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("take the A100 from the lab", 4),
        ("use our two V100s", 4),
        ("agafa l'A100 de la feina", 4),
        ("usa la V100 del laboratorio", 4),
        ("put it on the 3080 upstairs", 2),
        ("use the A100 with 80 gigs", 0),
        ("a100 de la feina", 4),
        ("4 A100", 4),
        ("una A100", 4),
        ("an H100", 0),
        ("una A100 de 40", 0),
    ],
)
def test_a_card_of_two_sizes_is_asked_about(text: str, options: int) -> None:
    """It is not set to the smaller one, unless the message gives an amount of memory."""
    reading = read(text, {})
    gpu = {each.pointer: each for each in reading.choices}.get("/hardware/gpu")
    assert (len(gpu.values) if gpu else 0) == options
    assert (gpu is None) == any(each.pointer == "/hardware/gpu" for each in reading.changes)


@pytest.mark.parametrize(
    "text",
    [
        "What have I set so far?",
        "what's configured right now",
        "show me my settings",
        "qu\u00e8 he posat fins ara?",
        "ensenya'm la configuraci\u00f3",
        "qu\u00e8 tinc configurat?",
        "\u00bfqu\u00e9 llevo puesto hasta ahora?",
        "dime lo que tengo puesto",
    ],
)
def test_the_settings_so_far_are_shown(text: str) -> None:
    """The whole message asks for them."""
    request = read(text, DRAFT).request
    assert request is not None
    assert request.kind == "show"
