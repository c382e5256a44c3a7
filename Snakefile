# starlab: from nothing to the findings. Each stage is one file of rules; `snakemake --cores all` runs them all.
# The experiment is config.yaml, or a preset laid over it: snakemake --cores all --configfile presets/smoke.yaml
from snakemake.utils import min_version

min_version("9.0")


configfile: "config.yaml"


include: "rules/common.smk"
include: "rules/tracking.smk"
include: "rules/data.smk"
include: "rules/policy.smk"
include: "rules/sft.smk"
include: "rules/rl.smk"
include: "rules/pivot.smk"
include: "rules/evaluation.smk"
include: "rules/findings.smk"


report: "workflow/report/workflow.rst"


# Why jobs failed, said once more at the very end, below all that Snakemake prints about them.
FAILURES = Path(RESULTS, "logs", "failures.txt")


onstart:
    FAILURES.unlink(missing_ok=True)


onerror:
    if FAILURES.exists():
        print("", *FAILURES.read_text().splitlines(), sep="\nstarlab: ", file=sys.stderr)


localrules:
    all,


rule all:
    default_target: True
    input:
        rules.findings.output,
    message:
        f"done: {RESULTS}/overview.html"
