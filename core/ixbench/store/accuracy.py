"""What a launch answered at the accuracy gate: answers.jsonl as they came, accuracy.json when the last one was there."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Self

import msgspec

from ixbench.measure.accuracy import JudgedAnswer
from ixbench.model.accuracy import AccuracyResult
from ixbench.model.errors import Fault, InputError
from ixbench.model.printable import printable
from ixbench.store.encode import UNDECODABLE, read_document, read_versioned, readable, refusals, to_json, to_line, write_atomic
from ixbench.store.folder import LAUNCHES
from ixbench.store.names import is_plain_name

if TYPE_CHECKING:
    from io import FileIO
    from pathlib import Path

    from ixbench.model.secrets import Redactor
    from ixbench.store.folder import RunReader

ACCURACY = "accuracy.json"
ANSWERS = "answers.jsonl"
ACCURACY_FORMAT = 1
"""History of accuracy.json and answers.jsonl: 1 = first release."""
KEPT_CHARACTERS = 300
"""Of an answer, and of what was expected."""


class AnswerWriter:
    """The open answers of a launch. Each is handed to the operating system as it comes; what an earlier gate left is gone."""

    def __init__(self, folder: Path, redactor: Redactor) -> None:
        """Begin anew in the folder of a launch.

        :raises IxbenchError: if the disk refuses.
        """
        self._folder = folder
        self._redactor = redactor
        with refusals(folder):
            for name in (ACCURACY, ANSWERS):
                (folder / name).unlink(missing_ok=True)
            self._file: FileIO = (folder / ANSWERS).open("xb", buffering=0)

    def __enter__(self) -> Self:
        """Return the writer."""
        return self

    def __exit__(self, *_exc: object) -> None:
        """Close the file; without `seal` there is no accuracy.json."""
        self._file.close()

    def answer(self, answer: JudgedAnswer) -> None:
        """Append one answer, its texts cut, without secrets and harmless to a terminal.

        :raises IxbenchError: if the disk refuses.
        """
        kept = replace(answer, expected=self._kept(answer.expected), got=None if answer.got is None else self._kept(answer.got))
        line = to_line(kept, self._redactor)
        with refusals(self._folder / ANSWERS):
            while line:
                line = line[self._file.write(line) or 0 :]

    def seal(self, result: AccuracyResult) -> None:
        """Write everything through to the disk, and accuracy.json last.

        :raises IxbenchError: if the disk refuses.
        """
        with refusals(self._folder / ANSWERS):
            os.fsync(self._file.fileno())
        content = {"format": ACCURACY_FORMAT, **asdict(result), "share": result.share, "passed": result.passed}
        write_atomic(self._folder / ACCURACY, to_json(content, self._redactor))

    def _kept(self, text: str) -> str:
        # Hidden before it is cut: half a secret would not be known as one.
        return printable(self._redactor.text(text))[:KEPT_CHARACTERS]


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRecord:
    """What a run folder keeps of the last gate of a launch."""

    result: AccuracyResult
    answers: tuple[JudgedAnswer, ...]
    """In the order in which they came."""


def read_gate_record(run: RunReader, launch_id: str) -> GateRecord | None:
    """Return what a launch answered, or None where no gate of it came to an end.

    :raises InputError: if a file is broken, or of a later format.
    """
    folder = run.path / LAUNCHES / launch_id
    if not is_plain_name(launch_id) or not (folder / ACCURACY).is_file():
        return None
    path = folder / ACCURACY
    try:
        with readable(path):
            result = msgspec.json.decode(read_versioned(path, ACCURACY_FORMAT), type=AccuracyResult)
        path = folder / ANSWERS
        with readable(path):
            answers = tuple(msgspec.json.decode(line, type=JudgedAnswer) for line in read_document(path).splitlines())
    except UNDECODABLE as error:
        raise InputError(Fault(where=str(path), problem=f"is not what an accuracy gate writes: {error}")) from error
    return GateRecord(result=result, answers=answers)
