"""The model card: metadata that YAML reads as they were meant, and how the result is run."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from ftc.runtime.publish import model_card
from ftc.runtime.publish.publication import Job
from ftc.runtime.reports.results import Results, read_results
from tests.runtime.publish.test_publishing import job_of
from tests.runtime.reports.test_report import STAGES, cells_of, finish, make_run, write_bundle

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


@settings(max_examples=60)
@given(
    st.dictionaries(
        st.sampled_from(["license_name", "tags", "language"]), TEXTS | st.lists(TEXTS, max_size=3)
    )
)
def test_metadata_are_read_as_they_were_meant(card: dict[str, Any]) -> None:
    """Whatever letters the name of a licence has, such as an emoji or a line separator."""
    first, *lines, last, empty = model_card.write_front_matter(card)

    assert (first, last, empty) == ("---", "---", "")
    assert (yaml.safe_load("\n".join(lines)) or {}) == card
    assert len("\n".join(lines).splitlines()) == len(lines) == len(card)


@pytest.fixture(name="results", scope="module")
def _results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Return the results of a bundle whose training was set to the base of a folder."""
    folder = write_bundle(tmp_path_factory.mktemp("bundle"), stages=())
    (folder / "train.py").write_text("MODEL = '/home/ada/base'\nSEED = 7\n", encoding="utf-8")
    for stage in STAGES:
        finish(folder, stage)
    return read_results(make_run(folder, "quantize"))


@pytest.fixture(name="job")
def _job(results: Results) -> Job:
    return job_of(results.run.bundle)


def write(job: Job, results: Results, *names: str) -> str:
    """Return the card of a repository with these files."""
    files = {name: Path(name) for name in names}
    return "\n".join(model_card.write_card(job, results, files))


@pytest.mark.parametrize(
    ("what", "task", "said"),
    [
        (("merged",), "text-generation", 'pipeline("text-generation", model="acme/tickets")'),
        (("adapter",), "text-generation", "import pipeline  # needs peft too"),
        (("adapter", "merged"), "text-classification", "import pipeline\n"),
        (("merged",), "sentence-similarity", 'SentenceTransformer("acme/tickets")'),
        (("merged",), "text-ranking", 'CrossEncoder("acme/tickets")'),
    ],
)
def test_the_card_says_how_weights_are_loaded(
    job: Job, results: Results, what: tuple[str, ...], task: str, said: str
) -> None:
    """By the library that reads them, and with PEFT only where an adapter is alone."""
    text = write(replace(job, what=what, card={"pipeline_tag": task}), results)

    assert said in text
    assert ("needs peft" in text) == (what == ("adapter",))


def test_files_for_other_programs_have_their_commands(job: Job, results: Results) -> None:
    """A GGUF file alone is downloaded, beside a Modelfile it is made Ollama's; a folder is served.

    Without weights at the root nothing is loaded by Python.
    """
    job = replace(job, what=("gguf", "vllm"))
    alone = write(job, results, "tickets-Q8_0.gguf", "tickets-FP8/config.json", "adapter/x.json")
    beside = write(job, results, "tickets-Q8_0.gguf", "Modelfile")

    assert "hf download acme/tickets tickets-Q8_0.gguf --local-dir ." in alone
    assert "vllm serve ./tickets-FP8" in alone
    assert "vllm serve ./adapter" not in alone
    assert "ollama create tickets -f Modelfile" in beside
    assert "tickets-Q8_0.gguf --local-dir" not in beside
    assert "pipeline(" not in alone + beside


def test_no_path_of_this_machine_is_published(job: Job, results: Results) -> None:
    """The base and the data are named by the job, which knows what is on the Hub."""
    text = write(replace(job, base=None, data_names=("tickets.csv", "acme/faq")), results)

    assert "/home/ada" not in text
    assert "a base model that is not on the Hub" in text
    assert "Trained on tickets.csv, acme/faq. The licence of the data: not stated." in text


def test_licences_settings_and_decisions_have_tables(job: Job, results: Results) -> None:
    """Of what is not known, that is said."""
    rows = cells_of(write(job, results).splitlines())

    assert ["this model", "mit"] in rows
    assert ["its base", "apache-2.0"] in rows
    assert ["its data", "not stated"] in rows
    assert ["seed", "7"] in rows
    assert ["lora rank", "8", "spec"] in rows


@pytest.mark.parametrize("stage", ["evaluate", "quantize"])
def test_a_run_without_a_stage_has_a_card(job: Job, results: Results, stage: str) -> None:
    """Nothing is held out for a test, or no file is quantized."""
    records = {name: record for name, record in results.records.items() if name != stage}
    text = write(job, replace(results, records=records))

    assert ("On the test split" in text) == (stage != "evaluate")
    assert ("GGUF files" in text) == (stage != "quantize")
