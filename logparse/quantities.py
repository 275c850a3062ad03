"""Every quantity that a log can tell: name, kind of number, scope and one sentence.

`kind` is what the number measures (`memory` has units of bytes, the rest count or rate).
`scope` is what one figure stands for: one `rank`, the whole `engine` (one replica), or the `host`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["memory", "tokens", "count", "ratio", "percent", "seconds", "rate"]
Scope = Literal["rank", "engine", "host"]


@dataclass(frozen=True, slots=True)
class Quantity:
    """One thing that engines print a number for."""

    name: str
    kind: Kind
    scope: Scope
    gist: str


def _table(kind: Kind, scope: Scope, **gists: str) -> list[Quantity]:
    return [Quantity(name, kind, scope, gist) for name, gist in gists.items()]


_ALL = [
    *_table(
        "memory",
        "rank",
        weights="Memory that the model's weights hold on this rank once loaded.",
        checkpoint="Size of the checkpoint files as the engine counted them on disk.",
        free_at_start="Free memory of the device when the engine looked first, before loading.",
        device_total="Memory of the device as its driver reports it.",
        device_used="Memory in use on the device, by everyone.",
        device_free="Free memory of the device when nvidia-smi looked.",
        process_used="Memory that one process holds on the device.",
        budget="What the engine allows itself: total memory times the fraction.",
        free_before_load="Free memory of the device just before the weights are loaded.",
        free_after_load="Free memory of the device just after the weights are loaded.",
        free_after_pool="Free memory of the device after all cache pools are allocated.",
        free_before_capture="Free memory of the device before a graph capture.",
        free_during_capture="Free memory of the device between two captures, from a progress bar (`at` a batch size).",
        free_after_capture="Free memory of the device after a graph capture.",
        free_at_ready="Free memory of the device when the scheduler is ready.",
        free_after_profile="Free memory of the device after the profiling run.",
        within_budget_after_profile="What the budget has left after the profiling run.",
        activations="Peak of activations in the profiling run, over what stays allocated.",
        non_torch="Memory that grew outside PyTorch's allocator: CUDA context, NCCL, kernels' workspaces.",
        consumed="Weights and non-torch memory together, as the device's free memory shows them.",
        non_kv_cache="All that the profiling run found besides the KV cache.",
        used_at_start="Memory in use on the device before the engine began.",
        used_after_profile="Memory in use on the device after the profiling run.",
        torch_peak="Peak of PyTorch's allocator during the profiling run, weights included.",
        load_peak="Peak of memory while the weights were loaded.",
        kv_cache_available="What the engine found free for the KV cache within its budget.",
        kv_cache="KV cache that was allocated, keys and values together.",
        kv_cache_k="Keys of the KV cache that was allocated.",
        kv_cache_v="Values of the KV cache that was allocated.",
        kv_cache_needed="KV cache that one request of the maximum length needs.",
        kv_cache_total="Sum of several pools that were printed before it.",
        kv_cache_to_budget="The engine's advice: the KV cache that would fill the budget.",
        kv_cache_to_device="The engine's advice: the KV cache that would fill the device.",
        kv_cache_in_use="KV cache in use as the engine's advice repeats it.",
        kv_cache_upper_bound="Address space reserved for a pool; no memory is allocated yet.",
        conv_state="Convolution states of a hybrid model.",
        ssm_state="Recurrent (SSM) states of a hybrid model.",
        state_cache="State caches of a hybrid model, printed as one sum.",
        state_per_slot="One slot of the state cache of a hybrid model.",
        intermediate_ssm_state="Recurrent states kept for drafted tokens.",
        intermediate_conv_window="Convolution windows kept for drafted tokens.",
        distributed_init="Memory that setting up communication took.",
        cuda_graphs="Memory that capturing CUDA graphs took.",
        cuda_graphs_estimated="CUDA graph memory as estimated while profiling.",
        cuda_graphs_first="Estimate of the first graph of one mode.",
        cuda_graphs_each="Estimate of every further graph of one mode.",
        cuda_graphs_difference="Actual less estimated CUDA graph memory, as printed.",
        cuda_graph_pool="CUDA graph memory pool as measured after capture.",
        oom_requested="Size of the allocation that failed.",
        oom_free="Free memory of the device when an allocation failed.",
        oom_total="Memory of the device as the allocation failure names it.",
        oom_process_used="Memory of this process when an allocation failed.",
        oom_other_process_used="Memory of another process named in an allocation failure.",
        oom_pytorch_allocated="Allocated by PyTorch when an allocation failed.",
        oom_reserved_unallocated="Reserved by PyTorch but not allocated when an allocation failed.",
        oom_graph_pools="Held in private pools such as CUDA graphs when an allocation failed.",
        oom_reserved="Reserved by PyTorch in total, allocated or not, when an allocation failed.",
        oom_limit="Limit set for PyTorch's allocator when an allocation failed.",
        sleep_freed="Memory that sleep mode gave back.",
        sleep_in_use="Memory still in use while asleep.",
        multimodal_reserved="Set aside for multimodal buffers after the pool was sized.",
        available_for_pools="What the sizing of the pools started from.",
        state_fixed="Fixed part of a pool that does not grow with tokens.",
        workspace="Workspace of a kernel or backend.",
        profile_free_before="Free memory before a profiling step.",
        external_weights="Weights on the device that another process holds.",
        staging_buffer="Buffer through which data is moved.",
        freed="Memory given back by a step.",
        memory_other="Another size that the engine printed; `label` says which.",
    ),
    *_table(
        "memory",
        "host",
        available_ram="Free memory of the host.",
        host_total="Memory of the host or of one NUMA node.",
        host_cache="Host memory allocated for a cache.",
        host_cache_requested="Host memory asked for by a cache.",
        shared_memory="Size of /dev/shm.",
        swap_space="Host memory set aside for swapped KV blocks.",
        process_rss="Resident host memory of a process.",
    ),
    *_table(
        "tokens",
        "engine",
        kv_cache_tokens="Tokens that the KV cache can hold, as the engine counts them.",
        max_total_num_tokens="Token slots of the scheduler's pool.",
        context_length="Longest request that the server takes.",
        max_model_len="Longest request that the engine takes.",
        estimated_max_model_len="Longest request that would fit, by the engine's own estimate.",
        max_num_batched_tokens="Tokens that one step may process.",
        compressed_layer_tokens="Token slots of layers with a compressed cache; `label` says which.",
        chunked_prefill_size="Tokens that one prefill chunk may hold.",
        max_prefill_tokens="Tokens that one prefill batch may hold.",
        attention_block_size="Tokens in one KV block, as aligned for a hybrid model.",
        block_size="Tokens in one KV block.",
        encoder_cache_tokens="Tokens that the encoder cache can hold.",
        host_cache_tokens="Tokens that a cache in host memory can hold.",
        running_tokens="Tokens held by running requests.",
        new_tokens="Tokens of a prefill batch that were not cached.",
        cached_tokens="Tokens of a prefill batch that were cached.",
    ),
    *_table(
        "count",
        "engine",
        gpu_blocks="KV blocks of the engine (of the smallest rank).",
        gpu_blocks_profiled="KV blocks that profiling found, before they were overridden.",
        cpu_blocks="KV blocks in host memory.",
        state_slots="Slots of the state cache (`max_mamba_cache_size`).",
        state_slots_per_request="State slots that one request takes.",
        max_running_requests="Requests that may run at once.",
        max_running_requests_requested="Requests that were asked to run at once.",
        max_num_seqs="Sequences that may run at once.",
        running="Requests running.",
        waiting="Requests waiting.",
        swapped="Requests swapped out.",
        preemptions="Requests preempted.",
        retracted="Requests retracted.",
        world_size="Ranks that work together.",
        graphs="CUDA graphs captured or planned.",
        kv_cache_groups="KV cache groups of a hybrid model.",
    ),
    *_table(
        "ratio",
        "engine",
        memory_fraction="Fraction of memory: of the total (vLLM) or kept for weights and pools (SGLang).",
        memory_fraction_equivalent="The fraction that would mean the same without the graph estimate.",
        memory_fraction_suggested="The fraction that the engine suggests.",
        max_concurrency="Requests of the stated length (`at` tokens) that the KV cache holds at once.",
        token_usage="Share of token slots in use.",
        swa_token_usage="Share of sliding-window token slots in use.",
        state_usage="Share of state slots in use.",
        new_token_ratio="Share of the remaining output that the scheduler reserves.",
        bytes_per_token="Bytes that one token takes in the cache.",
    ),
    *_table(
        "percent",
        "engine",
        mamba_page_padding="Growth of the state page to match the attention page.",
        padding_layers_waste="KV memory that padding layers may waste.",
        cuda_graphs_difference_percent="Difference of actual and estimated graph memory, as printed.",
        kv_cache_usage="Share of the KV cache in use.",
        cpu_kv_cache_usage="Share of the host KV cache in use.",
        prefix_cache_hit_rate="Share of prompt tokens found in the prefix cache.",
        external_prefix_cache_hit_rate="Share of prompt tokens found in an external prefix cache.",
        gpu_busy="Share of time that the GPU was busy.",
    ),
    *_table(
        "seconds",
        "engine",
        load_seconds="Time to load the model.",
        weights_read_seconds="Time to read the weights.",
        download_seconds="Time to download the weights.",
        profile_seconds="Time of the memory profiling.",
        cuda_graph_seconds="Time to capture CUDA graphs.",
        engine_init_seconds="Time to profile, create the KV cache and warm up.",
        compile_seconds="Time of torch.compile.",
        distributed_init_seconds="Time to set up communication.",
        stage_seconds="Time of another start-up stage; `label` says which.",
    ),
    *_table(
        "rate",
        "engine",
        prompt_throughput="Prompt tokens per second.",
        generation_throughput="Generated tokens per second.",
    ),
]

QUANTITIES: dict[str, Quantity] = {quantity.name: quantity for quantity in _ALL}

# What the periodic statistics lines say: a time series, kept apart from start-up facts.
LOAD_COLUMNS = (
    "running", "waiting", "swapped", "kv_cache_usage", "token_usage", "swa_token_usage", "state_usage",
    "prompt_throughput", "generation_throughput", "prefix_cache_hit_rate", "preemptions", "retracted",
)  # fmt: skip
COUNTED_ANEW = frozenset({"preemptions", "retracted"})
"""Of these, what each line counts is new since the line before: they add up."""
