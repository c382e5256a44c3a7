"""Query sets: solvable, balanced, disjoint, nested, and the same whatever else is made."""

from collections import Counter

import pytest
from starlab.errors import StarlabError
from starlab.synthesis.balance import (
    DUPLICATE,
    KEPT,
    NO_PLAN,
    PANELS,
    Synthesis,
    SynthesisSpec,
    elements_key,
    level_order,
    split_of,
)
from starlab.travel.database import Database
from starlab.travel.miniature import MiniatureSpec, generate
from starlab.travel.plan import render
from starlab.travel.scores import score


def keys(made):
    return [elements_key(row.query) for row in made.queries]


def levels(made):
    return Counter(row.query.level for row in made.queries)


@pytest.mark.parametrize("name", [*PANELS, "mixed50", "hard20"])
def test_every_witness_is_accepted_by_the_checker(synthesis, name):
    made = synthesis.make(name)
    for row in made.queries:
        assert score(row.query, render(row.witness), made.database).success == 1.0


def test_trips_of_three_five_and_seven_days_all_have_accepted_witnesses(long_trips):
    for name in ("test", "mixed30"):
        made = long_trips.make(name)
        assert {row.query.days for row in made.queries} == {3, 5, 7}
        for row in made.queries:
            assert len(row.witness.days) == row.query.days
            assert score(row.query, render(row.witness), made.database).success == 1.0


@pytest.mark.parametrize(("size", "expected"), [(100, (40, 30, 30)), (50, (20, 15, 15)), (10, (4, 3, 3))])
def test_mixed_sets_are_four_to_three_to_three(synthesis, size, expected):
    counts = levels(synthesis.make(f"mixed{size}"))
    assert (counts["easy"], counts["medium"], counts["hard"]) == expected


def test_every_beginning_of_a_mixed_set_is_nearly_balanced():
    order = level_order(300)
    for count in range(1, 301):
        beginning = Counter(order[:count])
        assert abs(beginning["easy"] - 0.4 * count) <= 1
        assert abs(beginning["medium"] - 0.3 * count) <= 1
        assert abs(beginning["hard"] - 0.3 * count) <= 1


def test_a_database_gives_the_same_queries_from_memory_and_from_disk(synthesis, world, other_world, spec, tmp_path):
    world.save(tmp_path)
    again = Synthesis(Database.load(tmp_path, world.name), other_world, spec).make("mixed20")
    made = synthesis.make("mixed20")
    assert again.queries == made.queries
    assert again.tally == made.tally


def test_sets_of_one_level_hold_nothing_else(synthesis):
    assert levels(synthesis.make("medium25")) == {"medium": 25}


def test_larger_sets_begin_with_smaller_ones(synthesis):
    small, large = synthesis.make("mixed30").queries, synthesis.make("mixed100").queries
    assert large[: len(small)] == small
    assert synthesis.make("hard20").queries[:9] == tuple(q for q in small if q.query.level == "hard")


def test_no_query_is_in_two_splits_or_twice_in_a_set(synthesis):
    splits = [keys(synthesis.make(name)) for name in ("sft", "validation", "test")]
    splits.append(list({*keys(synthesis.make("mixed100")), *keys(synthesis.make("easy40"))}))
    everything = [key for split in splits for key in split]
    assert len(everything) == len(set(everything))
    unseen = keys(synthesis.make("unseen"))
    assert len(unseen) == len(set(unseen))


def test_the_split_of_a_query_follows_from_its_elements_alone(synthesis):
    for name, split in (("test", "test"), ("sft", "sft"), ("mixed50", "training")):
        assert {split_of(row.query) for row in synthesis.make(name).queries} == {split}


def test_a_set_is_the_same_whatever_sets_are_made_before_it(world, other_world, synthesis, spec):
    alone = Synthesis(world, other_world, spec).make("mixed50")
    assert alone == synthesis.make("mixed50")


def test_training_sets_do_not_depend_on_the_sizes_of_panels(world, other_world, synthesis):
    resized = Synthesis(world, other_world, SynthesisSpec(sft=5, validation=5, test=90))
    assert resized.make("mixed50").queries == synthesis.make("mixed50").queries
    assert resized.make("test").queries[:30] == synthesis.make("test").queries


def test_other_seeds_give_other_queries(world, other_world, synthesis, spec):
    other = Synthesis(world, other_world, SynthesisSpec(seed=1)).make("mixed20")
    assert not set(keys(other)) & set(keys(synthesis.make("mixed20")))


def test_the_unseen_panel_is_about_another_database(synthesis, other_world):
    made = synthesis.make("unseen")
    assert made.database is other_world


def test_ids_name_the_split_and_are_unique(synthesis):
    ids = [row.query.id for row in synthesis.make("mixed50").queries]
    assert len(set(ids)) == 50
    assert ids[0].startswith("training-")


def test_the_tally_accounts_for_every_draw(synthesis):
    made = synthesis.make("hard100")
    tally = made.tally["hard"]
    assert tally[KEPT] == 100
    assert tally[NO_PLAN] > 0, "the heuristic lets queries through that no plan solves"
    assert sum(tally.values()) > 100


def test_queries_that_come_up_again_are_dropped_and_counted():
    tiny = generate(3, "tiny", MiniatureSpec(states=3, cities_per_state=3, dates=4))
    made = Synthesis(tiny, tiny, SynthesisSpec()).make("easy30")
    assert made.tally["easy"][DUPLICATE] > 0
    assert len(set(keys(made))) == 30


def test_a_database_that_runs_out_of_queries_says_so(monkeypatch):
    monkeypatch.setattr("starlab.synthesis.balance._PATIENCE", 500)
    tiny = generate(3, "tiny", MiniatureSpec(states=3, cities_per_state=3, dates=3))
    with pytest.raises(StarlabError, match=r"'tiny' gives \d+ different easy queries for 'training', 5000"):
        Synthesis(tiny, tiny, SynthesisSpec()).make("easy5000")


@pytest.mark.parametrize("name", ["mixd100", "mixed", "mixed0", "train"])
def test_unknown_sets_are_reported(synthesis, name):
    with pytest.raises(StarlabError, match=f"'{name}' is no query set"):
        synthesis.make(name)


def test_unknown_thresholds_are_reported(world):
    with pytest.raises(StarlabError, match="did you mean 'miniature'"):
        Synthesis(world, world, SynthesisSpec(thresholds="minature"))
