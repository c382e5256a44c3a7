"""Rejection sampling keeps successes, the best of them first, and says on a card what it did."""

import hashlib
import json
from collections import Counter

import pytest
from starlab.errors import StarlabError
from starlab.synthesis.card import write_set
from starlab.synthesis.rejection import TeachingSpec, select, teach, write_trajectories
from starlab.travel.cost import cost
from starlab.travel.evidence import gather


@pytest.fixture(scope="module")
def made(synthesis):
    return synthesis.make("mixed100")


@pytest.fixture(scope="module")
def taught(made):
    return teach(made.queries, made.database, TeachingSpec(skill=0.4))


def kept(taught, made, **changes):
    return select(taught, made.database, TeachingSpec(skill=0.4, **changes))


def test_only_successful_trajectories_are_kept(taught, made):
    everything = kept(taught, made, keep=1.0)
    assert all(trajectory.success for trajectory in everything)
    assert len(everything) == sum(trajectory.success for _, trajectory in taught)


def test_of_each_level_the_share_with_most_budget_to_spare_is_kept(taught, made):
    chosen = {trajectory.query_id for trajectory in kept(taught, made, keep=0.5)}
    for level in ("easy", "medium", "hard"):
        spent = {}
        for query, trajectory in taught:
            if query.level == level and trajectory.success:
                total = cost(gather(query, trajectory.plan, made.database)).total
                spent[trajectory.query_id] = total / query.budget
        inside = [share for query_id, share in spent.items() if query_id in chosen]
        outside = [share for query_id, share in spent.items() if query_id not in chosen]
        assert len(inside) == (len(spent) + 1) // 2
        assert not outside or max(inside) <= min(outside)


def test_the_order_is_that_of_the_queries_and_the_number_is_limited(taught, made):
    order = [query.id for query, _ in taught]
    ids = [trajectory.query_id for trajectory in kept(taught, made)]
    assert ids == sorted(ids, key=order.index)
    assert [trajectory.query_id for trajectory in kept(taught, made, trajectories=7)] == ids[:7]


def test_trajectories_and_their_card_are_written(made, spec, tmp_path):
    queries, path, card_path = tmp_path / "sft.jsonl", tmp_path / "sft" / "t.jsonl", tmp_path / "t.card.json"
    write_set(made, spec, queries, tmp_path / "sft.card.json")
    card = write_trajectories(queries, made.database, TeachingSpec(retry_rate=0.2), path, card_path)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert json.loads(card_path.read_text()) == card
    assert card["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert card["tried"] == {"easy": 40, "medium": 30, "hard": 30}
    assert card["trajectories"] == len(rows)
    assert card["kept"] == Counter(row["level"] for row in rows)
    assert card["yield"]["all"] == sum(card["succeeded"].values()) / 100
    assert card["with_a_failed_call"] == sum(row["failed_calls"] > 0 for row in rows) > 0
    assert all(row["score"]["success"] == 1.0 for row in rows)
    assert all(row["messages"][-1]["content"].endswith("</answer>") for row in rows)


def test_a_teacher_that_never_succeeds_is_reported(made, spec, tmp_path):
    queries = tmp_path / "sft.jsonl"
    write_set(made, spec, queries, tmp_path / "card.json")
    with pytest.raises(StarlabError, match="solved none of 100 queries"):
        write_trajectories(
            queries, made.database, TeachingSpec(retry_rate=1.0), tmp_path / "t.jsonl", tmp_path / "t.json"
        )


def test_shares_outside_zero_to_one_are_reported():
    with pytest.raises(StarlabError, match=r"sft\.teacher\.keep: 1\.5"):
        TeachingSpec(keep=1.5)
