"""Report on a profile: which turns carry signal, by each verifier that a cell uses."""

import json
from pathlib import Path

from starlab.job import Job

with Job(snakemake) as job:
    from starlab.measures import profile_measures
    from starlab.pivot import report, verifiers
    from starlab.pivot.profiling import load
    from starlab.pivot.stage import travel_turns
    from starlab.training.checkpoints import load_model

    files, settings, seed = snakemake.input, dict(snakemake.params.settings), int(snakemake.wildcards.seed)
    scale = snakemake.wildcards.scale
    inputs = {"samples": Path(files.samples)}
    with job.run(f"profile-{scale}", settings, inputs, {"scale": scale}) as log:
        _, tokenizer = load_model(Path(files.model[0]).parent)
        demonstrations = [Path(path) for path in (files.trajectories, files.queries, files.training)]
        turns = travel_turns(*demonstrations, tokenizer, settings["candidates"], seed)
        judges = {name: verifiers.find(*named) for name, named in settings["verifiers"].items()}
        found = report.build(load(inputs["samples"]), turns, judges, settings["mean_below"])
        found |= json.loads(Path(files.cost).read_text(encoding="utf-8"))
        title = f"Profile of the SFT policy {scale}, seed {seed}"
        report.draw(found, title, Path(snakemake.output.figure))
        Path(snakemake.output.table).write_text(report.as_markdown(found, title), encoding="utf-8")
        Path(snakemake.output.card).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        log.step(0, profile_measures(found))
    shares = ", ".join(f"{name} {row['zero_signal']:.0%}" for name, row in found["verifiers"].items())
    job.say(f"{log.run.title}: turns without signal: {shares}")
