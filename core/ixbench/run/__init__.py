"""The loop over launches and points, with progress and interruption."""
