"""Which schema a foreign object has, told by its keys alone."""

from __future__ import annotations

from typing import Any

from ixbench_plugins.importers.errors import RowError

RAW, V1, V2, V3, API = "raw_client", "agg_v1", "agg_v2", "agg_v3_agentic", "api_row"
AIPERF_SUMMARY, AIPERF_RECORD = "aiperf_summary", "aiperf_record"


def schema_name(document: Any) -> str:  # noqa: ANN401 - a JSON value
    """Return the name of the schema.

    :raises RowError: unknown_schema.
    """
    if isinstance(document, dict):
        if "hardware" in document and isinstance(document.get("metrics"), dict):
            return API
        if "request_metrics" in document:
            return V3
        if "hw" in document and "tput_per_gpu" in document:
            return V2 if "prefill_tp" in document else V1
        if "aiperf_version" in document:
            return AIPERF_SUMMARY
        if isinstance(document.get("metadata"), dict) and "request_start_ns" in document["metadata"]:
            return AIPERF_RECORD
        if "max_concurrency" in document and "duration" in document:
            return RAW
        keys = ", ".join(repr(str(key))[:40] for key in list(document)[:5])
        raise RowError("unknown_schema", f"no known schema has an object with the keys {keys or '(none)'}")
    raise RowError("unknown_schema", f"a result is an object, found {type(document).__name__}")
