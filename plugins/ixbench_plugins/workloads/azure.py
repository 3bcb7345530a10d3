"""Azure's recorded requests: times and lengths, each request with a prompt of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ixbench.api.workload import Schedule, SyntheticPrompt, Turn, Workload, WorkloadIdentity
from ixbench_plugins.traces.azure import read_azure
from ixbench_plugins.workloads.recorded import RecordedOptions, Recording, chosen

if TYPE_CHECKING:
    from ixbench.api.workload import Load
    from ixbench_plugins.traces.azure import AzureRow


class AzureOptions(RecordedOptions):
    """`[workload]` with `use = "azure"`."""


class Azure(Workload[AzureOptions]):
    """Recorded single requests that share nothing."""

    name: ClassVar[str] = "azure"
    summary: ClassVar[str] = "an Azure LLM inference trace: recorded times and lengths, with fresh synthetic prompts"
    Options = AzureOptions

    def schedule(self, options: AzureOptions, load: Load, *, key: str) -> Schedule:
        """Return a warm-up and a measured phase of the file's requests."""
        rows = read_azure(options.file)
        requests = [AzureTalk(row=row, shortest=options.min_input_tokens) for row in rows.rows]
        talks = chosen(options, requests, self.name)
        return Recording(workload=self.name, options=options, load=load, key=key, talks=talks).schedule(rows.hash)

    def identity(self, options: AzureOptions) -> WorkloadIdentity:
        """Return the hash of the file, and what is taken from it."""
        return WorkloadIdentity(corpus=options.corpus_of(read_azure(options.file).hash))

    def estimate_s(self, options: AzureOptions, load: Load) -> float | None:
        """Return the length of the measured phase, where it does not depend on the engine."""
        if options.duration is None and options.requests is not None and load.rate is not None:
            return options.requests / load.rate
        return options.duration


@dataclass(frozen=True, slots=True, kw_only=True)
class AzureTalk:
    """One row: a conversation of one request."""

    row: AzureRow
    shortest: int
    """Length of the shortest prompt that is sent."""

    @property
    def name(self) -> str:
        """Its line."""
        return f"line {self.row.line}"

    @property
    def arrival_ns(self) -> int:
        """When it was sent."""
        return self.row.arrival_ns

    @property
    def turns(self) -> int:
        """It is one request."""
        return 1

    @property
    def _input_tokens(self) -> int:
        return max(self.row.input_tokens, self.shortest)

    @property
    def _output_tokens(self) -> int:
        return max(self.row.output_tokens, 1)

    @property
    def context_tokens(self) -> int:
        """Prompt and answer."""
        return self._input_tokens + self._output_tokens

    @property
    def lengthened(self) -> bool:
        """Whether its prompt was too short to be sent."""
        return self._input_tokens != self.row.input_tokens

    def make(self, key: str, most: int) -> tuple[Turn, ...]:
        """Return its turn."""
        turn = Turn(
            prompt=SyntheticPrompt(tokens=self._input_tokens, key=f"{key}:{self.row.line}"),
            input_tokens=self._input_tokens,
            output_tokens=self._output_tokens,
            exact_length=True,
        )
        return (turn,)[:most]
