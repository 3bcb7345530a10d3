"""Prompts of a given length without a tokenizer: learn which words are single tokens for the server, then write with these."""
