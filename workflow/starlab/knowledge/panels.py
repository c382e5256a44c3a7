"""Question panels: frozen files, one a family, each with a card that holds its hash.

The panels' base is drawn from a seed of its own name. Pretraining never sees it: every dialogue of
`documents` draws a world of its own from the same names.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from ..errors import StarlabError
from ..files import json_lines
from ..provenance import text_sha256
from ..seeds import derive, generator
from .base import Base, KnowledgeBase, generate
from .names import KIND_OF
from .oracle import solve
from .questions import FAMILIES, Question, sample
from .search import search

BASE_FILE = "knowledge.json"
FOLDER = "questions"
_FIX = "run the data stage again"
_TRIES = 200  # draws for each question asked for, before a family counts as exhausted


def evaluation_base(seed: int) -> KnowledgeBase:
    """The base that all panels of an experiment ask about; `seed` is the experiment's world seed."""
    return generate(derive("knowledge base", seed), name=f"evaluation-{seed}")


def draw(base: Base, family: str, n: int, seed: int) -> list[Question]:
    """`n` questions of `family` that differ in what they ask, not in wording only; each is solved through the
    tool.

    Raises StarlabError when the base does not have that many.
    """
    rng = generator("question panel", seed, family)
    found: dict[tuple[tuple[str, ...], tuple[str, ...]], Question] = {}
    for _ in range(_TRIES * n):
        if len(found) == n:
            break
        question = sample(rng, base, family, id=f"{family}-{len(found):04d}")
        found.setdefault((question.subjects, question.relations), question)
    if len(found) < n:
        raise StarlabError(
            f"data.panels.questions: {n} questions a family were asked for, but the knowledge base has only "
            f"{len(found)} different ones of the family {family!r}; ask for fewer"
        )
    questions = list(found.values())
    for question in questions:
        if solve(question, lambda name: search(base, name))[1] != question.answer:
            raise AssertionError(f"{question.id}: the gold answer does not follow from the search tool")
    return questions


def write(folder: Path, seed: int, n: int) -> dict[str, Path]:
    """Write the base and all panels of `n` questions below `folder` (an experiment's data folder).

    Returns family -> panel file. Same arguments, same bytes.
    """
    base = evaluation_base(seed)
    base.save(folder / BASE_FILE)
    paths = {}
    for family in FAMILIES:
        questions = draw(base, family, n, seed)
        paths[family] = folder / FOLDER / f"{family}.jsonl"
        save(paths[family], questions, base)
    return paths


def save(path: Path, questions: list[Question], base: KnowledgeBase) -> None:
    """Write a panel, one question a line, and its card beside it."""
    content = "".join(json.dumps(question.to_dict()) + "\n" for question in questions)
    card = {
        "set": path.stem,
        "n": len(questions),
        "sha256": text_sha256(content),
        "knowledge_sha256": base.fingerprint(),
        "answers": dict(sorted(Counter(KIND_OF[question.answer] for question in questions).items())),
        "hops": dict(sorted(Counter(str(len(question.relations)) for question in questions).items())),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    card_path(path).write_text(json.dumps(card, indent=1) + "\n", encoding="utf-8")


def card_path(path: Path) -> Path:
    """Where the card of a panel or query set lies: `<set>.card.json` beside `<set>.jsonl`."""
    return path.with_name(path.stem + ".card.json")


def load(path: Path) -> list[Question]:
    """The questions of a panel file. Raises StarlabError that names the file and line of what cannot be
    read."""
    questions = []
    for place, row in json_lines(path, _FIX):
        try:
            questions.append(Question.from_dict(row))
        except (ValueError, KeyError, TypeError) as error:
            raise StarlabError(f"{place}: not a question ({type(error).__name__}: {error}); {_FIX}") from error
    return questions
