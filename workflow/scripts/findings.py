"""Judge all findings and tell them: numbers, text, figures, one page."""

from pathlib import Path

from starlab.job import Job

with Job(snakemake) as job:
    from starlab.findings.build import build_findings

    results, claims, params = Path(snakemake.output.findings).parent, Path(snakemake.input.claims), snakemake.params
    told = {"scope": params.scope, "command": params.command, "scales": params.scales}
    build_findings(results, claims, results, params.cells, params.seeds, **told)
    job.say(f"findings: {snakemake.output.page}")
