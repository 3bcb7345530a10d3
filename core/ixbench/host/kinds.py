"""What a plugin can contribute: for each hook that returns objects, their class and the attribute that names them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of contribution."""

    hook: str
    noun: str
    plural: str
    """Key of `PluginInfo.contributions`."""
    contract: str
    """`module:Class` that contributions must be instances of; imported when the first is checked."""
    key: str = "name"
    """Attribute that names a contribution, unique within the kind."""
    options: bool = False
    """Whether a contribution must carry a pydantic model `Options`."""

    def list_fault(self, answer: object) -> str:
        """Return what is wrong with the answer of a hook as a whole, or an empty text."""
        if answer is None:
            return f"returned None; return a list of {self.plural}, which may be empty"
        if not isinstance(answer, Iterable):
            return f"returned {_shown(answer)}, which is no list of {self.plural}; return [...], also with a single one in it"
        return ""

    def fault(self, found: object) -> str:
        """Return what is wrong with a contribution, or an empty text."""
        module, _, class_name = self.contract.partition(":")
        contract = getattr(import_module(module), class_name)
        if isinstance(found, type) and issubclass(found, contract):
            return f"returned the class {found.__qualname__}; return an instance, {found.__qualname__}()"
        if not isinstance(found, contract):
            return f"returned {_shown(found)}, which is no {class_name}"
        name = getattr(found, self.key, None)
        if fault := self.name_fault(found, name):
            return fault
        if self.options and not hasattr(getattr(found, "Options", None), "model_validate"):
            return f"{self.noun} {name!r} has no Options; set it to a subclass of OptionsModel, which may have no fields"
        return ""

    def name_fault(self, found: object, name: object) -> str:
        """Return what is wrong with the name of a contribution, or an empty text."""
        if isinstance(name, str) and _NAME.fullmatch(name):
            return ""
        return f"{_shown(found)} has the {self.key} {name!r}; allowed: letters, digits, '.', '_' and '-', a letter or digit first"

    def name_of(self, contribution: object) -> str:
        """Return the name of a contribution."""
        return str(getattr(contribution, self.key))


def _shown(found: object) -> str:
    text = repr(found)
    return text if len(text) <= 80 else f"an object of class {type(found).__qualname__}"  # noqa: PLR2004 - what fits into a sentence


_CONTRACTS = "ixbench.host.contracts"

KINDS = (
    Kind(hook="ixbench_engines", noun="engine", plural="engines", contract=f"{_CONTRACTS}.engine:EngineAdapter", options=True),
    Kind(hook="ixbench_runtimes", noun="runtime", plural="runtimes", contract=f"{_CONTRACTS}.runtime:Runtime"),
    Kind(hook="ixbench_workloads", noun="workload", plural="workloads", contract=f"{_CONTRACTS}.workload:Workload", options=True),
    Kind(hook="ixbench_collectors", noun="collector", plural="collectors", contract=f"{_CONTRACTS}.collector:Collector"),
    Kind(hook="ixbench_metrics", noun="metric", plural="metrics", contract="ixbench.measure.definition:Metric"),
    Kind(hook="ixbench_checks", noun="check", plural="checks", contract="ixbench.measure.definition:Check", key="code"),
    Kind(hook="ixbench_hardware", noun="hardware book", plural="hardware", contract=f"{_CONTRACTS}.book:HardwareBook"),
    Kind(hook="ixbench_prices", noun="price book", plural="prices", contract=f"{_CONTRACTS}.book:PriceBook"),
    Kind(hook="ixbench_signatures", noun="signature", plural="signatures", contract="ixbench.model.signature:Signature", key="id"),
    Kind(hook="ixbench_importers", noun="importer", plural="importers", contract=f"{_CONTRACTS}.importer:Importer"),
    Kind(hook="ixbench_reporters", noun="reporter", plural="reporters", contract=f"{_CONTRACTS}.reporter:Reporter", options=True),
    Kind(hook="ixbench_commands", noun="command", plural="commands", contract=f"{_CONTRACTS}.command:Command"),
)
"""In the order in which `ixbench plugins` shows them."""

BY_HOOK = {kind.hook: kind for kind in KINDS}
