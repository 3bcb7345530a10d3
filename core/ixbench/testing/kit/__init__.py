"""The suites that plugin authors subclass, and what they look at plugins with."""
