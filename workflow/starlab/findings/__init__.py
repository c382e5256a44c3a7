"""From evaluated runs to verdicts.

- claims: what is claimed, preregistered in claims.yaml; paper: the paper's own numbers for the same cells
- collect: evaluation.json and queries.jsonl of every run, and which runs are missing
- statistics, power: intervals, tests and seed counts, as pure functions of arrays
- verdicts: contrasts and findings judged: supported, contradicted or undecided
- compute: what runs cost, and success against it
- figures, report, page: one figure per finding, findings.json, findings.md, overview.html
- build: the whole of it in one call
"""
