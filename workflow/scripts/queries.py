"""Make one query set: a panel or a training set."""

from pathlib import Path

from starlab.job import Job

with Job(snakemake) as job:
    from starlab.synthesis.balance import Synthesis, SynthesisSpec
    from starlab.synthesis.card import write_set
    from starlab.travel.database import Database

    spec = SynthesisSpec(**snakemake.params.spec)
    databases = (Database.load(Path(folder)) for folder in (snakemake.input.training, snakemake.input.unseen))
    made = Synthesis(*databases, spec).make(snakemake.wildcards.set)
    card = write_set(made, spec, Path(snakemake.output.queries), Path(snakemake.output.card))
    job.say(f"queries {made.name}: {card['queries']} of them, {card['by_level']}")
