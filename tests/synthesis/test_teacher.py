"""The teacher: always in protocol, as good as its skill says, and it tries failed calls again."""

import pytest
from starlab.protocol import TurnKind, parse_turn
from starlab.synthesis.rejection import TeachingSpec, teach, well_formed
from starlab.synthesis.teacher import Teacher
from starlab.synthesis.transcript import MAX_ATTEMPTS
from starlab.tasks import Status
from starlab.travel import rendering
from starlab.travel.faults import Faults
from starlab.travel.plan import Drive, FlightRide, render
from starlab.travel.task import TravelTask

NO_FAULTS = Faults(0.0, 0)


def taught(made, skill, retry_rate=0.0, seed=0):
    spec = TeachingSpec(skill=skill, restate=0.0, thrift=0.0, retry_rate=retry_rate, seed=seed)
    return [trajectory for _, trajectory in teach(made.queries, made.database, spec)]


def success(trajectories):
    return sum(trajectory.success for trajectory in trajectories) / len(trajectories)


@pytest.fixture(scope="module")
def sft(synthesis):
    return synthesis.make("sft")


@pytest.fixture(scope="module")
def long(long_trips):
    return long_trips.make("sft")


def test_a_teacher_of_full_skill_always_succeeds(sft, long):
    assert success(taught(sft, 1.0)) == 1.0
    assert success(taught(long, 1.0)) == 1.0


def test_a_teacher_without_skill_succeeds_by_chance(synthesis):
    assert 0.12 < success(taught(synthesis.make("mixed200"), 0.0)) < 0.4


def test_more_skill_is_more_success(synthesis):
    made = synthesis.make("mixed100")
    rates = [success(taught(made, skill)) for skill in (0.0, 0.5, 1.0)]
    assert rates == sorted(set(rates))


@pytest.mark.parametrize("skill", [0.0, 0.5])
def test_every_trajectory_keeps_the_protocol_and_names_only_what_it_was_shown(sft, long, skill):
    for trajectory in taught(sft, skill) + taught(long, skill):
        assert well_formed(trajectory)
        assert trajectory.grade.status is Status.OK
        assert trajectory.grade.metrics["is_valid_restaurants"] == 1.0
        shown = "\n".join(m["content"] for m in trajectory.messages if m["role"] == "user")
        for day in trajectory.plan.days:
            venues = [venue for _, venue in day.meals()] + list(day.attractions)
            venues += [day.accommodation] if day.accommodation else []
            assert all(venue.name in shown for venue in venues)


def test_plans_of_three_days_are_real_and_complete_whatever_the_skill(sft):
    for trajectory in taught(sft, 0.0):
        assert trajectory.grade.metrics["is_valid_information_in_sandbox"] == 1.0
        assert trajectory.grade.metrics["is_not_absent"] == 1.0


def test_names_stand_in_the_order_in_which_the_tools_listed_them(sft):
    for trajectory in taught(sft, 0.3):
        results = [m["content"] for m in trajectory.messages if m["role"] == "user"]
        meals = [venue.name for day in trajectory.plan.days for _, venue in day.meals()]
        listing = next(text for text in results if all(f" {name}" in text for name in meals))
        places = [listing.index(f" {name}") for name in meals]
        assert places == sorted(places)


def test_messages_alternate_between_system_user_and_assistant(sft):
    for trajectory in taught(sft, 0.0, retry_rate=0.2):
        roles = [message["role"] for message in trajectory.messages]
        assert roles[:2] == ["system", "user"]
        assert roles[2::2] == ["assistant"] * len(roles[2::2])
        assert roles[3::2] == ["user"] * len(roles[3::2])
        assert roles[-1] == "assistant"
        assert trajectory.calls == (len(roles) - 3) // 2


def test_a_failed_call_is_made_again(sft):
    trajectories = taught(sft, 1.0, retry_rate=0.3)
    failed = 0
    for trajectory in trajectories:
        turns = trajectory.messages
        for index, message in enumerate(turns):
            if message["role"] == "user" and "is not available" in message["content"]:
                failed += 1
                again, first = (parse_turn(turns[index + step]["content"]).call for step in (1, -1))
                assert again == first is not None
    assert failed == sum(trajectory.failed_calls for trajectory in trajectories) > len(trajectories)
    assert success(trajectories) == 1.0


def test_a_thought_after_every_listing_says_what_is_picked(sft):
    """The wishes that the listing is about and the rows chosen from it; the plan then uses just these."""
    teacher = Teacher(0.0, 0, NO_FAULTS)
    for row in sft.queries:
        trajectory = teacher.answer(TravelTask(row.query, sft.database), row.witness)
        turns = [message["content"] for message in trajectory.messages[2:]]
        for call, response, following in zip(turns[::2], turns[1::2], turns[2::2], strict=False):
            thought = following.partition("<think>")[2].partition("</think>")[0]
            if "No result" in response:
                assert thought == ""
            elif "SearchAccommodation" in call:
                criteria = rendering.hotel_note(row.query.local_constraint, cheap=False, name="")
                assert thought.startswith(criteria) and thought.removeprefix(criteria) in response
                assert thought.removeprefix(criteria) in turns[-1]
            elif "SearchRestaurant" in call and row.query.local_constraint.cuisine:
                criteria, *picks = thought.removeprefix(rendering.AS_ASKED).split(", ")
                said = {pick.removesuffix(" food") for pick in picks if pick.endswith(" food")}
                assert said == set(row.query.local_constraint.cuisine)
                assert all(pick in response and pick in turns[-1] for pick in picks if not pick.endswith(" food"))
            else:
                assert thought


def test_wishes_are_restated_as_often_as_told(sft):
    asked = [row for row in sft.queries if row.query.local_constraint.room_type]

    def restated(share):
        teacher = Teacher(0.0, 0, NO_FAULTS, restate=share)
        said = 0
        for row in asked:
            wishes = rendering.hotel_requests(row.query.local_constraint)
            messages = teacher.answer(TravelTask(row.query, sft.database), row.witness).messages
            said += any(f"<think>{rendering.AS_ASKED}{wishes}" in message["content"] for message in messages)
        return said / len(asked)

    assert restated(0.0) == 0.0 and restated(1.0) == 1.0 and 0.0 < restated(0.5) < 1.0


def test_thrift_is_said_as_often_as_told_and_the_cheapest_row_follows(sft):
    def thoughts(share):
        teacher = Teacher(0.0, 0, NO_FAULTS, restate=0.0, thrift=share)
        for row in sft.queries:
            messages = teacher.answer(TravelTask(row.query, sft.database), row.witness).messages
            for response, following in zip(messages[3::2], messages[4::2], strict=False):
                thought = following["content"].partition("<think>")[2].partition("</think>")[0]
                listing = response["content"]
                others = ("self-driving", "taxi", "sleeps")  # a hotel may be passed over for its number of nights
                if thought and "$" in listing and not any(word in listing for word in others):
                    yield thought, listing

    assert not any(rendering.CHEAP in thought for thought, _ in thoughts(0.0))
    for thought, listing in thoughts(1.0):
        price, said, names = thought.rpartition(rendering.CHEAP)
        assert said and price in ("", rendering.ANYTHING)
        first = names.split(", ")[0]
        row = next(line for line in listing.split("\n") if first in line)
        cost = int(row.partition("$")[2].partition(",")[0])
        assert cost == min(int(line.partition("$")[2].partition(",")[0]) for line in listing.split("\n")[1:])


@pytest.mark.parametrize("thrift", [0.0, 1.0])
def test_the_cheapest_flight_is_taken_where_thrift_says_so_and_else_another(sft, thrift):
    spec = TeachingSpec(restate=0.0, thrift=thrift, drives=0.0, retry_rate=0.0)
    seen = 0
    for query, trajectory in teach(sft.queries, sft.database, spec):
        for date, day in zip(query.date, trajectory.plan.days, strict=True):
            if isinstance(ride := day.ride, FlightRide):
                fares = {row.number: row.price for row in sft.database.flights_on(ride.origin, ride.destination, date)}
                if len(set(fares.values())) == len(fares) > 1:
                    seen += 1
                    assert (fares[ride.number] == min(fares.values())) == (thrift == 1.0)
    assert seen > 10


def test_wishes_that_nothing_meets_are_not_said(synthesis):
    """A thought that names a wish is one that its pick grants."""
    for trajectory in taught_thoughtfully(synthesis.make("mixed100")):
        said = "".join(m["content"] for m in trajectory.messages if m["role"] == "assistant")
        metrics = trajectory.grade.metrics
        if any(request in said for request in rendering.RULE_REQUESTS.values()):
            assert metrics["valid_room_rule"] == 1.0


def taught_thoughtfully(made):
    spec = TeachingSpec(restate=1.0, thrift=0.5, retry_rate=0.0)
    return [trajectory for _, trajectory in teach(made.queries, made.database, spec)]


def test_failures_change_neither_choices_nor_plans(sft):
    calm, stormy = taught(sft, 0.0), taught(sft, 0.0, retry_rate=0.3)
    assert [row.plan for row in calm] == [row.plan for row in stormy]


def test_a_tool_that_always_fails_is_given_up(sft):
    row = sft.queries[0]
    teacher = Teacher(1.0, 0, Faults(1.0, 0))
    trajectory = teacher.answer(TravelTask(row.query, sft.database), row.witness)
    assert trajectory.calls == trajectory.failed_calls == MAX_ATTEMPTS
    assert trajectory.plan is None
    assert trajectory.grade.status is Status.UNDELIVERED
    assert not well_formed(trajectory)


def test_a_way_that_does_not_go_makes_the_teacher_travel_the_other_way(synthesis):
    """Some roads lead there and not back; the whole trip is then flown."""
    turned = 0
    for trajectory in taught(synthesis.make("mixed200"), 0.0):
        looked = [m["content"] for m in trajectory.messages if m["role"] == "assistant"]
        roads, flights = (any(tool in text for text in looked) for tool in ("GoogleDistance", "SearchFlight"))
        rides = [day.ride for day in trajectory.plan.days if day.ride]
        assert len(rides) == 2
        assert len({isinstance(ride, Drive) for ride in rides}) == 1
        turned += roads and flights
    assert turned > 0


def test_long_trips_look_up_the_state_and_every_city(long):
    row = next(row for row in long.queries if row.query.days == 7)
    trajectory = Teacher(1.0, 0, NO_FAULTS).answer(TravelTask(row.query, long.database), row.witness)
    turns = [parse_turn(m["content"]) for m in trajectory.messages if m["role"] == "assistant"]
    calls = [turn.call for turn in turns if turn.kind is TurnKind.CALL]
    assert calls[0].name == "SearchCity"
    assert len([call for call in calls if call.name == "SearchAccommodation"]) == 3
    assert [call for call in calls if call.name == "SearchRestaurant"]


def test_the_same_seed_teaches_the_same_and_another_seed_does_not(sft):
    assert taught(sft, 0.5, 0.1) == taught(sft, 0.5, 0.1)
    plans, others = ([render(row.plan) for row in taught(sft, 0.0, seed=seed)] for seed in (0, 1))
    assert plans != others
