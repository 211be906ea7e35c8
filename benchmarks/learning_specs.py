"""The spec of each bundle of `benchmarks/learning.py`: settings for models of random weights."""

from collections.abc import Mapping
from typing import Any, Final

_PAIRS: Final[Mapping[str, Any]] = {
    "model": "./solutions",
    "data": {"source": "pairs.jsonl", "splits": {"test": 0.3, "validation": 0.1}},
    "method": "full",
}
_FEW: Final = {"epochs": 3, "global_batch": 16, "evaluation": {"every_steps": 26}}
_SAMPLED_TRAINING: Final = {
    "max_steps": 200,
    "global_batch": 128,
    "micro_batch": 128,
    "learning_rate": 0.0005,
    "evaluation": {"every_steps": 20},
}
_RESULTS: Final = {"source": "results.jsonl", "splits": {"test": 0.038, "validation": 0.03}}

#: The spec of each bundle, without its name, `hardware` and, if it has none, the model.
SPECS: Final[Mapping[str, Mapping[str, Any]]] = {
    "solutions": {
        "data": {
            "source": "solutions.jsonl",
            "max_rows": 3000,
            "splits": {"test": 0.02, "validation": 0.02},
        },
        "method": "full",
        "training": {
            "epochs": 2,
            "global_batch": 32,
            "learning_rate": 0.003,
            "evaluation": {"every_steps": 60, "metric": "none"},
        },
    },
    "dpo": {**_PAIRS, "objective": "dpo", "training": {**_FEW, "learning_rate": 0.0005}},
    "kto": {
        **_PAIRS,
        "data": {**_PAIRS["data"], "source": "verdicts.jsonl"},
        "objective": {"type": "kto", "desirable_weight": 1.3},
        # KTO compares a row with the other rows of its pass, so passes must be large. At the
        # learning rate of pairs, the probability of all answers falls and does not recover.
        "training": {
            "epochs": 3,
            "global_batch": 32,
            "micro_batch": 32,
            "learning_rate": 0.0001,
            "evaluation": {"every_steps": 13},
        },
    },
    "orpo": {
        **_PAIRS,
        "objective": {"type": "orpo", "beta": 1},
        "training": {**_FEW, "epochs": 2, "learning_rate": 0.001},
    },
    "cpo": {
        **_PAIRS,
        # CPO compares sums over the tokens of answers, so these must be of similar lengths.
        "data": {"source": "intents.jsonl", "splits": {"test": 0.1, "validation": 0.1}},
        "objective": {"type": "cpo", "beta": 0.1},
        "training": {**_FEW, "learning_rate": 0.001},
    },
    "simpo": {
        **_PAIRS,
        "objective": "simpo",
        "training": {**_FEW, "learning_rate": 0.0005},
    },
    "reward": {
        **_PAIRS,
        "objective": "reward",
        "training": {**_FEW, "epochs": 4, "learning_rate": 0.001},
    },
    "cpt": {
        "data": {
            "source": "texts.jsonl",
            "max_rows": 2000,
            "splits": {"test": 0.05, "validation": 0.02},
        },
        "objective": "cpt",
        "method": "full",
        "training": {
            "epochs": 1,
            "global_batch": 16,
            "learning_rate": 0.003,
            "evaluation": {"every_steps": 60},
        },
    },
    "results": {
        "data": _RESULTS,
        "method": "full",
        "training": {
            "max_steps": 110,
            "global_batch": 32,
            "learning_rate": 0.003,
            "evaluation": {"every_steps": 55},
        },
    },
    "grpo": {
        "model": "./results",
        "data": _RESULTS,
        "objective": {
            "type": "grpo",
            "rewards": ["numeric"],
            "num_generations": 8,
            "answer_tokens": 6,
        },
        "method": "full",
        "training": _SAMPLED_TRAINING,
    },
    "rloo": {
        "model": "./results",
        "data": _RESULTS,
        "objective": {
            "type": "rloo",
            "rewards": ["numeric"],
            "answer_tokens": 6,
        },
        "method": "full",
        "training": _SAMPLED_TRAINING,
    },
    "embed": {
        "model": "./wide-bert",
        "data": {"source": "solutions.jsonl", "splits": {"test": 0.07, "validation": 0.02}},
        # The largest value of each dimension is much alike in all texts, so cosines differ little.
        "objective": {"type": "embed", "similarity_scale": 100},
        "method": "full",
        "training": {
            "epochs": 2,
            "global_batch": 128,
            "micro_batch": 32,
            "learning_rate": 0.0002,
            "seed": 7,
            "evaluation": {"every_steps": 26},
        },
    },
    "embed-intents": {
        "model": "./bert",
        "data": "intents.csv",
        "objective": "embed",
        "method": "full",
        "training": {"epochs": 3, "learning_rate": 0.003, "micro_batch": 16},
    },
    "rerank": {
        "model": "./xlm-roberta",
        "data": "labelled.csv",
        "objective": "rerank",
        "method": "full",
        "training": {
            "epochs": 3,
            "learning_rate": 0.0015,
            "micro_batch": 16,
            "evaluation": {"every_steps": 36},
        },
    },
}

#: What is chosen by trials before the run, by pointer; each is tried on rows of its training split.
CHOICES: Final[Mapping[str, tuple[Mapping[str, Any], ...]]] = {
    "embed": (
        {"/objective/similarity_scale": 100, "/training/learning_rate": 0.0002},
        {"/objective/similarity_scale": 40, "/training/learning_rate": 0.0002},
        {"/objective/similarity_scale": 100, "/training/learning_rate": 0.0005},
    ),
}
#: The rows of a trial, and the share of them on which it is judged.
TRIAL_ROWS: Final = 1500
TRIAL_SHARE: Final = 0.2
