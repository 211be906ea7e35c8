"""Compares every objective with its baseline: a small model before and after training.

    python -m benchmarks.learning              # all of them; writes benchmarks/learning.md
    python -m benchmarks.learning dpo reward   # some of them; printed
    python -m benchmarks.learning --folder run # kept there, and resumed from there

Some settings of `embed` are chosen by trials, on rows of its own training split; the rows on which
the result is judged are not read before.

Every run is a compiled bundle, started by its `run.sh`. The script makes the model: a Llama with
0.6 million random weights and a sentencepiece tokenizer trained on GSM8K. Preference objectives
start from a bundle that was trained to write solutions, `grpo` and `rloo` from one that was trained
a little on reading off results. Those that compare texts have encoders with random weights and the
vocabularies inside llama.cpp's sources. Reads ../shared/data, or the data folder that FTC_SHARED
names.
"""

import argparse
import csv
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
from benchmarks.learning_specs import CHOICES, SPECS, TRIAL_ROWS, TRIAL_SHARE
from benchmarks.rehearsals import ROOT, describe_machine, find_sdist
from ftc.compiler.knowledge.objectives import OBJECTIVES
from ftc.spec.pointer import split
from tests.end_to_end.builders.bank_messages import label_pairs, pair_by_intent, prefer_intents

REPORT: Final = Path(__file__).with_name("learning.md")
#: Without learning, one run in twenty is this many standard errors above chance.
ONE_SIDED: Final = 1.645
_SIZES: Final = {"hidden_size": 128, "intermediate_size": 384, "num_attention_heads": 4}
_TOKENS: Final = 1024
_RESULT: Final = re.compile(r".*<<[^<>]*=(\d+)>>")
PROVEN: Final = (
    *("cpt", "dpo", "kto", "orpo", "cpo", "simpo", "reward", "grpo", "rloo"),
    *("embed", "embed-intents", "rerank"),
)
_ENCODERS: Final = ("wide-bert", "bert", "xlm-roberta")
SAMPLED: Final = tuple(name for name, each in OBJECTIVES.items() if each.samples)


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """The result of one objective: its metric on held-out rows, and its bound.

    `losses` are the means of the first and of the last tenth of the training curve. `bound` is the
    value to beat; `because` explains it. `trials` are the settings that were tried before, and what
    each reached on rows of the training split.
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
    trials: tuple[tuple[str, float], ...] = ()

    @property
    def is_proven(self) -> bool:
        """Return whether the loss fell, if it should, and the metric is better than its bound."""
        beyond = self.reached > self.bound if self.higher_is_better else self.reached < self.bound
        first, last = self.losses
        return beyond and (last < first or self.objective in SAMPLED)


def write_inputs(folder: Path, data: Path) -> None:
    """Write the model and every file of rows that a spec names."""
    solved = [json.loads(line) for line in read_lines(data / "gsm8k_train.jsonl")]
    pairs = [json.loads(line) for line in read_lines(data / "gsm8k_preferences.jsonl")]
    lasts = [row["answer"].rpartition("\n")[0].rpartition("\n")[2] for row in solved]
    results = {line: found[1] for line in lasts if (found := _RESULT.match(line))}
    texts = [f"{row['question']}\n{row['answer']}" for row in solved]
    files: Mapping[str, list[Mapping[str, Any]]] = {
        "solutions": [{"prompt": row["question"], "completion": row["answer"]} for row in solved],
        "texts": [{"text": text} for text in texts],
        "pairs": pairs,
        "intents": list(prefer_intents(data)),
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
    paired = list(pair_by_intent(data))
    write_table(folder / "intents.csv", ["anchor", "positive"], paired[:: len(paired) // 640])
    write_table(folder / "labelled.csv", ["query", "passage", "label"], label_pairs(data))


def write_encoders(folder: Path, sdist: Path) -> None:
    """Write the encoders that a spec names."""
    made = [f"{name}={folder / name}" for name in _ENCODERS]
    _call(
        [sys.executable, "-m", "tests.end_to_end.builders.build_encoders", str(sdist), *made], ROOT
    )


def write_table(path: Path, names: list[str], rows: list[list[str]]) -> None:
    """Write a csv file."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([names, *rows])


def read_lines(path: Path) -> list[str]:
    """Return the lines of a file."""
    return [line for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]


def run_bundle(folder: Path, name: str, spec: Mapping[str, Any] | None = None) -> Path:
    """Compile a spec, run its bundle and return it; a finished bundle is not run again.

    Raises RuntimeError with the end of the output if a stage fails.
    """
    if (folder / name / "run/done/evaluate.json").is_file():
        return folder / name
    compile_bundle(folder, name, spec or SPECS[name])
    _call(["./run.sh"], folder / name)
    return folder / name


def compile_bundle(folder: Path, name: str, spec: Mapping[str, Any]) -> None:
    """Write a spec, and its bundle beside it."""
    whole = {"name": name, "model": "./model", "hardware": "cpu", **spec}
    (folder / f"{name}.json").write_text(json.dumps(whole, indent=2), encoding="utf-8")
    _call(["ftc", "compile", f"{name}.json"], folder)


def choose(folder: Path, objective: str) -> tuple[Mapping[str, Any], list[tuple[str, float]]]:
    """Return the spec with the settings of the best trial, and what each trial reached.

    The trials have rows of the run's training split only, and hold out a part of these.
    """
    spec = SPECS[objective]
    trials: list[tuple[str, float]] = []
    if objective not in CHOICES:
        return spec, trials
    own, rows = folder / f"{objective}-split", folder / f"{objective}-trials.jsonl"
    if not (own / "run/done/prepare.json").is_file():
        compile_bundle(folder, own.name, spec)
        _call([sys.executable, "prepare.py"], own)
        train = [json.loads(line) for line in read_lines(own / "run/data/train.jsonl")[:TRIAL_ROWS]]
        pairs = [{"prompt": row["anchor"], "completion": row["positive"]} for row in train]
        rows.write_text("".join(json.dumps(pair) + "\n" for pair in pairs), encoding="utf-8")
    held = {"source": rows.name, "splits": {"test": TRIAL_SHARE, "validation": 0.05}}
    for number, settings in enumerate(CHOICES[objective]):
        bundle = run_bundle(
            folder, f"{objective}-trial-{number}", {**edit(spec, settings), "data": held}
        )
        named = ", ".join(f"{split(at)[-1]} {value:g}" for at, value in settings.items())
        trials.append((named, float(_read(bundle, "evaluate/report.json")["ndcg_at_10"])))
        print(trials[-1], flush=True)
    best = max(range(len(trials)), key=lambda number: trials[number][1])
    return edit(spec, CHOICES[objective][best]), trials


def edit(spec: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of a spec with other values at some pointers."""
    copy: dict[str, Any] = json.loads(json.dumps(spec))
    for pointer, value in settings.items():
        section, name = split(pointer)
        copy[section][name] = value
    return copy


def _call(command: list[str], folder: Path) -> str:
    own = str(Path(sys.executable).parent)
    environment = {
        **os.environ,
        "PATH": f"{own}{os.pathsep}{os.environ['PATH']}",
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "OMP_NUM_THREADS": "1",  # more threads do not help such a small model
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
    """Return what `evaluate.py` reports for another model on the same rows."""
    said = _call([sys.executable, "evaluate.py", "--model", str(model)], bundle)
    found = re.findall(r"^ *(\w+)  (-?[\d.,]+)(?:  \(.*\))?$", said, flags=re.MULTILINE)
    return {name: float(number.replace(",", "")) for name, number in found}


def _read(bundle: Path, name: str) -> Any:
    return json.loads((bundle / "run" / name).read_text(encoding="utf-8"))


def _read_ids(bundle: Path, split: str) -> list[list[int]]:
    return [
        json.loads(line)["input_ids"] for line in read_lines(bundle / f"run/data/{split}.jsonl")
    ]


def unigram_perplexity(train: list[list[int]], test: list[list[int]]) -> float:
    """Return the unigram perplexity with add-one smoothing."""
    counts = Counter(token for ids in train for token in ids)
    total = counts.total() + _TOKENS
    guessed = [math.log((counts[token] + 1) / total) for ids in test for token in ids[1:]]
    return math.exp(-sum(guessed) / len(guessed))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Metric:
    """The metric of an objective, and its baselines."""

    name: str
    baselines: Mapping[str, float]
    bound: float
    because: str
    higher_is_better: bool = True


def _judge_pairs(bundle: Path, folder: Path) -> _Metric:
    """Accuracy on pairs: the bound is one that guessing exceeds once in twenty runs."""
    rows = _read(bundle, "evaluate/report.json")["rows"]
    baselines = {"chance": 0.5}
    bound = 0.5 + ONE_SIDED * 0.5 / math.sqrt(rows)
    because = f"chance plus {ONE_SIDED} standard errors of {rows} guesses"
    if bundle.name in ("orpo", "cpo", "simpo"):  # their rewards have no reference model
        start = judge_another(bundle, folder / "solutions/run/merged")["reward_accuracy"]
        baselines["start"] = start
        bound = max(bound, start)
        because += ", and the start"
    return _Metric(name="reward_accuracy", baselines=baselines, bound=bound, because=because)


def _judge_verdicts(bundle: Path, _: Path) -> _Metric:
    """Compare every desirable answer with every undesirable one (the Mann-Whitney U test).

    A model that makes all answers more likely, or all less likely, ranks them by length. So length
    is a second baseline, in the direction that separates more pairs.
    """
    rows = [json.loads(line) for line in read_lines(bundle / "run/data/test.jsonl")]
    learned = [(row["label"], sum(token >= 0 for token in row["labels"])) for row in rows]
    good = [tokens for label, tokens in learned if label]
    bad = [tokens for label, tokens in learned if not label]
    length = rank_share(good, bad)
    length = max(length, 1 - length)
    error = math.sqrt((len(good) + len(bad) + 1) / (12 * len(good) * len(bad)))
    because = f"chance plus {ONE_SIDED} standard errors of the rank sum of {len(rows)} answers"
    return _Metric(
        name="reward_accuracy",
        baselines={"chance": 0.5, "length": length},
        bound=max(0.5 + ONE_SIDED * error, length),
        because=f"{because}, and the length baseline",
    )


def rank_share(above: list[int], below: list[int]) -> float:
    """Return the fraction of pairs whose first value is greater; ties count half."""
    shares = ((a > b) + 0.5 * (a == b) for a in above for b in below)
    return sum(shares) / (len(above) * len(below))


def _judge_texts(bundle: Path, folder: Path) -> _Metric:
    """Perplexity: the baselines are the untrained model and unigram frequencies."""
    unigram = unigram_perplexity(_read_ids(bundle, "train"), _read_ids(bundle, "test"))
    untrained = judge_another(bundle, folder / "model")["perplexity"]
    return _Metric(
        name="perplexity",
        baselines={"untrained": untrained, "unigram": unigram},
        bound=unigram / 2,
        because="half of the unigram perplexity",
        higher_is_better=False,
    )


def _judge_results(bundle: Path, folder: Path) -> _Metric:
    """Right answers; the baseline is the starting model on the same lines.

    Only answered lines are counted, which may be a part of a large test split.
    """
    share = judge_another(bundle, folder / "results/run/merged")["reward"]
    rows = len(read_lines(bundle / "run/evaluate/predictions.jsonl"))
    bound = share + ONE_SIDED * math.sqrt(2 * share * (1 - share) / rows)
    because = f"the start plus {ONE_SIDED} standard errors of two shares of {rows} lines"
    return _Metric(name="reward", baselines={"start": share}, bound=bound, because=because)


def _judge_search(bundle: Path, _: Path) -> _Metric:
    """Search among the texts of the test split, or rank them: the bound is the better baseline."""
    found = _read(bundle, "evaluate/report.json")
    baselines = {"untrained": found["base"]["ndcg_at_10"], "BM25": found["bm25_ndcg_at_10"]}
    return _Metric(
        name="ndcg_at_10",
        baselines=baselines,
        bound=max(baselines.values()),
        because="the untrained model and BM25",
    )


_JUDGES: Final[Mapping[str, Callable[[Path, Path], _Metric]]] = {
    "dpo": _judge_pairs,
    "orpo": _judge_pairs,
    "cpo": _judge_pairs,
    "simpo": _judge_pairs,
    "reward": _judge_pairs,
    "kto": _judge_verdicts,
    "cpt": _judge_texts,
    "grpo": _judge_results,
    "rloo": _judge_results,
    "embed": _judge_search,
    "embed-intents": _judge_search,
    "rerank": _judge_search,
}


def learn(folder: Path, objective: str) -> Learned:
    """Run the bundle of an objective, after its starting bundle; return the result."""
    model = SPECS[objective].get("model", "./model").removeprefix("./")
    if model in SPECS:
        run_bundle(folder, model)
    spec, trials = choose(folder, objective)
    bundle = run_bundle(folder, objective, spec)
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
        trials=tuple(trials),
    )


def report(results: list[Learned]) -> str:
    """Return the report, with one line per objective."""
    names = " ".join(each.objective for each in results)
    steps = SPECS["results"]["training"]["max_steps"]
    lines = [
        "# Results of each objective on real data",
        "",
        f"`python -m benchmarks.learning` ({names}) {describe_machine()}",
        "",
        "GSM8K (MIT): its questions and solutions, 700 pairs of a right and a wrong solution by",
        "published models, and the last lines of its solutions. A Llama with 0.6 million random",
        "weights is trained in full. Objectives of pairs and verdicts start from a model trained",
        f"with `sft` on 3,000 solutions, `grpo` and `rloo` from one trained for {steps} steps.",
        "`cpo` prefers the intent of a message of banking77 (CC BY 4.0) to that of another one:",
        "it compares sums over tokens, so that answers must be of similar lengths.",
        "`embed` finds the solution of a question with a BERT of one layer, 1,024 dimensions and",
        "the largest value of each; `embed-intents` finds the first message of the same intent in",
        "banking77 with a BERT of two layers and 64 dimensions; `rerank` tells its",
        "messages about cards from others, with an XLM-R of that size. All have random weights.",
        "The test split is held out; rows of one question are in one split. The losses are means",
        "of the first and the last tenth of the steps.",
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
    for each in results:
        if each.trials:
            tried = "; ".join(f"{named}: {value:.4f}" for named, value in each.trials)
            where = f"{TRIAL_ROWS:,} rows of its training split, a fifth of them held out"
            said = f"The settings of `{each.objective}` were chosen by {each.metric} of trials on"
            lines += ["", f"{said} {where}: {tried}."]
    lines += ["", "Baselines to beat:", ""]
    lines += [f"- {each.objective}: {each.because}" for each in results]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run, and write or print the report."""
    parser = argparse.ArgumentParser(description="What each objective learns of real data.")
    parser.add_argument("objectives", nargs="*", choices=[*PROVEN, []], help="all without one")
    parser.add_argument("--folder", type=Path, help="the folder where runs are kept and resumed")
    args = parser.parse_args()
    chosen = args.objectives or PROVEN
    if not (DATA / "gsm8k_preferences.jsonl").is_file():
        parser.error(f"{DATA} has no data: set FTC_SHARED to the folder that contains data/")
    with tempfile.TemporaryDirectory(prefix="ftc-learning-") as temporary:
        folder = args.folder or Path(temporary)
        if not (folder / "model").is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            write_inputs(folder, DATA)
            write_encoders(folder.resolve(), find_sdist())
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
