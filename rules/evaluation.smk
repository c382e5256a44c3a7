# The checkpoints that are evaluated, not trained: what a run starts from, measured in the same way.


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
