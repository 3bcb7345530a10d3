"""A model of an engine in place of the engine: continuous batching as discrete events on a virtual clock, calibrated by a profile."""
