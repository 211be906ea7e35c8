"""The pages of FTC001 to FTC029: a spec that cannot be read."""

from typing import Final

from ftc.spec.page import Page


def make_page(  # noqa: PLR0917 - the six stand in the order in which a page is read
    code: str, name: str, what: str, why: str, example: str, instead: str
) -> Page:
    """Return the page of an error, its four parts under the headings that every page has."""
    text = (
        f"**What it is.** {what}\n\n**Why it matters.** {why}\n\n"
        f"**Example**\n\n```\n{example}\n```\n\n**Use instead**\n\n```\n{instead}\n```\n"
    )
    return Page(code=code, name=name, severity="error", text=text)


MISSING: Final = make_page(
    "FTC001",
    "missing-spec",
    "There is no file of that name.",
    "Nothing can be compiled without a spec.",
    "ftc check spce.json",
    "ftc check spec.json",
)
UNREADABLE: Final = make_page(
    "FTC002",
    "unreadable-spec",
    "The file is there and the system refuses to give its content.",
    "A spec that only one account can read cannot be compiled by another one, or in CI.",
    "chmod 000 spec.json; ftc check spec.json",
    "chmod 644 spec.json; ftc check spec.json",
)
FOLDER: Final = make_page(
    "FTC003",
    "folder-as-spec",
    "A folder was given where a spec is read.",
    "A folder may hold several specs: ftc does not guess which one is meant.",
    "ftc check fine-tunes/",
    "ftc check fine-tunes/support.json",
)
EMPTY: Final = make_page(
    "FTC004",
    "empty-spec",
    "The file holds nothing, or nothing but white space and comments.",
    "A spec needs at least a name, a model and data.",
    "touch spec.json",
    '{"name": "support", "model": "Qwen/Qwen2.5-0.5B-Instruct", "data": "tickets.csv"}',
)
OVERSIZED: Final = make_page(
    "FTC005",
    "oversized-spec",
    "The file is larger than 1 MiB.",
    "A spec is a page of text: a large file is the data, or the weights, given by mistake. "
    "It is not read.",
    "ftc check tickets.jsonl",
    "ftc check spec.json",
)
NOT_UTF8: Final = make_page(
    "FTC006",
    "wrong-encoding",
    "The bytes of the file are not UTF-8.",
    "Read in another encoding, names and paths would silently be other names and paths.",
    "iconv -t latin1 spec.json > other.json; ftc check other.json",
    "iconv -f latin1 -t utf-8 other.json > spec.json; ftc check spec.json",
)
BOM: Final = make_page(
    "FTC007",
    "byte-order-mark",
    "The file begins with the three bytes EF BB BF, which some editors write before UTF-8.",
    "JSON forbids them, and other tools that read the spec stop at them.",
    'printf "\\xef\\xbb\\xbf{}" > spec.json',
    "save the file as UTF-8 without a byte order mark",
)
TOO_DEEP: Final = make_page(
    "FTC008",
    "bottomless-nesting",
    "Objects and lists are nested more than 64 deep.",
    "No spec needs more than five levels: the file is damaged, or not a spec.",
    "[[[[[[[[ ... ]]]]]]]]",
    '{"training": {"evaluation": {"every_steps": 50}}}',
)
BROKEN_JSON: Final = make_page(
    "FTC009",
    "broken-json",
    "The text is not JSON: a bracket is never closed, or something stands where it cannot.",
    "What was meant cannot be told from here on, so the rest of the file is not judged.",
    '{"name": "support"',
    '{"name": "support"}',
)
DUPLICATE_KEY: Final = make_page(
    "FTC010",
    "duplicate-key",
    "One object has the same key twice.",
    "Most readers keep the last one silently: the other is said and ignored.",
    '{"seed": 1, "seed": 2}',
    '{"seed": 2}',
)
TRAILING_COMMA: Final = make_page(
    "FTC011",
    "trailing-comma",
    "A comma stands before a closing bracket.",
    "JSON forbids it, and other tools that read the spec stop at it.",
    '{"export": ["Q4_K_M",]}',
    '{"export": ["Q4_K_M"]}',
)
COMMENT: Final = make_page(
    "FTC012",
    "comment-in-json",
    "JSON has no comments.",
    "Other tools that read the spec stop at them. YAML has comments, and ftc reads YAML.",
    '{"seed": 7 // the lucky one\n}',
    "seed: 7  # the lucky one",
)
NOT_FINITE: Final = make_page(
    "FTC013",
    "not-finite-number",
    "NaN, Infinity, or a number too large for a 64-bit float.",
    "No field has a use for such a number, and JSON cannot write it.",
    '{"learning_rate": NaN}',
    '{"learning_rate": 2e-4}',
)
QUOTES: Final = make_page(
    "FTC014",
    "single-quotes",
    "A string stands in single quotes.",
    "JSON knows double quotes only. YAML knows both, and ftc reads YAML.",
    "{'name': 'support'}",
    '{"name": "support"}',
)
LONG_NUMBER: Final = make_page(
    "FTC015",
    "endless-number",
    "A number is written with more than 1,000 characters.",
    "No field has a use for it, and reading it costs more time the longer it is.",
    '{"seed": 111111111111 ... 1}',
    '{"seed": 11}',
)
SURROGATE: Final = make_page(
    "FTC016",
    "lone-surrogate",
    "A string holds one half of a character: \\uD800 to \\uDFFF without its partner.",
    "Such a string cannot be written to any file as UTF-8.",
    '{"system": "\\ud83d"}',
    '{"system": "\\ud83d\\ude00"}',
)
FOREIGN_WORD: Final = make_page(
    "FTC017",
    "foreign-word",
    "A word without quotes that JSON does not know.",
    "JSON knows true, false and null, in small letters; every other word is a string.",
    '{"trust_remote_code": True, "method": lora}',
    '{"trust_remote_code": true, "method": "lora"}',
)
MISSING_COMMA: Final = make_page(
    "FTC018",
    "missing-comma",
    "Two members of an object or list have no comma between them.",
    "JSON needs one; other tools that read the spec stop here.",
    '{"name": "support" "seed": 7}',
    '{"name": "support", "seed": 7}',
)
TOO_MANY_VALUES: Final = make_page(
    "FTC019",
    "endless-values",
    "The spec holds more than 10,000 values.",
    "No spec needs more than a few hundred: this is the data, given as the spec by mistake.",
    "ftc check small-data.json",
    "ftc check spec.json",
)
BROKEN_YAML: Final = make_page(
    "FTC020",
    "broken-yaml",
    "The text is not YAML.",
    "What was meant cannot be told from here on, so the rest of the file is not judged.",
    "data:\n\tsource: tickets.csv",
    "data:\n  source: tickets.csv",
)
ALIAS: Final = make_page(
    "FTC021",
    "yaml-alias",
    "The spec uses an anchor (`&name`) or an alias (`*name`).",
    "A few lines of aliases can stand for gigabytes, and a position in the file for many values.",
    "evaluation: &e {every_steps: 50}",
    "evaluation: {every_steps: 50}",
)
TAG: Final = make_page(
    "FTC022",
    "yaml-tag",
    "The spec uses a YAML tag (`!!type`).",
    "A tag makes a value mean something else to each reader. The schema knows every type.",
    "seed: !!int '7'",
    "seed: 7",
)
SEVERAL_DOCUMENTS: Final = make_page(
    "FTC023",
    "several-documents",
    "The YAML file holds more than one document.",
    "One spec is one fine-tune: ftc does not guess which document is meant.",
    "name: one\n---\nname: two",
    "name: one",
)
COMPLEX_KEY: Final = make_page(
    "FTC024",
    "complex-key",
    "A key of a YAML mapping is itself a list or a mapping.",
    "No field has such a name; usually a brace or a `?` stands in the wrong place.",
    "{data: x}: y",
    "data: {source: x}",
)
SECRET: Final = make_page(
    "FTC025",
    "secret-in-a-spec",
    "The file holds what is written like a token, a password in an address or a private key.",
    "A spec is committed, printed and copied into its bundle: a secret in it is a secret told. "
    "The file is not read any further, so that no message repeats it.",
    '{"model": "https://me:my-password@hub.example/owner/model"}',
    '{"model": "owner/model"}, with `HF_TOKEN` in the environment',
)

FILE_PAGES: Final = (
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
)
