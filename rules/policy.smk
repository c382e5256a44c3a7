# The ladder's base models. The repository ships them, as a downloaded LLM would come, and every job that starts from one
# checks it; `snakemake base_models` pretrains them again. That writes beside the shipped models and replaces them only
# when all are done, so that a failure loses nothing. No other target reaches these rules.
LADDER = [scale for scale, model in EXPERIMENT.policy.ladder.items() if model.folder]


rule pretrain:
    output:
        model=expand(f"{RESULTS}/base_models/{{{{scale}}}}/{{file}}", file=[*WEIGHTS, "card.json", "curve.jsonl"]),
    log:
        f"{RESULTS}/logs/base_models/{{scale}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/base_models/{{scale}}.tsv"
    conda:
        "../envs/policy.yaml"
    threads: 1
    resources:
        mem="3GB",
        runtime="6h",
    message:
        "policy: pretrain {wildcards.scale} (10-30 minutes)"
    script:
        "../workflow/scripts/pretrain.py"


rule base_models:
    input:
        expand(f"{RESULTS}/base_models/{{scale}}/card.json", scale=LADDER),
    output:
        touch(f"{RESULTS}/base_models/installed"),
    log:
        f"{RESULTS}/logs/base_models.log",
    benchmark:
        f"{RESULTS}/benchmarks/base_models.tsv"
    conda:
        "../envs/policy.yaml"
    threads: 1
    resources:
        mem="1GB",
        runtime="5m",
    params:
        folders={scale: EXPERIMENT.policy.ladder[scale].folder for scale in LADDER},
    message:
        "policy: put the new base models in the place of the shipped ones"
    script:
        "../workflow/scripts/base_models.py"
