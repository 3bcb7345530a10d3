"""Recorded agentic sessions: reading traces strictly, and finding the tree of agents in each. Pure: no clock, no engine, no schedule."""
