"""The order of prompts."""

from __future__ import annotations

from collections import Counter

import pytest
from starlab.training.schedule import reserve, schedule

IDS = [f"q{i}" for i in range(20)]


@pytest.mark.parametrize("size", [3, 8, 10, 20])
def test_every_size_gives_the_same_number_of_steps_and_even_use(size):
    order = schedule(IDS[:size], steps=15, prompts=8, seed=1)
    assert len(order) == 120
    counts = Counter(order)
    assert set(counts) == set(IDS[:size])
    assert max(counts.values()) - min(counts.values()) <= 1


@pytest.mark.parametrize("size", [8, 9, 10, 20])
def test_no_prompt_twice_in_a_step(size):
    order = schedule(IDS[:size], steps=40, prompts=8, seed=1)
    for start in range(0, len(order), 8):
        assert len(set(order[start : start + 8])) == 8


def test_the_order_depends_on_the_seed_alone():
    assert schedule(IDS, 5, 4, 0) == schedule(IDS, 5, 4, 0)
    assert schedule(IDS, 5, 4, 0) != schedule(IDS, 5, 4, 1)
    # more steps continue the same order
    assert schedule(IDS, 9, 4, 0)[:20] == schedule(IDS, 5, 4, 0)


def test_the_reserve_leaves_out_what_the_step_has():
    drawn = list(reserve(IDS, IDS[:5], seed=0, step=3))
    assert sorted(drawn) == sorted(IDS[5:])
    assert drawn == list(reserve(IDS, IDS[:5], seed=0, step=3))
    assert drawn != list(reserve(IDS, IDS[:5], seed=0, step=4))
