"""Recorded traffic in other forms than sessions of agents: Mooncake traces and Azure's lists of requests, and what can be converted."""
