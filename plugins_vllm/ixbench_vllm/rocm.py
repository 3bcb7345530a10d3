"""What is wrong with the environment of an FP4 launch on AMD GPUs: variables that the build does not read, or reads differently."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api.engine import Finding, did_you_mean, load_recipes
from ixbench_vllm.builds import AITER_A4W4, AITER_A8W4, BOUND, LISTED, SWITCH, SWITCH_A8W4, build_of, image_tag, is_k3_image

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ixbench.api.engine import Deployment, EnvVar
    from ixbench_vllm.builds import Build, ExpertSwitch
    from ixbench_vllm.options import VllmOptions

MASTER = "VLLM_ROCM_USE_AITER"
BREAKABLE = "VLLM_USE_BREAKABLE_CUDAGRAPH"
SIMPLE_OFFLOAD = "VLLM_USE_SIMPLE_KV_OFFLOAD"
ATOM_OFF = "ATOM_DISABLE_VLLM_PLUGIN"
READY_TIMEOUT = "VLLM_ENGINE_READY_TIMEOUT_S"
_AITER = (AITER_A8W4, AITER_A4W4)
_ON = ("1", "true")
_OFF = ("", "0", "false")
_AMD = "mi"
"""How AMD's SKUs begin."""
_ROCM = ("VLLM_ROCM_", "AITER_")
"""How variables begin that nobody sets for other GPUs."""


def environment_findings(deployment: Deployment[VllmOptions]) -> Iterator[Finding]:
    """Yield what is wrong or remarkable about the variables that a deployment sets for a vLLM that ixbench starts."""
    build = build_of(deployment)
    yield from _unread(deployment.env, build)
    if deployment.options.online_quant is not None and _value(deployment.env, ATOM_OFF) in _ON:
        yield _error("online_quant_off", f"env {ATOM_OFF}=1 turns off the plugin that online_quant needs; remove one of them")
    limit = _value(deployment.env, READY_TIMEOUT)
    if limit is not None and limit.isdecimal() and int(limit) < deployment.options.ready_limit_s:
        text = (
            f"env {READY_TIMEOUT}={limit} is shorter than the {deployment.options.ready_limit_s:g} s that ixbench waits for the engine: "
            f"vLLM gives up first; raise it to {round(deployment.options.ready_limit_s)}"
        )
        yield _warning("ready_timeout", text)
    sku = _sku(deployment)
    if not _on_rocm(deployment, sku):
        return
    # Where the campaign names no hardware it is the recipe's, and recipes are for MI355X.
    if sku.startswith(_AMD) and deployment.hardware.native_fp4 is not False and _value(deployment.env, MASTER) not in _ON:
        yield _warning("aiter_off", f"env {MASTER} is not 1: without AITER's kernels vLLM is slower by a factor of 1.7 to 3.7 on {sku}")
    if _is(deployment, "kimi-k3") or _is(deployment, "minimax-m3"):
        yield from _graphs(deployment.env)
    if _has_k3_experts(deployment):
        yield from _experts(deployment.env, build)


def _sku(deployment: Deployment[VllmOptions]) -> str:
    """Return the GPUs that are meant: those of the campaign, or else of the recipe; empty where nobody says."""
    recipe = load_recipes("ixbench_vllm").get(deployment.recipe or "", {})
    return (deployment.hardware.sku or str(recipe.get("sku", ""))).lower()


def _on_rocm(deployment: Deployment[VllmOptions], sku: str) -> bool:
    """Whether AMD GPUs are meant: by the SKU, the image, or else the variables, so that traps are seen where nobody names a SKU."""
    if sku.startswith(_AMD) or "rocm" in (deployment.image or "").lower():
        return True
    return not sku and any(name.startswith(_ROCM) for name in deployment.env)


def _has_k3_experts(deployment: Deployment[VllmOptions]) -> bool:
    """Whether the model is Kimi K3: by its name or recipe, or else by the image made for it where a variable of its experts is set."""
    if _is(deployment, "kimi-k3") or (deployment.recipe or "").startswith("kimi-k3"):
        return True
    image = is_k3_image(image_tag(deployment.image) or "")
    return image and any(name in deployment.env for name in (*_AITER, SWITCH, SWITCH_A8W4))


def _unread(env: Mapping[str, EnvVar], build: Build) -> Iterator[Finding]:
    """Say which variables the shipped list does not have: errors where it is the list of this very version, else warnings.

    What a shipped recipe sets was read by the build that it was published with.
    """
    published = {name for recipe in load_recipes("ixbench_vllm").values() for name in recipe.get("env", {})}
    for name in env:
        if not name.startswith("VLLM_") or name in build.variables:
            continue
        advice = did_you_mean(name, build.variables) or "remove it"
        if build.exact:
            yield _error("unknown_variable", f"env {name}: vLLM {LISTED} does not read it; {advice}")
        elif name not in published:
            text = f"env {name} is no variable of vLLM {LISTED}, whose list ixbench has: unless another build reads it, it changes nothing"
            yield _warning("unlisted_variable", f"{text}; {advice}")


def _graphs(env: Mapping[str, EnvVar]) -> Iterator[Finding]:
    value = _value(env, BREAKABLE)
    if value == "0":
        return
    text = f'ROCm builds turn {BREAKABLE} on, and this model needs it off; set env {BREAKABLE} = "0"'
    yield _warning("breakable_graphs", text) if value is None else _error("breakable_graphs", f"env {BREAKABLE}={value}: {text}")


def _experts(env: Mapping[str, EnvVar], build: Build) -> Iterator[Finding]:
    switch = build.experts
    if switch is None:
        yield from _unknown_build(env, build)
        return
    for name in (SWITCH_A8W4, SWITCH):
        if name in env and name != switch.variable and name not in switch.aliases and not build.exact:
            # Of an exact build the list of variables has said it already.
            yield _error("moe_variable_unread", f"env {name}: {switch.about} does not read it, but {switch.variable}; set that one instead")
        elif name in env and name in switch.aliases:
            yield _warning("moe_variable_deprecated", f"env {name} is an old name in {switch.about}; set {switch.variable} instead")
    chosen = next((name for name in (switch.variable, *switch.aliases) if name in env), None)
    off = chosen is not None and _off(env, chosen) and _value(env, chosen) not in switch.means
    yield from _aiter(env, switch, chosen, off=off)
    if chosen is None:
        if not any(_on(env, name) for name in _AITER):
            usual = "" if switch.default is None else f", so that they are {switch.default}"
            text = (
                f"nothing selects the activations of Kimi K3's experts{usual}; {switch.about} reads {switch.variable} = {switch.advice!r}"
            )
            yield _warning("moe_not_chosen", text)
        return
    value = env[chosen].value.lower()
    activations = switch.means.get(value)
    if activations is None and switch.refuses_others:
        yield _error("moe_value", f"env {chosen}={env[chosen].value}: allowed in {switch.about}: {', '.join(switch.means)}")
    yield from _activations(env, switch, chosen, activations)


def _aiter(env: Mapping[str, EnvVar], switch: ExpertSwitch, chosen: str | None, *, off: bool) -> Iterator[Finding]:
    if switch.variable in _AITER:
        return
    for name in _AITER:
        if not _on(env, name):
            continue
        if chosen is None or off:
            beside = "" if chosen is None else f", and {chosen}={env[chosen].value} leaves it alone"
            text = f"env {name} alone gives garbage text without an error in {switch.about}{beside}; set {switch.variable} instead"
            yield _error("moe_aiter_alone", text)
        else:
            yield _warning("moe_aiter_beside", f"env {name}: in {switch.about} vLLM sets it from {switch.variable}; remove it")


def _activations(env: Mapping[str, EnvVar], switch: ExpertSwitch, chosen: str, activations: str | None) -> Iterator[Finding]:
    bound = _value(env, BOUND)
    if activations == "a8w4" and switch.bound == "needed" and bound != "0":
        found = "is not set" if bound is None else f"is {bound}"
        text = f'env {BOUND} {found}: 8-bit activations (a8w4) then give garbage at small batches; set it to "0"'
        yield _error("moe_bound_missing", text)
    if switch.bound == "unwanted" and bound is not None:
        yield _warning("moe_bound_unwanted", f"env {BOUND}: {switch.about} should not be given it; remove it")
    if activations == "a4w4":
        if chosen == SWITCH_A8W4:
            text = f"env {chosen} selects 4-bit activations in {switch.about}, against its name; pin the build and compare only such"
            yield _warning("moe_a4w4", text)
        yield _note("moe_untuned", "4-bit activations (a4w4) run untuned on AITER 0.1.19; 0.1.20 has the tuned kernels")


def _unknown_build(env: Mapping[str, EnvVar], build: Build) -> Iterator[Finding]:
    what = "which vLLM this is" if build.name is None else f"which variables vLLM '{build.name}' reads"
    text = (
        f"{what} is not known, so it is unverified what selects the activations of Kimi K3's experts: builds read {AITER_A8W4}, "
        f"{SWITCH_A8W4} or {SWITCH}; tell it with the option build"
    )
    yield _note("build_unknown", text)
    alone = [name for name in _AITER if _on(env, name)]
    if alone and not any(_on(env, name) for name in (SWITCH, SWITCH_A8W4)):
        yield _warning("moe_aiter_alone", f"env {alone[0]} alone gives garbage text without an error in builds after 31 July 2026")


def _is(deployment: Deployment[VllmOptions], model: str) -> bool:
    names = (deployment.model.id, deployment.model.path or "", deployment.options.served_name or "")
    return any(model in name.lower() for name in names)


def _off(env: Mapping[str, EnvVar], name: str) -> bool:
    return _value(env, name) in _OFF


def _on(env: Mapping[str, EnvVar], name: str) -> bool:
    return name in env and not _off(env, name)


def _value(env: Mapping[str, EnvVar], name: str) -> str | None:
    return env[name].value.strip().lower() if name in env else None


def _error(code: str, text: str) -> Finding:
    return Finding(level="error", code=code, text=text)


def _warning(code: str, text: str) -> Finding:
    return Finding(level="warning", code=code, text=text)


def _note(code: str, text: str) -> Finding:
    return Finding(level="note", code=code, text=text)
