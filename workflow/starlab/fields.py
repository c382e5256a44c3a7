"""Kinds of values that the experiment file holds, and what a section of it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

Count = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]
Rate = Annotated[float, Field(gt=0.0)]
Mix = Literal["mixed", "easy", "medium", "hard"]
Percent = Annotated[int, Field(ge=0, le=100)]
EVERY = "every scale"


def _by_scale(value: Any) -> Any:
    return value if isinstance(value, dict) else {EVERY: value}


def _as_list(value: Any) -> Any:
    return value if value is None or isinstance(value, list | tuple) else (value,)


PerScale = Annotated[dict[str, Rate], BeforeValidator(_by_scale)]
"""One number for every scale, or one per scale: `{s: 3.0e-4, m: 2.0e-4}`."""

T = TypeVar("T")
OneOrMore = Annotated[tuple[T, ...], Field(min_length=1), BeforeValidator(_as_list)]
"""A value or a list of values."""


class Section(BaseModel):
    """A part of the file. Unknown keys are errors; the sentence under each field is its documentation."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


def per_scale(value: Mapping[str, float], scale: str) -> float:
    """The number that holds for `scale`."""
    return value[EVERY] if EVERY in value else value[scale]


def reference(section: type[Section], place: str = "") -> Iterator[tuple[str, str, str]]:
    """(path in the file, default as YAML would have it, meaning) of every setting below `section`."""
    for name, field in section.model_fields.items():
        path = f"{place}{name}"
        if isinstance(field.annotation, type) and issubclass(field.annotation, Section):
            yield path, "", " ".join((field.description or "").split())
            yield from reference(field.annotation, f"{path}.")
        else:
            default = None if field.is_required() else field.get_default(call_default_factory=True)
            yield path, _plain(default), " ".join((field.description or "").split())


def _plain(value: Any) -> str:
    if isinstance(value, Section):
        return _plain(value.model_dump(exclude_none=True))
    if isinstance(value, dict):
        if set(value) == {EVERY}:
            return _plain(value[EVERY])
        return "{" + ", ".join(f"{key}: {_plain(item)}" for key, item in value.items()) + "}"
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_plain, value)) + "]"
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)
