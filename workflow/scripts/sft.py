"""Fine-tune the base model of one scale on the teacher's trajectories."""

from pathlib import Path

from starlab.job import Job

with Job(snakemake) as job:
    from starlab.hub import base_folder
    from starlab.training.checkpoints import weights
    from starlab.training.lora import LoraSpec
    from starlab.training.sft import SftSpec, train_sft

    scale, seed = snakemake.wildcards.scale, int(snakemake.wildcards.seed)
    settings = dict(snakemake.params.settings)
    start = base_folder(settings["model"])
    trajectories = Path(snakemake.input.trajectories)
    inputs = {"start": weights(start), "trajectories": trajectories}
    with job.run(f"sft-{scale}", settings, inputs, {"scale": scale}) as log:
        lora = settings.pop("lora")
        del settings["scale"], settings["model"]
        spec = SftSpec(seed=seed, lora=LoraSpec(**lora) if lora else None, **settings)
        folder = log.folder
        done = train_sft(spec, trajectories, start, folder.path, log.step, folder.checkpoints)
    job.say(f"{log.run.title}: {done['step']} steps, loss {done['final_loss']:.3f}")
