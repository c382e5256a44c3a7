# One job creates the MLflow store before anything logs: processes that open a fresh SQLite store at once crash.


rule tracking_init:
    output:
        touch(f"{RESULTS}/tracking.ready"),
    log:
        f"{RESULTS}/logs/tracking_init.log",
    benchmark:
        f"{RESULTS}/benchmarks/tracking_init.tsv"
    conda:
        "../envs/policy.yaml"
    threads: 1
    resources:
        mem="1GB",
        runtime="5m",
    message:
        "tracking: create the MLflow store"
    script:
        "../workflow/scripts/tracking_init.py"
