"""Trips and journeys with a good teacher's demonstrations."""

from __future__ import annotations

import pytest
from demonstrations import Demonstrations, demonstrate
from starlab.policy.tokenizer import build_tokenizer


@pytest.fixture(scope="session")
def tokenizer():
    return build_tokenizer()


@pytest.fixture(scope="session")
def trips(tmp_path_factory, tokenizer) -> Demonstrations:
    """Three days, one city."""
    return demonstrate(tmp_path_factory.mktemp("trips"), tokenizer, 3, 24)


@pytest.fixture(scope="session")
def journeys(tmp_path_factory, tokenizer) -> Demonstrations:
    """Five days, two cities of a state."""
    return demonstrate(tmp_path_factory.mktemp("journeys"), tokenizer, 5, 10)
