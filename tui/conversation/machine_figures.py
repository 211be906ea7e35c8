"""The plans that a question about time, cost or memory is about: the draft's, or a machine's."""

from collections.abc import Iterator
from typing import Final

from ftc.compiler.plan.plan import Plan
from ftc.tui.conversation.conversation import Conversation
from ftc.tui.state.line import Line
from ftc.tui.understanding.machines.supposed import SupposedMachine, read_supposed
from ftc.tui.understanding.reading import Change

_GPU: Final = "/hardware/gpu"
_NO_PRICE: Final = Change(pointer="/hardware/price_per_hour", value=None, words="")


def plan_machines(
    conversation: Conversation, text: str, prices: tuple[Change, ...] = ()
) -> Iterator[tuple[list[Line], Plan | None]]:
    """Yield the plan for each machine that a question names, with a line that names it.

    If the question names no machine, yield the plan of the draft or of the open proposal. `prices`
    are the prices in the question. The draft does not change.
    """
    machines = read_supposed(text, conversation.draft.data)
    if not machines and not prices:
        yield [], conversation.supposed_plan()
        return
    if not machines:
        yield [], _plan_with(conversation, prices)
    for machine in machines:
        other = any(each.pointer == _GPU for each in machine.changes)
        unpriced = (_NO_PRICE,) if other else ()  # the price is that of the draft's GPU
        plan = _plan_with(conversation, (*machine.changes, *unpriced, *prices))
        yield ([] if plan is None else [tell_machine(conversation, machine, plan)]), plan


def tell_supposed(conversation: Conversation, text: str) -> list[Line]:
    """Return whether the draft fits on the machines that a question names, and its time there."""
    return [line for told, _ in plan_machines(conversation, text) for line in told]


def tell_machine(conversation: Conversation, machine: SupposedMachine, plan: Plan) -> Line:
    """Return the sentence that names a machine and says whether the draft fits on it."""
    outlook = conversation.outlook(plan)
    if machine.memory_gib is None:
        return conversation.line("with_it", what=conversation.listed(machine.changes), plan=outlook)
    gpu, size = machine.changes[0].value, conversation.voice.show(machine.memory_gib)
    return conversation.line("with_memory", size=size, gpu=gpu, plan=outlook)


def _plan_with(conversation: Conversation, changes: tuple[Change, ...]) -> Plan | None:
    tried = conversation.draft.changed((*conversation.supposed, *changes))
    return conversation.observer.look(tried, offers=False).plan
