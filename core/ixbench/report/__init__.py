"""Builds RunViews from run folders and writes artifacts."""
