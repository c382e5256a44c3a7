"""What scoring a plan costs, beside the look-ups of an official-style evaluator over the same tables.

    python benchmarks/scoring.py [--count 60] [--json FILE]
    python benchmarks/scoring.py --database DIR --queries FILE --plans FILE [--json FILE]

Without a database: plans of solved queries over a miniature world. With one: the plans of a file, as `starlab check`
takes them. `score` is the reward's path, from the text of an answer to all numbers; `audit` is `starlab check`, every
check alone. The scan is what the official code spends its time on and nothing else: for every venue and ride of a plan,
and again for each of the checks that look it up, a mask over the whole table with pandas. Verdicts are left out of it,
so it flatters the official code. Times are processor time, the best of some rounds.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from starlab.travel.database import Database
    from starlab.travel.plan_files import Submission

LIMITS_MS = {"miniature": 0.3, "given": 2.0}
"""What scoring one plan may cost."""


def miniature(count: int) -> tuple[Database, list[Submission]]:
    """A miniature world, and solved queries of the paper's mix of levels."""
    from starlab.synthesis.balance import Synthesis, SynthesisSpec
    from starlab.travel.miniature import generate
    from starlab.travel.plan import to_json
    from starlab.travel.plan_files import Submission

    world = generate(0, "benchmark")
    made = Synthesis(world, world, SynthesisSpec(seed=0)).make(f"mixed{count}")
    return world, [Submission(one.query.id, one.query, to_json(one.witness)) for one in made.queries]


class Scan:
    """The tables as data frames, looked through from end to end for every name."""

    def __init__(self, database: Database) -> None:
        import pandas as pd

        def frame(rows: Iterable[Any]) -> pd.DataFrame:
            return pd.DataFrame([asdict(row) for row in rows])

        self.flights = frame(database.flights)
        self.hotels = frame(database.hotels)
        self.restaurants = frame(database.restaurants)
        self.attractions = frame(database.attractions)
        self.legs = frame(database.legs)

    def plan(self, submission: Submission) -> None:
        """Look up what the plan names, once for each official check that does."""
        from starlab.travel.rules import TRAVELPLANNER
        from starlab.travel.wording import read

        assert TRAVELPLANNER.text is not None
        local = submission.query.local_constraint
        meals = 2 + (local.cuisine is not None)
        nights = 2 + (local.house_rule is not None) + (local.room_type is not None)
        bed = None
        for day in read(submission.plan, TRAVELPLANNER.text).days:
            for _, venue in day.meals():
                self._venue(self.restaurants, venue, meals)
            for venue in day.attractions:
                self._venue(self.attractions, venue, 1)
            if day.accommodation is not None:
                self._venue(self.hotels, day.accommodation, nights + (day.accommodation != bed))
                bed = day.accommodation
            if day.ride is not None:
                self._ride(day.ride, 2)

    @staticmethod
    def _venue(frame: Any, venue: Any, times: int) -> None:
        for _ in range(times):
            frame[frame["name"].str.contains(re.escape(venue.name)) & (frame["city"] == venue.city)]

    def _ride(self, ride: Any, times: int) -> None:
        for _ in range(times):
            if ride.number is not None:
                self.flights[self.flights["number"] == ride.number]
            else:
                self.legs[(self.legs["origin"] == ride.origin) & (self.legs["destination"] == ride.destination)]


def milliseconds(work: Callable[[Submission], object], submissions: Sequence[Submission], rounds: int) -> float:
    """Processor time a plan, best of `rounds`."""
    best = float("inf")
    for _ in range(rounds):
        started = time.process_time()
        for submission in submissions:
            work(submission)
        best = min(best, time.process_time() - started)
    return 1000 * best / len(submissions)


def measure(database: Database, submissions: Sequence[Submission], rounds: int) -> dict[str, float]:
    """Milliseconds a plan, by what is done with it."""
    from starlab.travel.audit import audit
    from starlab.travel.plan_files import as_typed
    from starlab.travel.rules import RULE_BOOKS
    from starlab.travel.scores import score

    answers = {id(one): json.dumps(as_typed(one.plan), ensure_ascii=False) for one in submissions}
    scan = Scan(database)

    def answer(one: Submission) -> object:
        return score(one.query, answers[id(one)], database)

    result = {"score, strict": milliseconds(answer, submissions, rounds)}
    for name, rules in RULE_BOOKS.items():
        by_rules = partial(audit, database=database, rules=rules)
        result[f"audit, {name}"] = milliseconds(by_rules, submissions, rounds)
    few = submissions[:: max(1, len(submissions) // 20)]
    scan.plan(few[0])  # the first use of a frame pays for its set-up
    result["scan, official style"] = milliseconds(scan.plan, few, 1)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", type=Path)
    parser.add_argument("--queries", type=Path)
    parser.add_argument("--plans", type=Path)
    parser.add_argument("--count", type=int, default=60, help="plans in the miniature world")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.database is None:
        kind, (database, submissions) = "miniature", miniature(options.count)
    elif options.queries is None or options.plans is None:
        parser.error("--database goes with --queries and --plans")
    else:
        from starlab.travel.database import Database
        from starlab.travel.plan_files import read_plans

        kind, database = "given", Database.load(options.database)
        submissions = [one for one in read_plans(options.plans, options.queries) if one.plan]
    result = measure(database, submissions, options.rounds)
    print(f"{len(submissions)} plans, {database.name}: {len(database.restaurants)} restaurants, "
          f"{len(database.hotels)} hotels, {len(database.flights)} flights")  # fmt: skip
    for name, cost in result.items():
        print(f"{name:28} {cost:9.3f} ms a plan {1000 / cost:12,.0f} plans a second")
    speedup = result["scan, official style"] / result["audit, travelplanner"]
    print(f"an audit by the same rules is {speedup:,.0f} times as fast as the look-ups of the scan")
    limit, cost = LIMITS_MS[kind], result["score, strict"]
    print(f"scoring takes {cost:.3f} ms, {'within' if cost <= limit else 'OVER'} the {limit:g} ms that it may take")
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
