"""What the loop does beside measuring: it says from time to time how far the points are, for whoever reads only a log."""

from __future__ import annotations

import anyio

from ixbench.replay.virtual import VirtualLoop
from ixbench.run.loop import RunLoop
from ixbench.run.state import PointState, RunState


class Listener:
    def __init__(self):
        self.heard = []

    def going_on(self, point):
        self.heard.append((anyio.current_time(), point.id))


def test_points_that_go_on_are_told_of_once_a_minute():
    points = [PointState(id="done", stage="valid"), PointState(id="on", stage="profile"), PointState(id="next")]
    listener = Listener()
    loop = RunLoop(
        campaign=None,
        host=None,
        folder=None,
        state=RunState(title="t", points={point.id: point for point in points}),
        view=listener,
        interruption=None,
        redactor=None,
        corpora={},
    )

    async def main():
        began = anyio.current_time()
        with anyio.move_on_after(150):
            await loop._tell()
        return began

    began = anyio.run(main, backend_options={"loop_factory": VirtualLoop})
    assert [(moment - began, point) for moment, point in listener.heard] == [(60, "on"), (120, "on")]
