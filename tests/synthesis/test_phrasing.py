"""Query texts: everything a query holds is in its text, in literals and words that the tokenizer knows."""

import re
from dataclasses import replace

import pytest
from starlab.seeds import generator
from starlab.synthesis.phrasing import PHRASES, PHRASINGS, fill, phrase
from starlab.travel import names, rendering


@pytest.fixture(scope="module")
def queries(synthesis, long_trips):
    sets = (synthesis.make("mixed100"), long_trips.make("mixed30"))
    return [row.query for made in sets for row in made.queries]


def test_a_text_names_all_elements_of_its_query(queries):
    for query in queries:
        for phrasing in PHRASINGS:
            text = fill(query, phrasing)
            for element in (query.org, query.dest, query.date[0], query.date[-1], f"${query.budget}"):
                assert element in text
            assert f"{query.people_number} pe" in text
            assert f"{query.days}-day" in text
            if query.visiting_city_number > 1:
                assert f"{query.visiting_city_number} cities" in text


def test_constraints_are_worded_as_the_rendering_words_requests(queries):
    for query in queries:
        asked = query.local_constraint
        wanted = [f"{cuisine} food, " for cuisine in asked.cuisine or ()]
        wanted += [rendering.RULE_REQUESTS[asked.house_rule]] if asked.house_rule else []
        wanted += [rendering.ROOM_REQUESTS[asked.room_type]] if asked.room_type else []
        wanted += [rendering.TRANSPORTATION_REQUESTS[asked.transportation]] if asked.transportation else []
        assert all(word in query.text for word in wanted)
        assert rendering.constraint_words(asked) == "" or rendering.constraint_words(asked) in query.text


def test_a_text_is_made_of_known_pieces_only(queries):
    words = {*PHRASES, *names.CITIES, *names.STATES, *names.DATES}
    words |= {*rendering.RULE_REQUESTS.values(), *rendering.ROOM_REQUESTS.values()}
    words |= set(rendering.TRANSPORTATION_REQUESTS.values())
    words |= {rendering.cuisine_requests([cuisine]) for cuisine in names.CUISINES}
    known = re.compile("|".join(re.escape(word) for word in sorted(words, key=len, reverse=True)))
    for query in queries:
        if query.budget < 10_000:
            assert known.sub("", query.text) == ""
            assert len(known.findall(query.text)) <= 26


def test_different_queries_never_share_a_text(queries):
    """In any phrasing, changing one element changes the text."""
    query = next(query for query in queries if query.level == "hard" and query.days == 3)
    changes = [
        {"org": "Elsewhere"},
        {"dest": "Elsewhere"},
        {"budget": query.budget + 100},
        {"people_number": query.people_number % 8 + 1},
        {"date": ("2022-03-18", "2022-03-19", "2022-03-20")},
        {"local_constraint": replace(query.local_constraint, transportation=None)},
    ]
    for phrasing in PHRASINGS:
        texts = {fill(replace(query, **change), phrasing) for change in [{}, *changes]}
        assert len(texts) == len(changes) + 1


def test_every_phrasing_is_used_and_the_draw_repeats(queries):
    query = queries[0]
    texts = [phrase(query, generator("phrasing", number)).text for number in range(40)]
    assert set(texts) == {fill(query, phrasing) for phrasing in PHRASINGS}
    assert texts == [phrase(query, generator("phrasing", number)).text for number in range(40)]
