"""The explanations of findings about writing a bundle and comparing it with its spec."""

from ftc.spec.findings.explanation import Explanation

EDITED = Explanation(
    code="FTC910",
    name="edited-file",
    severity="error",
    text="""\
**What it is.** A file that ftc wrote was edited since.

**Why it matters.** Compiling again would lose the edit. ftc compares each file with the hash that
it kept in `ftc.lock.json`, and replaces only files that are unchanged since it wrote them.

**Example.** `train.py` was given another optimizer by hand, then `spec.json` changed and
`ftc compile spec.json` ran.

**Use instead.** Make the change in the spec where it has a field for it. To keep an edit that it
has no field for, compile into a second folder and merge the two:

    ftc compile spec.json -o triage.new
    diff -u triage/train.py triage.new/train.py

To discard the edit, pass `--force`. Without it, ftc writes nothing and exits with code 1.
""",
)

IN_THE_WAY = Explanation(
    code="FTC911",
    name="file-in-the-way",
    severity="error",
    text="""\
**What it is.** The bundle's folder holds a file or folder, not written by ftc, under a name that
the bundle needs.

**Why it matters.** ftc replaces only files that its own lock lists; anything else is yours.

**Example.** `-o .` in a repository that has its own `README.md`.

**Use instead.** Compile into a folder of its own (`-o runs/triage`), move the file away, or pass
`--force` to replace it. A folder in the way is never replaced.
""",
)

LINKED = Explanation(
    code="FTC912",
    name="linked-file",
    severity="error",
    text="""\
**What it is.** A name that the bundle needs is a symbolic link, or lies behind one.

**Why it matters.** Writing through the link would change a file outside of the bundle.

**Example.** `train.py -> ../shared/train.py`.

**Use instead.** Remove the link. `--force` replaces a linked file by a real one; a linked folder
is never written through.
""",
)

MISSING = Explanation(
    code="FTC913",
    name="missing-file",
    severity="error",
    text="""\
**What it is.** `ftc compile --check` found that a file of the bundle is not on disk.

**Why it matters.** The bundle is not what its spec compiles to.

**Example.** `export.py` was left out of a commit.

**Use instead.** `ftc compile spec.json`, and commit what it writes.
""",
)

OUTDATED = Explanation(
    code="FTC914",
    name="outdated-file",
    severity="error",
    text="""\
**What it is.** `ftc compile --check` found a file unchanged since ftc wrote it, but the spec
now compiles to something else.

**Why it matters.** Whoever runs the bundle runs an older spec.

**Example.** `learning_rate` changed in `spec.json` and nobody compiled.

**Use instead.** `ftc compile spec.json`, and commit what it writes.
""",
)

STALE = Explanation(
    code="FTC915",
    name="stale-file",
    severity="error",
    text="""\
**What it is.** `ftc compile --check` found a file that an earlier compile wrote and that the spec
no longer produces.

**Why it matters.** It looks like a part of the run and is not.

**Example.** `deepspeed.json` after `distribution` changed from `zero2` to `ddp`.

**Use instead.** `ftc compile spec.json` removes it.
""",
)

OTHER_FTC = Explanation(
    code="FTC916",
    name="compiled-by-another-ftc",
    severity="error",
    text="""\
**What it is.** `ftc compile --check` found a file that another version of ftc wrote. The file
is unchanged since then, but this version writes it differently.

**Why it matters.** Nobody edited the bundle, and the spec may be unchanged: only the version of
ftc differs. The lock says which version wrote the bundle.

**Example.** The bundle was compiled by ftc 0.1.0 and is checked by ftc 0.2.0.

**Use instead.** Check with the version that the lock names, or compile again with this one.
""",
)

CHANGED_SINCE = Explanation(
    code="FTC917",
    name="changed-since-locked",
    severity="warning",
    text="""\
**What it is.** The data file, or the model's `config.json`, is not what it was when the lock beside
the bundle was written. A compile takes its facts from the lock.

**Why it matters.** Rows, lengths and batch sizes in the bundle describe the file as it was.

**Example.** `tickets.csv` grew by a thousand rows, and `ftc compile spec.json` plans the old ones.

**Use instead.** `ftc compile --update` reads both again and says what changed.
""",
)

EXPLANATIONS = (EDITED, IN_THE_WAY, LINKED, MISSING, OUTDATED, STALE, OTHER_FTC, CHANGED_SINCE)
