"""Writes a model that was trained as a whole in 16 bits."""

import torch

from ..libraries import silence_libraries
from .merging import Job, write_folder


def cast_weights(job: Job) -> None:
    """Write a model that was trained as a whole in 16 bits; ends the stage if it is unsound."""
    silence_libraries()
    model = job.load(job.trained, dtype="auto", use_safetensors=True)
    trained = job.compute(model)
    write_folder(job, model.to(getattr(torch, job.dtype)), trained)
