"""The shape that the memory formulas read, also where the architecture is not in the table."""

from dataclasses import replace

from ftc.compiler.knowledge.architecture import Shape
from ftc.compiler.resolve.facts import ModelFacts


def shape_of(model: ModelFacts) -> Shape:
    """Return the model's own shape, or a stand-in of a Llama-like model with as many parameters.

    The stand-in solves parameters = 12 x layers x hidden^2 (arXiv 2001.08361, section 2.1) with
    hidden = 128 x layers, the proportion of Llama's 7B to 70B; it has no linear modules to name.
    """
    if model.shape is not None:
        return replace(model.shape, parameters=max(1, model.parameters))
    layers = max(1, round((model.parameters / (12 * 128**2)) ** (1 / 3)))
    hidden = 128 * layers
    embedding = model.embedding_rows * hidden
    return Shape(
        architecture=model.architecture,
        model_type=model.model_type,
        layers=layers,
        hidden=hidden,
        intermediate=4 * hidden,
        heads=max(1, hidden // 128),
        kv_heads=max(1, hidden // 128),
        head_dim=128,
        vocab=max(1, model.embedding_rows),
        context_tokens=model.context_tokens,
        tied=False,
        attention_bias=False,
        norm="rms",
        gated_mlp=True,
        experts=0,
        experts_per_token=0,
        expert_intermediate=0,
        parameters=max(1, model.parameters),
        embedding_parameters=embedding,
        head_parameters=embedding,
        expert_parameters=0,
        linear_parameters=max(0, model.parameters - 2 * embedding),
        largest_layer_parameters=max(1, model.parameters // layers),
        linear_shapes={},
    )
