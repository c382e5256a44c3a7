"""Judge all findings and tell them: numbers, text, figures, one page."""

from pathlib import Path

from starlab.job import Job

with Job(snakemake) as job:
    from starlab.experiment import snakemake_command
    from starlab.findings.build import build_findings

    results, claims, params = Path(snakemake.output.findings).parent, Path(snakemake.input.claims), snakemake.params
    # A preset's results lie in a folder of its name; as a param the command would rerun this rule for any overlay.
    preset = Path("presets", f"{results.name}.yaml")
    command = snakemake_command([preset] if preset.exists() else [])
    told = {"scope": params.scope, "command": command, "scales": params.scales}
    build_findings(results, claims, results, params.cells, params.seeds, **told)
    job.say(f"findings: {snakemake.output.page}")
