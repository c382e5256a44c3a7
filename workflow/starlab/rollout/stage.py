"""The environment's side of an episode: what follows a token, whoever sampled it."""

from __future__ import annotations

from typing import Any

from .. import protocol
from ..protocol import FormatError, TurnKind
from ..tasks import Task
from ..travel.faults import Faults
from .episode import CallRecord, Episode, Limits, StopReason
from .paths import Path, Rider


def prompt_ids(tokenizer: Any, task: Task) -> list[int]:
    """The prompt as the chat template renders it, up to where the first turn starts."""
    text = protocol.render_chat(task.prompt(), add_generation_prompt=True)
    return tokenizer.encode(text, add_special_tokens=False)  # type: ignore[no-any-return]


class Stage:
    """Takes the tokens of paths, runs their tools and keeps the episodes that have ended.

    `results` has a place for each of `count` episodes.
    """

    def __init__(self, tokenizer: Any, limits: Limits, faults: Faults | None, count: int) -> None:
        self.tokenizer, self.limits, self.faults = tokenizer, limits, faults
        self.end_id: int = tokenizer.convert_tokens_to_ids(protocol.IM_END)
        self.results: list[Episode | None] = [None] * count
        self._texts: dict[str, list[int]] = {}
        self._turns: dict[tuple[int, ...], protocol.Turn] = {}

    @property
    def episodes(self) -> list[Episode]:
        """Those that have ended, in their order."""
        return [episode for episode in self.results if episode is not None]

    def finish(
        self, path: Path, stop: StopReason, answer: str | None = None, error: FormatError | None = None
    ) -> list[Path]:
        """Deliver the episodes of a path; nothing of it goes on."""
        for order, episode in path.episodes(stop, answer, error):
            self.results[order] = episode
        path.tree.running -= len(path.riders)
        return []

    def advance(self, path: Path, token: int) -> list[Path]:
        """What follows a sampled token: more of the turn, observations, or the end. Returns what goes on."""
        if token != self.end_id:
            turn_tokens = len(path.completion_ids) - path.turn_start
            if turn_tokens >= self.limits.turn_tokens or path.size >= self.limits.total_tokens:
                return self.finish(path, StopReason.TOKEN_LIMIT, error=FormatError.TRUNCATED)
            path.pending = [token]
            return [path]
        path.turns += 1
        turn = self._parse(tuple(path.completion_ids[path.turn_start : -1]))
        if turn.kind is TurnKind.ANSWER:
            return self.finish(path, StopReason.ANSWERED, answer=turn.answer)
        if turn.kind is TurnKind.MALFORMED or turn.call is None:
            return self.finish(path, StopReason.MALFORMED, error=turn.error)
        if len(path.calls) >= self.limits.calls:
            return self.finish(path, StopReason.TURN_LIMIT)
        path.pending = [token]
        return [branch for branch in self._call(path, turn.call) if self._observe(branch)]

    def _parse(self, ids: tuple[int, ...]) -> protocol.Turn:
        if ids not in self._turns:
            text = self.tokenizer.decode(list(ids), skip_special_tokens=False)
            self._turns[ids] = protocol.parse_turn(text)
        return self._turns[ids]

    def _call(self, path: Path, call: protocol.ToolCall) -> list[Path]:
        """Run a tool, or for some episodes the fault that replaces it: paths that end with what it returned."""
        parts: dict[str | None, list[Rider]] = {}
        for rider in path.riders:
            failure = None
            if self.faults is not None:
                number = len(path.calls)
                failure = self.faults.text(call.name, path.task.id, rider.index, number, lambda: path.task.call(call))
            parts.setdefault(failure, []).append(rider)
        branches = path.split(list(parts.values()))
        for branch, failure in zip(branches, parts, strict=True):
            response = branch.task.call(call) if failure is None else failure
            branch.calls.append(CallRecord(call.name, call.arguments, response, failed=failure is not None))
        return branches

    def _observe(self, path: Path) -> bool:
        """Append what the last call returned; False if there is no room for it."""
        response = path.calls[-1].response
        if response not in self._texts:
            self._texts[response] = self.tokenizer.encode(
                protocol.render_observation(response), add_special_tokens=False
            )
        observation = self._texts[response]
        if path.size + len(observation) >= self.limits.total_tokens:
            self.finish(path, StopReason.TOKEN_LIMIT)
            return False
        path.observed(observation)
        path.turn_start = len(path.completion_ids)
        path.pending = [*path.pending, *observation]
        return True
