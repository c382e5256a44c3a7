"""What the official programs said, as recorded in the conformance data. It is no part of the product: where it is
absent, these tests are skipped. `STARLAB_CONFORMANCE` names the folder when it is not beside the project."""

import json
import os
from pathlib import Path

import pytest
from starlab.travel.database import Database

FOLDER = Path(os.environ.get("STARLAB_CONFORMANCE", Path(__file__).parents[3] / "shared" / "conformance"))


def pytest_collection_modifyitems(items):
    if not FOLDER.is_dir():
        here = Path(__file__).parent
        for item in items:
            if here in item.path.parents:
                item.add_marker(pytest.mark.skip(reason=f"no conformance data in {FOLDER}"))


def text_of(name):
    """The text of a file; skips the test if it is not there."""
    path = FOLDER / name
    if not path.is_file():
        pytest.skip(f"no {path}")
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def records():
    """`records(name)`: the rows of a file."""
    return lambda name: [json.loads(line) for line in text_of(name).splitlines()]


@pytest.fixture(scope="session")
def document():
    """`document(name)`: the JSON of a file."""
    return lambda name: json.loads(text_of(name))


@pytest.fixture(scope="session")
def official():
    """The official tables, with a slice of the flights."""
    return Database.load(FOLDER / "database")
