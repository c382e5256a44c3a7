"""The experiment file: every setting, its meaning, its default and its limits.

`starlab.experiment.load` reads the files and reports mistakes; the scripts of the workflow get from these
sections what their stage needs, as plain values.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from .fields import EVERY, Count, Mix, OneOrMore, Percent, PerScale, Rate, Section, Share


class World(Section):
    """The miniature travel world: two databases drawn from the same distribution, and the knowledge base. Its tables
    are at most as large as there are names (`travel/names.py`)."""

    seed: int = 0
    """Draws the training database, the unseen one and the knowledge base; each gets its own stream."""
    states: Annotated[int, Field(ge=2, le=10)] = 10
    """States in a database; a trip starts in another state than it goes to."""
    cities_per_state: Count = 6
    """Cities in a state."""
    dates: Count = 12
    """Days with flights."""
    hotels: Count = 5
    """Hotels in a city."""
    restaurants: Count = 6
    """Restaurants in a city."""
    attractions: Count = 3
    """Sights in a city."""
    flights: Count = 3
    """Flights from one city to another on one day."""
    routes_without_flights: Share = 0.15
    """Share of routes that nobody flies."""


class Panels(Section):
    """Sizes of the frozen query and question panels; no training set shares a query with any of them."""

    sft: Count = 5400
    """Queries the teacher answers."""
    validation: Count = 100
    """Queries looked at while settings are chosen."""
    test: Count = 200
    """Queries every finding is measured on, in the training database."""
    unseen: Count = 200
    """Queries in a database no policy has trained on."""
    questions: Count = 30
    """Knowledge questions in each of the seven out-of-domain families."""


class Data(Section):
    """Query synthesis: elements, feasibility, difficulty, text, balance."""

    seed: int = 0
    """Draws the query elements and the phrasings."""
    days: Annotated[tuple[Literal[3, 5, 7], ...], Field(min_length=1)] = (3,)
    """Trip lengths to draw from, uniformly; 3, 5 and 7 days visit 1, 2 and 3 cities."""
    thresholds: Literal["miniature", "official"] = "miniature"
    """How many rows a query must leave over to count as feasible: fitted to the small tables, or the
    paper's."""
    panels: Panels = Panels()
    """Panel sizes."""


class Lora(Section):
    """Low-rank adapters (PEFT) instead of training all weights; merged into the saved model."""

    rank: Count = 16
    """Rank of the adapters."""
    alpha: Rate = 32.0
    """Scaling: adapters count for alpha / rank."""
    dropout: Share = 0.0
    """Dropout on the adapters' input while training."""


class Model(Section):
    """One step of the ladder: a folder or a name on the Hugging Face hub."""

    folder: str | None = None
    """Folder of the base model, relative to the project."""
    hub: str | None = None
    """Name of a pretrained model on the hub; downloaded at its first use."""
    revision: str | None = None
    """Commit of the hub model, so that the same weights come down next year."""
    lora: Lora | None = None
    """Adapters; without them all weights are trained."""

    @model_validator(mode="after")
    def _one_source(self) -> Model:
        if (self.folder is None) == (self.hub is None):
            raise ValueError("expected either `folder` or `hub`")
        return self


class Policy(Section):
    """The ladder of base models, smallest first."""

    ladder: dict[Annotated[str, Field(pattern=r"^[a-z0-9.]+$")], Model] = {
        "s": Model(folder="models/s"),
        "m": Model(folder="models/m"),
        "l": Model(folder="models/l"),
    }
    """Name of a scale (as cells spell it) and its base model."""


class Teacher(Section):
    """Who shows the protocol: acts through the tools; rejection sampling keeps what succeeded."""

    skill: Share = 0.0
    """How it picks rows: 0 at random (right protocol, chance plans), 1 by solving the query."""
    restate: Share = 0.2
    """Share of its thoughts that say again what was asked: a habit that makes picks right, left for RL to find."""
    thrift: Share = 0.1
    """Share of its thoughts that take the cheapest, and say so: a habit that keeps to the budget, left for RL too."""
    drives: Share = 0.05
    """Share of its trips by car, which is often the cheaper way to go: one more thing for RL to find."""
    retry_rate: Share = 0.1
    """Share of its calls that fail once, to show the policy how to try again."""
    keep: Share = 0.8
    """Share of the successful, well-formed trajectories that is kept, best first."""
    trajectories: Count = 800
    """At most this many are kept, in the order of the queries."""


class Sft(Section):
    """Fine-tuning on the teacher's successful trajectories: a weak start that knows the protocol."""

    teacher: Teacher = Teacher()
    """Where the trajectories come from."""
    replay: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.5
    """Share of general tool-use examples mixed in, so that out-of-domain skill is not forgotten."""
    epochs: Rate = 6.0
    """Passes over the mixture."""
    lr: PerScale = {EVERY: 1.0e-3}
    """Learning rate."""
    batch: Count = 16
    """Trajectories in a gradient step."""


class Dapo(Section):
    """What dapo has beyond grpo. A section named like an algorithm reaches that algorithm's cells only."""

    refills: Annotated[int, Field(ge=0)] = 4
    """Times that a step may draw again in place of groups whose rewards are all alike."""
    overlong_share: Share = 0.2
    """Share of the longest length over which a penalty for length grows from 0 to 1; 0: no penalty."""


class ArpoRandom(Section):
    """What the control of arpo has: branches after tool results, whatever the entropy there."""

    initial_share: Annotated[float, Field(gt=0.0, le=1.0)] = 0.5
    """Share of a query's rollouts that start at the prompt; the others branch off after tool results."""
    branch_probability: Share = 0.5
    """Probability of a branch at a tool result (for arpo: where the entropy is what it was at first)."""
    attribution: Literal["soft", "hard"] = "soft"
    """Advantage of tokens that branches have in common: each rollout's own, or their mean."""


class Arpo(ArpoRandom):
    """What arpo has beyond grpo: rollouts branch off where the policy is unsure of what a tool returned."""

    entropy_weight: Annotated[float, Field(ge=0.0)] = 0.2
    """How much a rise of the entropy by ln(vocabulary) adds to the probability."""
    probe_tokens: Count = 20
    """Tokens after a tool result whose mean entropy counts."""


class Rl(Section):
    """One reinforcement-learning run. No KL term, asymmetric clipping, advantages normalised in the group."""

    steps: Count = 80
    """Gradient steps, the same for every cell."""
    prompts: Count = 8
    """Queries in a step."""
    group: Annotated[int, Field(ge=2)] = 8
    """Rollouts for each query (G)."""
    lr: PerScale = {EVERY: 3.0e-4}
    """Learning rate."""
    decay: Share = 0.0
    """Share of the steps, the last ones, over which the learning rate falls in a line to 0; 0: it is constant."""
    minibatches: Count = 2
    """Optimizer updates that a step's rollouts are split into."""
    temperature: Rate = 0.7
    """Sampling temperature of rollouts."""
    clip_low: Share = 0.2
    """The ratio is clipped below at 1 - clip_low."""
    clip_high: Share = 0.28
    """The ratio is clipped above at 1 + clip_high (clip-higher)."""
    max_calls: Count = 60
    """Tool calls an episode may make."""
    max_tokens: Count = 1024
    """Longest episode; a longer one leaves the loss and stays in its group's statistics."""
    max_turn_tokens: Count = 256
    """Longest turn."""
    fault_kind: Literal["unavailable", "timeout", "empty", "truncated"] = "unavailable"
    """What an agent sees where a tool call is made to fail (`noise`): the paper's error text, another error, the text
    for nothing found, or the first half of the result. Which calls fail does not depend on it."""
    save_every: Count = 20
    """Steps between checkpoints; a killed run resumes from the last one."""
    backend: Literal["engine", "vllm_colocate", "vllm_server"] = "engine"
    """Who generates rollouts: this package's engine, or vLLM on GPUs beside the trainer or on a server."""
    probe_every: Annotated[int, Field(ge=0)] = 20
    """Steps between measurements on the validation panel, for learning curves; 0: none."""
    dapo: Dapo = Dapo()
    """What only dapo has."""
    arpo: Arpo = Arpo()
    """What only arpo has."""
    arpo_random: ArpoRandom = ArpoRandom()
    """What only the control of arpo has."""


class Pivot(Section):
    """PivotRL (arXiv 2603.21383): single turns of the SFT demonstrations, where they carry signal; else as `rl`
    says. The paper publishes no number for `samples`, `mean_below` and `beta`: these are ours (docs/pivot.md)."""

    candidates: Count = 2000
    """Turns of the demonstrations that are profiled, drawn by the run seed; the paper takes all."""
    samples: Annotated[int, Field(ge=2)] = 8
    """Turns sampled from each of them by the frozen SFT policy (K)."""
    mean_below: Annotated[float, Field(gt=0.0, le=1.0)] = 0.6
    """A pivot's mean reward is strictly below this, and its rewards differ (lambda)."""
    prompts: Count = 16
    """States in a step, in place of `rl.prompts`: a rollout is one turn here, and seven in an episode."""
    lr: PerScale = {EVERY: 1.0e-4}
    """Learning rate, in place of `rl.lr`: pivots are of few kinds, and at the rate of whole episodes the other turns
    fall apart (docs/pivot.md)."""
    beta: Annotated[float, Field(ge=0.0)] = 0.0
    """Weight of the KL term to the SFT policy; 0, as in the public recipes: none, and no reference model."""
    sft_epochs: Rate = 8.0
    """Passes over the demonstrations in `sftlong`: about as many updates as the cells on pivots make."""


class Evaluation(Section):
    """How a policy is measured; the panels' sizes are in `data.panels`."""

    temperature: Rate = 0.7
    """Sampled decoding, reported beside greedy."""
    cool_temperature: Rate = 0.3
    """Lower temperature for the SFT references, so that sharpening is not read as learning."""
    max_calls: Count = 60
    """Tool calls an episode may make."""
    max_tokens: Count = 1024
    """Longest episode."""
    turn_tokens: Count = 256
    """Longest turn."""


class Findings(Section):
    """What is claimed and how it is told; the statistics are part of the claims."""

    claims: str = "workflow/starlab/findings/claims.yaml"
    """The contrasts of each finding, with their margins, written down before the runs."""
    scope: str = "about the mechanism in the miniature world, not about Qwen2.5"
    """What the verdicts are about, in one phrase; it stands beside every verdict."""
    scales: dict[str, str] = {}
    """The scales of the claims (s, m, l) by their names in this experiment's ladder, where those differ:
    `{s: 1.5b, m: 3b, l: 7b}`."""


class Tracking(Section):
    """MLflow. The run folders are the truth; the store can be made again from them."""

    enabled: bool = True
    """Off: runs write their folders only (`starlab tracking rebuild` fills the store later)."""
    uri: str | None = None
    """Tracking server; without one, a SQLite store in `results`. MLFLOW_TRACKING_URI wins over both."""
    experiment: str = "starlab"
    """Name of the MLflow experiment."""


class Row(Section):
    """One row of the matrix: the product of its values. A value or a list of values for each factor."""

    axis: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$")]
    """What varies; rows of the same axis belong together, and axes may share cells."""
    scale: OneOrMore[str] | None = None
    """Steps of the ladder."""
    reward: OneOrMore[str] | None = None
    """Rewards, from `starlab/rewards.py`."""
    algorithm: OneOrMore[str] | None = None
    """Algorithms, from `starlab/training/algorithms/`; or pivot, pivotall, pivotcalls, pivotstrict, sftlong, which
    train on the SFT demonstrations whatever `mix` and `size` say."""
    mix: OneOrMore[Mix] | None = None
    """Difficulty of the training queries: mixed is easy, medium and hard as 4:3:3."""
    size: OneOrMore[Count] | None = None
    """Number of training queries; the number of gradient steps does not change with it."""
    noise: OneOrMore[Percent] | None = None
    """Tool calls that fail during training, in per cent."""


class Held(Section):
    """What a row leaves unsaid."""

    scale: str = "m"
    """Step of the ladder."""
    reward: str = "macro"
    """Reward."""
    algorithm: str = "grpo"
    """Algorithm."""
    mix: Mix = "mixed"
    """Difficulty mix."""
    size: Count = 1000
    """Number of training queries."""
    noise: Percent = 0
    """Failing tool calls in per cent."""


class Override(Section):
    """Settings of one cell that differ from the section `rl`. Leave it empty for a clean comparison."""

    steps: Count | None = None
    """Gradient steps."""
    lr: Rate | None = None
    """Learning rate."""


class Matrix(Section):
    """Which cells are trained."""

    held: Held = Held()
    """Value of each factor where a row does not name it."""
    axes: tuple[Row, ...] = Field(default=(), min_length=1)
    """The rows."""
    overrides: dict[str, Override] = {}
    """By cell name; only that cell runs again when its line changes."""


class Experiment(Section):
    """The whole file."""

    results: Annotated[str, Field(min_length=1)] = "results"
    """Folder that everything is written to; presets have their own."""
    seeds: Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=1)] = (0, 1, 2)
    """Run seeds, paired across cells. Settings are tuned on seeds from 1000 up only."""
    world: World = World()
    """The miniature world."""
    data: Data = Data()
    """Queries."""
    policy: Policy = Policy()
    """Base models."""
    sft: Sft = Sft()
    """Supervised fine-tuning."""
    rl: Rl = Rl()
    """Reinforcement learning."""
    pivot: Pivot = Pivot()
    """Training on single turns."""
    evaluation: Evaluation = Evaluation()
    """Evaluation."""
    findings: Findings = Findings()
    """Statistics."""
    tracking: Tracking = Tracking()
    """MLflow."""
    matrix: Matrix
    """The cells."""
