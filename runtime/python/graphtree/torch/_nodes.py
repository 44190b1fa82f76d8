"""A tree's recordings as objects, for tests and tools that know torch's nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List

from torch._inductor.cudagraph_utils import FunctionID, WrappedFunction

if TYPE_CHECKING:
    from ._manager import TreeManager


class Node:
    """A recording: a copy of what the tree's outline says at one moment."""

    def __init__(self, manager: TreeManager, row: Dict[str, Any]) -> None:
        self.id = int(row["id"])
        self.name = str(row["function"])
        self.replays = int(row["replays"])
        number = _number_of(self.name)
        self.function_id = FunctionID(number)
        self.wrapped_function: WrappedFunction = manager.ids_to_funcs[self.function_id]
        self.children: Dict[FunctionID, List[Node]] = {}

    def add(self, child: Node) -> None:
        """Hangs a recording below."""
        self.children.setdefault(child.function_id, []).append(child)

    def num_descendants(self) -> int:
        """Of all levels."""
        found, left = 0, [self]
        while left:
            below = [child for nodes in left.pop().children.values() for child in nodes]
            found += len(below)
            left += below
        return found


def _number_of(name: str) -> int:
    """The name of a function in the tree ends with its number: "forward #3"."""
    return int(name.rpartition("#")[2])


def roots_of(manager: TreeManager) -> List[Node]:
    """All recordings that begin a path, with those below them."""
    rows = manager.tree.outline_data()["nodes"]
    nodes = [Node(manager, row) for row in rows]
    roots = []
    for node, row in zip(nodes, rows):
        if row["parent"] is None:
            roots.append(node)
        else:
            nodes[row["parent"]].add(node)
    return roots
