"""A world of one question in which a turn is right or wrong: tasks and states that are cheap and easily learned."""

from __future__ import annotations

from dataclasses import dataclass

from starlab import protocol
from starlab.pivot.candidates import Candidate, Turn, split
from starlab.pivot.verifiers import Verdict
from starlab.policy.encoding import encode_dialogues
from starlab.protocol import Message, ToolCall
from starlab.tasks import Grade, Status, Task


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
        names = ("delivered", "cs_micro", "cs_macro", "hard_micro", "hard_macro", "success")
        status = Status.UNDELIVERED if answer is None else Status.OK
        return Grade(status, dict.fromkeys(names, float(answer == "1")))


def dialogue(task: YesTask, answer: str) -> list[Message]:
    call = ToolCall("SearchCity", {"state": "x"})
    return [
        *task.prompt(),
        {"role": "assistant", "content": protocol.render_call(call)},
        {"role": "user", "content": protocol.render_response(task.call(call))},
        {"role": "assistant", "content": protocol.render_answer(answer)},
    ]


def turns(tokenizer, count: int = 6) -> list[Turn]:
    """Both turns of `count` dialogues."""
    tasks = [YesTask(str(i)) for i in range(count)]
    dialogues = [dialogue(task, "1") for task in tasks]
    found = []
    for task, messages, (ids, mask) in zip(tasks, dialogues, encode_dialogues(tokenizer, dialogues), strict=True):
        found += [Turn(candidate, task) for candidate in split(task.id, task.level, messages, ids, mask)]
    return found


def verify(task: Task, candidate: Candidate, text: str | None) -> Verdict:
    """Any call where the expert calls; the right answer where the expert answers."""
    turn = protocol.parse_turn(text or "")
    if candidate.action == "answer":
        return Verdict(float(turn.answer == "1"), "")
    return Verdict(float(turn.call is not None), "")
