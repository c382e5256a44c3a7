"""Let the teacher answer the SFT queries; keep what succeeded."""

from pathlib import Path

from starlab.job import Job

with Job(snakemake) as job:
    from starlab.synthesis.rejection import TeachingSpec, write_trajectories
    from starlab.travel.database import Database

    database = Database.load(Path(snakemake.input.database))
    spec = TeachingSpec(**snakemake.params.teacher)
    files = (Path(snakemake.output.trajectories), Path(snakemake.output.card))
    card = write_trajectories(Path(snakemake.input.queries), database, spec, *files)
    job.say(
        f"teacher: {card['yield']['all']:.0%} of {sum(card['tried'].values())} succeeded, {card['trajectories']} kept"
    )
