"""A small miniature world and query sets over it, made once."""

import pytest
from starlab.synthesis.balance import Synthesis, SynthesisSpec
from starlab.travel.miniature import MiniatureSpec, generate

SMALL = MiniatureSpec(states=6, cities_per_state=4, dates=10)


@pytest.fixture(scope="session")
def world():
    return generate(0, "training", SMALL)


@pytest.fixture(scope="session")
def other_world():
    return generate(1, "unseen", SMALL)


@pytest.fixture(scope="session")
def spec():
    return SynthesisSpec(sft=60, validation=20, test=30, unseen=30)


@pytest.fixture(scope="session")
def synthesis(world, other_world, spec):
    return Synthesis(world, other_world, spec)


@pytest.fixture(scope="session")
def long_trips(world, other_world):
    return Synthesis(world, other_world, SynthesisSpec(days=(3, 5, 7), sft=30, test=30))
