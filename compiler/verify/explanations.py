"""The explanations of findings about rendered files; each such finding is a defect of ftc."""

from ftc.spec.findings.explanation import Explanation

_REPORT = """\
**Use instead.** Nothing in the spec is wrong: this is a defect of ftc. Nothing was written. Report
it with the spec, without secrets; a simpler value in the place that the finding names often helps
meanwhile.
"""

UNPARSABLE = Explanation(
    code="FTC900",
    name="unparsable-output",
    severity="error",
    text=f"""\
**What it is.** A generated file is not valid in its own language.

**Why it matters.** It would fail on the machine that was paid for, long after the compile.

**Example.** A `train.py` with a statement that has no end, a `deepspeed.json` that is not JSON.

{_REPORT}""",
)

UNDEFINED_NAME = Explanation(
    code="FTC901",
    name="undefined-name",
    severity="error",
    text=f"""\
**What it is.** A generated script reads a name that nothing in it defines.

**Why it matters.** It would stop with a `NameError` when it comes to that line.

**Example.** An import that is left out for this kind of run, and a line that still needs it.

{_REPORT}""",
)

LOOSE_VALUE = Explanation(
    code="FTC902",
    name="loose-value",
    severity="error",
    text=f"""\
**What it is.** A value changed a generated script in more than a constant or a comment. Each script
is rendered twice, with and without its values. Both must have the same statements, apart from
constants that are one whole literal.

**Why it matters.** Values of a spec, a model or a data file may become literals and comments and
nothing else, so that no text can become code.

**Example.** `NAME = "a"; print()`.

{_REPORT}""",
)

CONTROL_CHARACTER = Explanation(
    code="FTC903",
    name="control-character",
    severity="error",
    text=f"""\
**What it is.** A generated file holds a control character, a line separator other than a newline,
a byte-order mark or half of a surrogate pair.

**Why it matters.** Such characters end a comment, hide text from a reader or cannot be stored.

**Example.** U+2028 in a comment that quotes a column's name.

{_REPORT}""",
)

CHANGED_DATA = Explanation(
    code="FTC904",
    name="changed-data",
    severity="error",
    text=f"""\
**What it is.** A generated JSON or YAML file, read back, is not the data that it was made from.

**Why it matters.** The library that reads it would see other settings than the plan's.

**Example.** YAML in which the word `no` came back as false.

{_REPORT}""",
)

UNKNOWN_KEY = Explanation(
    code="FTC905",
    name="unknown-library-key",
    severity="error",
    text=f"""\
**What it is.** A generated file sets a key that the pinned accelerate, DeepSpeed, TRL or PEFT does
not accept at that place.

**Why it matters.** Some libraries stop at such a key, others ignore it and train otherwise.

**Example.** `SFTConfig(warmup_ratio=0.1)`: the pinned version takes only `warmup_steps`.

{_REPORT}""",
)

UNSAFE_SHELL = Explanation(
    code="FTC906",
    name="unsafe-shell",
    severity="error",
    text=f"""\
**What it is.** A generated shell script holds a byte outside of printable ASCII.

**Why it matters.** No string of a spec may reach a shell; such a byte is one that got through.

**Example.** An accented letter in a file name in `run.sh`.

{_REPORT}""",
)

EXPLANATIONS = (
    UNPARSABLE,
    UNDEFINED_NAME,
    LOOSE_VALUE,
    CONTROL_CHARACTER,
    CHANGED_DATA,
    UNKNOWN_KEY,
    UNSAFE_SHELL,
)
