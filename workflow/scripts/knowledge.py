"""Draw the knowledge base and the question panels of all families."""

from pathlib import Path

from starlab.job import Job

with Job(snakemake) as job:
    from starlab.knowledge import panels

    panels.write(Path(snakemake.output.base).parent, snakemake.params.seed, snakemake.params.questions)
