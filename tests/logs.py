"""Small logs for tests, made of the engines' wordings and figures that are ours."""

from __future__ import annotations

VLLM_PREFIX = "(EngineCore pid=2) INFO 01-01 00:00:00 [gpu_worker.py:1] "


def vllm(
    *messages: str, release: str = "0.19.0", arguments: str = "'model': 'm', 'gpu_memory_utilization': 0.9"
) -> str:
    """A vLLM log: banner, arguments, then `messages` behind the engine's prefix."""
    start = f"Initializing a V1 LLM engine (v{release}) with config: model='m', dtype=torch.bfloat16, max_seq_len=4096"
    lines = [f"(APIServer pid=1) INFO 01-01 00:00:00 [utils.py:1] non-default args: {{{arguments}}}"]
    lines += [VLLM_PREFIX + message for message in (start, *messages)]
    return "\n".join(lines) + "\n"


def itemised(weights: float, activations: float, non_torch: float, kv: float, total: float, budget: float) -> str:
    """vLLM 0.19's DEBUG lines that itemise the budget; sizes in GiB."""
    non_kv = round(weights + activations + non_torch, 2)
    return vllm(
        f"worker init memory snapshot: torch_peak=0.0GiB, free_memory={total}GiB, total_memory={total}GiB, "
        "cuda_memory=0.0GiB, torch_memory=0.0GiB, non_torch_memory=0.0GiB, timestamp=1.0, auto_measure=True",
        f"worker requested memory: {budget}GiB",
        f"Model loading took {weights} GiB memory and 1.500000 seconds",
        f"Memory profiling takes 5.00 seconds. Total non KV cache memory: {non_kv}GiB; torch peak memory increase: "
        f"{activations}GiB; non-torch forward increase memory: {non_torch}GiB; weights memory: {weights}GiB.",
        f"Available KV cache memory: {kv} GiB",
        "In v0.19, CUDA graph memory profiling will be enabled by default "
        "(VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=1), which more accurately accounts for CUDA graph memory during "
        "KV cache allocation. To try it now, set VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=1 and increase "
        "--gpu-memory-utilization from 0.9000 to 0.9100 to maintain the same effective KV cache size.",
    )


SGLANG = """\
[2026-01-01 00:00:00] server_args=ServerArgs(model_path='m', mem_fraction_static=0.8, tp_size=1, context_length=None)
[2026-01-01 00:00:01] Load weight begin. avail mem=70.00 GB
[2026-01-01 00:00:02] Load weight end. elapsed=1.00 s, type=Qwen3ForCausalLM, avail mem=50.00 GB, mem usage=20.00 GB.
[2026-01-01 00:00:03] KV Cache is allocated. #tokens: 100000, K size: 17.90 GB, V size: 17.90 GB
[2026-01-01 00:00:03] Memory pool end. avail mem=14.00 GB
[2026-01-01 00:00:04] Capture cuda graph end. Time elapsed: 3.00 s. mem usage=1.50 GB. avail mem=12.50 GB.
[2026-01-01 00:00:05] max_total_num_tokens=100000, chunked_prefill_size=8192, max_prefill_tokens=16384, \
max_running_requests=2048, context_len=40960, available_gpu_mem=12.40 GB
[2026-01-01 00:00:06] The server is fired up and ready to roll!
"""
