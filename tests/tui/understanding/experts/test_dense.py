"""Experts' dense lines: lists, weights, rates and names that stand beside other values."""

from typing import Any

import pytest

from ftc.tui.understanding.reader import read
from tests.tui.understanding.doubts.test_certainty import DRAFT


@pytest.mark.parametrize(
    ("text", "sets"),
    [
        ("4 epochs at 3e-5, rank 8", {"/training/epochs": 4, "/training/learning_rate": 3e-5}),
        ("2 èpoques a 1e-4, r8", {"/training/epochs": 2, "/training/learning_rate": 1e-4}),
        ("5 epocas con lr 2e-5", {"/training/epochs": 5, "/training/learning_rate": 2e-5}),
        (
            "lr 8e-5 but 2e-5 for the embeddings",
            {"/training/learning_rate": 8e-5, "/training/embedding_learning_rate": 2e-5},
        ),
        ("cosine down from 4e-4, full", {"/training/learning_rate": 4e-4}),
        ("1000 steps, 30 of which warmup", {"/training/warmup": 0.03}),
    ],
)
def test_a_rate_beside_a_count_loses_neither(text: str, sets: dict[str, Any]) -> None:
    """A number with a negative exponent is a rate, also behind a name that has its own number."""
    found = {each.pointer: each.value for each in read(text, DRAFT).changes}
    assert found.items() >= sets.items()
    assert "/training/decay" not in found


@pytest.mark.parametrize(
    ("text", "rewards"),
    [
        (
            'grpo, rewards: exact + regex "^OK" weight 0.3',
            ["exact", {"regex": "^OK", "weight": 0.3}],
        ),
        (
            "grpo with recompensas checks.py y numeric con peso 2",
            [{"functions": "checks.py"}, {"match": "numeric", "weight": 2}],
        ),
        (
            "rloo, reward = 0.5*exact match, answer.schema.json (1.5)",
            [
                {"match": "exact", "weight": 0.5},
                {"json_schema": "answer.schema.json", "weight": 1.5},
            ],
        ),
    ],
)
def test_rewards_are_one_list(text: str, rewards: list[Any]) -> None:
    """Each has its own weight; none is taken for the weight decay or the metric."""
    found = {each.pointer: each.value for each in read(text, {}).changes}
    assert found["/objective/rewards"] == rewards
    assert not found.keys() & {"/training/weight_decay", "/training/evaluation/metric"}


@pytest.mark.parametrize(
    ("text", "sets"),
    [
        (
            "mix: law.jsonl weight 0.4, acme/general-chat weight 0.6, qwen3 8b",
            {
                "/data/sources": [
                    {"source": "law.jsonl", "weight": 0.4},
                    {"source": "acme/general-chat", "weight": 0.6},
                ]
            },
        ),
        (
            "classificació, pes 4 a l'etiqueta urgencia",
            {"/objective/class_weights": [{"label": "urgencia", "weight": 4}]},
        ),
        (
            "entrena el projector y el vision tower",
            {"/method/parts": ["projector", "vision_tower"]},
        ),
        (
            "push only the adapter to acme/triage, private",
            {"/publish/what": ["adapter"], "/publish/repo": "acme/triage"},
        ),
        (
            "harness winogrande + arc_easy, seed 4",
            {"/training/evaluation/harness": ["winogrande", "arc_easy"]},
        ),
        (
            "gpt-oss 20b, template_kwargs reasoning_effort=high, lora",
            {"/data/template_options": {"reasoning_effort": "high"}},
        ),
        ("cpt on acme/laws config 2024.ca, llama 3.2 1b", {"/data/subset": "2024.ca"}),
        (
            "KD qwen2.5-7b-instruct -> qwen2.5-0.5b-instruct",
            {
                "/objective/type": "distill",
                "/objective/teacher/id": "Qwen/Qwen2.5-7B-Instruct",
                "/model/id": "Qwen/Qwen2.5-0.5B-Instruct",
            },
        ),
        ("RM on pairs.csv, qwen3 4b", {"/objective/type": "reward"}),
        ("full en lugar de lora, mbs 2", {"/method/type": "full"}),
        ('sysprompt "Answer in one word.", r8', {"/data/system": "Answer in one word."}),
        (
            "grpo, tools from shop_tools.py, 15s timeout, 4 tool rounds",
            {"/objective/tools": "shop_tools.py", "/objective/tool_seconds": 15},
        ),
        ("gguf in bf16 and q8", {"/export/types": ["BF16", "Q8_0"]}),
        ("zero3, optimizer offload, nvme (/mnt/fast)", {"/distribution/nvme_path": "/mnt/fast"}),
        ("rename to billing-v3, dedup off", {"/name": "billing-v3"}),
        (
            "instr=task, input=context, output=reply, alpaca.json",
            {"/data/columns/input": "context", "/data/columns/output": "reply"},
        ),
        ("embed bge-m3, pairs.csv, temp 0.02", {"/objective/similarity_scale": 50}),
    ],
)
def test_a_dense_line_is_read(text: str, sets: dict[str, Any]) -> None:
    """Each part is read in its own notation, whatever stands beside it."""
    found = {each.pointer: each.value for each in read(text, {}).changes}
    assert found.items() >= sets.items()
    assert "/training/weight_decay" not in found


def test_an_amount_of_memory_is_no_speed_of_a_network() -> None:
    """The unit GiB ends with the letters of InfiniBand."""
    for text in ("cpu with 48 GiB RAM, lora r8", "disk 700 GiB, lora r8"):
        assert "/hardware/network_gbit" not in {each.pointer for each in read(text, {}).changes}


def test_the_end_of_a_name_is_the_model_that_ends_so() -> None:
    """A family's name inside of another model's name names no model of that family."""
    found = {each.pointer: each.value for each in read("r1-distill-llama-8b, lora", {}).changes}
    assert found["/model/id"] == "deepseek-ai/DeepSeek-R1-Distill-Llama-8B"


@pytest.mark.parametrize(
    ("text", "sets"),
    [
        (
            "Compare the quantized files over 4096 tokens; the perplexity may rise 8%.",
            {"/export/verify/tokens": 4096, "/export/verify/max_perplexity_ratio": 1.08},
        ),
        (
            "Passa l'optimitzador a la memòria del sistema.",
            {"/distribution/offload": "optimizer"},
        ),
        (
            "Muéstrame tres respuestas de ejemplo en cada evaluación.",
            {"/training/evaluation/samples": 3},
        ),
        (
            "stop when there is no improvement for 4 evaluations in a row",
            {"/training/early_stopping": 4},
        ),
        ("run piqa and boolq", {"/training/evaluation/harness": ["piqa", "boolq"]}),
        ("Fes lots amb files de longitud semblant.", {"/training/group_by_length": True}),
        ("Quita las cadenas de razonamiento.", {"/data/reasoning": "strip"}),
        ("Fix the broken accents.", {"/data/cleaning/repair_encoding": True}),
        (
            "push it to acme/legal-bot under apache 2.0, open for everyone",
            {
                "/publish/repo": "acme/legal-bot",
                "/publish/licence": "apache-2.0",
                "/publish/private": False,
            },
        ),
        (
            "grpo, rewards checks.py:has_json,short weight 0.5 + regex=^OK",
            {
                "/objective/rewards": [
                    {"functions": "checks.py", "names": ["has_json", "short"], "weight": 0.5},
                    {"regex": "^OK"},
                ]
            },
        ),
        (
            "classification, label refund counts 6 times as much",
            {"/objective/class_weights": [{"label": "refund", "weight": 6}]},
        ),
        ("val/test 4%/6%, ctx 1024", {"/data/splits/validation": 0.04, "/data/splits/test": 0.06}),
        ("cosine_with_restarts x3, lr 1e-4", {"/training/cycles": 3}),
        (
            "regression prompts=sums.jsonl max_drop .02, lr 1e-4",
            {"/training/evaluation/regression": [{"prompts": "sums.jsonl", "max_drop": 0.02}]},
        ),
    ],
)
def test_rare_fields_are_read_in_prose(text: str, sets: dict[str, Any]) -> None:
    """Their words are classes of words in three languages, not whole sentences."""
    found = {each.pointer: each.value for each in read(text, DRAFT).changes}
    assert found.items() >= sets.items()


@pytest.mark.parametrize(
    ("text", "sets", "without"),
    [
        (
            "orpo/kto lr 1e-6, 2 ep",
            {"/training/learning_rate": 1e-6},
            "/model/id",
        ),
        (
            "targets=q_proj,v_proj r=12",
            {"/method/targets": ["q_proj", "v_proj"], "/method/rank": 12},
            "/data/columns/completion",
        ),
        (
            "distill from Qwen2.5-14B-Instruct in nf4, temp .8",
            {
                "/objective/teacher/id": "Qwen/Qwen2.5-14B-Instruct",
                "/objective/teacher/quantization": "nf4",
            },
            "/method/type",
        ),
        (
            "wsd, min 10% of peak, clip 1",
            {"/training/learning_rate_floor": 0.1},
            "/export/verify/min_agreement",
        ),
        (
            "mbs 4 x ga 3 x 2 gpus, fp16",
            {"/training/micro_batch": 4, "/training/global_batch": 24},
            "/objective/type",
        ),
        (
            "dpo, the reference log probs computed beforehand in one pass",
            {"/objective/reference": "precomputed"},
            "/training/epochs",
        ),
        (
            "freeze, layers 2,3 + embeddings; lr 3e-5",
            {"/method/also_train": ["embeddings"]},
            "/objective/type",
        ),
        (
            "data: acme/news@0a1b2c cfg=ca streaming, form=text",
            {"/data/source": "acme/news", "/data/revision": "0a1b2c", "/data/subset": "ca"},
            "/model/id",
        ),
    ],
)
def test_a_value_stays_with_its_own_words(text: str, sets: dict[str, Any], without: str) -> None:
    """A module is no column, a path of values is no model, and the teacher has its own width."""
    found = {each.pointer: each.value for each in read(text, DRAFT).changes}
    assert found.items() >= sets.items()
    assert without not in found


@pytest.mark.parametrize(
    ("text", "private"),
    [
        ("push it to acme/bot but not public", True),
        ("súbelo a acme/bot, que no sea público", True),
        ("puja'l a acme/bot, però que no sigui públic", True),
        ("publish it as acme/bot, public", False),
        ("publícalo en acme/bot y que sea público", False),
    ],
)
def test_a_denied_audience_is_the_other_one(text: str, private: bool) -> None:
    """Words between the repository and the audience may deny it."""
    found = {each.pointer: each.value for each in read(text, {}).changes}
    assert found["/publish/private"] is private
