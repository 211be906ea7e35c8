"""The output head is also found if only an inner model has `get_output_embeddings`."""

from typing import Any

import pytest

from ftc.runtime.models.output_head import find_head

torch = pytest.importorskip("torch")


class Named(torch.nn.Module):  # type: ignore[misc, name-defined]
    """A language model that names its head."""

    def __init__(self) -> None:
        super().__init__()
        self.lm_head = torch.nn.Linear(2, 3)

    def get_output_embeddings(self) -> Any:
        """Return the head, as transformers' classes do."""
        return self.lm_head


class Around(torch.nn.Module):  # type: ignore[misc, name-defined]
    """A class that holds parts, and has no head of its own."""

    def __init__(self, **parts: Any) -> None:
        super().__init__()
        for name, part in parts.items():
            setattr(self, name, part)

    def get_output_embeddings(self) -> None:
        """Return None, as transformers does where a class has no `lm_head`."""


def test_the_head_of_a_model_inside() -> None:
    """The class of Nemotron 3 Omni holds a tower and a whole language model."""
    inside = Named()
    whole = Around(tower=torch.nn.Linear(2, 2), language_model=inside)
    assert find_head(whole) is inside.lm_head
    assert find_head(inside) is inside.lm_head


def test_no_head() -> None:
    """An encoder has none."""
    assert find_head(Around(tower=torch.nn.Linear(2, 2))) is None
