# The teacher acts through the tools, rejection sampling keeps what succeeded, and every scale is fine-tuned on it.


rule teacher:
    input:
        queries=f"{RESULTS}/data/queries/sft.jsonl",
        database=rules.databases.output.training,
    output:
        trajectories=f"{RESULTS}/sft/trajectories.jsonl",
        card=f"{RESULTS}/sft/trajectories.card.json",
    log:
        f"{RESULTS}/logs/teacher.log",
    benchmark:
        f"{RESULTS}/benchmarks/teacher.tsv"
    conda:
        "../envs/data.yaml"
    threads: 1
    resources:
        mem="1GB",
        runtime="30m",
    params:
        teacher=EXPERIMENT.sft.teacher.model_dump(),
    message:
        "sft: the teacher's trajectories"
    script:
        "../workflow/scripts/teacher.py"


rule sft:
    input:
        tracking=ancient(rules.tracking_init.output),
        base=base_model,
        trajectories=rules.teacher.output.trajectories,
    output:
        model=expand(f"{RESULTS}/sft/{{{{scale}}}}/seed{{{{seed}}}}/{{file}}", file=WEIGHTS),
        metrics=f"{RESULTS}/sft/{{scale}}/seed{{seed}}/metrics.jsonl",
        done=f"{RESULTS}/sft/{{scale}}/seed{{seed}}/done.json",
    log:
        f"{RESULTS}/logs/sft/{{scale}}/seed{{seed}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/sft/{{scale}}/seed{{seed}}.tsv"
    conda:
        "../envs/policy.yaml"
    threads: 1
    resources:
        mem="3GB",
        runtime="1h",
    params:
        settings=sft_settings,
    message:
        "sft: {wildcards.scale} seed {wildcards.seed}"
    script:
        "../workflow/scripts/sft.py"
