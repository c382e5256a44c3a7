"""Judge all findings and tell them: numbers, text, figures, one page."""

from pathlib import Path

from starlab.job import Job

with Job(snakemake) as job:
    from starlab.findings.build import build_findings

    results, params = Path(snakemake.output.findings).parent, snakemake.params
    presets = " ".join(["--configfile", *params.presets]) if params.presets else ""
    build_findings(
        results,
        Path(snakemake.input.claims),
        results,
        params.cells,
        params.seeds,
        planned_cells=params.planned,
        scope=params.scope,
        command=f"snakemake --cores all {presets}".strip(),
    )
    job.say(f"seven findings: {snakemake.output.page}")
