"""The tail of a log says what the whole log says, however it grows."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ixbench.launch.log import LINE_BYTES, log_lines
from ixbench.launch.tail import LogTail

PIECES = st.lists(st.sampled_from([b"a", b"\r", b"\n", b"\r\n", b"\x1b[31mred\x1b[0m", b"\xff", "ü".encode(), b"word "]), max_size=30)


@given(pieces=PIECES, most=st.integers(1, 7))
def test_numbers_and_lines_are_those_of_the_whole_log(tmp_path_factory, pieces, most):
    path = tmp_path_factory.mktemp("log") / "engine.log"
    tail = LogTail(path=path)
    found = []
    for piece in pieces:
        with path.open("ab") as file:
            file.write(piece)
        found += tail.read(most)
    for _ in range(sum(map(len, pieces)) + 1):
        found += tail.read(most)
    whole = list(log_lines(path)) if pieces else [(1, "")]
    assert [*found, (tail.lines + 1, tail.begun)] == whole


def test_a_progress_bar_is_seen_before_it_ends(tmp_path):
    path = tmp_path / "engine.log"
    tail = LogTail(path=path)
    assert (tail.read(), tail.begun) == ([], "")
    path.write_bytes(b"start\n\rshards:  45%")
    assert tail.read() == [(1, "start"), (2, "")]
    assert tail.begun == "shards:  45%"
    with path.open("ab") as file:
        file.write(b"\rshards:  46%")
    assert tail.read() == [(3, "shards:  45%")]
    assert tail.begun == "shards:  46%"


def test_what_was_skipped_is_counted(tmp_path):
    path = tmp_path / "engine.log"
    path.write_bytes(b"old\n" * 300_000)
    tail = LogTail(path=path)
    tail.skip()
    assert tail.lines == 300_000
    with path.open("ab") as file:
        file.write(b"new\n")
    assert tail.read() == [(300_001, "new")]


def test_an_endless_line_is_not_kept(tmp_path):
    path = tmp_path / "engine.log"
    path.write_bytes(b"x" * 3_000_000)
    tail = LogTail(path=path)
    tail.skip()
    assert len(tail.begun) <= 2 * LINE_BYTES
