"""Runs a bundle's train.py with a stand-in for vLLM, on processes of a CPU.

    accelerate launch --config_file accelerate.yaml engine_on_cpu.py train.py

vLLM does not start on a CPU. The stand-in has none of its code: it is a model of transformers that
knows only the weights that TRL gives it, and that writes answers with them. How TRL gathers the
weights, and which process gives them away, is TRL's own code.
"""

import os
import runpy
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from types import SimpleNamespace
from typing import Any, Final

import torch
from accelerate.state import AcceleratorState, PartialState
from transformers import AutoConfig, AutoModelForCausalLM

Weights = Iterable[tuple[str, torch.Tensor]]
Answer = tuple[list[int], list[float]]
_STEP: Final = 1000  # more than the answers of a step
_MODEL: Final = "../model"  # beside the bundle


class Writer:
    """A model that begins without weights."""

    def __init__(self, folder: str) -> None:
        """Make the model of a folder, and leave its weights out."""
        config = AutoConfig.from_pretrained(folder)
        kind: Any = AutoModelForCausalLM._model_mapping[type(config)]
        self.model = kind(config).float().eval()
        self.own = dict(self.model.named_parameters())
        self.arrived: set[str] = set()
        self.updates = 0

    def load_weights(self, weights: Weights) -> None:
        """Take weights; one that is not whole stops the run."""
        for name, weight in weights:
            assert weight.shape == self.own[name].shape, (name, weight.shape)
            self.own[name].data.copy_(weight)
            self.arrived.add(name)

    @torch.no_grad()
    def write(self, prompts: list[list[int]], tokens: int, first: int) -> Iterator[Answer]:
        """Write an answer to each prompt, with the log-probabilities of its tokens.

        `first` is the number of the first answer in the step, on which its chances depend.
        """
        assert self.arrived == self.own.keys()
        self.updates += 1
        for number, prompt in enumerate(prompts, first):
            chance = torch.Generator().manual_seed(self.updates * _STEP + number)
            written, said = list(prompt), []
            for _ in range(tokens):
                scores = self.model(torch.tensor([written])).logits[0, -1].log_softmax(-1)
                chosen = int(torch.multinomial(scores.exp(), 1, generator=chance))
                written.append(chosen)
                said.append(float(scores[chosen]))
            yield written[len(prompt) :], said


def name_chance(word: int, chance: float) -> dict[int, SimpleNamespace]:
    """Return the log-probability of a token as `vllm.LLM` has it."""
    return {word: SimpleNamespace(logprob=chance, rank=1)}


class Beside:
    """What TRL uses of `vllm.LLM`, which each process has one of."""

    def __init__(self, *, model: str, **_: Any) -> None:
        """Begin without weights."""
        self.writer = Writer(model)
        runner = SimpleNamespace(model_runner=SimpleNamespace(model=self.writer))
        self.llm_engine = SimpleNamespace(model_executor=SimpleNamespace(driver_worker=runner))

    def generate(self, prompts: list[dict[str, list[int]]], sampling_params: Any, **_: Any) -> Any:
        """Write one answer to each prompt."""
        given = [prompt["prompt_token_ids"] for prompt in prompts]
        first = len(given) * PartialState().process_index
        answers = self.writer.write(given, sampling_params.max_tokens, first)
        return [
            SimpleNamespace(
                prompt_token_ids=prompt,
                outputs=[
                    SimpleNamespace(token_ids=ids, logprobs=list(map(name_chance, ids, said)))
                ],
            )
            for prompt, (ids, said) in zip(given, answers, strict=True)
        ]

    def sleep(self, **_: Any) -> None:
        """Forget the weights, as vLLM does at level 2."""
        self.writer.arrived.clear()

    def wake_up(self, **_: Any) -> None:
        """Wait for weights."""

    def reset_prefix_cache(self) -> None:
        """Have no cache."""


class Server:
    """What TRL uses of its client, which only the first process has."""

    def __init__(self, **_: Any) -> None:
        """Begin without weights."""
        assert PartialState().is_main_process
        self.writer = Writer(_MODEL)

    def init_communicator(self, **_: Any) -> None:
        """Have no network."""

    def get_server_info(self) -> Any:
        """Return what TRL reads of a server's settings."""
        return {"model_config": {"logprobs_mode": "processed_logprobs"}}

    def update_named_params(self, metadata: list[Any], named_params: Weights) -> None:
        """Take the weights that were announced, in their order."""
        for (name, _, shape), (given, weight) in zip(metadata, named_params, strict=True):
            assert (name, shape) == (given, list(weight.shape))
            self.writer.load_weights([(given, weight)])

    def generate(
        self, prompts: list[list[int]], n: int, max_tokens: int, **_: Any
    ) -> dict[str, list[Any]]:
        """Write `n` answers to each prompt."""
        repeated = [prompt for prompt in prompts for _ in range(n)]
        answers = list(self.writer.write(repeated, max_tokens, 0))
        return {
            "prompt_ids": prompts,
            "completion_ids": [ids for ids, _ in answers],
            "logprobs": [[[one] for one in said] for _, said in answers],
        }

    def reset_prefix_cache(self) -> None:
        """Have no cache."""


if __name__ == "__main__":
    shards: Any = import_module("shard_on_cpu")  # of this folder
    vllm_generation: Any = import_module("trl.generation.vllm_generation")
    PartialState._prepare_backend = shards.find_backend
    AcceleratorState.__init__ = shards.make_sharding_state
    vllm_generation.is_vllm_available = lambda: True
    vllm_generation.LLM = Beside
    vllm_generation.SamplingParams = SimpleNamespace
    vllm_generation.VLLMClient = Server
    sys.argv = sys.argv[1:]
    sys.path.insert(0, os.getcwd())  # noqa: PTH109 - a string, as Python's own first entry is
    runpy.run_path(sys.argv[0], run_name="__main__")
