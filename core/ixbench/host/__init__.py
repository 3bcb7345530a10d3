"""Plugin loading, hook specifications and attribution."""
