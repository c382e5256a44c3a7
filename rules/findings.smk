# All runs together: contrasts, intervals, verdicts, figures, and the page that tells them.


rule findings:
    input:
        cells=expand(f"{RESULTS}/cells/{{cell}}/seed{{seed}}/evaluation.json", cell=TRAINED, seed=EXPERIMENT.seeds),
        references=expand(
            f"{RESULTS}/references/{{reference}}/seed{{seed}}/evaluation.json",
            reference=REFERENCES,
            seed=EXPERIMENT.seeds,
        ),
        profiles=expand(f"{RESULTS}/pivot/{{scale}}/seed{{seed}}/card.json", scale=PROFILED, seed=EXPERIMENT.seeds),
        claims=EXPERIMENT.findings.claims,
    output:
        findings=f"{RESULTS}/findings.json",
        text=report(f"{RESULTS}/findings.md", caption="../workflow/report/findings.rst", category="Findings"),
        page=report(f"{RESULTS}/overview.html", caption="../workflow/report/overview.rst", category="Findings"),
        figures=report(
            directory(f"{RESULTS}/figures"),
            patterns=["{finding}.svg"],
            caption="../workflow/report/figure.rst",
            category="Figures",
        ),
    log:
        f"{RESULTS}/logs/findings.log",
    benchmark:
        f"{RESULTS}/benchmarks/findings.tsv"
    conda:
        "../envs/findings.yaml"
    threads: 1
    resources:
        mem="2GB",
        runtime="30m",
    params:
        cells=TRAINED,
        seeds=list(EXPERIMENT.seeds),
        scope=EXPERIMENT.findings.scope,
        scales=EXPERIMENT.findings.scales,
    message:
        "findings: contrasts, verdicts, figures"
    script:
        "../workflow/scripts/findings.py"
