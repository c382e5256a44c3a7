"""Judge all findings and tell them: numbers, text, figures, one page."""

from pathlib import Path

from starlab.job import Job

with Job(snakemake) as job:
    from starlab.findings.build import build_findings

    results, params = Path(snakemake.output.findings).parent, snakemake.params
    preset = Path("presets", results.name).with_suffix(".yaml")  # a preset's results lie in a folder of its name
    build_findings(
        results,
        Path(snakemake.input.claims),
        results,
        params.cells,
        params.seeds,
        scope=params.scope,
        command="snakemake --cores all" + (f" --configfile {preset}" if preset.exists() else ""),
    )
    job.say(f"findings: {snakemake.output.page}")
