"""The nouns: frozen values that pass between the stages. Nothing here waits, reads or writes."""
