"""Draw the database that policies train in, and one they never see."""

from pathlib import Path

from starlab.job import Job

with Job(snakemake) as job:
    from starlab.seeds import derive
    from starlab.travel.miniature import MiniatureSpec, generate

    world = dict(snakemake.params.world)
    seed = world.pop("seed")
    for name, folder in snakemake.output.items():
        generate(derive("world", seed, name), name, MiniatureSpec(**world)).save(Path(folder))
