"""Measure a checkpoint that runs are compared with: a base model, or an SFT model."""

from pathlib import Path

from starlab.job import Job

with Job(snakemake) as job:
    from starlab.evaluation import run as evaluation
    from starlab.hub import base_folder
    from starlab.measures import headline
    from starlab.training.checkpoints import weights

    name, seed = snakemake.wildcards.reference, int(snakemake.wildcards.seed)
    settings = snakemake.params.settings
    trained = settings["kind"] == "sft"
    model = Path(snakemake.input.model[0]).parent if trained else base_folder(settings["model"])
    inputs = {"model": weights(model)}
    with job.run(name, settings, inputs, {"scale": settings["scale"]}) as log:
        header = {
            "cell": name,
            "seed": seed,
            "scale": settings["scale"],
            "config_sha256": log.run.fingerprint,
        }
        how = evaluation.Settings(**snakemake.params.evaluation)
        result = evaluation.run(model, job.panels(), how, seed, log.folder.path, cool=trained, header=header)
        log.evaluation(result, 0)
    job.say(f"{log.run.title}: {headline(result)}")
