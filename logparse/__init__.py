"""Read a vLLM or SGLang start-up log and say where the GPU memory went."""

__version__ = "0.1.0"
