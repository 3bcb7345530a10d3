"""Workloads with one fault each: `breaks` names the tests of the suite that must find it, and no other may."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count

from pydantic import BaseModel

from ixbench.api.workload import (
    Edge,
    Load,
    Message,
    MessagesPrompt,
    OptionsModel,
    Phase,
    Schedule,
    Session,
    SyntheticPrompt,
    Turn,
    Workload,
)
from ixbench.testing import WorkloadSuite


class Options(OptionsModel):
    """Two options."""

    requests: int = 6
    seed: int = 1


class Good(Workload[Options]):
    """Nothing is wrong with it."""

    name = "good"
    summary = "a good workload"
    Options = Options

    def turn(self, key, number):
        """Return a request."""
        return Turn(prompt=SyntheticPrompt(tokens=10, key=f"{key}:{number}"), input_tokens=10, output_tokens=2, exact_length=True)

    def session(self, key, number, load):
        """Return a session."""
        arrival = None if load.rate is None else round(number / load.rate * 1e9)
        return Session(id=f"s{number}", turns=(self.turn(key, number),), arrival_ns=arrival)

    def phase(self, options, load, key):
        """Return the measured phase."""
        sessions = lambda: (self.session(key, number, load) for number in range(options.requests))  # noqa: E731 - short
        return Phase(name="profile", sessions=sessions, lanes=load.concurrency, count=options.requests)

    def schedule(self, options, load, *, key):
        """Return the schedule."""
        return Schedule(phases=(self.phase(options, load, key),), facts={"requests": options.requests})


class Suite(WorkloadSuite):
    loads = (Load(concurrency=2), Load(rate=2.0))


class TestGood(Suite):
    breaks = ()
    workload = Good()


def changed(**members):
    return type("Changed", (Good,), members)()


def phase(**fields):
    return changed(phase=lambda self, options, load, key: replace(Good.phase(self, options, load, key), **fields))


def turn(**fields):
    return changed(turn=lambda self, key, number: replace(Good.turn(self, key, number), **fields))


class TestSilent(Suite):
    breaks = ("test_the_host_takes_it",)
    workload = changed(summary="")


class Loose(BaseModel):
    requests: int = 6
    seed: int = 1


class TestLoose(Suite):
    breaks = ("test_unknown_options_are_refused",)
    workload = changed(Options=Loose)


class TestThrowsDice(Suite):
    breaks = ("test_equal_options_give_equal_schedules", "test_phases_can_be_played_again", "test_a_schedule_is_json")
    workload = changed(turn=lambda self, key, number: replace(Good.turn(self, key, number), delay_ns=random.randrange(10**9)))


class SeededByHash(Good):
    """Draws lengths from a seed that is another in each process."""

    def turn(self, key, number):
        """Return a request."""
        return replace(super().turn(key, number), output_tokens=1 + hash(f"{key} {number}") % 1000)


class TestSeededByHash(Suite):
    breaks = ("test_the_schedule_is_the_same_in_every_process",)
    workload = SeededByHash()


class SeededByDay(Good):
    """Draws other lengths every day."""

    def turn(self, key, number):
        """Return a request."""
        return replace(super().turn(key, number), output_tokens=1 + datetime.now(UTC).toordinal() % 1000)


class TestSeededByDay(Suite):
    breaks = ("test_the_schedule_is_the_same_in_every_process",)
    workload = SeededByDay()


class TestTwoOfAName(Suite):
    breaks = ("test_turns_can_all_be_sent",)
    workload = changed(session=lambda self, key, number, load: replace(Good.session(self, key, number, load), id="s"))


class TestPlaysOnce(Suite):
    breaks = ("test_phases_can_be_played_again",)

    class Once(Good):
        def phase(self, options, load, key):
            made = iter([self.session(key, number, load) for number in range(options.requests)])
            return replace(super().phase(options, load, key), sessions=lambda: made)

    workload = Once()


class TestFactsOfNobody(Suite):
    breaks = ("test_a_schedule_is_json",)
    workload = changed(
        schedule=lambda self, options, load, *, key: Schedule(phases=(self.phase(options, load, key),), facts={"o": options})
    )


class TestSamePrompts(Suite):
    breaks = ("test_another_key_gives_other_prompts",)
    workload = changed(turn=lambda self, key, number: Good.turn(self, "always", number))


class TestRepeatsAreTold(Suite):
    breaks = ()
    workload = changed(turn=lambda self, key, number: Good.turn(self, "always", number), repeats=lambda self, options: True)


class TestOtherReplica(Suite):
    breaks = ("test_replicas_and_repeats_keep_what_was_asked",)
    workload = changed(replica=lambda self, options, number: options.model_copy(update={"seed": number + 7}))


class TestTwoMeasuredPhases(Suite):
    breaks = ("test_phases_come_to_an_end",)
    workload = changed(schedule=lambda self, options, load, *, key: Schedule(phases=2 * (self.phase(options, load, key),)))


class TestNoEnd(Suite):
    breaks = ("test_phases_come_to_an_end",)

    class Endless(Good):
        def phase(self, options, load, key):
            return replace(super().phase(options, load, key), sessions=lambda: (self.session(key, number, load) for number in count()))

    workload = Endless()


class TestWrongCount(Suite):
    breaks = ("test_phases_come_to_an_end",)
    workload = phase(count=7)


class TestOneLane(Suite):
    breaks = ("test_the_load_is_the_one_asked_for",)
    workload = phase(lanes=1)


class TestWaitsForItself(Suite):
    breaks = ("test_turns_can_all_be_sent",)
    workload = turn(after=(Edge(turn=0),))


class TestNegativeDelay(Suite):
    breaks = ("test_turns_can_all_be_sent",)
    workload = turn(delay_ns=-1)


class TestFractionOfANanosecond(Suite):
    breaks = ("test_turns_can_all_be_sent",)
    workload = turn(delay_ns=1.5)


class Circle(Good):
    def session(self, key, number, load):
        one, two = (replace(self.turn(key, f"{number}-{place}"), after=(Edge(turn=1 - place),)) for place in range(2))
        return replace(super().session(key, number, load), turns=(one, two))

    def phase(self, options, load, key):
        return replace(super().phase(options, load, key), count=2 * options.requests)


class TestCircle(Suite):
    breaks = ("test_turns_can_all_be_sent",)
    workload = Circle()


class Forgetful(Circle):
    def session(self, key, number, load):
        first = self.turn(key, number)
        prompt = MessagesPrompt(messages=(Message(role="user", content="more"),), continues=0)
        return replace(Good.session(self, key, number, load), turns=(first, replace(first, prompt=prompt, after=(Edge(turn=0),))))


class TestContinuesNothing(Suite):
    breaks = ("test_turns_can_all_be_sent",)
    workload = Forgetful()
