"""Create the MLflow store."""

from starlab.job import Job

with Job(snakemake) as job:
    from starlab.tracking import initialise

    initialise(job.store)
