"""The evaluate function, with scripted players and with the real engine on a tiny untrained model."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from starlab.errors import StarlabError
from starlab.evaluation.evaluate import evaluate
from starlab.evaluation.panels import Panel, knowledge_panel, travel_panel
from starlab.evaluation.run import Settings, run
from starlab.knowledge import panels as questions
from starlab.knowledge.oracle import solve
from starlab.knowledge.questions import FAMILIES
from starlab.knowledge.task import KnowledgeTask
from starlab.protocol import FormatError, ToolCall
from starlab.rollout.episode import CallRecord, Decoding, Episode, Request, StopReason
from starlab.tasks import Task
from starlab.travel.miniature import MiniatureSpec, generate
from starlab.travel.query import LocalConstraint, Query

GREEDY = {"greedy": Decoding(0.0)}
Answer = tuple[str | None, FormatError | None, int]


class Scripted:
    """A player that says what `script` tells for a task: answer, format error, number of calls."""

    def __init__(self, script: Callable[[Task], Answer]) -> None:
        self.script, self.seeds, self.decodings = script, [], []

    def generate(self, requests: Sequence[Request], decoding: Decoding, seed: int) -> list[Episode]:
        self.seeds.append(seed)
        self.decodings.append(decoding)
        return [self.episode(request.task) for request in requests]

    def episode(self, task: Task) -> Episode:
        answer, error, calls = self.script(task)
        stop = StopReason.MALFORMED if error else StopReason.ANSWERED if answer is not None else StopReason.TURN_LIMIT
        records = tuple(CallRecord("Search", {"query": "x"}, "text") for _ in range(calls))
        return Episode(task.id, 0, [1], [2, 3, 4], [1, 0, 1], [0.0] * 3, stop, records, calls + 1, answer, error)


def oracle(task: Task) -> Answer:
    assert isinstance(task, KnowledgeTask)
    steps, answer = solve(task.question, lambda name: task.call(ToolCall("Search", {"query": name})))
    return answer, None, len(steps)


def trips(n: int = 6) -> list[Query]:
    world = generate(1, "world", MiniatureSpec(states=2, cities_per_state=3))
    (_, home), (_, there) = world.states.items()
    levels = ("easy", "medium", "hard")
    dates = ("2022-03-01", "2022-03-02", "2022-03-03")
    return [
        Query(
            f"t{i}",
            home[0],
            there[i % 3],
            3,
            1,
            dates,
            1,
            LocalConstraint(),
            2000,
            levels[i % 3],
            f"Trip {i}.",
        )
        for i in range(n)
    ]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    questions.write(folder, seed=0, n=4)
    generate(1, "world", MiniatureSpec(states=2, cities_per_state=3)).save(folder / "training")
    (folder / "test.jsonl").write_text("".join(json.dumps(query.to_dict()) + "\n" for query in trips()))
    return folder


@pytest.fixture(scope="module")
def knowledge(data: Path) -> Panel:
    return knowledge_panel("knowledge", data / "questions", data / "knowledge.json")


@pytest.fixture(scope="module")
def travel(data: Path) -> Panel:
    return travel_panel("test", data / "test.jsonl", data / "training")


def test_the_oracle_scores_one_in_every_family(knowledge: Panel) -> None:
    numbers = evaluate(Scripted(oracle), [knowledge], GREEDY, seed=0).panels["knowledge"]
    assert numbers["n"] == 28
    assert numbers["greedy"]["success"] == 1.0
    assert list(numbers["greedy"]["by_level"]) == list(FAMILIES)
    assert numbers["greedy"]["by_level"]["triple"]["calls_mean"] == 3.0
    assert numbers["greedy"]["tokens_mean"] == 2.0


def test_wrong_unreadable_undelivered_and_malformed_are_told_apart(knowledge: Panel) -> None:
    kinds: list[Answer] = [
        ("Nobody", None, 1),
        (" ", None, 1),
        (None, None, 60),
        (None, FormatError.BAD_JSON, 0),
    ]
    by_id = {task.id: kinds[i % 4] for i, task in enumerate(knowledge.tasks)}
    numbers = evaluate(Scripted(lambda task: by_id[task.id]), [knowledge], GREEDY, seed=0)
    greedy = numbers.panels["knowledge"]["greedy"]
    assert greedy["success"] == 0.0
    assert greedy["statuses"] == {"ok": 7, "unparseable": 7, "undelivered": 14}
    assert greedy["format_errors"] == {"BAD_JSON": 7}
    assert greedy["stops"] == {"ANSWERED": 14, "MALFORMED": 7, "TURN_LIMIT": 7}
    assert Counter(row["status"] for row in numbers.rows) == greedy["statuses"]


def test_an_undelivered_plan_counts_zero_and_stays_in_every_denominator(travel: Panel) -> None:
    numbers = evaluate(Scripted(lambda task: (None, None, 0)), [travel], GREEDY, seed=0).panels["test"]["greedy"]
    assert {numbers[name] for name in ("success", "delivered", "cs_micro", "hard_micro", "hard_micro_total")} == {0.0}
    assert numbers["checks"]["valid_cost"] == 0.0
    assert {level: row["n"] for level, row in numbers["by_level"].items()} == {
        "easy": 2,
        "medium": 2,
        "hard": 2,
    }


def test_rows_come_in_panel_order_for_every_panel_and_decoding(travel: Panel, knowledge: Panel) -> None:
    decodings = Settings().decodings(cool=True)
    rows = evaluate(Scripted(lambda task: (None, None, 0)), [travel, knowledge], decodings, seed=0).rows
    expected = [
        (p.name, d, task.id) for p in (travel, knowledge) for d in ("greedy", "sampled", "cool") for task in p.tasks
    ]
    assert [(row["panel"], row["decoding"], row["query_id"]) for row in rows] == expected
    assert all({"level", "status", "success", "calls", "tokens"} <= set(row) for row in rows)


def test_noise_depends_on_seed_and_panel_and_is_shared_by_decodings(travel: Panel, knowledge: Panel) -> None:
    def seeds(panels: list[Panel], seed: int) -> list[int]:
        player = Scripted(lambda task: (None, None, 0))
        evaluate(player, panels, Settings().decodings(cool=True), seed)
        return player.seeds

    both = seeds([travel, knowledge], 3)
    assert both[0] == both[1] == both[2] != both[3] == both[4] == both[5]
    assert seeds([knowledge], 3) == both[3:]
    assert not set(seeds([travel, knowledge], 4)) & set(both)


def test_a_crash_is_not_a_zero(knowledge: Panel) -> None:
    def broken(task: Task) -> Answer:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        evaluate(Scripted(broken), [knowledge], GREEDY, seed=0)


def test_an_episode_of_another_query_is_a_bug(knowledge: Panel) -> None:
    class Shuffled(Scripted):
        def generate(self, requests: Sequence[Request], decoding: Decoding, seed: int) -> list[Episode]:
            return super().generate(requests, decoding, seed)[::-1]

    with pytest.raises(AssertionError, match="returned for"):
        evaluate(Shuffled(oracle), [knowledge], GREEDY, seed=0)


def test_a_panel_changed_after_freezing_is_refused(tmp_path: Path) -> None:
    path = questions.write(tmp_path, seed=0, n=3)["people"]
    before = knowledge_panel("knowledge", tmp_path / "questions", tmp_path / "knowledge.json")
    path.write_text(path.read_text().replace("people-0001", "people-9999"))
    with pytest.raises(StarlabError, match=r"people\.jsonl: the panel was changed after it was frozen"):
        knowledge_panel("knowledge", tmp_path / "questions", tmp_path / "knowledge.json")
    questions.card_path(path).unlink()
    after = knowledge_panel("knowledge", tmp_path / "questions", tmp_path / "knowledge.json")
    assert before.sha256 != after.sha256
    assert before.world_sha256 == after.world_sha256


def test_a_missing_panel_and_an_empty_one_are_named(tmp_path: Path, data: Path) -> None:
    with pytest.raises(StarlabError, match=r"absent\.jsonl"):
        travel_panel("test", tmp_path / "absent.jsonl", data / "training")
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(StarlabError, match="panel 'test': it has no queries"):
        travel_panel("test", tmp_path / "empty.jsonl", data / "training")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model that has learned nothing: its turns are noise of sampled length."""
    import torch
    from starlab.policy.tokenizer import build_tokenizer
    from transformers import Qwen2Config, Qwen2ForCausalLM

    folder = tmp_path_factory.mktemp("model")
    tokenizer = build_tokenizer()
    torch.manual_seed(0)
    size = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 2}
    config = Qwen2Config(vocab_size=len(tokenizer), intermediate_size=32, tie_word_embeddings=True, **size)
    network = Qwen2ForCausalLM(config)
    with torch.no_grad():  # let one direction of the residual stream decide how likely a turn is to end
        network.model.norm.weight.zero_()
        network.model.norm.weight[0] = 1.0
        network.model.embed_tokens.weight[tokenizer.eos_token_id, 0] = 4.0
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def settings(batch: int) -> Settings:
    return Settings(temperature=1.0, max_tokens=96, turn_tokens=16, batch=batch)


def test_the_same_model_gives_the_same_bytes_at_any_batch_size(
    model: Path, travel: Panel, knowledge: Panel, tmp_path: Path
) -> None:
    for name, batch in (("a", 64), ("b", 64), ("c", 3)):
        run(model, [travel, knowledge], settings(batch), 0, tmp_path / name, header={"cell": "x", "seed": 0})
    for file in ("evaluation.json", "queries.jsonl"):
        first = (tmp_path / "a" / file).read_bytes()
        assert first == (tmp_path / "b" / file).read_bytes() == (tmp_path / "c" / file).read_bytes()
    written = json.loads((tmp_path / "a/evaluation.json").read_text())
    assert (written["cell"], written["seed"], len(written["model_sha256"])) == ("x", 0, 64)
    assert set(written["panels"]["test"]) == {"domain", "sha256", "world_sha256", "n", "greedy", "sampled"}
    run(model, [travel, knowledge], settings(64), 1, tmp_path / "d")
    assert (tmp_path / "d/queries.jsonl").read_bytes() != (tmp_path / "a/queries.jsonl").read_bytes()


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json"])
def test_a_missing_or_damaged_model_file_ends_in_one_message_and_no_file(
    model: Path, knowledge: Panel, tmp_path: Path, name: str
) -> None:
    copy, output = tmp_path / "model", tmp_path / "output"
    shutil.copytree(model, copy)
    content = (copy / name).read_bytes()
    (copy / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(StarlabError, match="not a readable model"):
        run(copy, [knowledge], settings(64), 0, output)
    (copy / name).unlink()
    with pytest.raises(StarlabError, match=f"{name}: missing"):
        run(copy, [knowledge], settings(64), 0, output)
    assert not output.exists()
