"""vLLM's plan: how the budget of one rank is divided, from what the log says.

    budget = total × gpu_memory_utilization
           = weights + activations + non_torch + graph_estimate (where applied) + kv_cache

Source: `determine_available_memory` in vllm/v1/worker/gpu_worker.py (0.9.1 on), vllm/worker/worker.py before.
Which terms a release prints, and what they include, comes as rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from logparse.facts import Facts, Figure, sum_of
from logparse.ledger import check, row
from logparse.units import Interval

if TYPE_CHECKING:
    from logparse.report import Check, Row

WITH_ESTIMATE = "with_graph_estimate"
"""Label of an activation peak that holds the applied graph estimate (the advice line from 0.27.0 on)."""
RESERVED = "reserved"
"""Label of a KV cache that was asked for in bytes, without profiling."""
ZERO = Figure(Interval.exactly(0), "derived")


class VllmPlan:
    """Figures of one rank's plan; each is None where the log does not tell."""

    def __init__(self, facts: Facts, total: Figure | None) -> None:
        self.facts = facts
        self.total = facts.get("device_total") or total
        self.is_total_known = self.total is not None
        self.fraction = facts.get("memory_fraction") or facts.setting("gpu_memory_utilization")
        self.reserved = facts.get("kv_cache_available", label=RESERVED)
        self.is_budgeted = self.reserved is None and facts.run.rules.get("budget") != "none"
        self.weights = facts.get("weights")
        self.consumed = facts.get("consumed")
        self.kv_cache = facts.get("kv_cache_available")
        self.graph_estimate = self._graph_estimate()
        self.activations = self._activations()
        self.non_torch = self._non_torch()
        self.budget = self._budget()
        if self.total is None and self.budget is not None and self.fraction is not None:
            self.total = (self.budget / self.fraction).by("budget ÷ gpu_memory_utilization")

    def _budget(self) -> Figure | None:
        if not self.is_budgeted:
            return None
        printed = self.facts.get("budget")
        if printed is not None:
            return printed
        if self.total is None or self.fraction is None:
            return None
        return (self.total * self.fraction).by("total × gpu_memory_utilization")

    def _graph_estimate(self) -> Figure | None:
        """The estimate as far as it was taken off the KV cache; zero where it was not, None where unknown."""
        applied = self.facts.run.rules.get("graph_estimate")
        estimate = self.facts.get("cuda_graphs_estimated")
        if applied in ("none", "not-applied") or self.facts.run.rules.get("device") == "cpu":
            return ZERO
        if estimate is None and self._inclusive_peak() is not None:
            return ZERO
        return estimate if applied == "applied" else None

    def _inclusive_peak(self) -> Figure | None:
        """An activation peak to which the engine added the graph estimate that it applied."""
        return self.facts.get("activations", label=WITH_ESTIMATE)

    def _activations(self) -> Figure | None:
        printed, inclusive, peak = self.facts.get("activations"), self._inclusive_peak(), self.facts.get("torch_peak")
        if printed is not None:
            return printed
        if inclusive is not None and self.graph_estimate is not None:
            return (inclusive - self.graph_estimate).by("printed activation peak − applied graph estimate")
        if peak is not None and self.weights is not None:
            return (peak - self.weights).by("peak of PyTorch − weights")
        return None

    def _non_torch(self) -> Figure | None:
        printed = self.facts.get("non_torch")
        if printed is None and self.consumed is not None and self.weights is not None:
            return (self.consumed - self.weights).by("consumed − weights")
        return printed

    @property
    def budgets_graphs(self) -> bool:
        """True where the budget holds an estimate of the CUDA graphs."""
        return self.facts.run.rules.get("graph_estimate") == "applied"

    def captured(self) -> Figure | None:
        """What the CUDA graphs took when they were captured."""
        return self.facts.get("cuda_graph_pool") or self.facts.get("cuda_graphs")

    def parts(self) -> list[tuple[str, Figure | None]]:
        """Accounts inside the budget, in the order in which a report lists them."""
        weights: list[tuple[str, Figure | None]] = [("weights", self.weights)]
        other: list[tuple[str, Figure | None]] = [("non_torch", self.non_torch)]
        if self.weights is None and self.consumed is not None:
            weights, other = [("consumed", self.consumed)], []
        if self.facts.run.rules.get("device") == "cpu":
            # The CPU worker takes what its process holds off the budget, and nothing for activations.
            return [*weights, ("kv_cache", self.kv_cache)]
        return [
            *weights,
            ("kv_cache", self.kv_cache),
            ("activations", self.activations),
            *other,
            ("graph_estimate", self.graph_estimate),
        ]

    def base(self) -> tuple[str, Figure | None]:
        """What is divided: the budget; where the KV cache was given in bytes, free memory at start or the total."""
        if self.is_budgeted:
            return "budget", self.budget
        free = self.facts.get("free_at_start")
        return ("free_at_start", free) if free is not None else ("total", self.total)


def plan_rows(plan: VllmPlan) -> list[Row]:
    """The plan ledger of one rank."""
    rank = plan.facts.rank
    name, base = plan.base()
    rows = [
        row("plan", rank, account, "part", figure, reason=_absent(plan, account))
        for account, figure in plan.parts()
        if figure is not ZERO
    ]
    known = [figure for _, figure in plan.parts() if figure is not None]
    spent = sum_of(known)
    complete = all(figure is not None for _, figure in plan.parts())
    if base is not None and spent is not None and plan.kv_cache is not None:
        rest = (base - spent).by(f"{name} − what is itemised")
        rows.append(_remainder(plan, rest, complete))
    if plan.is_budgeted and plan.budgets_graphs and (graphs := plan.captured()) is not None:
        rows.append(row("plan", rank, "cuda_graphs", "child", graphs, reason="graphs-budgeted"))
    if name != "total":
        rows.append(row("plan", rank, name, "base", base, reason=None if base else "budget-unknown"))
    return rows + _outside(plan, plan.budget)


def _remainder(plan: VllmPlan, rest: Figure, complete: bool) -> Row:
    rank = plan.facts.rank
    if not plan.is_budgeted:
        return row("plan", rank, "unplanned", "remainder", rest, reason=None if plan.weights else "unplanned-weights")
    if complete:
        return row("plan", rank, "remainder", "remainder", rest, expected=ZERO)
    return row("plan", rank, "remainder", "remainder", rest, reason=_holds(plan))


def _holds(plan: VllmPlan) -> str:
    """What the remainder must hold: the accounts that are not itemised, by the names that the templates know."""
    absent = [account for account, figure in plan.parts() if figure is None and account != "graph_estimate"]
    applied = plan.facts.run.rules.get("graph_estimate")
    if plan.graph_estimate is None:
        absent.append("graph_estimate" if applied == "applied" else "graph_estimate_if_on")
    return "holds:" + ",".join(absent)


def _absent(plan: VllmPlan, account: str) -> str | None:
    return "not-itemised" if dict(plan.parts())[account] is None else None


def _outside(plan: VllmPlan, budget: Figure | None) -> list[Row]:
    rank, rows = plan.facts.rank, []
    graphs = None if plan.budgets_graphs and plan.is_budgeted else plan.captured()
    if plan.total is not None and budget is not None:
        rows.append(row("plan", rank, "outside", "outside", (plan.total - budget).by("total − budget")))
        free = plan.facts.get("free_at_start")
        if free is not None:
            used = (plan.total - free).by("total − free at start")
            rows.append(row("plan", rank, "used_before_start", "child", used))
    if graphs is not None:
        rows.append(row("plan", rank, "cuda_graphs", "child", graphs, reason="graphs-not-budgeted"))
    unknown = None if plan.total is not None else "total-unknown"
    return [*rows, row("plan", rank, "total", "base", plan.total, reason=unknown)]


def plan_checks(plan: VllmPlan) -> list[Check]:
    """Relations that must hold among the figures of one rank."""
    rank, facts, made = plan.facts.rank, plan.facts, []
    figures = [figure for _, figure in plan.parts()]
    spent = sum_of([f for f in figures if f is not None])
    if plan.budget is not None and spent is not None and all(f is not None for f in figures):
        terms = " + ".join(account for account, figure in plan.parts() if figure is not ZERO)
        made.append(check("budget-identity", rank, "bytes", spent, plan.budget, f"{terms} = budget"))
    printed = facts.get("budget")
    if printed is not None and plan.is_total_known and plan.total is not None and plan.fraction is not None:
        product = plan.total * plan.fraction
        made.append(check("budget", rank, "bytes", printed, product, "budget = total × gpu_memory_utilization"))
    non_kv = facts.get("non_kv_cache")
    itemised = [facts.get("activations"), facts.get("consumed") or facts.get("non_torch")]
    itemised += [] if facts.get("consumed") else [plan.weights]
    if non_kv is not None and all(f is not None for f in itemised):
        total = sum_of([f for f in itemised if f is not None])
        if total is not None:
            made.append(check("non-kv-sum", rank, "bytes", non_kv, total, "non-KV memory = sum of its terms"))
    if non_kv is not None and plan.budget is not None and plan.kv_cache is not None and plan.graph_estimate:
        left = plan.budget - non_kv - plan.graph_estimate
        made.append(
            check("kv-cache", rank, "bytes", plan.kv_cache, left, "KV cache = budget − non-KV − graph estimate")
        )
    actual, estimate = plan.captured(), facts.get("cuda_graphs_estimated")
    if actual is not None and estimate is not None:
        made.append(check("graph-estimate", rank, "bytes", actual, estimate, "CUDA graphs: actual = estimated"))
    return made
