"""Plans judged check by check, as the official evaluators are tabulated: every check alone, then the gated flow.

`scores.py` is what rewards and evaluations are made of; this is for comparing evaluators on files of plans.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..tasks import Status
from . import wording
from .checks import Failure, Outcome, Verdict
from .constraints import COMMONSENSE, HARD
from .cost import cost
from .database import Database
from .describe import describe
from .evidence import gather
from .parsing import from_json
from .plan import Plan
from .plan_files import Submission, as_typed
from .query import Query
from .rules import RuleBook, TextReading

LONGEST = 500
"""Characters of a reason that are written: fields of a plan may be huge."""


@dataclass(frozen=True, slots=True)
class Audit:
    """What a rule book says of one plan, every check called alone."""

    plan_id: str
    query: Query
    status: Status
    reason: str | None
    """Why there is no plan; None when there is one."""
    commonsense: tuple[Verdict, ...]
    hard: tuple[Verdict, ...]
    total_cost: float | None
    """Dollars for the party; None where something has no known price."""
    rules: RuleBook

    @property
    def delivered(self) -> bool:
        """Whether there is a plan to judge; to the official code, anything that is not empty is one."""
        return self.status is Status.OK or (self.rules.text is not None and self.status is Status.UNPARSEABLE)

    @property
    def gated(self) -> tuple[Verdict, ...] | None:
        """The hard verdicts that count; None when a gate is closed or nothing was delivered."""
        opened = all(verdict.holds for verdict in self.commonsense if verdict.check in self.rules.gates)
        return self.hard if self.delivered and opened else None

    @property
    def commonsense_pass(self) -> bool:
        return self.delivered and all(verdict.holds for verdict in self.commonsense)

    @property
    def hard_pass(self) -> bool:
        """Whether every hard check that was asked for holds, once the gates are open."""
        passed = (Outcome.HOLDS, Outcome.NOT_APPLICABLE)
        return self.gated is not None and all(verdict.outcome in passed for verdict in self.gated)

    @property
    def final_pass(self) -> bool:
        return self.commonsense_pass and self.hard_pass

    def to_dict(self) -> dict[str, Any]:
        """One line of the output of `starlab check`."""
        gated = self.gated
        return {
            "plan_id": self.plan_id,
            "query_id": self.query.id,
            "rules": self.rules.name,
            "status": self.status.value,
            "checks": {"commonsense": _table(self.commonsense), "hard": _table(self.hard)},
            "total_cost": self.total_cost,
            "official": {
                "delivered": self.delivered,
                "commonsense": _table(self.commonsense) if self.delivered else None,
                "hard": None if gated is None else _table(gated),
                "commonsense_pass": self.commonsense_pass,
                "hard_pass": None if gated is None else self.hard_pass,
                "final_pass": self.final_pass,
            },
            "reason": self.reason,
            "reasons": {
                verdict.check: [_as_dict(failure) for failure in verdict.failures]
                for verdict in (*self.commonsense, *self.hard)
                if verdict.failures
            },
        }


def audit(submission: Submission, database: Database, rules: RuleBook) -> Audit:
    """Judge a plan, whatever JSON it is. Never raises."""
    query, value = submission.query, submission.plan
    plan, reason = _typed(value) if rules.text is None else _worded(value, rules.text)
    if not value:
        status, reason = Status.UNDELIVERED, "there is no plan"
    else:
        status = Status.OK if reason is None else Status.UNPARSEABLE
    case = gather(query, plan, database, rules)
    return Audit(
        plan_id=submission.plan_id,
        query=query,
        status=status,
        reason=reason,
        commonsense=tuple(check.judge(case) for check in COMMONSENSE),
        hard=tuple(check.judge(case) for check in HARD),
        total_cost=cost(case).total,
        rules=rules,
    )


def _typed(value: object) -> tuple[Plan, str | None]:
    plan = from_json(as_typed(value))
    return (plan, None) if isinstance(plan, Plan) else (Plan((), plan.reason), plan.reason)


def _worded(value: object, rules: TextReading) -> tuple[Plan, str | None]:
    """The official code goes on where the value is no list of days, so far as it can."""
    objects = isinstance(value, list) and all(isinstance(day, dict) for day in value)
    return wording.read(value, rules), None if objects else "a plan is a list of days, each an object with its fields"


def aggregate(audits: Iterable[Audit]) -> dict[str, tuple[float, int]]:
    """Rate -> (what counts for it, out of how many): delivery, commonsense and hard micro and macro, final pass.

    As in the official scripts: the hard checks of a plan count only once its gates are open, but every constraint
    that a query asks for counts in the denominator, and so does every plan, delivered or not.
    """
    rows = list(audits)
    plans = len(rows)
    asked = sum(verdict.outcome is not Outcome.NOT_APPLICABLE for row in rows for verdict in row.hard)
    commonsense = sum(verdict.holds for row in rows if row.delivered for verdict in row.commonsense)
    return {
        "delivery": (sum(row.delivered for row in rows), plans),
        "commonsense micro": (commonsense, len(COMMONSENSE) * plans),
        "commonsense macro": (sum(row.commonsense_pass for row in rows), plans),
        "hard micro": (sum(verdict.holds for row in rows for verdict in row.gated or ()), asked),
        "hard macro": (sum(row.hard_pass for row in rows), plans),
        "final pass": (sum(row.final_pass for row in rows), plans),
    }


def summary(audits: Sequence[Audit]) -> str:
    """How many plans there are of each status, and the rates, for a person to read."""
    statuses = ", ".join(f"{sum(one.status is status for one in audits)} {status}" for status in Status)
    lines = [f"{len(audits)} plans: {statuses}"]
    lines += [
        f"{name:<18} {count:>7g} / {total:<7} {100 * count / total if total else 0:6.2f} %"
        for name, (count, total) in aggregate(audits).items()
    ]
    return "\n".join(lines)


def _table(verdicts: Iterable[Verdict]) -> dict[str, bool | None]:
    known = {Outcome.HOLDS: True, Outcome.FAILS: False}
    return {verdict.check: known.get(verdict.outcome) for verdict in verdicts}


def _as_dict(failure: Failure) -> dict[str, Any]:
    rows = [f"{type(row).__name__}: {describe(row)}" for row in failure.rows]
    reason = failure.reason if len(failure.reason) <= LONGEST else f"{failure.reason[:LONGEST]}..."
    return {"day": failure.day, "reason": reason, "rows": rows}
