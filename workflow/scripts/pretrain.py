"""Pretrain the base model of one scale."""

from pathlib import Path

from starlab.job import Job

with Job(snakemake) as job:
    from starlab.policy.bases import build

    build(snakemake.wildcards.scale, Path(snakemake.output.model[0]).parent, snakemake.threads)
