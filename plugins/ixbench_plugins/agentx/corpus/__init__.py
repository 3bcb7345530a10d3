"""Generated corpora of agentic coding sessions: traces drawn from published statistics, for machines that hold no recorded ones."""
