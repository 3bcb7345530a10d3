"""The `[accuracy]` table and its file: what is read, and one sentence for each fault."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ixbench.campaign.accuracy import LARGEST_FILE, MOST_FAULTS, MOST_QUESTIONS, read_questions
from ixbench.campaign.read import read_campaign
from ixbench.model.errors import InputError
from ixbench.model.launch import LaunchPlan
from ixbench.model.prompt import Message
from ixbench.plan.accuracy import gate_findings
from ixbench.plan.expand import make_plan

HEAD = 'schema = 1\n[model]\nid = "m"\n[workload]\nuse = "steady"\n'
DEPLOYMENT = '[[deployment]]\nname = "one"\nengine = "plain"\nurl = "http://127.0.0.1:1"\nconcurrency = 1\n'
TABLE = '[accuracy]\nquestions = "q.jsonl"\nat_least = 0.9\n'
GOOD = '{"question": "What is 6 times 7?", "answer": "42"}\n'


@pytest.fixture
def read(write, house):
    """Return a function that reads a campaign with this table and file of questions; None writes no file."""

    def campaign(table=TABLE, questions=GOOD, deployment=DEPLOYMENT):
        if questions is not None:
            Path("q.jsonl").write_bytes(questions if isinstance(questions, bytes) else questions.encode())
        return read_campaign(write(HEAD + table + deployment), house)

    return campaign


def faults(call, *args, **kwargs):
    with pytest.raises(InputError) as caught:
        call(*args, **kwargs)
    return [str(fault).replace(str(Path.cwd()), "HERE") for fault in caught.value.faults]


def test_without_the_table_there_is_no_gate(read):
    campaign = read(table="")
    assert campaign.accuracy is None
    assert campaign.notes == ()


def test_a_gate_is_read_with_its_questions(read):
    rows = [
        {"question": "What is 6 times 7?", "answer": "6 * 7 = 42\n#### 42"},
        {"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2 + 2?"}], "answer": "4"},
    ]
    text = "\ufeff" + "\n\n".join(json.dumps(row) for row in rows) + "\r\n"
    gate = read(questions=text).accuracy
    first, second = gate.questions
    assert (first.line, first.messages, first.plain) == (1, (Message(role="user", content=rows[0]["question"]),), True)
    assert (second.line, second.messages[0].role, second.answer, second.plain) == (3, "system", "4", False)
    assert (gate.file, gate.at_least, gate.match) == ("q.jsonl", 0.9, "last_number")
    assert (gate.max_tokens, gate.concurrency, gate.time_limit_s) == (1024, 8, 1800.0)
    assert gate.hash == read(questions=text.removeprefix("\ufeff")).accuracy.hash, "a byte order mark is no content"
    assert gate.hash != read(questions=text + GOOD).accuracy.hash
    (note,) = read(questions=text).notes
    assert note == (
        f"accuracy gate: each launch is asked 2 questions of q.jsonl ({gate.hash}) before its first point, "
        "and 90 % of the answers must be right (last_number)"
    )


def test_every_key_can_be_set(read):
    table = TABLE + 'match = "contains"\nmax_tokens = 7\nconcurrency = 3\ntime_limit = "90s"\n'
    gate = read(table=table, questions='{"question": "q", "answer": "blue"}').accuracy
    assert (gate.match, gate.max_tokens, gate.concurrency, gate.time_limit_s) == ("contains", 7, 3, 90.0)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("0", "found 0; allowed: a share above 0 and up to 1, such as 0.9"),
        ("-0.5", "found -0.5; allowed: a share above 0 and up to 1, such as 0.9"),
        ("90", "found 90; allowed: a share above 0 and up to 1, such as 0.9; write 0.9 for 90 %"),
        ("nan", "found nan; allowed: a share above 0 and up to 1, such as 0.9"),
        ("inf", "found inf; allowed: a share above 0 and up to 1, such as 0.9"),
        ('"most"', "found 'most'; allowed: a share above 0 and up to 1, such as 0.9"),
        ("true", "found true; allowed: a share above 0 and up to 1, such as 0.9"),
    ],
)
def test_the_share_is_one(read, value, said):
    table = f'[accuracy]\nquestions = "q.jsonl"\nat_least = {value}\n'
    assert faults(read, table=table) == [f"benchmarks.toml: accuracy.at_least: {said}"]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("accuracy = 3\n", "accuracy: found 3; allowed: a table"),
        ("[accuracy]\n", "accuracy.questions: missing"),
        (TABLE + 'match = "regex"\n', "accuracy.match: found 'regex'; allowed: 'exact', 'contains' or 'last_number'"),
        (TABLE + "max_tokens = 0\n", "accuracy.max_tokens: found 0; allowed: 1 or more"),
        (TABLE + "concurrency = 2000\n", "accuracy.concurrency: found 2000; allowed: 1024 or less"),
        (TABLE + "time_limit = 0\n", "accuracy.time_limit: found 0; allowed: a number above 0"),
        (TABLE + 'file = "x"\n', "accuracy.file: unknown key"),
        (TABLE + "at_leest = 1\n", "accuracy.at_leest: unknown key; did you mean 'at_least'?"),
        (TABLE.replace("q.jsonl", "other.jsonl"), "accuracy.questions: there is no file HERE/other.jsonl"),
        (TABLE.replace("q.jsonl", "."), "accuracy.questions: HERE is no regular file; allowed: a file of JSON lines"),
        (TABLE.replace("q.jsonl", "a\\u0000b"), "accuracy.questions: "),
    ],
)
def test_a_wrong_table_is_told_in_a_sentence(read, write, house, table, said):
    if table.startswith("accuracy"):
        Path("q.jsonl").write_text(GOOD)
        found = faults(read_campaign, write(table + HEAD + DEPLOYMENT), house)
    else:
        found = faults(read, table=table)
    assert found[0].startswith(f"benchmarks.toml: {said}"), found


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"{", "is no JSON (Expecting property name enclosed in double quotes at character 2); allowed: "),
        (b"\xff", "is no UTF-8 text; allowed: "),
        (b"[1]", "is a list, not an object; allowed: "),
        (b"[" * 100_000, "cannot be read: it nests too deeply"),
        (b'{"answer": ' + b"1" * 5000 + b"}", "cannot be read: it nests too deeply, or holds a number of thousands of digits"),
        (b'{"answer": "4"}', "has neither question nor messages; allowed: "),
        (b'{"question": "q", "messages": [], "answer": "4"}', "has both question and messages; allowed: "),
        (b'{"question": "q"}', "answer is missing or null; allowed: a text that is not empty"),
        (b'{"question": "q", "answer": 42}', "answer is 42; allowed: a text that is not empty"),
        (b'{"question": "q", "answer": " "}', "answer is ' '; allowed: a text that is not empty"),
        (b'{"question": "q", "answer": "no"}', "answer is 'no', which holds no number; allowed: an answer with a number in it, or match"),
        (b'{"question": "", "answer": "4"}', "question is an empty text; allowed: a text that is not empty"),
        (b'{"question": "\\ud800", "answer": "4"}', "question is '\\ud800'; allowed: a text that is not empty"),
        (b'{"question": "q", "anser": "4"}', "unknown key 'anser'; allowed: question, messages, answer; did you mean 'answer'?"),
        (b'{"messages": [], "answer": "4"}', "messages is an empty list; allowed: a list of messages"),
        (
            b'{"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}], "answer": "4"}',
            "messages end with one of role assistant, so nothing is asked; allowed: a last message with role user",
        ),
    ],
)
def test_a_bad_line_is_told_with_its_number(line, said):
    questions, found = read_questions(b"\n" + GOOD.encode() + line, "q.jsonl", "last_number")
    assert len(questions) == 1
    assert [str(fault).startswith(f"q.jsonl: line 3: {said}") for fault in found] == [True], found


def test_all_bad_lines_of_a_file_are_told_at_once_up_to_a_bound(read):
    assert [fault.partition(";")[0] for fault in faults(read, questions='[]\n{"question": "q"}\n')] == [
        "HERE/q.jsonl: line 1: is an empty list, not an object",
        "HERE/q.jsonl: line 2: answer is missing or null",
    ]
    found = faults(read, questions="[]\n" * 10_000)
    assert len(found) == MOST_FAULTS + 1
    assert found[-1] == f"HERE/q.jsonl: more than {MOST_FAULTS} lines are wrong, and the others are not told"


@pytest.mark.parametrize("content", ["", "\n\n", "\ufeff"])
def test_a_file_without_a_question_is_refused(read, content):
    (found,) = faults(read, questions=content)
    assert found.startswith('HERE/q.jsonl: holds no question; allowed: {"question": "...", "answer": "..."} on each line')


def test_a_file_that_is_too_large_is_not_read(read):
    with Path("q.jsonl").open("wb") as file:
        file.truncate(LARGEST_FILE * 1000)
    (found,) = faults(read, questions=None)
    assert found.startswith("benchmarks.toml: accuracy.questions: HERE/q.jsonl is larger than 32 MiB; allowed: a file of JSON lines")


def test_a_file_with_too_many_questions_is_refused():
    content = (GOOD * (MOST_QUESTIONS + 1)).encode()
    questions, found = read_questions(content, "q.jsonl", "last_number")
    assert (questions, [str(fault) for fault in found]) == (
        (),
        [f"q.jsonl: holds more than {MOST_QUESTIONS} questions; draw a part of them"],
    )
    assert len(read_questions(GOOD.encode() * MOST_QUESTIONS, "q.jsonl", "last_number")[0]) == MOST_QUESTIONS


def test_faults_of_the_file_stand_beside_those_of_the_campaign(read):
    found = faults(read, questions="[]\n", deployment=DEPLOYMENT.replace("concurrency", "concurrencey"))
    assert len(found) >= 2
    assert any("line 1: is an empty list" in fault for fault in found)


def test_forced_acceptance_is_refused_and_the_deployment_is_named(read, house):
    forced = '[[deployment]]\nname = "fast"\nengine = "acme"\nspeculative = { tokens = 2, acceptance_length = 2.5 }\nconcurrency = 1\n'
    campaign = read(deployment=DEPLOYMENT + forced)
    (found,) = faults(make_plan, campaign, house)
    assert found == (
        "benchmarks.toml: deployment[1]: [accuracy] asks questions of deployment 'fast', which forces the acceptance of its drafts (a mean "
        "of 2.5 tokens a step), and then no answer has a meaning; let it accept drafts by what they say, or measure it in a campaign "
        "without [accuracy]"
    )
    by_recipe = '[[deployment]]\nengine = "acme"\nrecipe = "big"\nconcurrency = 1\n'
    (found,) = faults(make_plan, read(deployment=DEPLOYMENT + by_recipe), house)
    assert (
        "deployment 'acme', which forces the acceptance of its drafts (a mean of 2.5 tokens a step, perhaps by its recipe 'big')" in found
    )
    assert make_plan(read(table="", deployment=DEPLOYMENT + forced), house).points


def test_messages_need_the_chat_api(read, house):
    questions = GOOD + '{"messages": [{"role": "user", "content": "q"}], "answer": "4"}\n'
    texts, mixed = read().accuracy, read(questions=questions).accuracy
    for api, gate, refused in (("chat", mixed, 0), ("completions", texts, 0), ("completions", None, 0), ("completions", mixed, 1)):
        plan = LaunchPlan(engine="plain", processes=(), served_model="m", url="http://127.0.0.1:1", api=api)
        found = list(gate_findings(gate, plan, make_plan(read(), house).points[0].deployment))
        assert len(found) == refused
    assert found[0].text.startswith(
        "deployment 'one' uses the completions API, which carries no messages, and line 2 of q.jsonl has some; write "
    )
