"""What holds for every synthetic knowledge base."""

from __future__ import annotations

import random
import subprocess
import sys
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlab.errors import StarlabError
from starlab.knowledge.base import Draft, KnowledgeBase, generate
from starlab.knowledge.names import KIND_OF, NAMES, POOLS, RELATION_PIECES, RELATIONS, SCHEMA
from starlab.knowledge.questions import PHRASES
from starlab.knowledge.search import PIECES
from starlab.travel import names as travel_names

SEEDS = st.integers(min_value=0, max_value=2**63)


@given(SEEDS)
@settings(max_examples=20, deadline=None)
def test_every_entry_has_its_kinds_relations_once_with_distinct_values_of_the_right_kind(seed: int) -> None:
    base = generate(seed)
    assert set(base.entries) | set(base.aliases) == set(NAMES)
    for name in base.entries:
        facts = base.facts(name)
        assert sorted((f.relation, KIND_OF[f.value]) for f in facts) == sorted(SCHEMA[KIND_OF[name]])
        assert len({f.value for f in facts} | {name}) == 1 + len(facts)


@given(SEEDS)
@settings(max_examples=20, deadline=None)
def test_notes_are_true_and_other_names_are_never_values(seed: int) -> None:
    base = generate(seed)
    for name, entry in base.entries.items():
        notes = [fact for fact in entry if fact.subject != name]
        assert 1 <= len(notes) <= 2
        assert all(note in base.facts(note.subject) for note in notes)
        assert not {fact.value for fact in entry} & set(base.aliases)
    assert all(target in base.entries and KIND_OF[target] == KIND_OF[a] for a, target in base.aliases.items())


def test_a_seed_gives_one_base_in_every_process() -> None:
    code = "from starlab.knowledge.base import generate; print(generate(7).fingerprint())"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == generate(7).fingerprint() != generate(8).fingerprint()


def test_a_saved_base_is_the_same_base(tmp_path: Path) -> None:
    base = generate(3, name="evaluation")
    base.save(tmp_path / "knowledge.json")
    again = KnowledgeBase.load(tmp_path / "knowledge.json")
    assert again.fingerprint() == base.fingerprint()
    assert [again.entry(name) for name in NAMES] == [base.entry(name) for name in NAMES]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"format": "other"}', '{"format": "starlab knowledge 1"}'])
def test_a_damaged_base_file_is_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "knowledge.json"
    path.write_text(content)
    with pytest.raises(StarlabError, match=r"knowledge\.json.*data stage"):
        KnowledgeBase.load(path)


def test_a_missing_base_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(StarlabError, match=r"absent\.json"):
        KnowledgeBase.load(tmp_path / "absent.json")


@given(SEEDS)
@settings(max_examples=50, deadline=None)
def test_a_draft_does_not_change_its_mind(seed: int) -> None:
    draft = Draft(random.Random(seed))
    first = {name: draft.entry(name) for name in POOLS["person"]}
    assert {name: draft.entry(name) for name in POOLS["person"]} == first


def test_pieces_are_few_distinct_and_apart_from_travel() -> None:
    assert len(NAMES) == len(set(NAMES)) <= 130
    assert len(RELATIONS) <= 14
    assert len(set(PHRASES) | set(PIECES)) <= 40
    assert not {*PHRASES, *PIECES} & {*NAMES, *RELATION_PIECES}
    assert not [(a, b) for a, b in permutations(NAMES, 2) if b.startswith(a)], "a name starts another name"
    travel = {*travel_names.STATES, *travel_names.CITIES, *travel_names.HOTELS, *travel_names.RESTAURANTS,
              *travel_names.ATTRACTIONS}  # fmt: skip
    assert not {word for name in travel for word in name.split()} & set(NAMES)


def test_the_package_imports_without_torch() -> None:
    code = (
        "import sys, starlab.knowledge.documents, starlab.knowledge.panels, starlab.knowledge.task\n"
        "assert not {'torch', 'transformers'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
