"""Profiles hold options that Snakemake has, for rules that the workflow has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from conftest import ROOT
from snakemake.cli import get_argument_parser

PLUGINS = {"default-storage-provider", "default-storage-prefix"}
RULES = {
    name for path in (ROOT / "rules").glob("*.smk") for name in re.findall(r"^rule (\w+):", path.read_text(), re.M)
}


@pytest.mark.parametrize("path", sorted((ROOT / "profiles").glob("*/config.yaml")), ids=lambda path: path.parent.name)
def test_a_profile_names_what_exists(path: Path) -> None:
    profile = yaml.safe_load(path.read_text())
    options = {word for action in get_argument_parser()._actions for word in action.option_strings}
    assert {f"--{key}" for key in set(profile) - PLUGINS} <= options
    for key in ("set-threads", "set-resources"):
        assert set(profile.get(key, {})) <= RULES


def test_every_rule_has_log_benchmark_threads_and_resources() -> None:
    for path in sorted((ROOT / "rules").glob("*.smk")):
        text = path.read_text()
        assert "lambda" not in text and "\ncheckpoint " not in text, path.name
        for rule in re.split(r"^rule ", text, flags=re.M)[1:]:
            name = rule.split(":")[0]
            for part in ("log:", "benchmark:", "threads:", "resources:", "message:", "conda:"):
                assert f"    {part}" in rule, f"{name} has no {part}"


def test_scripts_are_thin() -> None:
    for path in sorted((ROOT / "workflow/scripts").glob("*.py")):
        assert len(path.read_text().splitlines()) < 40, path.name
