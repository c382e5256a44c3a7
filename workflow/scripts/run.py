"""Train one cell with one seed, then measure it."""

from pathlib import Path

from starlab.job import Job

with Job(snakemake) as job:
    from starlab import matrix
    from starlab.evaluation import run as evaluation
    from starlab.evaluation.panels import travel_panel
    from starlab.evaluation.probe import probe
    from starlab.measures import headline
    from starlab.training.lora import LoraSpec
    from starlab.training.rl import RlSpec, train_rl
    from starlab.travel.query import load_queries
    from starlab.travel.task import TravelTask

    name, seed = snakemake.wildcards.cell, int(snakemake.wildcards.seed)
    settings, files = dict(snakemake.params.settings), snakemake.input
    paths = (files.start[0], files.queries, files.training, files.validation)
    inputs = dict(zip(("start", "queries", "world", "validation"), map(Path, paths), strict=True))
    tags = matrix.find(matrix.expand(job.experiment), name).tags()

    with job.run(name, settings, inputs, tags) as log:
        scale, lora = settings.pop("scale"), settings.pop("lora")
        del settings["queries"]  # the name of the file
        spec = RlSpec(seed=seed, lora=LoraSpec(**lora) if lora else None, **settings)
        how, folder = evaluation.Settings(**snakemake.params.evaluation), log.folder.path
        validation = travel_panel("validation", inputs["validation"], inputs["world"])
        tasks = [TravelTask(query, validation.tasks[0].database) for query in load_queries(inputs["queries"])]
        start, measure = inputs["start"].parent, probe(validation, how, seed)
        train_rl(spec, tasks, start, folder, log.step, log.folder.checkpoints, log.alarm, measure=measure)
        header = {"cell": name, "seed": seed, "scale": scale, "config_sha256": log.run.fingerprint}
        result = evaluation.run(folder, job.panels(), how, seed, folder, header=header)
        log.evaluation(result, spec.steps)
    job.say(f"{log.run.title}: {headline(result)}")
