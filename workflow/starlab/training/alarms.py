"""Alarms: signs in a run's record that it is going wrong. They tag the run and never stop it.

Each alarm is a function of the lines of `metrics.jsonl` up to a step and says whether it is raised there; it compares
means over `WINDOW` steps, so that the noise of one step raises nothing. To add one, write a function and name it in
`ALARMS`; the first line of its docstring is what the user reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

Row = Mapping[str, float]
Alarm = Callable[[Sequence[Row]], bool]

WINDOW = 10
"""Steps in a mean."""
ENTROPY_LEFT = 0.1
"""Share of the first window's entropy below which it counts as gone."""
ZERO_SPREAD = 0.9
"""Share of groups."""
FORMAT_ERRORS, FORMAT_FACTOR = 0.25, 2.0
"""Share of episodes, and how many times the share in the window before. Runs that end well reach .26 for ten steps
without doubling (docs/tuning.md)."""
SUCCESS_LOST = 0.05
"""Share of episodes: two standard errors of a difference between means over ten steps of 64 episodes."""


def entropy_floor(rows: Sequence[Row]) -> bool:
    """The policy hardly varies any more: its entropy is below a tenth of what it was in the first steps."""
    return len(rows) >= 2 * WINDOW and _last(rows, "entropy") < ENTROPY_LEFT * _mean(rows[:WINDOW], "entropy")


def zero_spread(rows: Sequence[Row]) -> bool:
    """Over 90 % of the groups have rewards that are all alike: there is hardly anything left to learn from."""
    return len(rows) >= WINDOW and _last(rows, "zero_spread") > ZERO_SPREAD


def format_errors(rows: Sequence[Row]) -> bool:
    """Violations of the protocol are rising: more than a quarter of the episodes, and twice as many as before."""
    if len(rows) < 2 * WINDOW:
        return False
    now = _last(rows, "format_errors")
    return now > FORMAT_ERRORS and now > FORMAT_FACTOR * _before(rows, "format_errors")


def reward_without_success(rows: Sequence[Row]) -> bool:
    """The reward rises while success falls (by over 0.05): the policy finds reward that is not in the task."""
    if len(rows) < 2 * WINDOW or "success" not in rows[-1]:  # single turns have no success of their own
        return False
    lost = _before(rows, "success") - _last(rows, "success")
    return lost > SUCCESS_LOST and _last(rows, "reward") > _before(rows, "reward")


ALARMS: Mapping[str, Alarm] = {
    "entropy_floor": entropy_floor,
    "zero_spread": zero_spread,
    "format_errors": format_errors,
    "reward_without_success": reward_without_success,
}


def meaning(name: str) -> str:
    """What an alarm says to the user."""
    return (ALARMS[name].__doc__ or "").splitlines()[0]


def raised(rows: Sequence[Row]) -> dict[str, int]:
    """The alarms of a record, each with the first step at which it was raised."""
    found: dict[str, int] = {}
    for end in range(1, len(rows) + 1):
        for name, alarm in ALARMS.items():
            if name not in found and alarm(rows[:end]):
                found[name] = int(rows[end - 1]["step"])
    return found


def _mean(rows: Sequence[Row], name: str) -> float:
    return fmean(row[name] for row in rows)


def _last(rows: Sequence[Row], name: str) -> float:
    return _mean(rows[-WINDOW:], name)


def _before(rows: Sequence[Row], name: str) -> float:
    """Mean over the window before the last."""
    return _mean(rows[-2 * WINDOW : -WINDOW], name)
