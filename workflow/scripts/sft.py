"""Fine-tune the base model of one scale on the teacher's trajectories."""

from pathlib import Path

from starlab.job import Job

with Job(snakemake) as job:
    from starlab.hub import base_folder
    from starlab.training.lora import LoraSpec
    from starlab.training.sft import SftSpec, train_sft

    scale, seed = snakemake.wildcards.scale, int(snakemake.wildcards.seed)
    settings = dict(snakemake.params.settings)
    with job.run(f"sft-{scale}", settings, {"scale": scale}) as log:
        model, lora = settings.pop("model"), settings.pop("lora")
        del settings["scale"]
        spec = SftSpec(seed=seed, lora=LoraSpec(**lora) if lora else None, **settings)
        trajectories, folder = Path(snakemake.input.trajectories), log.folder.path
        done = train_sft(spec, trajectories, base_folder(model), folder, log.step, log.folder.checkpoints)
    job.say(f"{log.run.title}: {done['step']} steps, loss {done['final_loss']:.3f}")
