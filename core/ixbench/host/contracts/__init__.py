"""The classes that plugins subclass, one module a kind; `ixbench.api` re-exports them."""
