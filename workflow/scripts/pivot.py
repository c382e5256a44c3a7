"""Train one cell that learns from demonstrations - on pivots, or by fine-tuning for longer -, then measure it."""

import json
from pathlib import Path

from starlab.job import Job

with Job(snakemake) as job:
    from starlab import matrix
    from starlab.evaluation import run as evaluation
    from starlab.evaluation.panels import travel_panel
    from starlab.evaluation.probe import probe
    from starlab.measures import headline
    from starlab.pivot.cells import SFTLONG
    from starlab.pivot.profiling import load
    from starlab.pivot.stage import travel_turns
    from starlab.pivot.training import PivotSpec, train_pivot
    from starlab.training.checkpoints import load_model
    from starlab.training.lora import LoraSpec
    from starlab.training.sft import SftSpec, continue_sft

    name, seed = snakemake.wildcards.cell, int(snakemake.wildcards.seed)
    settings, files = dict(snakemake.params.settings), snakemake.input
    start = Path(files.start[0])
    used = {"trajectories": files.trajectories}
    if settings["algorithm"] != SFTLONG:
        used |= {"queries": files.queries, "world": files.training, "validation": files.validation}
    if files.get("samples"):
        used |= {"profile": files.samples}
    inputs = {"start": start, **{key: Path(path) for key, path in used.items()}}
    cell = matrix.find(matrix.expand(job.experiment), name)
    tags = {**{factor: str(value) for factor, value in cell.factors().items()}, "axes": ",".join(cell.axes)}

    with job.run(name, settings, inputs, tags) as log:
        scale, algorithm, lora = (settings.pop(key) for key in ("scale", "algorithm", "lora"))
        adapters = LoraSpec(**lora) if lora else None
        how, folder = evaluation.Settings(**snakemake.params.evaluation), log.folder
        if algorithm == SFTLONG:
            spec = SftSpec(seed=seed, lora=adapters, **settings)
            done = continue_sft(spec, inputs["trajectories"], start.parent, folder.path, log.step, folder.checkpoints)
        else:
            own = settings.pop("settings")
            spec = PivotSpec.of(
                algorithm, seed=seed, mean_below=own.get("mean_below", 1.0), beta=own["beta"], lora=adapters, **settings
            )
            _, tokenizer = load_model(start.parent)
            demonstrations = [inputs[key] for key in ("trajectories", "queries", "world")]
            turns = travel_turns(*demonstrations, tokenizer, own["candidates"], seed)
            profile = load(inputs["profile"]) if "profile" in inputs else None
            cost = json.loads(Path(files.cost).read_text(encoding="utf-8")) if profile else {}
            panel = travel_panel("validation", inputs["validation"], inputs["world"])
            done = train_pivot(
                spec, turns, profile, start.parent, folder.path, log.step, folder.checkpoints, log.alarm,
                spent=cost, measure=probe(panel, how, seed),
            )  # fmt: skip
        header = {"cell": name, "seed": seed, "scale": scale, "config_sha256": log.run.fingerprint}
        result = evaluation.run(folder.path, job.panels(), how, seed, folder.path, header=header)
        log.evaluation(result, done["step"])
    job.say(f"{log.run.title}: {headline(result)}")
