"""Put new base models in the place of the shipped ones."""

import shutil
from pathlib import Path

from starlab.job import Job

with Job(snakemake) as job:
    from starlab.checkpoint import check

    made = {Path(card).parent.name: Path(card).parent for card in snakemake.input}
    for folder in made.values():
        check(folder, "run `snakemake base_models` again")
    for scale, target in snakemake.params.folders.items():
        shutil.copytree(made[scale], target, dirs_exist_ok=True)
        job.say(f"{target} is new; what was made from the old one runs again")
