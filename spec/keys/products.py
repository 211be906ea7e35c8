"""Keys of other programs that are factors of a field (`x-product`): gradient accumulation."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ftc.spec.normal import lengthen
from ftc.spec.pointer import parent, split
from ftc.spec.schema import fields_by_pointer

#: A GPU's name with more in it than a name: the number of GPUs is then not known.
_MORE: Final = re.compile(r"[,;:+&]|[xX\u00d7]\s*\d|\bnodes?\b|\d\s*[xX\u00d7]")
_DIGITS: Final = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """The field at `pointer`, which is `micro` (the field at `other`) times `steps` times `gpus`.

    A number that is not given is 0. `value` is the field's value if that is given, else the
    product, or None if a factor is missing.
    """

    pointer: str
    other: str
    steps: int
    micro: int
    gpus: int
    value: int | None

    @property
    def help(self) -> str:
        """The variant of the help text for the numbers that are known."""
        if self.value is None:
            return "factor" if self.micro else "factors"
        return "product" if self.micro and self.gpus else "given"


def find_product(
    key: str, beside: Mapping[str, Any], data: Mapping[str, Any], pointer: str
) -> Product | None:
    """Return the product that a key is a factor of, or None if its field is not at `pointer`.

    `beside` is the section that the key is written in.
    """
    field = fields_by_pointer().get(pointer)
    product = field.schema.get("x-product") if field else None
    if product is None or key.casefold().replace("-", "_") not in product["keys"]:
        return None
    above = split(parent(pointer))[0]
    other = f"{parent(pointer)}/{product['of']}"
    names = {
        *(product["of"], *product["shared"]),
        *fields_by_pointer()[other].schema.get("x-aliases", ()),
    }
    section = lengthen(above, data.get(above, {}))
    places = [place for place in (beside, section, data) if isinstance(place, Mapping)]
    said = [_bare(place[name]) for place in places for name in names if name in place]
    micro = next((it for it in said if _is_number(it)), 0)
    steps = _bare(beside[key])
    gpus = _count_gpus(data)
    given = section.get(split(pointer)[-1]) if isinstance(section, Mapping) else None
    steps = steps if _is_number(steps) else 0
    value = given if _is_number(given) else (micro * steps * gpus or None)
    if _is_number(given):
        gpus = 0
    return Product(pointer=pointer, other=other, steps=steps, micro=micro, gpus=gpus, value=value)


def find_share(key: str, section: Mapping[str, Any], pointer: str) -> str | None:
    """Return the factor that a key is beside the other one, or None: rows beside steps.

    By itself `batch_size` may be the whole batch. Where steps are accumulated it is that of each.
    """
    if not is_shared(key, pointer):
        return None
    product = fields_by_pointer()[pointer].schema["x-product"]
    beside = {name.casefold().replace("-", "_") for name in section}
    return None if beside.isdisjoint(product["keys"]) else f"{parent(pointer)}/{product['of']}"


def is_shared(key: str, pointer: str) -> bool:
    """Return whether a key can mean both the product at `pointer` and its other factor."""
    field = fields_by_pointer().get(pointer)
    product = field.schema.get("x-product") if field else None
    name = key.casefold().replace("-", "_")
    if product is None:
        return False
    initials = {"".join(word[0] for word in each.split("_")) for each in product["shared"]}
    return name in product["shared"] or name in initials - {name[:1]}


def _count_gpus(data: Mapping[str, Any]) -> int:
    """Return the number of all GPUs, or 0 if the spec does not give it."""
    hardware = lengthen("hardware", data.get("hardware", "auto"))
    if not isinstance(hardware, Mapping):
        return 0
    name, count, nodes = (hardware.get(key, 1) for key in ("gpu", "count", "nodes"))
    if not isinstance(name, str) or name.strip().casefold() == "auto" or _MORE.search(name):
        return 0
    if count == "auto":
        count = 1
    return count * nodes if _is_number(count) and _is_number(nodes) else 0


def _bare(value: Any) -> Any:
    """Convert a number that is written as text."""
    return int(value) if isinstance(value, str) and _DIGITS.fullmatch(value.strip()) else value


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
