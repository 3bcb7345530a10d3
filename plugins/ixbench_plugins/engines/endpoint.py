"""Any OpenAI-compatible server that is already running: nothing is launched, so nothing of it is known but what it says itself."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, SecretStr

from ixbench.api.engine import EngineAdapter, Fault, Finding, InputError, LaunchPlan, OptionsModel, is_header_value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ixbench.api.engine import Deployment

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_OWN_HEADERS = frozenset({"connection", "content-length", "content-type", "host", "transfer-encoding"})
URL_MISSING = "engine 'endpoint' launches nothing and needs the url of a running server; set url = \"http://...\""


def _check_headers(headers: dict[str, SecretStr]) -> dict[str, SecretStr]:
    counts = Counter(name.lower() for name in headers)
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a header: letters, digits and - are")
        if name.lower() in _OWN_HEADERS:
            raise ValueError(f"{name!r} is set by ixbench itself; remove it")
        if counts[name.lower()] > 1:
            raise ValueError(f"{name!r} is there twice: case does not count in names of headers")
        if not is_header_value(value.get_secret_value()):
            raise ValueError(f"the value of {name!r} holds characters that no header may have, such as a line break")
    return headers


class EndpointOptions(OptionsModel):
    """How to talk to a running server; `url` and `api_key_env` are keys of every deployment."""

    api: Literal["chat", "completions"] = "chat"
    """Which endpoint requests go to: /v1/chat/completions or /v1/completions."""
    served_name: str | None = None
    """The name that requests carry, where it is not the model's id; without both the server is asked."""
    headers: Annotated[dict[str, SecretStr], AfterValidator(_check_headers)] = Field(default_factory=dict)
    """Further request headers; their values are secrets and never shown."""
    ca_file: Path | None = None
    """A PEM file of certificates to trust instead of the system's, for https."""


class EndpointAdapter(EngineAdapter[EndpointOptions]):
    """A server that someone else runs."""

    name: ClassVar[str] = "endpoint"
    summary: ClassVar[str] = "any OpenAI-compatible server that is already running"
    Options = EndpointOptions

    def validate(self, deployment: Deployment[EndpointOptions]) -> Iterable[Finding]:
        """Say what is surely wrong."""
        options = deployment.options
        if deployment.url is None:
            yield Finding(level="error", code="url_missing", text=URL_MISSING)
        elif options.ca_file is not None and not deployment.url.startswith("https://"):
            yield Finding(level="error", code="ca_without_tls", text="ca_file is for https URLs, and the url is none; remove it")
        if deployment.api_key_env is not None and any(name.lower() == "authorization" for name in options.headers):
            text = "headers holds Authorization, and api_key_env makes one too; keep one of them"
            yield Finding(level="error", code="two_keys", text=text)

    def plan(self, deployment: Deployment[EndpointOptions]) -> LaunchPlan:
        """Return a plan without processes: where the server is and how to talk to it."""
        options = deployment.options
        if deployment.url is None:
            raise InputError(Fault(where=deployment.name, problem=URL_MISSING))
        return LaunchPlan(
            engine=self.name,
            processes=(),
            served_model=options.served_name or deployment.model.id or None,
            url=deployment.url,
            api=options.api,
            headers={name: value.get_secret_value() for name, value in options.headers.items()},
            api_key_env=deployment.api_key_env,
            ca_file=None if options.ca_file is None else str(options.ca_file),
        )
