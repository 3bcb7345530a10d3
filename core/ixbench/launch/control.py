"""Control requests to an engine: who it says it serves, and whether it answers. Never on the measured path."""

from __future__ import annotations

import json
import os
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio
import httpx

from ixbench.launch.bounded import BoundedTransport
from ixbench.launch.errors import EngineError
from ixbench.launch.route import route_to
from ixbench.model.printable import is_header_value, is_text
from ixbench.model.result import Failure

if TYPE_CHECKING:
    from ixbench.model.launch import LaunchPlan

CONTROL_LIMIT_S = 10.0
"""Bound on one control request."""
MOST_BYTES = 1 << 20
"""So much of a list of models is read; one that is longer is none."""
_MODELS_PATH = "/v1/models"
_PIECE_BYTES = 1 << 16
_TEXT_CHARACTERS = 200


def request_headers(plan: LaunchPlan) -> dict[str, str]:
    """Return what every request to the engine carries: the planned headers, and the API key from its variable.

    :raises EngineError: if that variable is not set, or holds what no header may have.
    """
    headers = dict(plan.headers)
    if plan.api_key_env is not None:
        key = os.environ.get(plan.api_key_env)
        if not key:
            raise EngineError(
                Failure(
                    code="no_api_key",
                    cause=f"The variable {plan.api_key_env}, which should hold the API key, is not set.",
                    fix=f"Set {plan.api_key_env}, or leave out api_key_env where the server needs no key.",
                )
            )
        if not is_header_value(key):
            raise EngineError(
                Failure(
                    code="bad_api_key",
                    cause=f"The variable {plan.api_key_env} holds characters that no header may have, such as a line break.",
                    fix=f"Set {plan.api_key_env} to the API key alone; a file with Windows line ends leaves a carriage return behind it.",
                )
            )
        headers["Authorization"] = f"Bearer {key}"
    return headers


def control_client(plan: LaunchPlan, url: str) -> httpx.AsyncClient:
    """Return a client for control requests: base URL, planned headers, API key and certificates set, every wait and answer bounded.

    What the environment says of proxies and certificates counts only for a server that we did not start.

    :raises EngineError: if the API key's variable or the file of certificates is missing, or there is a proxy that cannot be used.
    """
    headers, route = request_headers(plan), route_to(plan, url)
    verify = _certificates(route.url, trust_env=plan.url is not None)
    if plan.ca_file is not None:
        try:
            verify = ssl.create_default_context(cafile=plan.ca_file)
        except (OSError, ssl.SSLError) as error:
            raise EngineError(
                Failure(
                    code="bad_ca_file",
                    cause=f"{plan.ca_file} can't be used as a file of certificates: {error}.",
                    fix="Give the path of a PEM file with the certificate of the server's authority.",
                )
            ) from error
    transport = BoundedTransport(httpx.AsyncHTTPTransport(verify=verify, trust_env=False, proxy=route.proxy, uds=route.uds))
    return httpx.AsyncClient(base_url=route.url, headers=headers, timeout=CONTROL_LIMIT_S, trust_env=False, transport=transport)


def _certificates(url: str, *, trust_env: bool) -> ssl.SSLContext:
    """Return the certificates to trust: none without TLS, since reading those of the system takes as long as many requests."""
    if url.startswith("https:"):
        return httpx.create_ssl_context(trust_env=trust_env)
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedModels:
    """What a server says at /v1/models."""

    names: tuple[str, ...] = ()
    """In the server's order."""
    lacking: str = ""
    """Why there are no names, to follow the server's URL in a sentence; empty where there are some."""


async def served_models(client: httpx.AsyncClient) -> ServedModels:
    """Return the models that the server lists; of an answer no more than 1 MiB is read.

    :raises httpx.HTTPError: if there is no answer in time, or one that is not 200.
    """
    content = bytearray()
    try:
        # httpx bounds each read; an answer that drips for ever is bounded here.
        with anyio.fail_after(CONTROL_LIMIT_S):
            async with client.stream("GET", _MODELS_PATH) as response:
                async for piece in response.aiter_bytes(_PIECE_BYTES):
                    content += piece
                    if len(content) > MOST_BYTES:
                        break
                if not response.is_success:
                    # Messages quote the start of the answer.
                    start = httpx.Response(response.status_code, content=bytes(content[:MOST_BYTES]), request=response.request)
                    start.raise_for_status()
    except TimeoutError as error:
        raise httpx.ReadTimeout(f"{_MODELS_PATH} did not end within {CONTROL_LIMIT_S:g} s") from error
    if len(content) > MOST_BYTES:
        return ServedModels(lacking=f"answers {_MODELS_PATH} with more than {MOST_BYTES >> 20} MiB, which is no list of models")
    return read_models(bytes(content), response.headers.get("content-type", ""))


def read_models(content: bytes, content_type: str) -> ServedModels:
    """Return the names in an answer to /v1/models, or why there are none. Pure."""
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        kind = f"({content_type.partition(';')[0].strip()[:_TEXT_CHARACTERS]})" if content_type else "(of no content type)"
        return ServedModels(lacking=f"answers {_MODELS_PATH} with something that is not JSON {kind}")
    entries = body.get("data") if isinstance(body, dict) else None
    if not isinstance(entries, list):
        return ServedModels(lacking=f'answers {_MODELS_PATH} with JSON of another shape than {{"data": [{{"id": ...}}]}}')
    if not entries:
        return ServedModels(lacking=f"lists no model at {_MODELS_PATH}: its list is empty")
    ids = [entry.get("id") for entry in entries if isinstance(entry, dict)]
    # JSON can escape half a character, which no request can name.
    names = tuple(name for name in ids if isinstance(name, str) and name and is_text(name))
    return ServedModels(names=names, lacking="" if names else f"lists entries at {_MODELS_PATH} of which none has an id")


def describe_error(error: httpx.HTTPError) -> str:
    """Return what went wrong with a request in a few words; never empty."""
    if isinstance(error, httpx.HTTPStatusError):
        return describe_response(error.response)
    if isinstance(error, httpx.TimeoutException):
        return "no answer in time"
    return str(error) or type(error).__name__


def describe_response(response: httpx.Response) -> str:
    """Return a response's status and the start of its text."""
    text = " ".join(response.text.split())[:_TEXT_CHARACTERS]
    return f"status {response.status_code}" + (f" ({text})" if text else "")
