"""From files to an experiment: read, merge as Snakemake does, validate, and report mistakes where they stand.

Everything is checked before any job starts. A mistake is reported with file and line, its path in the file,
what was expected and the nearest valid name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from .complaints import complaint, describe
from .config import Experiment
from .consistency import problems
from .errors import StarlabError


def merge(base: dict[str, Any], update: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with `update` on top: mappings key by key, everything else (lists too) replaced."""
    for key, value in update.items():
        if isinstance(value, Mapping):
            old = base.get(key)
            base[key] = merge(old if isinstance(old, dict) else {}, value)
        else:
            base[key] = value
    return base


def read(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file; StarlabError if there is none or it is not YAML."""
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise StarlabError(f"{path}: no such configuration file") from None
    except yaml.YAMLError as error:
        raise StarlabError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from None
    if not isinstance(content, dict):
        raise StarlabError(f"{path}: expected `key: value` lines at the top level")
    return content


def validate(content: Mapping[str, Any], files: Sequence[Path] = ()) -> Experiment:
    """The experiment in `content`; `files` (in merging order) only serve to say where a mistake stands."""
    try:
        experiment = Experiment.model_validate(content)
    except ValidationError as error:
        raise StarlabError(describe(error, Experiment, files)) from None
    found = [complaint(path, message, files) for path, message in problems(experiment)]
    if found:
        raise StarlabError("\n".join(found))
    return experiment


def snakemake_command(presets: Sequence[str | Path]) -> str:
    """The command that runs the experiment of config.yaml under these presets."""
    return " ".join(["snakemake --cores all", *(["--configfile"] if presets else []), *map(str, presets)])


def load(*files: Path) -> Experiment:
    """The experiment that the merged `files` describe."""
    content: dict[str, Any] = {}
    for path in files:
        merge(content, read(path))
    return validate(content, files)
