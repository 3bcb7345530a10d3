"""The rules of other tools in words: one table, and for each number that differs from ours the reason."""

from __future__ import annotations

TOOL_RULES: dict[str, dict[str, str]] = {
    "ixbench": {
        "ttft": "first chunk with output - send",
        "itl": "gaps between chunks with output, pooled",
        "tpot": "(last - first output) / (tokens - 1)",
        "e2el": "last chunk with output",
        "throughput": "all tokens / span from first send to last output / GPUs",
        "speed": "1 / percentile of TPOT",
        "percentiles": "linear, over requests",
        "tokens": "usage",
    },
    "vllm": {
        "ttft": "first chunk with choices - send",
        "itl": "gaps between chunks with choices, pooled",
        "tpot": "(last - first chunk with choices) / (tokens - 1)",
        "e2el": "last chunk with choices",
        "throughput": "output tokens / wall time of the whole run",
        "speed": "total output rate / concurrency",
        "percentiles": "linear; p99 by default",
        "tokens": "usage, else a local tokenizer, else 1",
    },
    "sglang": {
        "ttft": "first text or thinking - send",
        "itl": "gaps between text or thinking, pooled",
        "tpot": "(close - first) / (tokens - 1)",
        "e2el": "close of the body",
        "throughput": "output tokens / wall time, an info request included",
        "speed": "-",
        "percentiles": "linear; p90, p95, p99",
        "tokens": "usage, else what was asked for",
    },
    "guidellm": {
        "ttft": "first chunk with output - send",
        "itl": "(last - first) / (tokens - 1) a request, weighted by tokens",
        "tpot": "(last - send) / tokens, weighted by tokens",
        "e2el": "close of the body",
        "throughput": "output tokens, unfinished requests included / wall time",
        "speed": "-",
        "percentiles": "nearest rank of a weighted distribution",
        "tokens": "usage, else a local tokenizer or the number of chunks",
    },
    "inference_perf": {
        "ttft": "first chunk with a token - send",
        "itl": "gaps between tokens; those of one chunk share a stamp",
        "tpot": "(last - first) / (tokens - 1)",
        "e2el": "close of the body",
        "throughput": "output tokens / (last end - first send)",
        "speed": "-",
        "percentiles": "linear",
        "tokens": "its own tokenizer by default",
    },
    "aiperf": {
        "ttft": "first chunk with output - send",
        "itl": "(last - first) / (tokens - 1), one a request",
        "tpot": "-",
        "e2el": "last chunk with output",
        "throughput": "output tokens / length of the phase",
        "speed": "mean over requests of 1 / ITL",
        "percentiles": "linear",
        "tokens": "its own tokenizer by default",
    },
    "mlperf_endpoints": {
        "ttft": "first fragment that is not empty - send",
        "itl": "-",
        "tpot": "(last - first) / (tokens - those of the first chunk)",
        "e2el": "last chunk with output",
        "throughput": "output tokens of requests sent in a steady window / its length",
        "speed": "1 / p90 of TPOT",
        "percentiles": "p90 is the official one",
        "tokens": "usage",
    },
    "inferencex_fixed": {
        "ttft": "as vLLM",
        "itl": "as vLLM",
        "tpot": "as vLLM",
        "e2el": "as vLLM",
        "throughput": "all tokens / wall time of the whole run / GPUs",
        "speed": "1 / median of TPOT",
        "percentiles": "linear",
        "tokens": "as vLLM",
    },
    "inferencex_agentx": {
        "ttft": "as AIPerf",
        "itl": "one a request, the same list as TPOT",
        "tpot": "(last - first) / (tokens - 1)",
        "e2el": "last chunk with output",
        "throughput": "all tokens / (last end - first send) / GPUs",
        "speed": "1 / p90 of TPOT",
        "percentiles": "linear, no p99, five decimals",
        "tokens": "usage",
    },
}
"""Tool -> what it calls a quantity, beside how it takes percentiles and counts tokens."""

_CHOICES_TTFT = "A chunk without output, such as one with the role alone, counts as the first token: {role} of the answers begin with one."
_CHOICES_ITL = "The gap after a chunk with the role alone and the gap before the finish count among those between tokens."
_CHOICES_TPOT = "The time runs from the first chunk with choices to the last, so the wait behind a role chunk and the finish are in it."
_CHOICES_E2EL = "The latency ends with the finish, which comes after the last output."
_CLOSE = "The latency ends with the close of the body, {tail} (median) after the last output."
_ROUNDED = "Values are rounded to five decimals, and there is no p99."

REASONS: dict[str, dict[str, str]] = {
    "vllm": {
        "ttft": _CHOICES_TTFT,
        "itl": _CHOICES_ITL,
        "tpot": _CHOICES_TPOT,
        "e2el": _CHOICES_E2EL,
        "throughput": "Output tokens alone, over the wall time of the whole run ({wall}), in which the tail counts; ours are all tokens "
        "over {span} and the GPUs.",
        "speed": "The total output rate over the concurrency ({concurrency}): waiting, prefill, idle time and the tail are in it.",
    },
    "sglang": {
        "ttft": "Tool calls are no tokens for it, so an answer that begins with one begins later, or never.",
        "itl": "Gaps to tool calls are left out.",
        "tpot": "The time runs until the close of the body, {tail} (median) after the last output; tool calls are no tokens for it.",
        "e2el": _CLOSE,
        "throughput": "Output tokens alone, over the wall time of the whole run ({wall}); the tool's own has a further info request in it, "
        "which is not added here.",
        "speed": "It has no such number.",
    },
    "guidellm": {
        "ttft": "A percentile is a value that was measured (nearest rank), and not interpolated.",
        "itl": "One number a request, weighted by its tokens, and not the gaps between chunks, which hold {chunk} on average.",
        "tpot": "The time runs from the send, so the wait for the first token is spread over all tokens; requests weigh as many tokens as "
        "they have.",
        "e2el": f"{_CLOSE} A percentile is a value that was measured.",
        "throughput": "Output tokens alone, those of {cancelled} unfinished requests included, over the wall time ({wall}); beside it the "
        "tool prints a distribution of rates by second.",
        "speed": "It has no such number.",
    },
    "inference_perf": {
        "ttft": "The first chunk that holds a token by its own count starts the answer.",
        "itl": "Each token bears the stamp of its chunk, so the gaps inside a chunk are zero; a chunk holds {chunk} on average.",
        "tpot": "Tokens are counted by its own tokenizer.",
        "e2el": _CLOSE,
        "throughput": "Output tokens alone, from the first send to the last close ({closed}).",
        "speed": "It has no such number.",
    },
    "aiperf": {
        "itl": "One number a request, (last - first) / (tokens - 1); gaps between chunks, which hold {chunk} on average, it calls ICL.",
        "tpot": "It has none: its inter-token latency is this number, counted by its own tokenizer where there is one.",
        "throughput": "Output tokens alone, over the whole phase ({wall}), not from the first send to the last output ({span}).",
        "speed": "The mean over requests of 1 / ITL, which is never below the reciprocal of the mean.",
    },
    "mlperf_endpoints": {
        "itl": "It has none.",
        "tpot": "The tokens of the first chunk ({first}) are left out, since no time passes between them; null where the server "
        "does not count tokens per chunk.",
        "throughput": "Output tokens alone, of the requests sent in the steady window, over its length ({steady}).",
        "speed": "1 / p90 of a TPOT without the first chunk's tokens.",
    },
    "inferencex_fixed": {
        "ttft": _CHOICES_TTFT,
        "itl": _CHOICES_ITL,
        "tpot": _CHOICES_TPOT,
        "e2el": _CHOICES_E2EL,
        "throughput": "All tokens over the wall time of the whole run ({wall}) and {gpus}; ours are taken over {span}.",
        "speed": "1 / median of vLLM's TPOT.",
    },
    "inferencex_agentx": {
        "ttft": _ROUNDED,
        "itl": "One number a request, the same list as its TPOT, and not the gaps between chunks.",
        "tpot": _ROUNDED,
        "e2el": _ROUNDED,
        "throughput": "All tokens from the first send to the last close ({closed}) over {gpus}; ours end with the last output.",
        "speed": "1 / p90 of TPOT, which is rounded to five decimals.",
    },
}
"""Tool -> quantity -> why it differs from ours; the names in braces are facts of the point."""
