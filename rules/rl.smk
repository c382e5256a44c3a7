# One run: one cell and one seed, trained and then measured in one job, so that forcing its target reruns the run.
# Checkpoints lie in the run's folder and are not declared: Snakemake deletes what a failing job declared, and a run
# that was killed goes on from its last checkpoint. SIGTERM, as clusters send it before they take a machine away, saves one
# first; the profiles for clusters have `retries`, so that such a job goes on elsewhere where machines share a file system
# (with an object store it starts again). Where only the evaluation has changed the job measures what was trained, and
# does not train again.


rule run:
    input:
        **PANELS,
        tracking=ancient(rules.tracking_init.output),
        start=cell_start,
        queries=cell_queries,
        validation=VALIDATION,
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
        "rl: {wildcards.cell} seed {wildcards.seed}"
    script:
        "../workflow/scripts/run.py"
