# The checkpoints that are evaluated, not trained: what a run starts from, measured in the same way.


def reference_model(wildcards):
    """The weights behind a reference: the shipped base, or the SFT model of this seed."""
    kind, scale = wildcards.reference.split("-", 1)
    if kind == "sft":
        return expand(f"{RESULTS}/sft/{scale}/seed{wildcards.seed}/{{file}}", file=WEIGHTS)
    return base_files(scale)


def reference_settings(wildcards):
    """Scale, and the hub model if there is one."""
    kind, scale = wildcards.reference.split("-", 1)
    return {
        "kind": kind,
        "scale": scale,
        "model": EXPERIMENT.policy.ladder[scale].model_dump(exclude={"lora"}),
    }


rule reference:
    input:
        **PANELS,
        tracking=ancient(rules.tracking_init.output),
        model=reference_model,
    output:
        rows=f"{RESULTS}/references/{{reference}}/seed{{seed}}/queries.jsonl",
        evaluation=f"{RESULTS}/references/{{reference}}/seed{{seed}}/evaluation.json",
    log:
        f"{RESULTS}/logs/references/{{reference}}/seed{{seed}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/references/{{reference}}/seed{{seed}}.tsv"
    conda:
        "../envs/policy.yaml"
    threads: 1
    resources:
        mem="3GB",
        runtime="30m",
    params:
        settings=reference_settings,
        evaluation=EXPERIMENT.evaluation.model_dump(),
    message:
        "evaluation: {wildcards.reference} seed {wildcards.seed}"
    script:
        "../workflow/scripts/reference.py"
