"""Commands on the travel sandbox: what a tool says, how a dialogue goes, what can be solved."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import StarlabError
from .files import json_lines

if TYPE_CHECKING:
    from .dialogue import Transcript
    from .travel.database import Database


def add_commands(add: Any) -> None:
    """`add(name, function, help)` gives the parser of a new command."""
    asked = _over_database(add("tool", tool, "what an agent sees when it calls a tool"))
    asked.add_argument("name", help="for example SearchFlight")
    asked.add_argument("--rendering", default="compact", help="compact (miniature world) or official (Agent-STAR)")
    asked.add_argument("--args", default="{}", metavar="JSON", help='for example \'{"city": "Boise"}\'')
    played = _over_database(add("replay", replay, "how the official dialogue loop goes for scripted replies"))
    played.add_argument("--scripts", type=Path, required=True, help="replies and limits (JSON lines)")
    played.add_argument("--out", type=Path, required=True, help="messages, plan and termination (JSON lines)")
    proof = _over_database(add("prove", prove, "which queries have a plan, which have none, and which lack flights"))
    proof.add_argument("--queries", type=Path, required=True, help="queries (JSON lines)")
    proof.add_argument("--prefix", default="", help="only queries whose id begins so, for example train_")
    proof.add_argument("--out", type=Path, help="write verdicts and witness plans here (JSON lines)")


def _over_database(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    parser.add_argument("--database", type=Path, required=True, help="folder of the travel database")
    return parser


def tool(options: argparse.Namespace) -> None:
    """Print a tool's result, to the letter: no line end is added for a program that reads it."""
    from .travel.database import Database
    from .travel.renderings import tool as rendered

    call = rendered(options.rendering)
    try:
        arguments = json.loads(options.args)
    except (ValueError, RecursionError) as error:
        raise StarlabError(f"--args: not JSON ({error}): {options.args[:80]!r}") from None
    text = call(Database.load(options.database), options.name, arguments)
    sys.stdout.write(text + "\n" if sys.stdout.isatty() and not text.endswith("\n") else text)


def replay(options: argparse.Namespace) -> None:
    """Play scripted dialogues; tokens are words, as in the conformance data."""
    from .travel.database import Database

    rows = [row for _, row in json_lines(options.scripts)]
    database = Database.load(options.database)
    results = []
    for number, row in enumerate(rows, 1):
        try:
            talk = _played(row, database)
        except (KeyError, TypeError) as error:
            raise StarlabError(f"{options.scripts}:{number}: bad or missing field {error}") from None
        except StopIteration:
            raise StarlabError(f"{options.scripts}:{number}: model_replies: the dialogue goes on after them") from None
        results.append(
            {
                "case_id": row.get("case_id"),
                "plan": talk.plan,
                "termination": talk.termination,
                "messages": talk.messages,
                "model_calls": talk.replies,
            }
        )
    _write(options.out, results)
    print(f"{options.out}: {len(results)} dialogues")


def _played(row: dict[str, Any], database: Database) -> Transcript:
    from .dialogue import Bounds, converse
    from .travel import official

    opening = [{"role": "system", "content": row["system_prompt"]}, {"role": "user", "content": row["user"]}]
    replies = iter(row["model_replies"])
    bounds = Bounds(turns=row["max_turns"], tokens=row["max_context"])
    return converse(
        opening,
        lambda messages: next(replies),
        partial(official.call, database),
        lambda text: len(text.split()),
        bounds,
    )


def prove(options: argparse.Namespace) -> None:
    """Print the proof for every query, and how many there are of which kind."""
    from .synthesis.proof import prove as proved
    from .synthesis.proof import summary
    from .travel.database import Database
    from .travel.plan_files import read_queries

    queries = [query for query in read_queries(options.queries) if query.id.startswith(options.prefix)]
    database = Database.load(options.database)
    proofs = []
    for query in queries:
        proofs.append(proved(query, database))
        print(proofs[-1].line(), flush=True)
    print(summary(proofs))
    if options.out:
        _write(options.out, [proof.to_dict() for proof in proofs])


def _write(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StarlabError(f"{path}: cannot be written ({error.strerror})") from None
