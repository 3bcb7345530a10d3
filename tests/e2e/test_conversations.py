"""Conversations with live answers, as the server received them: every prompt begins with the one before it and the answer to that."""

from __future__ import annotations

import json
from itertools import pairwise

from ixbench.testing.answer import Completion
from ixbench.testing.pseudo_tokenizer import PseudoTokenizer
from ixbench.testing.script import Reply

CONVERSATIONS = [
    {
        "messages": [
            {"role": "system", "content": f"you are number {number}"},
            {"role": "user", "content": "how do you do"},
            {"role": "assistant", "content": "the file's answer, which nobody gave"},
            {"role": "user", "content": "and what then"},
            {"role": "user", "content": "thank you"},
        ]
    }
    for number in range(5)
]


def answer(body):
    """Return what the server says to a request: its words depend on the whole prompt."""
    prompt = PseudoTokenizer().chat([(message["role"], message["content"]) for message in body["messages"]])
    fields = {"number": 1, "chat": True, "model": "m", "cached": 0, "usage_asked": True, "reply": Reply()}
    return " ".join(Completion(prompt=prompt, max_tokens=body["max_tokens"], **fields).words())


def test_turns_follow_one_another_and_each_prompt_begins_with_the_last(shell, server):
    shell.write("prompts.jsonl", "".join(f"{json.dumps(conversation)}\n" for conversation in CONVERSATIONS))
    shell.write_campaign(f'[[deployment]]\nengine = "endpoint"\nurl = "{server.url}"\nconcurrency = [1, 3]\n')
    before = len(server.log())
    done = shell.run("run", "campaign.toml")
    assert done.code in {0, 1}, done.err
    received = {request["headers"]["x-request-id"]: request for request in server.log()[before:]}
    markers = set()
    for point in ("endpoint-c1", "endpoint-c3"):
        records = done.records(point)
        assert len(records) == 3 * len(CONVERSATIONS)
        sessions = {record.session_id for record in records}
        assert len(sessions) == len(CONVERSATIONS)
        for session in sessions:
            turns = sorted((record for record in records if record.session_id == session), key=lambda record: record.turn)
            assert [record.turn for record in turns] == [0, 1, 2]
            bodies = [received[record.req_id]["body"] for record in turns]
            first = bodies[0]["messages"]
            assert [message["role"] for message in first] == ["system", "user"]
            marker, _, text = first[0]["content"].partition(" ")
            assert text in {conversation["messages"][0]["content"] for conversation in CONVERSATIONS}
            markers.add((point, marker))
            for (earlier, later), question in zip(pairwise(bodies), ("and what then", "thank you"), strict=True):
                said = [{"role": "assistant", "content": answer(earlier)}, {"role": "user", "content": question}]
                assert later["messages"] == [*earlier["messages"], *said]
            for earlier, later in pairwise(turns):
                # Both clocks are the machine's monotonic one.
                assert earlier.close_ns <= later.send_ns <= received[later.req_id]["received_ns"]
                assert later.lane == earlier.lane
    # The marker that keeps a point out of the prefix cache of the one before it: one for each point.
    assert len({marker for _, marker in markers}) == len(markers) == 2
    assert "the file's answer" not in json.dumps([request["body"] for request in received.values()])
    one_by_one = done.records("endpoint-c1")
    order = [received[record.req_id]["body"]["messages"][0]["content"].split()[-1] for record in one_by_one]
    assert order == [str(number) for number in range(5) for _ in range(3)], "one user plays the conversations in the file's order"
    assert max(record.lane for record in done.records("endpoint-c3")) == 2


def test_prompts_and_answers_stay_out_of_the_run_folder(shell, server):
    shell.write_prompts(["the quarrelsome wombat"] * 3)
    shell.write_campaign(f'[[deployment]]\nengine = "endpoint"\nurl = "{server.url}"\nconcurrency = 1\n')
    before = len(server.log())
    done = shell.run("run", "campaign.toml")
    said = answer(server.log()[before]["body"])
    content = b"".join(path.read_bytes() for path in done.folder.rglob("*") if path.is_file())
    assert b"wombat" not in content
    assert said.encode() not in content
