"""The pages of FTC030 to FTC069, a spec that says what the language does not; and all of spec's."""

from typing import Final

from ftc.spec.file_pages import FILE_PAGES, make_page

NOT_AN_OBJECT: Final = make_page(
    "FTC030",
    "no-object",
    "The spec is a list, a string or a number.",
    "A spec says what each of its parts is: it is an object of named fields.",
    '["Qwen/Qwen2.5-0.5B-Instruct", "tickets.csv"]',
    '{"name": "support", "model": "Qwen/Qwen2.5-0.5B-Instruct", "data": "tickets.csv"}',
)
OTHER_VERSION: Final = make_page(
    "FTC031",
    "other-language-version",
    "The spec says that it is written in another version of the language.",
    "The same words may mean something else there, so nothing more is judged.",
    '{"ftc": 3}',
    '{"ftc": 1}',
)
UNKNOWN_KEY: Final = make_page(
    "FTC032",
    "unknown-key",
    "The language has no field of that name at that place.",
    "A misspelt field that is ignored is a decision that was never made.",
    '{"training": {"lerning_rate": 2e-4}}',
    '{"training": {"learning_rate": 2e-4}}',
)
MISSING_KEY: Final = make_page(
    "FTC033",
    "missing-key",
    "A field that every spec needs is not there.",
    "Everything else has a default or is derived; these have no sensible value of their own.",
    '{"name": "support", "data": "tickets.csv"}',
    '{"name": "support", "data": "tickets.csv", "model": "Qwen/Qwen2.5-0.5B-Instruct"}',
)
WRONG_TYPE: Final = make_page(
    "FTC034",
    "wrong-type",
    "A value has another type than its field: text for a number, a list for an object.",
    "ftc never guesses what a value was meant to be.",
    '{"export": "Q4_K_M"}',
    '{"export": ["Q4_K_M"]}',
)
UNKNOWN_VALUE: Final = make_page(
    "FTC035",
    "unknown-value",
    "A field that takes one of a few words has another one.",
    "A word that is not known cannot be acted on.",
    '{"method": "loar"}',
    '{"method": "lora"}',
)
OUT_OF_RANGE: Final = make_page(
    "FTC036",
    "number-out-of-range",
    "A number is below or above what its field can mean.",
    "Beyond these bounds a value is a slip of the pen: a share given in percent, "
    "a learning rate without its exponent.",
    '{"data": {"source": "tickets.csv", "splits": {"test": 20}}}',
    '{"data": {"source": "tickets.csv", "splits": {"test": 0.2}}}',
)
MALFORMED_TEXT: Final = make_page(
    "FTC037",
    "malformed-text",
    "A text is empty, too long, or holds characters that its field cannot have.",
    "Names become folders and file names, on every system that a bundle is copied to.",
    '{"name": "Support Triage!"}',
    '{"name": "support-triage"}',
)
MALFORMED_LIST: Final = make_page(
    "FTC038",
    "malformed-list",
    "A list is empty where it may not be, too long, or holds an item twice.",
    "An item that is there twice is done once: one of them is ignored.",
    '{"export": ["Q4_K_M", "Q4_K_M"]}',
    '{"export": ["Q4_K_M"]}',
)
PLANNED_FIELD: Final = make_page(
    "FTC040",
    "planned-field",
    "The field is part of ftc's design and is not implemented yet.",
    "It is refused by name, so that it is not accepted and then ignored.",
    '{"model": {"id": "Qwen/Qwen2.5-0.5B-Instruct", "dtype": "bf16"}}',
    '{"training": {"precision": "bf16"}}',
)
PLANNED_VALUE: Final = make_page(
    "FTC041",
    "planned-value",
    "The value is part of ftc's design and is not implemented yet.",
    "It is refused by name, so that nothing else is done in its place.",
    '{"method": "prompt_tuning"}',
    '{"method": "lora"}',
)
UNREAD_FIELD: Final = make_page(
    "FTC050",
    "field-that-nothing-reads",
    "A field is set that this method, this objective or this choice does not read: `rank` while "
    "the method is `full`, `double_quantization` while it is not `qlora`.",
    "The value would be accepted and then ignored.",
    '{"method": {"type": "full", "rank": 16}}',
    '{"method": {"type": "lora", "rank": 16}}',
)
TWO_LENGTHS: Final = make_page(
    "FTC051",
    "two-lengths-of-training",
    "Both `epochs` and `max_steps` say when training ends.",
    "Only one of them can be true: the other would be accepted and then ignored.",
    '{"training": {"epochs": 3, "max_steps": 500}}',
    '{"training": {"max_steps": 500}}',
)
NOTHING_TO_TRAIN: Final = make_page(
    "FTC052",
    "nothing-left-to-train-on",
    "Test and validation together take 90 % of the rows or more.",
    "What is left is too little to learn from; most often a share was meant for training.",
    '{"data": {"source": "a.csv", "splits": {"test": 0.45, "validation": 0.45}}}',
    '{"data": {"source": "a.csv", "splits": {"test": 0.1, "validation": 0.1}}}',
)
FOREIGN_COLUMN: Final = make_page(
    "FTC053",
    "column-of-another-form",
    "A column is given for a role that rows of this form do not have, "
    "or columns are given for two forms.",
    "The column would be accepted and then ignored.",
    '{"data": {"source": "a.csv", "form": "chat", "columns": {"prompt": "question"}}}',
    '{"data": {"source": "a.csv", "form": "chat", "columns": {"messages": "turns"}}}',
)
NOTHING_TO_MEASURE: Final = make_page(
    "FTC054",
    "evaluation-without-rows",
    "Something is to be measured on a split that has no rows.",
    "Without validation rows nothing can stop early and no step is better than another; "
    "without test rows there is nothing to judge the result by.",
    '{"data": {"source": "a.csv", "splits": {"validation": 0}}, "training": {"early_stopping": 3}}',
    '{"data": {"source": "a.csv"}, "training": {"early_stopping": 3}}',
)

SOURCE_BESIDE_SOURCES: Final = make_page(
    "FTC213",
    "source-beside-sources",
    "Both `data.source` and `data.sources` say what is trained on.",
    "`sources` is a mixture and `source` the short form of one: one of them would not be read.",
    '{"data": {"source": "a.csv", "sources": ["b.csv", "c.csv"]}}',
    '{"data": {"sources": ["a.csv", "b.csv", "c.csv"]}}',
)
WEIGHTS_OF_SOME: Final = make_page(
    "FTC214",
    "weights-of-some-sources",
    "Some sources of a mixture have a weight and others have none.",
    "Weights are shares of one epoch: what a source without one should get, they do not say.",
    '{"data": {"sources": [{"source": "a.csv", "weight": 2}, "b.csv"]}}',
    '{"data": {"sources": [{"source": "a.csv", "weight": 2}, {"source": "b.csv", "weight": 1}]}}',
)
UNWEIGHTED_REPEATS: Final = make_page(
    "FTC215",
    "unweighted-repeats",
    "A source has `max_repeats`, and no source has a weight.",
    "Without weights every source gives its rows once: there is nothing to repeat, and nothing "
    "reads the field.",
    '{"data": {"sources": [{"source": "a.csv", "max_repeats": 2}, "b.csv"]}}',
    '{"data": {"sources": ["a.csv", "b.csv"]}}',
)

PAGES: Final = (
    *FILE_PAGES,
    NOT_AN_OBJECT,
    OTHER_VERSION,
    UNKNOWN_KEY,
    MISSING_KEY,
    WRONG_TYPE,
    UNKNOWN_VALUE,
    OUT_OF_RANGE,
    MALFORMED_TEXT,
    MALFORMED_LIST,
    PLANNED_FIELD,
    PLANNED_VALUE,
    UNREAD_FIELD,
    TWO_LENGTHS,
    NOTHING_TO_TRAIN,
    FOREIGN_COLUMN,
    NOTHING_TO_MEASURE,
    SOURCE_BESIDE_SOURCES,
    WEIGHTS_OF_SOME,
    UNWEIGHTED_REPEATS,
)
