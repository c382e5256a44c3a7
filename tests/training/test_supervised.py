"""The fine-tuning loss is the stock trainer's, however it is computed."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from starlab.policy import lean
from starlab.training.sft import LoraSpec, train_sft

EXACT = ("loss", "token_accuracy", "grad_norm")


def rows(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def test_loss_accuracy_and_gradient_are_those_of_the_stock_trainer(
    start, trajectories, sft_spec, tmp_path, monkeypatch
):
    # examples of several lengths and both system prompts, from a model that is neither lost nor sure
    spec = replace(sft_spec, epochs=1.0, replay=0.8, lr=1e-4)
    train_sft(spec, trajectories, start, tmp_path / "lean")
    monkeypatch.setattr(lean, "supports", lambda model: False)
    train_sft(spec, trajectories, start, tmp_path / "stock")
    ours, stock = rows(tmp_path / "lean"), rows(tmp_path / "stock")
    assert len(ours) == len(stock) == 15
    for one, other in zip(ours, stock, strict=True):
        assert one["total_tokens"] == other["total_tokens"]
        assert [one[name] for name in EXACT] == pytest.approx([other[name] for name in EXACT], rel=1e-3, abs=1e-5)
    assert 0.0 < ours[0]["token_accuracy"] < 1.0


def test_adapters_are_fine_tuned_by_the_stock_trainer(start, trajectories, sft_spec, tmp_path):
    spec = replace(sft_spec, epochs=1.0, lora=LoraSpec(rank=4))
    train_sft(spec, trajectories, start, tmp_path)
    assert len(rows(tmp_path)) == 3
