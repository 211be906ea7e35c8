"""The explanations of FTC001 to FTC029: spec files that cannot be read."""

from typing import Final

from ftc.spec.findings.explanation import Explanation


def make_explanation(  # noqa: PLR0917 - the six stand in reading order
    code: str, name: str, what: str, why: str, example: str, instead: str
) -> Explanation:
    """Return the explanation of an error, its four parts under the usual headings."""
    text = (
        f"**What it is.** {what}\n\n**Why it matters.** {why}\n\n"
        f"**Example**\n\n```\n{example}\n```\n\n**Use instead**\n\n```\n{instead}\n```\n"
    )
    return Explanation(code=code, name=name, severity="error", text=text)


MISSING: Final = make_explanation(
    "FTC001",
    "missing-spec",
    "There is no file with this name.",
    "Nothing can be compiled without a spec.",
    "ftc check spce.json",
    "ftc check spec.json",
)
UNREADABLE: Final = make_explanation(
    "FTC002",
    "unreadable-spec",
    "The file exists, but the system does not allow reading it.",
    "A spec that only one account can read cannot be compiled by another account or in CI.",
    "chmod 000 spec.json; ftc check spec.json",
    "chmod 644 spec.json; ftc check spec.json",
)
FOLDER: Final = make_explanation(
    "FTC003",
    "folder-as-spec",
    "A folder was given instead of a spec.",
    "A folder may contain several specs, and ftc does not guess which one is meant.",
    "ftc check fine-tunes/",
    "ftc check fine-tunes/support.json",
)
EMPTY: Final = make_explanation(
    "FTC004",
    "empty-spec",
    "The file is empty, or contains only white space and comments.",
    "A spec needs at least a name, a model and data.",
    "touch spec.json",
    '{"name": "support", "model": "Qwen/Qwen2.5-0.5B-Instruct", "data": "tickets.csv"}',
)
OVERSIZED: Final = make_explanation(
    "FTC005",
    "oversized-spec",
    "The file is larger than 1 MiB.",
    "A spec is about a page of text. A large file is probably data or weights, given by "
    "mistake. It is not read.",
    "ftc check tickets.jsonl",
    "ftc check spec.json",
)
NOT_UTF8: Final = make_explanation(
    "FTC006",
    "wrong-encoding",
    "The bytes of the file are not UTF-8.",
    "In another encoding, names and paths would silently change.",
    "iconv -t latin1 spec.json > other.json; ftc check other.json",
    "iconv -f latin1 -t utf-8 other.json > spec.json; ftc check spec.json",
)
BOM: Final = make_explanation(
    "FTC007",
    "byte-order-mark",
    "The file begins with the three bytes EF BB BF, which some editors write before UTF-8.",
    "JSON does not allow them, and other tools that read the spec fail.",
    'printf "\\xef\\xbb\\xbf{}" > spec.json',
    "save the file as UTF-8 without a byte order mark",
)
TOO_DEEP: Final = make_explanation(
    "FTC008",
    "bottomless-nesting",
    "Objects and lists are nested more than 64 levels deep.",
    "No spec needs more than five levels. The file is damaged, or it is not a spec.",
    "[[[[[[[[ ... ]]]]]]]]",
    '{"training": {"evaluation": {"every_steps": 50}}}',
)
BROKEN_JSON: Final = make_explanation(
    "FTC009",
    "broken-json",
    "The text is not JSON: a bracket is never closed, or something is in the wrong place.",
    "The rest of the file cannot be understood, so it is not checked.",
    '{"name": "support"',
    '{"name": "support"}',
)
DUPLICATE_KEY: Final = make_explanation(
    "FTC010",
    "duplicate-key",
    "One object has the same key twice.",
    "Most readers silently keep the last one, so the first is ignored.",
    '{"seed": 1, "seed": 2}',
    '{"seed": 2}',
)
TRAILING_COMMA: Final = make_explanation(
    "FTC011",
    "trailing-comma",
    "There is a comma before a closing bracket.",
    "JSON does not allow it, and other tools that read the spec fail.",
    '{"export": ["Q4_K_M",]}',
    '{"export": ["Q4_K_M"]}',
)
COMMENT: Final = make_explanation(
    "FTC012",
    "comment-in-json",
    "JSON has no comments.",
    "Other tools that read the spec fail. YAML has comments, and ftc reads YAML.",
    '{"seed": 7 // the lucky one\n}',
    "seed: 7  # the lucky one",
)
NOT_FINITE: Final = make_explanation(
    "FTC013",
    "not-finite-number",
    "NaN, Infinity, or a number too large for a 64-bit float.",
    "No field accepts such a number, and JSON cannot represent it.",
    '{"learning_rate": NaN}',
    '{"learning_rate": 2e-4}',
)
QUOTES: Final = make_explanation(
    "FTC014",
    "single-quotes",
    "A string is in single quotes.",
    "JSON only has double quotes. YAML has both, and ftc reads YAML.",
    "{'name': 'support'}",
    '{"name": "support"}',
)
LONG_NUMBER: Final = make_explanation(
    "FTC015",
    "endless-number",
    "A number is written with more than 1,000 characters.",
    "No field needs such a number, and reading it takes more time the longer it is.",
    '{"seed": 111111111111 ... 1}',
    '{"seed": 11}',
)
SURROGATE: Final = make_explanation(
    "FTC016",
    "lone-surrogate",
    "A string contains one half of a character: \\uD800 to \\uDFFF without its partner.",
    "Such a string cannot be written to any file as UTF-8.",
    '{"system": "\\ud83d"}',
    '{"system": "\\ud83d\\ude00"}',
)
FOREIGN_WORD: Final = make_explanation(
    "FTC017",
    "foreign-word",
    "A word without quotes that JSON does not know.",
    "JSON only has the words true, false and null, in lowercase. Other words must be strings.",
    '{"trust_remote_code": True, "method": lora}',
    '{"trust_remote_code": true, "method": "lora"}',
)
MISSING_COMMA: Final = make_explanation(
    "FTC018",
    "missing-comma",
    "Two members of an object or list have no comma between them.",
    "JSON requires one, and other tools that read the spec fail.",
    '{"name": "support" "seed": 7}',
    '{"name": "support", "seed": 7}',
)
TOO_MANY_VALUES: Final = make_explanation(
    "FTC019",
    "endless-values",
    "The spec contains more than 10,000 values.",
    "No spec needs more than a few hundred. This is probably the data, given by mistake.",
    "ftc check small-data.json",
    "ftc check spec.json",
)
BROKEN_YAML: Final = make_explanation(
    "FTC020",
    "broken-yaml",
    "The text is not YAML.",
    "The rest of the file cannot be understood, so it is not checked.",
    "data:\n\tsource: tickets.csv",
    "data:\n  source: tickets.csv",
)
ALIAS: Final = make_explanation(
    "FTC021",
    "yaml-alias",
    "The spec uses an anchor (`&name`) or an alias (`*name`).",
    "A few lines with aliases can expand to gigabytes, and one position to many values.",
    "evaluation: &e {every_steps: 50}",
    "evaluation: {every_steps: 50}",
)
TAG: Final = make_explanation(
    "FTC022",
    "yaml-tag",
    "The spec uses a YAML tag (`!!type`).",
    "Readers interpret tags differently. The schema already defines every type.",
    "seed: !!int '7'",
    "seed: 7",
)
SEVERAL_DOCUMENTS: Final = make_explanation(
    "FTC023",
    "several-documents",
    "The YAML file contains more than one document.",
    "A spec describes one fine-tune, and ftc does not guess which document is meant.",
    "name: one\n---\nname: two",
    "name: one",
)
COMPLEX_KEY: Final = make_explanation(
    "FTC024",
    "complex-key",
    "A key of a YAML mapping is itself a list or a mapping.",
    "No field has such a name. Usually a brace or a `?` is in the wrong place.",
    "{data: x}: y",
    "data: {source: x}",
)
SECRET: Final = make_explanation(
    "FTC025",
    "secret-in-a-spec",
    "The file contains text that looks like a token, a password in a URL or a private key.",
    "A spec is committed, printed and copied into its bundle, so a secret in it would be "
    "exposed. The file is not read any further, so that no message shows the secret.",
    '{"model": "https://me:my-password@hub.example/owner/model"}',
    '{"model": "owner/model"}, with `HF_TOKEN` in the environment',
)

DATA: Final = make_explanation(
    "FTC026",
    "data-as-spec",
    "The file holds rows of data: a table, lines of JSON, or a list of objects.",
    "A spec names its data, and says which model is trained on them and how.",
    "ftc check tickets.csv",
    "ftc new --data tickets.csv; ftc check spec.json",
)

BUNDLE_FILE: Final = make_explanation(
    "FTC027",
    "bundle-file-as-spec",
    "The file is one that ftc wrote into a bundle, such as its lock or its plan.",
    "It follows from a spec. The bundle has a copy of that, `spec.json`.",
    "ftc check triage/ftc.lock.json",
    "ftc check triage/spec.json",
)

FILE_EXPLANATIONS: Final = (
    MISSING,
    UNREADABLE,
    FOLDER,
    EMPTY,
    OVERSIZED,
    NOT_UTF8,
    BOM,
    TOO_DEEP,
    BROKEN_JSON,
    DUPLICATE_KEY,
    TRAILING_COMMA,
    COMMENT,
    NOT_FINITE,
    QUOTES,
    LONG_NUMBER,
    SURROGATE,
    FOREIGN_WORD,
    MISSING_COMMA,
    TOO_MANY_VALUES,
    BROKEN_YAML,
    ALIAS,
    TAG,
    SEVERAL_DOCUMENTS,
    COMPLEX_KEY,
    SECRET,
    DATA,
    BUNDLE_FILE,
)
