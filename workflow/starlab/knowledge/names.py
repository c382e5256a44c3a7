"""The names and relations that synthetic knowledge is made of.

Every name is one word, belongs to one kind, and is meant to be one token; no name is a prefix of another and
none is a travel name. A relation always stands with a blank behind it, in a question ("founder of ") and in
an entry ("founder Magnus"), so that relation and blank (`RELATION_PIECES`) can be one token which stands
*right before* the value it names: looking a value up is then one copy step (match the relation, take the next
token).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

PERSONS: Final = (
    "Aldric", "Beatrix", "Casimir", "Delphine", "Edgardo", "Fenella", "Gaspard", "Hedwig", "Ignatius",
    "Jocasta", "Kasper", "Leocadia", "Magnus", "Nerissa", "Ottoline", "Percival", "Quirin", "Rosalind",
    "Sigrid", "Thaddeus", "Ursula", "Valentin", "Winifred", "Xanthe", "Yevgenia", "Zoltan", "Anselm",
    "Brunhilde", "Cosima", "Dagny", "Evander", "Florian", "Griselda", "Horatio", "Isolde", "Lysander",
)  # fmt: skip
COMPANIES: Final = (
    "Arvex", "Boltrix", "Cindral", "Dynforge", "Elphon", "Fluxara", "Gridmont", "Helixor", "Invantis",
    "Jadecor", "Kryptal", "Lumetra", "Monolux", "Nordwerk", "Octavion", "Pyrotek", "Quantiq", "Rotavox",
    "Solvane", "Tectonix", "Umbrion", "Vectara", "Wexcorp", "Xenolith", "Ytterbia", "Zephyron",
    "Amperion", "Brasstek",
)  # fmt: skip
PLACES: Final = (
    "Aldermoor", "Brackenau", "Corvenna", "Drosendal", "Eskelund", "Farrowick", "Grimsholt", "Havneby",
    "Istrovia", "Jarnefell", "Kolmaris", "Lindesvik", "Morwenna", "Nyborgia", "Ostravel", "Pelagia",
    "Querford", "Ravnik", "Skelligard", "Tarnholm", "Ulvania", "Veldenz", "Wintermark", "Xanadria",
    "Yrselund", "Zelenau", "Bregovia", "Calderis",
)  # fmt: skip
WORKS: Final = (
    "Antiphon", "Bestiary", "Cantata", "Doppelganger", "Elegiad", "Fugitives", "Gnomon", "Harbinger",
    "Illuminant", "Jeremiad", "Kaleidoscope", "Labyrinthine", "Menagerie", "Nocturne", "Odyssean",
    "Palimpsest", "Quicksilver", "Requiem", "Soliloquy", "Threnody", "Utopiad", "Vespers", "Whirligig",
    "Yesteryear", "Zodiac", "Apocrypha", "Burlesque", "Catechism",
)  # fmt: skip

POOLS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {"person": PERSONS, "company": COMPANIES, "place": PLACES, "work": WORKS}
)
KINDS: Final = tuple(POOLS)
NAMES: Final = PERSONS + COMPANIES + PLACES + WORKS
KIND_OF: Final[Mapping[str, str]] = MappingProxyType(
    {name: kind for kind, pool in POOLS.items() for name in pool}
)

SCHEMA: Final[Mapping[str, tuple[tuple[str, str], ...]]] = MappingProxyType({
    "person": (("birthplace", "place"), ("employer", "company"), ("teacher", "person"), ("rival", "person"),
               ("debut", "work")),
    "company": (("founder", "person"), ("director", "person"), ("seat", "place"), ("rival", "company"),
                ("debut", "work")),
    "place": (("mayor", "person"), ("founder", "person"), ("employer", "company"), ("rival", "place"),
              ("anthem", "work")),
    "work": (("author", "person"), ("director", "person"), ("publisher", "company"), ("setting", "place"),
             ("sequel", "work")),
})  # fmt: skip
"""Kind of the subject -> (relation, kind of the value). Words are shared between kinds on purpose: the same
relation leads to another kind of value in another entry."""
RELATIONS: Final = tuple(dict.fromkeys(relation for pairs in SCHEMA.values() for relation, _ in pairs))
RELATION_PIECES: Final = tuple(relation + " " for relation in RELATIONS)
