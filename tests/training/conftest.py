"""A policy that has learned the protocol in a world of one question, trained in seconds."""

from __future__ import annotations

import json

import pytest
import torch
from starlab.policy.ladder import Architecture, build_model
from starlab.policy.tokenizer import build_tokenizer
from starlab.training import checkpoints
from starlab.training.sft import SftSpec, train_sft
from yes import YesTask, dialogue


@pytest.fixture(scope="session")
def tasks():
    return [YesTask(str(i)) for i in range(6)]


@pytest.fixture(scope="session")
def base(tmp_path_factory):
    """Folder of a fresh model."""
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("base")
    tokenizer = build_tokenizer()
    model = build_model(
        Architecture(hidden=32, layers=2, heads=4, kv_heads=2, head_dim=16, intermediate=64), tokenizer, seed=0
    )
    checkpoints.save_model(model, tokenizer, folder)
    return folder


@pytest.fixture(scope="session")
def trajectories(tmp_path_factory, tasks):
    """A teacher that answers 1 as often as 0, file of dialogues."""
    path = tmp_path_factory.mktemp("teacher") / "trajectories.jsonl"
    said = [dialogue(tasks[i % len(tasks)], str(i // len(tasks) % 2)) for i in range(48)]
    path.write_text("".join(json.dumps({"messages": messages}) + "\n" for messages in said))
    return path


@pytest.fixture(scope="session")
def sft_spec():
    return SftSpec(seed=0, replay=0.0, epochs=25.0, lr=1e-2, batch=16, save_every=20)


@pytest.fixture(scope="session")
def start(base, trajectories, sft_spec, tmp_path_factory):
    """Folder of an SFT model that follows the protocol and guesses the answer."""
    folder = tmp_path_factory.mktemp("sft")
    train_sft(sft_spec, trajectories, base, folder)
    return folder
