"""The explanations of FTC030 to FTC069 (invalid specs), and all explanations of `spec/`."""

from typing import Final

from ftc.spec.findings.file_explanations import FILE_EXPLANATIONS, make_explanation

NOT_AN_OBJECT: Final = make_explanation(
    "FTC030",
    "no-object",
    "The spec is a list, a string or a number.",
    "A spec says what each of its parts is: it is an object of named fields.",
    '["Qwen/Qwen2.5-0.5B-Instruct", "tickets.csv"]',
    '{"name": "support", "model": "Qwen/Qwen2.5-0.5B-Instruct", "data": "tickets.csv"}',
)
OTHER_VERSION: Final = make_explanation(
    "FTC031",
    "other-language-version",
    "The spec says that it is written in another version of the language.",
    "The same keys may mean something else in that version, so nothing else is checked.",
    '{"ftc": 3}',
    '{"ftc": 1}',
)
UNKNOWN_KEY: Final = make_explanation(
    "FTC032",
    "unknown-key",
    "There is no field of this name in this section.",
    "If a misspelt field were ignored, its value would silently have no effect.",
    '{"training": {"lerning_rate": 2e-4}}',
    '{"training": {"learning_rate": 2e-4}}',
)
MISSING_KEY: Final = make_explanation(
    "FTC033",
    "missing-key",
    "A required field is missing.",
    "All other fields have a default or are derived. This field has no sensible default.",
    '{"name": "support", "data": "tickets.csv"}',
    '{"name": "support", "data": "tickets.csv", "model": "Qwen/Qwen2.5-0.5B-Instruct"}',
)
WRONG_TYPE: Final = make_explanation(
    "FTC034",
    "wrong-type",
    "A value has the wrong type for its field: text for a number, a list for an object.",
    "ftc never guesses what a value was meant to be.",
    '{"export": "Q4_K_M"}',
    '{"export": ["Q4_K_M"]}',
)
UNKNOWN_VALUE: Final = make_explanation(
    "FTC035",
    "unknown-value",
    "The field accepts only certain words, and the value is a different one.",
    "ftc does not know what an unknown word means.",
    '{"method": "loar"}',
    '{"method": "lora"}',
)
OUT_OF_RANGE: Final = make_explanation(
    "FTC036",
    "number-out-of-range",
    "A number is outside the range of its field.",
    "A value outside this range is most likely a mistake: a fraction given in percent, "
    "or a learning rate without its exponent.",
    '{"data": {"source": "tickets.csv", "splits": {"test": 20}}}',
    '{"data": {"source": "tickets.csv", "splits": {"test": 0.2}}}',
)
MALFORMED_TEXT: Final = make_explanation(
    "FTC037",
    "malformed-text",
    "A text is empty, too long, or contains characters that its field does not allow.",
    "Names become names of files and folders, on every system that a bundle is copied to.",
    '{"name": "Support Triage!"}',
    '{"name": "support-triage"}',
)
MALFORMED_LIST: Final = make_explanation(
    "FTC038",
    "malformed-list",
    "A list is empty although it may not be, too long, or contains an item twice.",
    "A repeated item would be used only once, so one of the two would be ignored.",
    '{"export": ["Q4_K_M", "Q4_K_M"]}',
    '{"export": ["Q4_K_M"]}',
)
UNSUPPORTED_FIELD: Final = make_explanation(
    "FTC040",
    "unsupported-field",
    "ftc knows the field from other tools or from an earlier design, and does not support it.",
    "It is rejected with this error, so that it is not accepted and then ignored.",
    '{"model": {"id": "Qwen/Qwen2.5-0.5B-Instruct", "tokenizer": "gpt2"}}',
    '{"model": "Qwen/Qwen2.5-0.5B-Instruct"}',
)
UNSUPPORTED_VALUE: Final = make_explanation(
    "FTC041",
    "unsupported-value",
    "ftc knows the value from other tools or from an earlier design, and does not support it.",
    "It is rejected with this error, so that no other value is used in its place.",
    '{"method": "prompt_tuning"}',
    '{"method": "lora"}',
)
UNREAD_FIELD: Final = make_explanation(
    "FTC050",
    "field-that-nothing-reads",
    "A field is set that this method, this objective or this choice does not read: `rank` while "
    "the method is `full`, `double_quantization` while it is not `qlora`.",
    "The value would be accepted and then ignored.",
    '{"method": {"type": "full", "rank": 16}}',
    '{"method": {"type": "lora", "rank": 16}}',
)
TWO_LENGTHS: Final = make_explanation(
    "FTC051",
    "two-lengths-of-training",
    "Both `epochs` and `max_steps` say when training ends.",
    "Only one of them can apply: the other would be accepted and then ignored.",
    '{"training": {"epochs": 3, "max_steps": 500}}',
    '{"training": {"max_steps": 500}}',
)
NOTHING_TO_TRAIN: Final = make_explanation(
    "FTC052",
    "nothing-left-to-train-on",
    "Test and validation together take 90% of the rows or more.",
    "Too few rows are left for training. Usually one of the fractions was meant for training.",
    '{"data": {"source": "a.csv", "splits": {"test": 0.45, "validation": 0.45}}}',
    '{"data": {"source": "a.csv", "splits": {"test": 0.1, "validation": 0.1}}}',
)
FOREIGN_COLUMN: Final = make_explanation(
    "FTC053",
    "column-of-another-form",
    "A column is given for a role that rows of this form do not have, "
    "or columns are given for two forms.",
    "The column would be accepted and then ignored.",
    '{"data": {"source": "a.csv", "form": "chat", "columns": {"prompt": "question"}}}',
    '{"data": {"source": "a.csv", "form": "chat", "columns": {"messages": "turns"}}}',
)
NOTHING_TO_MEASURE: Final = make_explanation(
    "FTC054",
    "evaluation-without-rows",
    "An evaluation uses a split that has no rows.",
    "Without validation rows there is no early stopping and no best checkpoint; "
    "without test rows the result cannot be evaluated.",
    '{"data": {"source": "a.csv", "splits": {"validation": 0}}, "training": {"early_stopping": 3}}',
    '{"data": {"source": "a.csv"}, "training": {"early_stopping": 3}}',
)

SOURCE_BESIDE_SOURCES: Final = make_explanation(
    "FTC213",
    "source-beside-sources",
    "Both `data.source` and `data.sources` are set.",
    "`sources` is a mixture, and `source` is for a single source: one of them would be ignored.",
    '{"data": {"source": "a.csv", "sources": ["b.csv", "c.csv"]}}',
    '{"data": {"sources": ["a.csv", "b.csv", "c.csv"]}}',
)
WEIGHTS_OF_SOME: Final = make_explanation(
    "FTC214",
    "weights-of-some-sources",
    "Some sources of a mixture have a weight and others have none.",
    "Weights are shares of an epoch, so the share of a source without a weight is undefined.",
    '{"data": {"sources": [{"source": "a.csv", "weight": 2}, "b.csv"]}}',
    '{"data": {"sources": [{"source": "a.csv", "weight": 2}, {"source": "b.csv", "weight": 1}]}}',
)
UNWEIGHTED_REPEATS: Final = make_explanation(
    "FTC215",
    "unweighted-repeats",
    "A source has `max_repeats`, and no source has a weight.",
    "Without weights, every row of a source is used once. Nothing is repeated, so the field "
    "has no effect.",
    '{"data": {"sources": [{"source": "a.csv", "max_repeats": 2}, "b.csv"]}}',
    '{"data": {"sources": ["a.csv", "b.csv"]}}',
)

EXPLANATIONS: Final = (
    *FILE_EXPLANATIONS,
    NOT_AN_OBJECT,
    OTHER_VERSION,
    UNKNOWN_KEY,
    MISSING_KEY,
    WRONG_TYPE,
    UNKNOWN_VALUE,
    OUT_OF_RANGE,
    MALFORMED_TEXT,
    MALFORMED_LIST,
    UNSUPPORTED_FIELD,
    UNSUPPORTED_VALUE,
    UNREAD_FIELD,
    TWO_LENGTHS,
    NOTHING_TO_TRAIN,
    FOREIGN_COLUMN,
    NOTHING_TO_MEASURE,
    SOURCE_BESIDE_SOURCES,
    WEIGHTS_OF_SOME,
    UNWEIGHTED_REPEATS,
)
