"""What a run says about itself: engine, model, settings; its failure; what it leaves unsaid; its numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from logparse.facts import Facts
from logparse.frames import LONGEST_TEXT, model_name, number
from logparse.ledger import refs
from logparse.redact import redact as redacted
from logparse.report import Fact, Failure, Missing, Number, Ref
from logparse.settings import is_none

if TYPE_CHECKING:
    from collections.abc import Sequence

    from logparse.match import Event
    from logparse.report import Row
    from logparse.runs import Run

# Settings that decide where memory goes, by engine, in the order in which a report names them. An allow-list:
# nothing else of an argument dump is ever shown.
_SETTINGS = {
    "vllm": (
        "dtype", "quantization", "kv_cache_dtype", "max_model_len", "gpu_memory_utilization", "kv_cache_memory_bytes",
        "num_gpu_blocks_override", "block_size", "max_num_seqs", "max_num_batched_tokens", "tensor_parallel_size",
        "pipeline_parallel_size", "data_parallel_size", "enable_prefix_caching", "enforce_eager", "cpu_offload_gb",
    ),
    "sglang": (
        "dtype", "quantization", "kv_cache_dtype", "context_length", "mem_fraction_static", "max_total_tokens",
        "max_running_requests", "max_mamba_cache_size", "mamba_full_memory_ratio", "chunked_prefill_size", "tp_size",
        "pp_size", "dp_size", "ep_size", "page_size", "cuda_graph_max_bs", "speculative_algorithm",
        "disable_radix_cache", "disable_cuda_graph",
    ),
}  # fmt: skip
_LENGTHS = ("max_model_len", "context_length")
_IDENTITIES = ("device", "architecture", "runner", "backend")
_LONGEST_VALUE = 120


def facts(run: Run) -> tuple[Fact, ...]:
    """Facts about the run in the order in which a report names them."""
    found = [Fact("engine", run.engine, "log")]
    if run.version is not None:
        found.append(Fact("version", run.version.text, run.version_source or "log", _refs(run, "identity:version")))
    if (run.version is None or not run.version.is_release) and run.era is not None and run.engine in _SETTINGS:
        found.append(Fact("version_range", str(run.era), run.era_source))
    if (kind := run.rules.get("device")) is not None:
        found.append(Fact("device_kind", kind, "wording"))
    model = model_name(run)
    if model:
        found.append(Fact("model", redacted(model), "log", _refs(run, "identity:model")))
    found += [made for name in _SETTINGS.get(run.engine, ()) if (made := _setting(run, name)) is not None]
    return (*found, *(_named(run, name, text) for name in _IDENTITIES if (text := run.identity(name))))


def _named(run: Run, name: str, text: str) -> Fact:
    return Fact(name, redacted(text)[:_LONGEST_VALUE], "log", _refs(run, f"identity:{name}"))


def _setting(run: Run, name: str) -> Fact | None:
    setting = run.settings.get(name)
    if setting is None and name == "gpu_memory_utilization" and (read := Facts(run).least("memory_fraction")):
        return Fact(name, format(float(read.interval.middle), "g"), "log", refs(read))
    if (setting is None or is_none(setting.value)) and name in _LENGTHS and (read := Facts(run).least(name)):
        return Fact(name, str(int(read.interval.middle)), "log", refs(read))
    if setting is None:
        default = run.rules.default(name)
        return Fact(name, default, "default") if default is not None and run.has_arguments else None
    if is_none(setting.value) or setting.value in ("[]", "{}"):
        return None
    if name == "dtype" and setting.value == "auto" and (used := run.identity("dtype")):
        return Fact(name, used.removeprefix("torch."), "log", _refs(run, "identity:dtype"))
    value = _shortened(setting.value.removeprefix("torch."))
    evidence = (Ref(setting.source, setting.line),) if setting.line else ()
    return Fact(name, redacted(value), setting.origin, evidence)


def _shortened(value: str) -> str:
    """Fractions to four decimals: `0.7835956249999999` says no more than `0.7836`."""
    whole, point, decimals = value.partition(".")
    if point and len(decimals) > 4 and whole.isdigit() and decimals.isdigit():
        return format(round(float(value), 4), "g")
    return value[:_LONGEST_VALUE]


def _refs(run: Run, key: str) -> tuple[Ref, ...]:
    for event in run.events:
        for name, _, line in event.texts:
            if name == key:
                return (Ref(event.source, line),)
    return ()


def failure(run: Run, *, redact: bool) -> Failure | None:
    """The first error after which the run got no further."""
    event = run.failure
    if event is None:
        return None
    name, text = event.text("identity:exception"), event.text("identity:error")
    said = f"{name}: {text}" if name and text else text or event.line.text
    said = redacted(said) if redact else said
    is_wrapper = event.pattern.marks == "wrapper_error"
    return Failure(said[:LONGEST_TEXT], _is_memory(event), is_wrapper, Ref(event.source, event.line.number))


def _is_memory(event: Event) -> bool | None:
    """True where the failed line itself speaks of memory sizes or of the cache; None where it does not tell."""
    if event.pattern.topic in ("torch", "cuda") or any(r.unit.endswith("B") for r in event.readings):
        return True
    return None


_REACHED = {"terms": "profile", "weights": "profile", "pool": "profile", "chain": "load", "total": "profile"}


def missing(run: Run, rows: Sequence[Row]) -> tuple[Missing, ...]:
    """What the log leaves unsaid, with the command of that release that would say it.

    A run that failed before a phase has nothing to say about it, so nothing is asked.
    """
    asks = [(need, run.rules.ask(need)) for need in _needs(run, rows)]
    return tuple(Missing(need, ask["closes"], ask["command"]) for need, ask in asks if ask is not None)


def _needs(run: Run, rows: Sequence[Row]) -> list[str]:
    unobserved = {row.account for row in rows if row.verdict == "unobserved"}
    lacks = {
        "terms": unobserved & {"activations", "non_torch", "graph_estimate"},
        "weights": "weights" in unobserved,
        "pool": "kv_cache" in unobserved,
        "chain": "free_before_load" in unobserved,
        "total": "total" in unobserved,
        "version": run.version is None and run.engine != "common",
        "ready": not any(row.plane == "ready" for row in rows) and run.outcome in ("ready", "excerpt"),
    }
    if not _on_cuda(run):
        lacks |= {"total": False, "ready": False}
    if run.rules.get("device") == "cpu":
        lacks |= {"terms": False, "weights": False, "pool": False}
    ended = run.outcome in ("failed", "killed")
    return [
        need for need, lack in lacks.items() if lack and not (ended and not run.reached(_REACHED.get(need, "init")))
    ]


def _on_cuda(run: Run) -> bool:
    """False where the log names another kind of device: torch.cuda and nvidia-smi say nothing there."""
    named = [s.value for name in ("device", "device_config") if (s := run.settings.get(name))]
    return run.rules.get("device") != "cpu" and all(value in ("cuda", "auto", "None") for value in named)


def numbers(run: Run, *, redact: bool) -> tuple[Number, ...]:
    """Every start-up number with its line."""
    return tuple(
        Number(
            r.quantity,
            number(r.value),
            r.unit,
            e.line.rank,
            e.role,
            r.label,
            None if r.at is None else number(r.at),
            e.source,
            r.line,
            (redacted(e.line.text) if redact else e.line.text)[:LONGEST_TEXT],
        )
        for e in run.events
        if e.pattern.phase != "serving"
        for r in e.readings
    )
