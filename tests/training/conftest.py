"""A policy that has learned the protocol in a world of one question, trained in seconds."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
import torch
from starlab import protocol
from starlab.policy.ladder import Architecture, build_model
from starlab.policy.tokenizer import build_tokenizer
from starlab.protocol import Message, ToolCall
from starlab.tasks import Grade, Status
from starlab.training import checkpoints
from starlab.training.sft import SftSpec, train_sft


@dataclass(frozen=True)
class YesTask:
    """One look-up, then an answer; "1" is right."""

    id: str
    domain: str = "travel"
    level: str = "easy"

    def prompt(self) -> list[Message]:
        return protocol.prompt(self.domain, self.id)

    def call(self, call: ToolCall) -> str:
        return self.id

    def grade(self, answer: str | None) -> Grade:
        if answer is None:
            return Grade(Status.UNDELIVERED, self.metrics(0.0))
        return Grade(Status.OK, self.metrics(float(answer == "1")))

    @staticmethod
    def metrics(value: float) -> dict[str, float]:
        names = ("delivered", "cs_micro", "cs_macro", "hard_micro", "hard_macro", "success")
        return dict.fromkeys(names, value)


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
    call = ToolCall("SearchCity", {"state": "x"})
    rows = []
    for i in range(48):
        task = tasks[i % len(tasks)]
        messages = [
            *task.prompt(),
            {"role": "assistant", "content": protocol.render_call(call)},
            {"role": "user", "content": protocol.render_response(task.call(call))},
            {"role": "assistant", "content": protocol.render_answer(str(i // len(tasks) % 2))},
        ]
        rows.append(json.dumps({"messages": messages}))
    path.write_text("\n".join(rows) + "\n")
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
