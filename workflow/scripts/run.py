"""Train one cell with one seed, then measure it."""

from pathlib import Path

from starlab.job import Job

with Job(snakemake) as job:
    from starlab import matrix
    from starlab.evaluation import run as evaluation
    from starlab.measures import headline
    from starlab.training.lora import LoraSpec
    from starlab.training.rl import RlSpec, train_rl
    from starlab.travel.database import Database
    from starlab.travel.query import load_queries
    from starlab.travel.task import TravelTask

    name, seed = snakemake.wildcards.cell, int(snakemake.wildcards.seed)
    settings = dict(snakemake.params.settings)
    cell = matrix.find(matrix.expand(job.experiment), name)
    tags = {**{factor: str(value) for factor, value in cell.factors().items()}, "axes": ",".join(cell.axes)}

    with job.run(name, settings, tags) as log:
        lora = settings.pop("lora")
        scale, queries = settings.pop("scale"), settings.pop("queries")
        spec = RlSpec(seed=seed, lora=LoraSpec(**lora) if lora else None, **settings)
        world = Database.load(Path(snakemake.input.training))
        tasks = [TravelTask(query, world) for query in load_queries(Path(snakemake.input.queries))]
        folder, start = log.folder.path, Path(snakemake.input.start[0]).parent
        train_rl(spec, tasks, start, folder, log.step, log.folder.checkpoints)
        header = {"cell": name, "seed": seed, "scale": scale, "config_sha256": log.run.fingerprint}
        how = evaluation.Settings(**snakemake.params.evaluation)
        result = evaluation.run(folder, job.panels(), how, seed, folder, header=header)
        log.evaluation(result, spec.steps)
    job.say(f"{log.run.title}: {headline(result)}")
