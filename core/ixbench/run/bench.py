"""`ixbench bench` as a campaign: the command line becomes the table that a file would hold, so that there is one way to run."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ixbench.campaign.document import Document
from ixbench.campaign.overrides import parse_scalar
from ixbench.host.specs import Specs
from ixbench.model.errors import Fault, InputError
from ixbench.model.printable import is_text, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ixbench.campaign.keypath import KeyPath
    from ixbench.host.host import Host
    from ixbench.model.result import PointResult

DEFAULT_KEY_VARIABLE = "OPENAI_API_KEY"
WHERE = "bench"
"""What stands in messages for the name of a file."""
LARGEST_CONCURRENCY = 1024
GROWTH = 1.05
"""A doubling of the load that brings less than 5 % more throughput brings nothing."""
_DEFAULT_LENGTHS = {"input_tokens": 512, "output_tokens": 128}
_FLAGS: dict[KeyPath, str] = {
    ("deployment", 0): WHERE,
    ("deployment", 0, "url"): "URL",
    ("deployment", 0, "engine"): "--engine",
    ("deployment", 0, "concurrency"): "--concurrency",
    ("deployment", 0, "api_key_env"): "--api-key-env",
    ("deployment", 0, "headers"): "--header",
    ("model",): "--model",
    ("workload",): "--set",
    ("workload", "use"): "--workload",
    ("workload", "requests"): "--requests",
    ("workload", "duration"): "--duration",
    ("hardware", "gpus"): "--gpus",
    ("hardware", "sku"): "--sku",
    ("prices",): "--usd-per-gpu-hour",
}
"""Who sets which place of the table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchRequest:
    """The command line, as text."""

    url: str
    model: str | None = None
    workload: str = "fixed"
    concurrency: str | None = None
    requests: str | None = None
    duration: str | None = None
    settings: tuple[str, ...] = ()
    """KEY=VALUE pairs of the workload."""
    gpus: str | None = None
    sku: str | None = None
    usd_per_gpu_hour: str | None = None
    engine: str = "endpoint"
    api_key_env: str | None = None
    headers: tuple[str, ...] = ()


def bench_document(request: BenchRequest, host: Host) -> Document:
    """Return the campaign of a command line as if it had been read from a file; messages about it name the flags.

    :raises InputError: as `bench_table`, and for an engine that is unknown or takes no headers where some are given.
    """
    table = bench_table(request)
    engine = host.engine(request.engine, where="--engine")
    if request.headers and "headers" not in engine.Options.model_fields:
        able = [other.name for other in host.engines() if "headers" in other.Options.model_fields]
        raise InputError(
            Fault(where="--header", problem=f"engine {engine.name!r} takes no headers", allowed=f"--engine {' or '.join(able) or 'none'}")
        )
    keys = {("workload", key): f"--set {key}" for key in table["workload"] if any(text.startswith(f"{key}=") for text in request.settings)}
    known = request.workload in host.names(Specs.ixbench_workloads)
    fields = host.workload(request.workload).Options.model_fields if known else ()
    # Where a key is missing, the flag is named that would have set it.
    return Document(where=WHERE, table=table, overridden={("workload", key): f"--set {key}" for key in fields} | _FLAGS | keys)


def bench_table(request: BenchRequest) -> dict[str, Any]:
    """Return the campaign table of a command line.

    :raises InputError: for every value that cannot be read; what it means is judged where campaigns are.
    """
    reader = _Reader()
    reader.texts(
        ("URL", request.url),
        ("--model", request.model),
        ("--workload", request.workload),
        ("--engine", request.engine),
        ("--api-key-env", request.api_key_env),
        *(("--set", text) for text in request.settings),
    )
    # Their values may be secrets, so that they are not repeated.
    reader.texts(*(("--header", text) for text in request.headers), shown=False)
    reader.refuse()
    table: dict[str, Any] = {
        "schema": 1,
        "title": f"bench {request.model or request.engine}",
        "workload": _workload(request, reader),
        "deployment": [_deployment(request, reader)],
    }
    hardware: dict[str, Any] = {} if request.sku is None else {"sku": request.sku}
    if request.gpus is not None:
        hardware["gpus"] = reader.whole("--gpus", request.gpus)
    if hardware:
        table["hardware"] = hardware
    if request.model:
        table["model"] = {"id": request.model}
    if request.usd_per_gpu_hour is not None:
        table["prices"] = {"tiers": {"custom": reader.number("--usd-per-gpu-hour", request.usd_per_gpu_hour)}}
    reader.refuse()
    return table


def _workload(request: BenchRequest, reader: _Reader) -> dict[str, Any]:
    workload: dict[str, Any] = {"use": request.workload}
    if request.workload == "fixed":
        workload |= _DEFAULT_LENGTHS
    workload |= reader.pairs("--set", request.settings)
    if request.requests is not None:
        workload["requests"] = reader.whole("--requests", request.requests)
    if request.duration is not None:
        workload["duration"] = parse_scalar(request.duration)
    return workload


def _deployment(request: BenchRequest, reader: _Reader) -> dict[str, Any]:
    deployment: dict[str, Any] = {"engine": request.engine, "url": request.url, "concurrency": reader.loads(request.concurrency)}
    key_variable = request.api_key_env or (DEFAULT_KEY_VARIABLE if os.environ.get(DEFAULT_KEY_VARIABLE) else None)
    if key_variable:
        deployment["api_key_env"] = key_variable
    if request.headers:
        deployment["headers"] = reader.headers(request.headers)
    return deployment


def stops_growing(results: Sequence[PointResult]) -> bool:
    """Say whether the last doubling of the load was worth nothing: output throughput grew by less than 5 %, or there was none."""
    if not results:
        return False
    last = output_rate(results[-1])
    if results[-1].failure is not None or not last:
        return True
    return len(results) > 1 and last < (output_rate(results[-2]) or 0.0) * GROWTH


def output_rate(result: PointResult) -> float | None:
    """Return the output tokens a second of a point, or None where it has none."""
    rate = result.metrics.get("throughput_tok_s")
    return rate.get("output") if isinstance(rate, dict) else None


class _Reader:
    """Reads texts into values and keeps every fault."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []

    def refuse(self) -> None:
        if self._faults:
            raise InputError(self._faults)

    def texts(self, *given: tuple[str, str | None], shown: bool = True) -> None:
        for flag, text in given:
            if text is not None and not is_text(text):
                self._faults.append(Fault(where=flag, problem=f"{printable(text) if shown else 'a header'} is not UTF-8"))

    def whole(self, flag: str, text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = 0
        if value < 1:
            self._faults.append(Fault(where=flag, problem=f"{text!r} is no count", allowed="a whole number from 1"))
        return value

    def number(self, flag: str, text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not 0 < value < float("inf"):
            self._faults.append(Fault(where=flag, problem=f"{text!r} is no price", allowed="a number above 0"))
        return value

    def loads(self, text: str | None) -> list[int]:
        if text is None:
            return [2**power for power in range(LARGEST_CONCURRENCY.bit_length())]
        return [self.whole("--concurrency", part.strip()) for part in text.split(",")]

    def headers(self, texts: Sequence[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        for text in texts:
            name, colon, value = text.partition(":")
            if not colon or not name.strip():
                # The text may hold a secret, so it is not repeated.
                self._faults.append(Fault(where="--header", problem="a header has no colon, or no name before it", allowed="NAME:VALUE"))
            elif name.strip() in found:
                self._faults.append(Fault(where="--header", problem=f"{name.strip()!r} is given twice", allowed="each header once"))
            found[name.strip()] = value.strip()
        return found

    def pairs(self, flag: str, texts: Sequence[str]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for text in texts:
            key, equals, value = text.partition("=")
            if not equals or not key.strip():
                self._faults.append(Fault(where=flag, problem=f"{text!r} has no value", allowed="KEY=VALUE"))
            found[key.strip()] = parse_scalar(value)
        return found
