"""Sample turns of the frozen SFT policy in every candidate state."""

import json
from pathlib import Path

from starlab.job import Job

with Job(snakemake) as job:
    from starlab.device import device
    from starlab.pivot.profiling import profile, save
    from starlab.pivot.stage import travel_turns
    from starlab.pivot.turns import TurnEngine
    from starlab.rollout.episode import Decoding
    from starlab.training.checkpoints import load_model
    from starlab.training.recording import Clock

    files, settings, seed = snakemake.input, snakemake.params.settings, int(snakemake.wildcards.seed)
    clock = Clock()
    model, tokenizer = load_model(Path(files.model[0]).parent)
    demonstrations = [Path(path) for path in (files.trajectories, files.queries, files.training)]
    turns = travel_turns(*demonstrations, tokenizer, settings["candidates"], seed)
    engine = TurnEngine(model.to(device()), tokenizer, settings["max_turn_tokens"], settings["max_tokens"])
    found = profile(engine, turns, settings["samples"], Decoding(settings["temperature"]), seed)
    save(found, Path(snakemake.output.samples))
    spent = clock.read()
    cost = {"profile_seconds": spent["wall_seconds"], "profile_processor_seconds": spent["processor_seconds"]}
    Path(snakemake.output.cost).write_text(json.dumps(cost) + "\n", encoding="utf-8")
    job.say(f"{job.title}: {found.turns} turns from {len(turns)} states")
