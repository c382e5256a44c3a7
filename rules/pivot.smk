# PivotRL: profile the turns of the demonstrations once for each scale and seed, train on those that carry signal. Cells
# that fine-tune on the demonstrations for longer are made here too.
from starlab.pivot import settings as demonstrations
from starlab.pivot.cells import ON_DEMONSTRATIONS

PROFILED = sorted({cell.scale for cell in CELLS if demonstrations.uses_profile(cell, cell.scale)})


def profile_settings(wildcards):
    """All that the samples of a profile depend on; what is made of them reruns nothing here."""
    return demonstrations.of_profile(EXPERIMENT)


def report_settings(wildcards):
    """The verifiers that cells of this scale use, and the cut."""
    return demonstrations.of_report(EXPERIMENT, CELLS, wildcards.scale)


def sft_model(wildcards):
    """The frozen policy that is profiled: where runs of this scale and seed start."""
    return sft_files(wildcards.scale, wildcards.seed)


def cell_profile(file):
    """That file of the profile that a cell filters by; none for cells that do not filter."""

    def path(wildcards):
        cell = cell_of(wildcards)
        used = demonstrations.uses_profile(cell, cell.scale)
        return f"{RESULTS}/pivot/{cell.scale}/seed{wildcards.seed}/{file}" if used else []

    return path


DEMONSTRATIONS = {
    "trajectories": rules.teacher.output.trajectories,
    "queries": f"{RESULTS}/data/queries/sft.jsonl",
    "training": rules.databases.output.training,
}


rule profile:
    input:
        **DEMONSTRATIONS,
        model=sft_model,
    output:
        samples=f"{RESULTS}/pivot/{{scale}}/seed{{seed}}/profile.jsonl",
        cost=f"{RESULTS}/pivot/{{scale}}/seed{{seed}}/cost.json",
    log:
        f"{RESULTS}/logs/pivot/{{scale}}/seed{{seed}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/pivot/{{scale}}/seed{{seed}}.tsv"
    conda:
        "../envs/policy.yaml"
    threads: 1
    resources:
        mem="3GB",
        runtime="1h",
    params:
        settings=profile_settings,
    message:
        "pivot: profile {wildcards.scale} seed {wildcards.seed}"
    script:
        "../workflow/scripts/pivot_profile.py"


rule profile_report:
    input:
        **DEMONSTRATIONS,
        tracking=ancient(rules.tracking_init.output),
        model=sft_model,
        samples=rules.profile.output.samples,
        cost=rules.profile.output.cost,
    output:
        card=f"{RESULTS}/pivot/{{scale}}/seed{{seed}}/card.json",
        table=f"{RESULTS}/pivot/{{scale}}/seed{{seed}}/profile.md",
        figure=report(
            f"{RESULTS}/pivot/{{scale}}/seed{{seed}}/profile.svg",
            caption="../workflow/report/profile.rst",
            category="Profiles",
        ),
    log:
        f"{RESULTS}/logs/profile_report/{{scale}}/seed{{seed}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/profile_report/{{scale}}/seed{{seed}}.tsv"
    conda:
        "../envs/policy.yaml"
    threads: 1
    resources:
        mem="2GB",
        runtime="10m",
    params:
        settings=report_settings,
    message:
        "pivot: which turns of {wildcards.scale} seed {wildcards.seed} carry signal"
    script:
        "../workflow/scripts/pivot_report.py"


rule pivot:
    input:
        **PANELS,
        trajectories=DEMONSTRATIONS["trajectories"],
        queries=DEMONSTRATIONS["queries"],
        validation=VALIDATION,
        tracking=ancient(rules.tracking_init.output),
        start=cell_start,
        samples=cell_profile("profile.jsonl"),
        cost=cell_profile("cost.json"),
    output:
        model=expand(f"{RESULTS}/cells/{{{{cell}}}}/seed{{{{seed}}}}/{{file}}", file=WEIGHTS),
        metrics=f"{RESULTS}/cells/{{cell}}/seed{{seed}}/metrics.jsonl",
        progress=f"{RESULTS}/cells/{{cell}}/seed{{seed}}/progress.jsonl",
        train=f"{RESULTS}/cells/{{cell}}/seed{{seed}}/train.json",
        rows=f"{RESULTS}/cells/{{cell}}/seed{{seed}}/queries.jsonl",
        evaluation=f"{RESULTS}/cells/{{cell}}/seed{{seed}}/evaluation.json",
    log:
        f"{RESULTS}/logs/cells/{{cell}}/seed{{seed}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/cells/{{cell}}/seed{{seed}}.tsv"
    wildcard_constraints:
        cell=rf"[^/]+-({'|'.join(sorted(ON_DEMONSTRATIONS))})-[^/]+",
    conda:
        "../envs/policy.yaml"
    threads: 1
    resources:
        mem="3GB",
        runtime="2h",
    params:
        settings=cell_settings,
        evaluation=EXPERIMENT.evaluation.model_dump(exclude={"cool_temperature"}),
    message:
        "pivot: {wildcards.cell} seed {wildcards.seed}"
    script:
        "../workflow/scripts/pivot.py"


ruleorder: pivot > run
