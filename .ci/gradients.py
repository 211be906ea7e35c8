"""Find the linear modules of a class that run without gradients, as those that only choose."""

from contextlib import suppress

import torch
from builds import IN_LAYER, Family, own_names

__all__ = ["find_unlearned"]


def find_unlearned(family: Family) -> list[str]:
    """Return the linear modules of the layers that every call runs with gradients turned off.

    A class that stops on the meta device tells of those that it called before.
    """
    model = family.model(family.base)
    if model is None:
        return []
    names = own_names(model, family.inside(model))
    linears = {name for built in family.builds for name in built.linears}
    called: dict[str, set[bool]] = {}
    for path, module in model.named_modules():
        match = IN_LAYER.fullmatch(names.get(path, ""))
        if match is not None and match["name"] in linears:
            module.register_forward_hook(
                lambda *_, name=match["name"]: called.setdefault(name, set()).add(
                    torch.is_grad_enabled()
                )
            )
    with torch.device("meta"), suppress(Exception):  # of any kind, on the meta device
        model.bfloat16()(input_ids=torch.ones((1, 4), dtype=torch.long))
    return sorted(name for name, modes in called.items() if modes == {False})
