"""`starlab`: look at the matrix, at what would run, at runs and at plans. Running things is Snakemake's
business."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import matrix, sandbox
from .config import Experiment
from .errors import StarlabError
from .experiment import load, snakemake_command
from .matrix import Cell
from .runs import cell_folder

if TYPE_CHECKING:
    from .findings.build import Findings

CONFIG = Path("config.yaml")


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; the exit status is 0, or 1 with one message when something is wrong."""
    options = parser().parse_args(arguments)
    try:
        options.command(options)
    except StarlabError as error:
        print(f"starlab: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # Whoever read our output has seen enough, as in `starlab cells | head`.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(prog="starlab", description=__doc__)
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    shared = argparse.ArgumentParser(add_help=False)
    preset = "preset laid over config.yaml (repeatable)"
    shared.add_argument("--configfile", type=Path, action="append", default=[], help=preset)

    def add(name: str, command: Any, text: str, parent: Any = commands) -> argparse.ArgumentParser:
        sub = parent.add_parser(name, help=text, description=text, parents=[shared])
        sub.set_defaults(command=command)
        return sub  # type: ignore[no-any-return]

    table = add("cells", cells, "the matrix and what is done")
    table.add_argument("--json", action="store_true", help="for machines")
    add("config", config, "every setting: its default and what it means")
    two = add("diff", diff, "what differs between two cells")
    two.add_argument("first")
    two.add_argument("second")
    what = add("plan", plan, "what would run, and for how long")
    what.add_argument("targets", nargs="*", help="files or rules (default: everything)")
    what.add_argument("--cores", type=int, default=os.cpu_count() or 1)
    add("ui", ui, "the runs in MLflow's web page").add_argument("--port", type=int, default=5000)
    store = commands.add_parser("tracking", help="the MLflow store")
    of_store = store.add_subparsers(required=True, metavar="COMMAND")
    add("rebuild", rebuild, "make the MLflow store again from the run folders", of_store)
    add("algorithms", algorithms, "every field of every algorithm (docs/algorithms.md)")
    why = add("explain", explain, "day by day, why a plan passes or fails")
    why.add_argument("plan", type=Path, help="file with the plan, as the policy wrote it or as a line of a plan file")
    why.add_argument("--query", type=Path, required=True, help="one query (JSON) or a query set (JSON lines)")
    why.add_argument("--id", help="which query of the set")
    verdicts = add("check", check, "what a rule book says of every plan of a file")
    verdicts.add_argument("--queries", type=Path, required=True, help="queries, JSON lines")
    verdicts.add_argument("--plans", type=Path, required=True, help="plans, JSON lines: plan_id, query_id, plan")
    verdicts.add_argument("--out", type=Path, required=True, help="verdicts, JSON lines")
    for judging in (why, verdicts):
        judging.add_argument("--database", type=Path, required=True, help="folder of the travel database")
        judging.add_argument("--rules", default="strict", help="travelplanner, agentstar, agentstar-relaxed or strict")
    add("power", power, "how many seeds would decide what is undecided")
    page = add("summary", summary, "the results on one page with its figures, as in docs/README.md")
    page.add_argument("--out", type=Path, required=True, help="folder to write README.md and figures into")
    sandbox.add_commands(add)
    return top


def experiment_of(options: argparse.Namespace) -> Experiment:
    """The experiment that the command line names."""
    if not CONFIG.exists():
        raise StarlabError(f"there is no {CONFIG} here; run starlab in the folder of the project")
    return load(CONFIG, *options.configfile)


def cells(options: argparse.Namespace) -> None:
    """Print the matrix."""
    experiment = experiment_of(options)
    records = [record(cell, experiment) for cell in matrix.expand(experiment)]
    if options.json:
        print(json.dumps(records, indent=1))
        return
    width = max(len(item["cell"]) for item in records)
    print(f"{'cell':<{width}}  {'state':<8} {'seeds':<6} axes")
    for item in records:
        seeds = f"{len(item['seeds_done'])}/{len(item['seeds'])}"
        print(f"{item['cell']:<{width}}  {item['state']:<8} {seeds:<6} {', '.join(item['axes'])}")
    states = [item["state"] for item in records]
    counts = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
    print(f"{len(records)} cells x {len(experiment.seeds)} seeds: {counts}")


def config(options: argparse.Namespace) -> None:
    """Print the reference of the experiment file."""
    from .fields import reference

    for path, default, meaning in reference(Experiment):
        indent = "  " * path.count(".")
        print(f"{indent}{path.rpartition('.')[2]}:{' ' if default else ''}{default}")
        print(f"{indent}    # {meaning}")


def algorithms(options: argparse.Namespace) -> None:
    """Print what tells the algorithms apart."""
    from .training.algorithms.table import document

    print(document(), end="")


def record(cell: Cell, experiment: Experiment) -> dict[str, Any]:
    """A cell and how far it is: done (all seeds), running or missing."""
    folders = {seed: cell_folder(Path(experiment.results), cell.name, seed) for seed in experiment.seeds}
    done = [seed for seed, folder in folders.items() if folder.measured]
    if len(done) == len(folders):
        state = "done"
    else:
        state = "running" if any(folder.running() for folder in folders.values()) else "missing"
    return {**matrix.as_record(cell), "state": state, "seeds": list(experiment.seeds), "seeds_done": done}


def diff(options: argparse.Namespace) -> None:
    """Print the settings in which two cells differ."""
    experiment = experiment_of(options)
    table = matrix.expand(experiment)
    first, second = matrix.find(table, options.first), matrix.find(table, options.second)
    for name, (one, other) in matrix.diff(experiment, first, second).items():
        print(f"{name}: {one} -> {other}")
    factors = matrix.differing_factors(first, second)
    print(f"factors that differ: {', '.join(factors) or 'none'}")


def plan(options: argparse.Namespace) -> None:
    """Print what Snakemake would do and what it would cost."""
    from . import costs

    results = Path(experiment_of(options).results)
    jobs = costs.pending(options.configfile, results, options.targets)
    print(costs.table(jobs, costs.measured(results), options.cores))


def ui(options: argparse.Namespace) -> None:
    """Become MLflow's web server, for this machine only."""
    store = _store(experiment_of(options))
    if store.local and not store.database.exists():
        raise StarlabError(f"{store.database} is not there yet; it is made by the first run")
    print(f"http://127.0.0.1:{options.port} shows {store.address}; end with Ctrl-C", flush=True)
    words = ["ui", "--backend-store-uri", store.address, "--host", "127.0.0.1", "--workers", "1"]
    words += ["--port", str(options.port)]
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    os.execv(sys.executable, [sys.executable, "-m", "mlflow", *words])


def rebuild(options: argparse.Namespace) -> None:
    """Make the MLflow store again."""
    from .store import rebuild as rebuilt

    store = _store(experiment_of(options))
    print(f"{store.database}: {rebuilt(store)} runs")


def _store(experiment: Experiment) -> Any:
    from .store import Store

    return Store(Path(experiment.results), **experiment.tracking.model_dump())


def explain(options: argparse.Namespace) -> None:
    """Print day by day what holds and what fails in a plan, with the evidence."""
    from .travel.database import Database
    from .travel.explain import explain as explained
    from .travel.plan_files import read_answer, read_query
    from .travel.rules import rule_book

    rules, answer = rule_book(options.rules), read_answer(options.plan)
    query = read_query(options.query, options.id)
    text = explained(query, answer, Database.load(options.database), rules)
    print(text.encode("utf-8", "backslashreplace").decode("utf-8"))  # a plan may hold half of a surrogate pair


def check(options: argparse.Namespace) -> None:
    """Write what a rule book says of every plan of a file, and print the aggregates."""
    from .travel.audit import audit, summary
    from .travel.database import Database
    from .travel.plan_files import read_plans
    from .travel.rules import rule_book

    rules = rule_book(options.rules)
    submissions = list(read_plans(options.plans, options.queries))
    database = Database.load(options.database)
    audits = [audit(submission, database, rules) for submission in submissions]
    try:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        with options.out.open("w", encoding="utf-8") as handle:
            handle.writelines(json.dumps(one.to_dict()) + "\n" for one in audits)
    except OSError as error:
        raise StarlabError(f"{options.out}: cannot write the verdicts ({error.strerror})") from error
    print(f"Rules: {rules.name}\n{summary(audits)}")


def judged(experiment: Experiment, presets: Sequence[Path]) -> Findings:
    """The findings of the experiment's results so far."""
    from .findings.build import compute

    cells = [cell.name for cell in matrix.expand(experiment)]
    results, settings = Path(experiment.results), experiment.findings
    told = {"scope": settings.scope, "command": snakemake_command(presets)}
    return compute(results, Path(settings.claims), cells, experiment.seeds, scales=settings.scales, **told)


def power(options: argparse.Namespace) -> None:
    """Print the verdicts, and for each undecided contrast the number of seeds that would decide it."""
    from .findings.tables import plain, power_table

    findings = judged(experiment_of(options), options.configfile)
    for result in findings.found:
        print(f"{result.finding.id} {result.finding.title}: {result.verdict}")
    head, rows = power_table(findings)
    print("\n" + plain((head, rows)) if rows else "no contrast waits for more seeds")


def summary(options: argparse.Namespace) -> None:
    """Write the results on one page."""
    from .findings.summary import write_summary

    experiment = experiment_of(options)
    bases = {scale: Path(rung.folder) for scale, rung in experiment.policy.ladder.items() if rung.folder}
    words = ["starlab summary", *(f"--configfile {path}" for path in options.configfile), f"--out {options.out}"]
    print(write_summary(judged(experiment, options.configfile), bases, options.out, " ".join(words)))
