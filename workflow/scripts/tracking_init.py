"""Create the MLflow store."""

from starlab.job import Job

with Job(snakemake) as job:
    from starlab.store import initialise

    initialise(job.store)
