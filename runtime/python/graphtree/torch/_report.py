"""What happened, for people and dashboards: figures, sentences, drawings, snapshots."""

from __future__ import annotations

import pickle
from typing import Any, Dict, Iterator, List

import torch

import graphtree

from ._manager import FunctionNotes, TreeManager, live_managers


def stats() -> List[Dict[str, Any]]:
    """For each tree: what the tree and the adaptor have counted, and its memory."""
    return [dict(device=manager.device_index, functions=len(manager.notes),
                 **manager.look(), tree=manager.tree.stats.as_dict(),
                 pool=manager.tree.pool_stats.as_dict()) for manager in live_managers()]


def dot() -> str:
    """All recordings, for Graphviz: a digraph for each tree."""
    return "\n".join(manager.tree.outline_graphviz() for manager in live_managers())


def _place(notes: FunctionNotes) -> str:
    """The last line of the user's source that is known of the function."""
    for trace in notes.stack_traces:
        lines = [line.strip() for line in (trace or "").splitlines() if "File " in line]
        if lines:
            return lines[-1]
    return "a place that torch did not keep"


_ADVICE = {
    "rerecord_limit": "its static inputs or what it is called after change in each call; keep them "
                      "where they are, or call torch.compiler.cudagraph_mark_step_begin()",
    "mutated_input": "pass a buffer or parameter, or return the new value",
    "long_step": "call torch.compiler.cudagraph_mark_step_begin() before each pass, or drop the "
                 "outputs of the last one",
    "paused": "its recording failed; TORCH_LOGS=cudagraphs says with which error",
    "given_up": "there was no memory for its recording; give it more by pool_bytes",
}


def _sentences(manager: TreeManager) -> Iterator[str]:
    for notes in manager.notes.values():
        where = "'%s' on cuda:%d (%s)" % (notes.name, manager.device_index, _place(notes))
        made = notes.compiled() if notes.compiled is not None else None
        calls = made.calls if made is not None else 0
        if notes.skipped:
            names = [str(getattr(notes.wrapped.placeholders[i], "name", i))
                     for i in notes.wrapped.mutated_input_idxs
                     if i < len(notes.wrapped.placeholders)]
            written = ("; it writes to %s: pass that as a parameter or buffer, or return the new "
                       "value" % ", ".join(names)) if names else ""
            yield "%s is not recorded: %s%s" % (where, notes.skipped, written)
        told = sum(notes.told.values())
        for what, times in notes.told.items():
            if what.route is not graphtree.Route.EAGER:
                continue
            reason = what.reason or "no reason"
            yield "%s ran eagerly %d times, as %s; %s" % (
                where, times, graphtree.reason_sentence(reason) if what.reason else reason,
                _ADVICE.get(reason, "graphtree.torch.stats() has the figures"))
        if not notes.skipped:
            yield "%s: %d calls, of which %d replayed" % (where, calls, max(0, calls - told))
    for warning in manager.warnings:
        yield "cuda:%d: %s" % (manager.device_index, warning)


def explain() -> str:
    """Why functions did not replay, and what would make them: a sentence each."""
    lines = [line for manager in live_managers() for line in _sentences(manager)]
    return "\n".join(lines) or "no function was compiled on Graphtree yet"


def snapshot(path: str) -> None:
    """Torch's memory and the trees' in one file, for `graphtree memory` and PyTorch's viewer."""
    whole = torch.cuda.memory._snapshot()
    for manager in live_managers():
        tree = manager.tree.snapshot()
        segments = [dict(segment, device=manager.device_index) for segment in tree["segments"]]
        whole["segments"] = list(whole["segments"]) + segments
        traces = list(whole.get("device_traces") or [])
        while len(traces) <= manager.device_index:
            traces.append([])
        ours = [entry for trace in tree.get("device_traces", []) for entry in trace]
        traces[manager.device_index] = sorted(
            list(traces[manager.device_index]) + ours,
            key=lambda entry: int(entry.get("time_us", 0)))
        whole["device_traces"] = traces
    with open(path, "wb") as file:
        pickle.dump(whole, file)
