"""Control requests to an engine: who it says it serves, and whether it answers. Never on the measured path."""

from __future__ import annotations

import os
import ssl
from typing import TYPE_CHECKING

import httpx

from ixbench.launch.errors import EngineError
from ixbench.model.result import Failure

if TYPE_CHECKING:
    from ixbench.model.launch import LaunchPlan

CONTROL_LIMIT_S = 10.0
"""Bound on one control request."""
_TEXT_CHARACTERS = 200


def request_headers(plan: LaunchPlan) -> dict[str, str]:
    """Return what every request to the engine carries: the planned headers, and the API key from its variable.

    :raises EngineError: if that variable is not set.
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
        headers["Authorization"] = f"Bearer {key}"
    return headers


def control_client(plan: LaunchPlan, url: str) -> httpx.AsyncClient:
    """Return a client for control requests: base URL, planned headers, API key and certificates set, every wait bounded.

    Proxies of the environment are used only for a server that we did not start.

    :raises EngineError: if the API key's variable or the file of certificates is missing.
    """
    headers = request_headers(plan)
    verify: ssl.SSLContext | bool = True
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
    return httpx.AsyncClient(base_url=url, headers=headers, verify=verify, timeout=CONTROL_LIMIT_S, trust_env=plan.url is not None)


async def served_models(client: httpx.AsyncClient) -> tuple[str, ...]:
    """Return the names of the models that the server lists, in its order; empty where the answer is no list of models.

    :raises httpx.HTTPError: if there is no answer, or one that is not 200.
    """
    response = await client.get("/v1/models")
    response.raise_for_status()
    try:
        body = response.json()
    except ValueError:
        return ()
    entries = body.get("data") if isinstance(body, dict) else None
    names = [entry.get("id") for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    return tuple(name for name in names if isinstance(name, str) and name)


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
