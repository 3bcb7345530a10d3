"""The tables inside an ATOM deployment: each stands for a group of flags and variables that belong together."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, PositiveInt, model_validator

from ixbench.api.engine import Duration, HostMemory, OptionsModel, Size

NotNegativeInt = Annotated[int, Field(ge=0)]
PositiveSizes = Annotated[tuple[PositiveInt, ...], Field(min_length=1)]
QuantFormat = Literal["ptpc_fp8", "mxfp4"]


class DSpark(OptionsModel):
    """How many tokens of a DSpark draft are verified, and the graphs for that; `--dspark-config`."""

    confidence_schedule: bool | None = None
    """Verify as many tokens of each request as the draft itself is sure of; excludes synthetic acceptance."""
    ragged: bool | None = None
    """Let each request forward its own number of tokens; needs confidence_schedule."""
    ragged_graph_sizes: PositiveSizes | None = None
    """Tokens a request for which the ragged form captures graphs, for instance [1, 3, 6]."""
    q_buckets: PositiveSizes | None = None
    """Tokens a request for which the older form, one length a batch, captures graphs."""
    disable_sps_calib: bool | None = None
    """Skip the calibration of verify costs at the start."""

    @model_validator(mode="after")
    def _ragged(self) -> Self:
        if self.ragged and not self.confidence_schedule:
            raise ValueError("ragged needs confidence_schedule = true")
        if self.ragged_graph_sizes is not None and not self.ragged:
            raise ValueError("ragged_graph_sizes needs ragged = true")
        return self


class Speculative(OptionsModel):
    """Speculative decoding: how tokens are drafted, and how many drafts pass."""

    method: Literal["mtp", "eagle3", "dspark"]
    """How tokens are drafted."""
    draft: str | None = None
    """Hub name or folder of the draft model; "mtp" has none."""
    tokens: PositiveInt | None = None
    """Draft tokens a step; ATOM's default is 1."""
    acceptance_length: float | None = None
    """Synthetic acceptance: mean tokens a step, the target's own included, within [1, tokens + 1]. The text is then meaningless."""
    acceptance_rate: Annotated[float, Field(ge=0, le=1)] | None = None
    """Synthetic acceptance as a share of the draft tokens; instead of acceptance_length."""
    dspark: DSpark | None = None
    """For method "dspark"."""

    @model_validator(mode="after")
    def _one_acceptance(self) -> Self:
        if self.acceptance_length is not None and self.acceptance_rate is not None:
            raise ValueError("acceptance_length and acceptance_rate exclude each other; keep one of them")
        if self.dspark is not None and self.method != "dspark":
            raise ValueError(f"dspark is for method 'dspark', and the method is '{self.method}'; remove it")
        return self

    @property
    def synthetic(self) -> bool:
        """Whether acceptance is synthetic; its mean length is read from the flags, where verbatim ones may change it."""
        return self.acceptance_length is not None or self.acceptance_rate is not None


class KvOffload(HostMemory):
    """A KV cache tier in host memory."""

    backend: Literal["off", "lmcache"]
    """What keeps the blocks: nothing, or LMCache."""
    chunk_tokens: PositiveInt | None = None
    """Tokens that are stored and loaded together; 256 where nothing is said."""
    min_load_tokens: NotNegativeInt | None = None
    """Shorter hits are computed again instead of loaded; ATOM's default is 8192."""
    copy_workers: PositiveInt | None = None
    """Threads a rank that copy; ATOM's default is 1."""
    staging_chunks: PositiveInt | None = None
    """Chunks of the staging buffer on the GPU; ATOM's default is 2."""
    statistics: bool | None = None
    """Whether ATOM logs what each step loaded and stored."""
    machine_memory: Annotated[Size, Field(gt=0)] | None = None
    """Host memory of the whole machine, in bytes or as a text, against which sizes are checked; 3 TB where nothing is said."""

    @model_validator(mode="after")
    def _sizes(self) -> Self:
        given = [name for name in ("host_memory", "host_memory_per_rank") if getattr(self, name) is not None]
        settings = ("chunk_tokens", "min_load_tokens", "copy_workers", "staging_chunks", "statistics", "machine_memory")
        useless = given + [name for name in settings if getattr(self, name) is not None]
        if self.backend == "off" and useless:
            raise ValueError(f"{useless[0]} needs a backend: 'lmcache'")
        if self.backend != "off" and len(given) != 1:
            raise ValueError(f"give exactly one of host_memory and host_memory_per_rank, not {'both' if given else 'neither'}")
        return self


class Compilation(OptionsModel):
    """Compilation and graph capture."""

    level: Annotated[int, Field(ge=0, le=3)] | None = None
    """How much is compiled, from 0 (nothing) to 3 (everything); ATOM's default is 3."""
    cudagraph_mode: Literal["NONE", "PIECEWISE", "FULL", "FULL_AND_PIECEWISE", "AF_PIECEWISE"] | None = None
    """What is captured as graphs: parts of a step, or whole steps."""
    cudagraph_capture_sizes: PositiveSizes | None = None
    """Batches for which graphs are captured, in sequences, as ATOM counts them: it captures each size with 1 + draft tokens a sequence by
    itself."""


class StateCheckpoints(OptionsModel):
    """Checkpoints of recurrent state, for hybrid models."""

    interval_tokens: Annotated[int, Field(ge=-1)] | None = None
    """Tokens between two checkpoints; 0 turns them off, and -1 is known to the Kimi K3 image only."""
    slots: PositiveInt | None = None
    """Checkpoints that are kept; known to the Kimi K3 image only."""


class OnlineQuant(OptionsModel):
    """Quantization while loading."""

    config: QuantFormat | None = None
    """Format of all layers that are not excluded and not named in `layers`; without it only those of `layers` are quantized."""
    layers: dict[str, QuantFormat] = Field(default_factory=dict)
    """Formats for layers by name or glob."""
    exclude: tuple[str, ...] = ()
    """Layer names or globs to leave as they are."""

    @model_validator(mode="after")
    def _something(self) -> Self:
        if self.config is None and not self.layers:
            raise ValueError("give config or layers: else nothing is quantized")
        return self


class WeightLoading(OptionsModel):
    """How the weights are read."""

    mmap: bool | None = None
    """Whether the files are mapped; false reads them instead."""
    threads: PositiveInt | None = None
    """Threads that read; ATOM's default is 16."""


class Profiler(OptionsModel):
    """ATOM's own profiler, which a running server starts and stops when asked."""

    folder: str | None = None
    """Where the traces go; `profile` in the launch's own folder where nothing is said."""
    mark_trace: bool | None = None
    """Whether graphs carry markers for the trace."""
    detailed: bool | None = None
    """Whether shapes, stacks and memory are recorded too."""
    timeout: Duration | None = None
    """How long writing the traces may take, in seconds or as a text; ATOM's default is 300 s."""
