"""Make one query set: a panel or a training set."""

from pathlib import Path

from starlab.job import Job

with Job(snakemake) as job:
    from starlab.synthesis.balance import Synthesis, SynthesisSpec
    from starlab.synthesis.card import write_set
    from starlab.travel.database import Database

    spec = SynthesisSpec(**snakemake.params.spec)
    world = Database.load(Path(snakemake.input.database))
    made = Synthesis(world, world, spec).make(snakemake.wildcards.set)  # a set needs one of the two databases only
    card = write_set(made, spec, Path(snakemake.output.queries), Path(snakemake.output.card))
    job.say(f"queries {made.name}: {card['queries']} of them, {card['by_level']}")
