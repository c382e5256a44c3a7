# The experiment, checked before any job starts, and the helper functions that rules look their cell up with.
# A run's settings reach its rule through `params` only: a changed row of the matrix reruns that row and nothing else.
import os
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

sys.path.insert(0, str(Path(workflow.basedir) / "workflow"))
# Jobs find the package also in an environment that it is not installed in, and hash alike on every machine.
os.environ["PYTHONPATH"] = os.pathsep.join([sys.path[0], *filter(None, [os.environ.get("PYTHONPATH")])])
os.environ.setdefault("PYTHONHASHSEED", "0")

from starlab import checkpoint, matrix, workplace
from starlab.errors import StarlabError
from starlab.experiment import validate
from starlab.findings.claims import load_claims
from starlab.hub import MEND
from starlab.knowledge.questions import FAMILIES

try:
    EXPERIMENT = validate(config, [Path("config.yaml"), *workflow.overwrite_configfiles])
    load_claims(Path(EXPERIMENT.findings.claims), scales=EXPERIMENT.findings.scales)
except StarlabError as error:
    raise WorkflowError(str(error)) from None

# A Snakemake that was killed leaves its lock behind; the same command goes on all the same.
if workflow.is_main_process and workplace.enter(Path.cwd()):
    print("starlab: an earlier snakemake was killed in this folder; going on where it stopped", file=sys.stderr)

RESULTS = EXPERIMENT.results
CELLS = matrix.expand(EXPERIMENT)
TRAINED = [cell.name for cell in CELLS]
REFERENCES = matrix.references(EXPERIMENT)
WEIGHTS = list(checkpoint.FILES)


wildcard_constraints:
    cell=r"[^/]+",
    reference=r"(base|sft)-[a-z0-9.]+",
    scale=r"[a-z0-9.]+",
    seed=r"\d+",
    set=r"[a-z]+\d*",


def cell_of(wildcards):
    """The cell a file belongs to; a name that the matrix does not have ends in the nearest one that it has."""
    try:
        return matrix.find(CELLS, wildcards.cell)
    except StarlabError as error:
        raise WorkflowError(str(error)) from None


def cell_settings(wildcards):
    """All that a run depends on beside its seed."""
    return matrix.settings(EXPERIMENT, cell_of(wildcards))


def cell_queries(wildcards):
    """The training queries of a cell."""
    return f"{RESULTS}/data/queries/{cell_of(wildcards).queries}.jsonl"


def sft_files(scale, seed):
    """The files of an SFT model."""
    return expand(f"{RESULTS}/sft/{scale}/seed{seed}/{{file}}", file=WEIGHTS)


def cell_start(wildcards):
    """The SFT model that a run starts from: same scale, same seed."""
    return sft_files(cell_of(wildcards).scale, wildcards.seed)


def base_files(scale):
    """The files of a base model, which the repository ships; none for a model on the hub."""
    folder = EXPERIMENT.policy.ladder[scale].folder
    if folder and not Path(folder, WEIGHTS[0]).exists():
        raise WorkflowError(f"{folder}/{WEIGHTS[0]} is missing; {MEND}")
    return expand(f"{folder}/{{file}}", file=WEIGHTS) if folder else []


def base_model(wildcards):
    """The base model that SFT starts from."""
    return base_files(wildcards.scale)


def synthesis_spec(wildcards):
    """What one query set depends on: a panel on its own size, a training set on its name."""
    panels = EXPERIMENT.data.panels.model_dump(exclude={"questions"})
    own = {wildcards.set: panels[wildcards.set]} if wildcards.set in panels else {}
    return EXPERIMENT.data.model_dump(exclude={"panels"}) | own


def query_database(wildcards):
    """The database that a set asks about."""
    return f"{RESULTS}/data/{'unseen' if wildcards.set == 'unseen' else 'training'}"


def sft_settings(wildcards):
    """All that fine-tuning one scale depends on beside its seed."""
    return matrix.sft_settings(EXPERIMENT, wildcards.scale)


def reference_model(wildcards):
    """The weights behind a reference: the shipped base, or the SFT model of this seed."""
    kind, scale = wildcards.reference.split("-", 1)
    if kind == "sft":
        return sft_files(scale, wildcards.seed)
    return base_files(scale)


def reference_settings(wildcards):
    """Scale, and the hub model if there is one."""
    kind, scale = wildcards.reference.split("-", 1)
    return {
        "kind": kind,
        "scale": scale,
        "model": EXPERIMENT.policy.ladder[scale].model_dump(exclude={"lora"}),
    }
