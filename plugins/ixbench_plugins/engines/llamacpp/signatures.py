"""What the llama.cpp server says when it cannot start."""

from __future__ import annotations

from ixbench.api.engine import Signature

LLAMACPP_SIGNATURES = (
    Signature(
        id="llamacpp-not-installed",
        pattern=r"engine llamacpp needs \w+: pip install",
        engine="llamacpp",
        kind="fatal",
        wrapper=False,
        cause="Engine llamacpp needs the packages of the extra 'llamacpp', and they are not installed.",
        fix="pip install 'ixbench[llamacpp]'",
        source="this package",
        checked="observed",
    ),
    Signature(
        id="llamacpp-model-missing",
        pattern=r"error: there is no model file (.*)",
        engine="llamacpp",
        kind="fatal",
        wrapper=False,
        cause="The model file does not exist.",
        fix="Check [model] path, or leave it out to have a tiny model made on the spot.",
        source="this package",
        checked="observed",
    ),
    Signature(
        id="llamacpp-model-refused",
        pattern=r"error loading model|failed to load model|invalid magic characters",
        engine="llamacpp",
        kind="fatal",
        wrapper=False,
        cause="llama.cpp cannot load the model file.",
        fix="Check that [model] path is a complete GGUF file of an architecture that the installed llama.cpp knows.",
        source="llama.cpp",
        checked="observed",
    ),
)
