"""What each objective learns of real data: a small model before and after, and what chance gives.

    python -m benchmarks.learning              # all of them; writes benchmarks/learning.md
    python -m benchmarks.learning dpo reward   # some of them; printed
    python -m benchmarks.learning --folder run # kept there, and gone on with from there

Every run is a compiled bundle, started by its own `run.sh`. The model is made here: a Llama of 0.6
million random weights, whose sentencepiece tokenizer learned from GSM8K. What compares answers goes
on from a first bundle that has learned to write solutions, what tries answers from one that has
begun to read results off. Reads ../shared/data, or the data folder that FTC_SHARED names.
"""

import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.gsm8k import DATA, make_model
from benchmarks.rehearsals import describe_machine

REPORT: Final = Path(__file__).with_name("learning.md")
#: One in twenty runs without any learning would be this many standard errors above chance.
ONE_SIDED: Final = 1.645
_SIZES: Final = {"hidden_size": 128, "intermediate_size": 384, "num_attention_heads": 4}
_TOKENS: Final = 1024
_RESULT: Final = re.compile(r".*<<[^<>]*=(\d+)>>")
_PAIRS: Final[Mapping[str, Any]] = {
    "model": "./solutions",
    "data": {"source": "pairs.jsonl", "splits": {"test": 0.3, "validation": 0.1}},
    "method": "full",
}
_FEW: Final = {"epochs": 3, "global_batch": 16, "evaluation": {"every_steps": 26}}
_RESULTS: Final = {"source": "results.jsonl", "splits": {"test": 0.038, "validation": 0.03}}

#: What each bundle's spec says beside its name, `hardware` and, where it has none, the model.
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
        # Verdicts are weighed against the other rows of a pass, which must be many. At the rate of
        # pairs all answers are pushed down at first, and none comes up again.
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
        "training": {
            "max_steps": 200,
            "global_batch": 128,
            "micro_batch": 128,
            "learning_rate": 0.0005,
            "evaluation": {"every_steps": 20},
        },
    },
}
PROVEN: Final = ("cpt", "dpo", "kto", "orpo", "reward", "grpo")


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What one objective learned: its metric on rows held out, beside what it must beat.

    `losses` are the means of the first and of the last tenth of the training curve. `bound` is what
    counts as better than the baseline, in the sense that `because` says.
    """

    objective: str
    rows: Mapping[str, int]
    steps: int
    losses: tuple[float, float]
    metric: str
    baselines: Mapping[str, float]
    reached: float
    bound: float
    because: str
    higher_is_better: bool

    @property
    def is_proven(self) -> bool:
        """Whether the loss fell, where it is one, and the metric is beyond its bound."""
        beyond = self.reached > self.bound if self.higher_is_better else self.reached < self.bound
        first, last = self.losses
        return beyond and (last < first or self.objective == "grpo")


def write_inputs(folder: Path, data: Path) -> None:
    """Write the model and every file of rows that a spec names."""
    solved = [json.loads(line) for line in _lines(data / "gsm8k_train.jsonl")]
    pairs = [json.loads(line) for line in _lines(data / "gsm8k_preferences.jsonl")]
    lasts = [row["answer"].rpartition("\n")[0].rpartition("\n")[2] for row in solved]
    results = {line: found[1] for line in lasts if (found := _RESULT.match(line))}
    texts = [f"{row['question']}\n{row['answer']}" for row in solved]
    files: Mapping[str, list[Mapping[str, Any]]] = {
        "solutions": [{"prompt": row["question"], "completion": row["answer"]} for row in solved],
        "texts": [{"text": text} for text in texts],
        "pairs": pairs,
        "verdicts": [
            {"prompt": row["prompt"], "completion": row[name], "label": name == "chosen"}
            for row in pairs
            for name in ("chosen", "rejected")
        ],
        "results": [{"prompt": line, "completion": end} for line, end in results.items()],
    }
    for name, rows in files.items():
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    make_model(folder / "model", texts, tokens=_TOKENS, **_SIZES)


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def run_bundle(folder: Path, name: str) -> Path:
    """Compile a spec, run its bundle and return that; one that has ended is not run again.

    Raises RuntimeError with the end of what was printed where a stage fails.
    """
    if (folder / name / "run/done/evaluate.json").is_file():
        return folder / name
    spec = {"name": name, "model": "./model", "hardware": "cpu", **SPECS[name]}
    (folder / f"{name}.json").write_text(json.dumps(spec, indent=2), encoding="utf-8")
    _call(["ftc", "compile", f"{name}.json"], folder)
    _call(["./run.sh"], folder / name)
    return folder / name


def _call(command: list[str], folder: Path) -> str:
    own = str(Path(sys.executable).parent)
    environment = {
        **os.environ,
        "PATH": f"{own}{os.pathsep}{os.environ['PATH']}",
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "OMP_NUM_THREADS": "1",  # a model this small is no faster with more
    }
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} in {folder.name}:\n{done.stdout[-3000:]}")
    return done.stdout


def judge_another(bundle: Path, model: Path) -> Mapping[str, float]:
    """Return what `evaluate.py` says of another model on the same rows."""
    said = _call([sys.executable, "evaluate.py", "--model", str(model)], bundle)
    found = re.findall(r"^ *(\w+)  (-?[\d.,]+)$", said, flags=re.MULTILINE)
    return {name: float(number.replace(",", "")) for name, number in found}


def _read(bundle: Path, name: str) -> Any:
    return json.loads((bundle / "run" / name).read_text(encoding="utf-8"))


def _read_ids(bundle: Path, split: str) -> list[list[int]]:
    return [json.loads(line)["input_ids"] for line in _lines(bundle / f"run/data/{split}.jsonl")]


def unigram_perplexity(train: list[list[int]], test: list[list[int]]) -> float:
    """Return the perplexity of tokens that are guessed by how common they are, one count added."""
    counts = Counter(token for ids in train for token in ids)
    total = counts.total() + _TOKENS
    guessed = [math.log((counts[token] + 1) / total) for ids in test for token in ids[1:]]
    return math.exp(-sum(guessed) / len(guessed))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Metric:
    """How an objective is judged, and against what."""

    name: str
    baselines: Mapping[str, float]
    bound: float
    because: str
    higher_is_better: bool = True


def _judge_pairs(bundle: Path, folder: Path) -> _Metric:
    """Pairs told apart by a coin: the bound is one that chance passes once in twenty runs."""
    rows = _read(bundle, "evaluate/report.json")["rows"]
    baselines = {"chance": 0.5}
    bound = 0.5 + ONE_SIDED * 0.5 / math.sqrt(rows)
    because = f"chance and {ONE_SIDED} standard errors of {rows} guesses"
    if bundle.name == "orpo":  # its odds are those of the model alone, compared with no other
        start = judge_another(bundle, folder / "solutions/run/merged")["reward_accuracy"]
        baselines["start"] = start
        bound = max(bound, start)
        because += ", and the start"
    return _Metric(name="reward_accuracy", baselines=baselines, bound=bound, because=because)


def _judge_verdicts(bundle: Path, _: Path) -> _Metric:
    """Every desirable answer against every undesirable one; the error is Mann and Whitney's.

    A model that finds all answers likelier, or all less likely, whatever their verdicts, ranks them
    by their lengths. So that length is a second bound, in whichever direction it tells more apart.
    """
    rows = [json.loads(line) for line in _lines(bundle / "run/data/test.jsonl")]
    learned = [(row["label"], sum(token >= 0 for token in row["labels"])) for row in rows]
    good = [tokens for label, tokens in learned if label]
    bad = [tokens for label, tokens in learned if not label]
    length = rank_share(good, bad)
    length = max(length, 1 - length)
    error = math.sqrt((len(good) + len(bad) + 1) / (12 * len(good) * len(bad)))
    because = f"chance and {ONE_SIDED} standard errors of the rank sum of {len(rows)} answers"
    return _Metric(
        name="reward_accuracy",
        baselines={"chance": 0.5, "length": length},
        bound=max(0.5 + ONE_SIDED * error, length),
        because=f"{because}, and their lengths",
    )


def rank_share(above: list[int], below: list[int]) -> float:
    """Return the share of all pairs whose first is the greater; of two equals each is, half."""
    shares = ((a > b) + 0.5 * (a == b) for a in above for b in below)
    return sum(shares) / (len(above) * len(below))


def _judge_texts(bundle: Path, folder: Path) -> _Metric:
    """Perplexity: of the model as it was made, and of guessing tokens by how common they are."""
    unigram = unigram_perplexity(_read_ids(bundle, "train"), _read_ids(bundle, "test"))
    untrained = judge_another(bundle, folder / "model")["perplexity"]
    return _Metric(
        name="perplexity",
        baselines={"untrained": untrained, "unigram": unigram},
        bound=unigram / 2,
        because="half of the unigram's",
        higher_is_better=False,
    )


def _judge_results(bundle: Path, folder: Path) -> _Metric:
    """Right answers of the model that trying began from, on the same lines.

    The lines counted are those that were answered, which of a large test split is a part.
    """
    share = judge_another(bundle, folder / "results/run/merged")["reward"]
    rows = len(_lines(bundle / "run/evaluate/predictions.jsonl"))
    bound = share + ONE_SIDED * math.sqrt(2 * share * (1 - share) / rows)
    because = f"the start and {ONE_SIDED} standard errors of two shares of {rows} lines"
    return _Metric(name="reward", baselines={"start": share}, bound=bound, because=because)


_JUDGES: Final[Mapping[str, Callable[[Path, Path], _Metric]]] = {
    "dpo": _judge_pairs,
    "orpo": _judge_pairs,
    "reward": _judge_pairs,
    "kto": _judge_verdicts,
    "cpt": _judge_texts,
    "grpo": _judge_results,
}


def learn(folder: Path, objective: str) -> Learned:
    """Run an objective's bundle, after that which it goes on from; return what it learned."""
    model = SPECS[objective].get("model", "./model").removeprefix("./")
    if model != "model":
        run_bundle(folder, model)
    bundle = run_bundle(folder, objective)
    metric = _JUDGES[objective](bundle, folder)
    curve = [loss for _, loss in _read(bundle, "train/curve.json")["train"]]
    tenth = max(1, len(curve) // 10)
    return Learned(
        objective=objective,
        rows=_read(bundle, "data/report.json")["splits"],
        steps=_read(bundle, "train/curve.json")["train"][-1][0],
        losses=(sum(curve[:tenth]) / tenth, sum(curve[-tenth:]) / tenth),
        metric=metric.name,
        baselines=metric.baselines,
        reached=_read(bundle, "evaluate/report.json")[metric.name],
        bound=metric.bound,
        because=metric.because,
        higher_is_better=metric.higher_is_better,
    )


def report(results: list[Learned]) -> str:
    """Return the page: one line for each objective."""
    names = " ".join(each.objective for each in results)
    steps = SPECS["results"]["training"]["max_steps"]
    lines = [
        "# What each objective learns of real data",
        "",
        f"`python -m benchmarks.learning` ({names}) {describe_machine()}",
        "",
        "GSM8K (MIT): its questions and solutions, 700 pairs of a right and a wrong solution by",
        "published models, and the last lines of its solutions. A Llama of 0.6 million random",
        "weights, in full; `dpo`, `kto`, `orpo` and `reward` go on from what `sft` learned of",
        f"3,000 solutions, `grpo` from {steps} steps of reading. Held out is the test split; rows",
        "of one question are in one split. The losses are means of the first and the last tenth.",
        "",
        "| objective | rows | held out | steps | loss | metric | baselines | to beat | reached |",
        "| --- | ---: | ---: | ---: | --- | --- | --- | ---: | ---: |",
    ]
    for each in results:
        first, last = each.losses
        baselines = ", ".join(f"{name} {value:.4g}" for name, value in each.baselines.items())
        lines.append(
            f"| {each.objective} | {each.rows['train']:,} | {each.rows['test']:,} |"
            f" {each.steps:,} | {first:.3f} to {last:.3f} | {each.metric} | {baselines} |"
            f" {each.bound:.4g} | {each.reached:.4g} |"
        )
    lines += ["", "What is to be beaten:", ""]
    lines += [f"- {each.objective}: {each.because}" for each in results]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run, and write the page or print it."""
    parser = argparse.ArgumentParser(description="What each objective learns of real data.")
    parser.add_argument("objectives", nargs="*", choices=[*PROVEN, []], help="all without one")
    parser.add_argument("--folder", type=Path, help="where the runs are kept, and taken from")
    args = parser.parse_args()
    chosen = args.objectives or PROVEN
    if not (DATA / "gsm8k_preferences.jsonl").is_file():
        parser.error(f"{DATA} has no data: FTC_SHARED names the folder that holds data/")
    with tempfile.TemporaryDirectory(prefix="ftc-learning-") as temporary:
        folder = args.folder or Path(temporary)
        if not (folder / "model").is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            write_inputs(folder, DATA)
        results = []
        for objective in chosen:
            results.append(learn(folder.resolve(), objective))
            print(results[-1], flush=True)
    page = report(results)
    if set(chosen) == set(PROVEN):
        REPORT.write_text(page, encoding="utf-8")
    print(page)
    return 0 if all(each.is_proven for each in results) else 1


if __name__ == "__main__":
    sys.exit(main())
