"""What a message describes: an objective, columns in prose, weights of files, a teacher."""

from typing import Any

import pytest

from ftc.tui.understanding.reader import read


def changes(text: str) -> dict[str, Any]:
    """Return the fields that a first message sets."""
    return {each.pointer: each.value for each in read(text, {}).changes}


@pytest.mark.parametrize(
    ("text", "objective"),
    [
        ("Each of our mails should go to the right team, mails.csv", "classification"),
        ("Vull etiquetar els informes per especialitat. informes.csv", "classification"),
        ("Quiero repartir los avisos entre los equipos. avisos.csv", "classification"),
        ("Testers compared pairs of summaries and marked the one they liked. v.jsonl", "dpo"),
        ("A cada fila hi ha una resposta bona i una de dolenta, prefs.jsonl", "dpo"),
        ("Los clientes eligieron la mejor de dos respuestas, en e.jsonl", "dpo"),
        ("For our site search, put the most relevant articles on top. clicks.jsonl", "rerank"),
        ("Que els millors resultats de la cerca surtin a dalt. cerca.jsonl", "rerank"),
        ("I want to find contracts that mean the same. contracts.csv", "embed"),
        ("Buscador de leyes por significado: leyes.csv", "embed"),
        ("Let it guess six times and reward only correct results. sums.jsonl", "grpo"),
        ("Que intente cada cuenta y le damos un punto si acierta. c.jsonl", "grpo"),
        ("Carry on pretraining on raw text, no dialogues. parish.parquet", "cpt"),
        ("RM sobre gemma 3 1b, pares.jsonl", "reward"),
    ],
)
def test_a_description_names_the_objective(text: str, objective: str) -> None:
    """A goal, or rows that only one objective has, sets it."""
    assert changes(text)["/objective/type"] == objective


@pytest.mark.parametrize(
    "text",
    [
        "A tutor that explains fraud and how to detect it. fraud.jsonl",
        "Que contesti a quin departament cal trucar. xats.jsonl",
        "Que haga resúmenes en texto plano, sin preguntas al final. r.csv",
        "Teach it to answer customers in a good tone, not a bad one. tone.jsonl",
        "Que encuentre recetas parecidas y las explique. recetas.csv",
        "My colleague sorts tickets into categories by hand all day",
    ],
)
def test_a_topic_or_a_report_names_no_objective(text: str) -> None:
    """The same words as the topic of a text, or told of somebody, set nothing."""
    assert "/objective/type" not in changes(text)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        (
            "reviews.csv has two columns, comment and stars. I want it to predict the stars.",
            {"prompt": "comment", "completion": "stars"},
        ),
        (
            "Use prefs.jsonl, columns prompt, winner and loser.",
            {"prompt": "prompt", "chosen": "winner", "rejected": "loser"},
        ),
        (
            "Translate from Catalan into English: the English is in 'en' and the Catalan in 'ca'",
            {"prompt": "ca", "completion": "en"},
        ),
        (
            "columnes: 'text_lliure' (el que escriu el pacient) i 'codi' (l'etiqueta)",
            {"prompt": "text_lliure", "completion": "codi"},
        ),
        (
            "la redacció (columna 'original') i la versió bona (columna 'corregida')",
            {"prompt": "original", "completion": "corregida"},
        ),
        (
            "Hi ha el text a 'exposo' i el departament a 'area' (instancies.csv)",
            {"prompt": "exposo", "completion": "area"},
        ),
        (
            "pares de frases (columnas 'a' y 'b'), su parecido en la columna 'sim', para vectores",
            {"prompt": "a", "completion": "b", "score": "sim"},
        ),
        ("notícies.csv, columna 'cos', per continuar el preentrenament", {"text": "cos"}),
        ("Clasificar mensajes: los hay 'toxico' y 'normal' en motos.csv", {}),
        ("My column headers look fine, train on tickets.csv", {}),
    ],
)
def test_words_around_a_column_tell_its_role(text: str, columns: dict[str, str]) -> None:
    """The words beside a name, the name, the objective and the order give a role."""
    found = changes(text)
    assert {
        at.rpartition("/")[2]: name for at, name in found.items() if at.startswith("/data/columns/")
    } == columns


@pytest.mark.parametrize(
    ("text", "weights"),
    [
        ("tickets.csv three parts and chats.jsonl one", (3, 1)),
        ("70% de a.csv y 30% de b.csv", (70, 30)),
        ("3 parts a.csv, 1 part b.csv", (3, 1)),
        ("mix a.jsonl and b.jsonl, 2:1", (2, 1)),
        ("twice as much of a.jsonl as of b.jsonl", (2, 1)),
    ],
)
def test_files_of_a_mixture_have_weights(text: str, weights: tuple[int, int]) -> None:
    """A share stands before each file, behind each, or behind both."""
    assert tuple(each["weight"] for each in changes(text)["/data/sources"]) == weights


def test_a_mixture_without_weights_is_a_list() -> None:
    """A number that is no share weighs no file."""
    assert changes("use a.csv and b.csv, 3 epochs")["/data/sources"] == ["a.csv", "b.csv"]


@pytest.mark.parametrize(
    ("text", "teacher", "student"),
    [
        (
            "I'd like Qwen 2.5 (the 32B one) to be the teacher of the half-billion one, q.jsonl",
            "Qwen/Qwen2.5-32B-Instruct",
            "Qwen/Qwen2.5-0.5B-Instruct",
        ),
        (
            "distill Qwen/Qwen3-8B (teacher, nf4) -> Qwen/Qwen3-0.6B, prompts.jsonl",
            "Qwen/Qwen3-8B",
            "Qwen/Qwen3-0.6B",
        ),
        (
            "Que el Qwen 2.5 de 7B haga de profesor y el de 0.5B de alumno. preguntas.jsonl",
            "Qwen/Qwen2.5-7B-Instruct",
            "Qwen/Qwen2.5-0.5B-Instruct",
        ),
        (
            "quiero entrenar el deepseek r1 destilado de qwen 7b con casos.jsonl",
            None,
            "deepseek-ai/DeepSeek-R1-Distill-Qwen-7B",
        ),
    ],
)
def test_a_teacher_is_told_from_its_student(text: str, teacher: str | None, student: str) -> None:
    """The words beside a name tell; a distilled model alone is no teacher."""
    found = changes(text)
    assert (found.get("/objective/teacher/id"), found["/model/id"]) == (teacher, student)


@pytest.mark.parametrize(
    ("text", "pointer", "value"),
    [
        ("publish it as acme/bot, open to everyone", "/publish/private", False),
        ("puja-ho a acme/bot, que només ho vegi jo", "/publish/private", True),
        ("Silencia el aviso FTC231, ya lo he leído", "/allow", ["FTC231"]),
        ("pin the model revision to main", "/model/revision", "main"),
        ("Digues-li 'llibretera' al projecte.", "/name", "llibretera"),
        ("log to wandb and call the run 'monday'", "/tracking/run", "monday"),
        ("Añade <a> y </a> como tokens propios", "/model/new_tokens", ["<a>", "</a>"]),
        ("Que ho provi 8 cops per pregunta.", "/objective/num_generations", 8),
        ("Fes servir només mil files de moment", "/data/max_rows", 1000),
        ("gema 3 4b", "/model/id", "google/gemma-3-4b-it"),
        (
            "every 'fraud' should count 5 times",
            "/objective/class_weights",
            [{"label": "fraud", "weight": 5}],
        ),
        ("make the rare ones count as much as the rest", "/objective/class_weights", "balanced"),
    ],
)
def test_a_clause_of_its_own_sets_a_field(text: str, pointer: str, value: object) -> None:
    """A clause in everyday words sets one field."""
    assert changes(text)[pointer] == value
