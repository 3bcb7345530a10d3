"""Attaching to a server that is already running: does it answer, and which model does it serve."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx

from ixbench.launch.control import describe_error, served_models
from ixbench.launch.errors import EngineError
from ixbench.model.result import Failure

if TYPE_CHECKING:
    from ixbench.model.launch import LaunchPlan

_REFUSED = frozenset({401, 403})


async def attach(plan: LaunchPlan, url: str, client: httpx.AsyncClient) -> tuple[str, tuple[str, ...]]:
    """Return the model to ask for, and notes.

    Without a model's name the first that the server lists is taken. A server that answers but lists none will do where the name is given.

    :param url: for messages; the client has it already.
    :raises EngineError: if nothing answers, the key is refused, or there is no model to ask for.
    """
    models: tuple[str, ...] = ()
    lacking = ""
    try:
        served = await served_models(client)
        models, lacking = served.names, served.lacking
    except httpx.HTTPStatusError as error:
        lacking = f"lists no model: /v1/models answers {describe_error(error)}"
        if error.response.status_code in _REFUSED:
            raise EngineError(
                Failure(
                    code="access_denied",
                    cause=f"{url} refuses access: {describe_error(error)}.",
                    fix="Give the API key's variable with api_key_env (bench: --api-key-env), or other headers.",
                )
            ) from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        reason = describe_error(error) if isinstance(error, httpx.HTTPError) else str(error)
        raise EngineError(
            Failure(
                code="endpoint_unreachable",
                cause=f"{url} does not answer: {reason}.",
                fix="Check the address, and that the server runs and is reachable from this machine.",
            )
        ) from error
    if plan.served_model is not None:
        if models and plan.served_model not in models:
            return plan.served_model, (f"{url} lists {_some(models)}, but not {plan.served_model}",)
        return plan.served_model, ()
    if not models:
        raise EngineError(
            Failure(
                code="no_model",
                cause=f"{url} {lacking}.",
                fix="Name the model that requests should carry ([model] id, bench: --model).",
            )
        )
    first, *others = models
    return first, (f"{url} lists {_some(models)}; the first is used",) if others else ()


def _some(models: tuple[str, ...], most: int = 5) -> str:
    shown = ", ".join(models[:most])
    return shown if len(models) <= most else f"{shown} and {len(models) - most} more"
