"""A tiny random policy and a world of echoing tools, for tests of the engine."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
from starlab import protocol
from starlab.policy.ladder import Architecture, build_model
from starlab.policy.tokenizer import build_tokenizer
from starlab.protocol import Message, ToolCall
from starlab.tasks import Grade, Status


@dataclass(frozen=True)
class EchoTask:
    """Answers every call with a text that depends on it; observations differ in length."""

    id: str
    text: str = "Plan a trip."
    domain: str = "travel"
    level: str = "easy"

    def prompt(self) -> list[Message]:
        return protocol.prompt(self.domain, self.text)

    def call(self, call: ToolCall) -> str:
        return " ".join([call.name] + [str(value) for value in call.arguments.values()] * (1 + len(self.id) % 3))

    def grade(self, answer: str | None) -> Grade:
        return Grade(Status.OK if answer else Status.UNDELIVERED, {"success": float(answer == "yes")})


@pytest.fixture(scope="session")
def tokenizer():
    torch.set_num_threads(1)
    return build_tokenizer()


@pytest.fixture(scope="session")
def model(tokenizer):
    """Sharper than a fresh one, so that its choices depend on the context."""
    policy = build_model(
        Architecture(hidden=32, layers=2, heads=4, kv_heads=2, head_dim=16, intermediate=64), tokenizer, seed=1
    )
    with torch.no_grad():
        for parameter in policy.parameters():
            if parameter.dim() == 2:
                parameter.mul_(8)
    return policy.eval()


@pytest.fixture(scope="session")
def tasks():
    """`tasks(n)`: n tasks with prompts of different lengths."""
    return lambda count: [EchoTask(f"q{'a' * i}", text="Plan a trip" + " now" * i) for i in range(count)]
