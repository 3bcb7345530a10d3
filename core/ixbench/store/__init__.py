"""The run folder: journal, seal, resume, redaction."""
