"""Train one cell that learns from demonstrations - on pivots, or by fine-tuning for longer -, then measure it."""

from pathlib import Path

from starlab.job import Job

with Job(snakemake) as job:
    from starlab import matrix
    from starlab.evaluation import run as evaluation
    from starlab.measures import headline
    from starlab.pivot import stage

    name, seed, settings = snakemake.wildcards.cell, int(snakemake.wildcards.seed), snakemake.params.settings
    files = stage.inputs(settings["algorithm"], snakemake.input)
    tags = matrix.find(matrix.expand(job.experiment), name).tags()

    with job.run(name, settings, files, tags) as log:
        how, folder = evaluation.Settings(**snakemake.params.evaluation), log.folder.path
        cost = Path(snakemake.input.cost) if "profile" in files else None
        done = stage.train(settings, seed, files, cost, how, log)
        header = {"cell": name, "seed": seed, "scale": settings["scale"], "config_sha256": log.run.fingerprint}
        result = evaluation.run(folder, job.panels(), how, seed, folder, header=header)
        log.evaluation(result, done["step"])
    job.say(f"{log.run.title}: {headline(result)}")
