"""The test kit: the scripted server."""
