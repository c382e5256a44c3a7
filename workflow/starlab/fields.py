"""Kinds of values that the experiment file holds, and what a section of it is."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.fields import FieldInfo

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


def unwrap(annotation: Any) -> Any:
    """The member of an annotation that has structure: a section, a mapping or a tuple."""
    if get_origin(annotation) is Annotated:
        return unwrap(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        members = [unwrap(member) for member in get_args(annotation)]
        return next((member for member in members if has_parts(member)), members[0])
    return annotation


def has_parts(annotation: Any) -> bool:
    """Whether something lies deeper than this annotation."""
    return get_origin(annotation) is not None or (isinstance(annotation, type) and issubclass(annotation, BaseModel))


def reference(section: type[Section], place: str = "") -> Iterator[tuple[str, str, str]]:
    """(path in the file, default as YAML would have it, meaning) of every setting below `section`."""
    for name, field in section.model_fields.items():
        path = f"{place}{name}"
        meaning = " ".join((field.description or "").split())
        inner, label = _inside(field.annotation)
        if inner is field.annotation:
            yield path, "", meaning
        else:
            yield path, _default(field), meaning
        if inner is not None:
            yield from reference(inner, f"{path}.{label}")


def _inside(annotation: Any) -> tuple[type[Section] | None, str]:
    """The section that a field holds, by itself or several times, and what stands for the name or number of one."""
    place = unwrap(annotation)
    kind = get_origin(place)
    if kind is dict:
        return _inside(get_args(place)[1])[0], "NAME."
    if kind is tuple:
        return _inside(get_args(place)[0])[0], "N."
    return (place, "") if isinstance(place, type) and issubclass(place, Section) else (None, "")


def _default(field: FieldInfo) -> str:
    """As YAML would have it."""
    return "(required)" if field.is_required() else _plain(field.get_default(call_default_factory=True))


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
