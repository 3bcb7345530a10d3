"""llama.cpp through the xllamacpp wheel: the real engine that runs everywhere, for trying things and for tests."""
