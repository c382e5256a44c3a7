# Databases, the knowledge base, and the query sets: frozen files, each with a card that holds its hash.


rule databases:
    output:
        training=directory(f"{RESULTS}/data/training"),
        unseen=directory(f"{RESULTS}/data/unseen"),
    log:
        f"{RESULTS}/logs/databases.log",
    benchmark:
        f"{RESULTS}/benchmarks/databases.tsv"
    conda:
        "../envs/data.yaml"
    threads: 1
    resources:
        mem="1GB",
        runtime="10m",
    params:
        world=EXPERIMENT.world.model_dump(),
    message:
        "data: two travel databases"
    script:
        "../workflow/scripts/databases.py"


rule knowledge:
    output:
        base=f"{RESULTS}/data/knowledge.json",
        questions=expand(f"{RESULTS}/data/questions/{{family}}.jsonl", family=FAMILIES),
        cards=expand(f"{RESULTS}/data/questions/{{family}}.card.json", family=FAMILIES),
    log:
        f"{RESULTS}/logs/knowledge.log",
    benchmark:
        f"{RESULTS}/benchmarks/knowledge.tsv"
    conda:
        "../envs/data.yaml"
    threads: 1
    resources:
        mem="1GB",
        runtime="10m",
    params:
        seed=EXPERIMENT.world.seed,
        questions=EXPERIMENT.data.panels.questions,
    message:
        "data: the knowledge base and {params.questions} questions in each family"
    script:
        "../workflow/scripts/knowledge.py"


rule queries:
    input:
        database=query_database,
    output:
        queries=f"{RESULTS}/data/queries/{{set}}.jsonl",
        card=f"{RESULTS}/data/queries/{{set}}.card.json",
    log:
        f"{RESULTS}/logs/queries/{{set}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/queries/{{set}}.tsv"
    conda:
        "../envs/data.yaml"
    threads: 1
    resources:
        mem="1GB",
        runtime="30m",
    params:
        spec=synthesis_spec,
    message:
        "data: queries {wildcards.set}"
    script:
        "../workflow/scripts/queries.py"


# What every policy is measured on.
PANELS = {
    "training": rules.databases.output.training,
    "unseen_world": rules.databases.output.unseen,
    "knowledge": rules.knowledge.output.base,
    "questions": rules.knowledge.output.questions,
    "test": f"{RESULTS}/data/queries/test.jsonl",
    "unseen": f"{RESULTS}/data/queries/unseen.jsonl",
}
# What learning curves are measured on.
VALIDATION = f"{RESULTS}/data/queries/validation.jsonl"
