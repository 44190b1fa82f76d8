"""Any callable of tensors as a function of a tree, without torch.compile.

    @graphtree.torch.function
    def step(x, cache): ...           # eager PyTorch code

    y = step(x, cache)                # warmed up once, recorded once, then one launch

The callable is recorded for each combination of shapes, types, numbers and other arguments. Its
outputs are as those of compiled functions: they can be held, and go stale when the step ends
(torch.compiler.cudagraph_mark_step_begin). The parameters and buffers of a module are inputs that
stay where they are.
"""

from __future__ import annotations

import functools
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, overload

import torch
from torch._inductor import cudagraph_trees as _trees
from torch.utils import _pytree

from ._install import installed

_MOST_SHAPES = 128
_TENSOR = object()  # stands where a tensor is, in the key of a call


def _key_of(tensor: torch.Tensor) -> Tuple[Any, ...]:
    return (tuple(tensor.shape), tensor.stride(), tensor.dtype, tensor.device)


class GraphFunction:
    """A callable whose calls replay."""

    def __init__(self, body: Callable[..., Any], static: Sequence[int],
                 mutated: Sequence[int]) -> None:
        functools.update_wrapper(self, body, updated=())
        self.__name__ = str(getattr(body, "__name__", type(body).__name__))
        self._body = body
        self._static, self._mutated = tuple(static), tuple(mutated)
        self._made: Dict[Any, Callable[[List[Any]], Any]] = {}
        self._shapes: Dict[Any, List[Any]] = {}

    def _weights(self) -> List[torch.Tensor]:
        if not isinstance(self._body, torch.nn.Module):
            return []
        return [*self._body.parameters(), *self._body.buffers()]

    def __call__(self, *args: Any, **named: Any) -> Any:
        leaves, shape = _pytree.tree_flatten((args, named))
        tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        weights = self._weights()
        self._check(tensors, weights)
        others = tuple(_TENSOR if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves)
        key = (shape, others, tuple(map(type, others)), tuple(map(_key_of, tensors)),
               torch.is_grad_enabled(), torch.is_autocast_enabled("cuda"),
               torch.get_autocast_dtype("cuda"))
        try:
            made = self._made.get(key)
        except TypeError as why:
            raise TypeError("graphtree.torch.function: an argument of '%s' is neither a tensor "
                            "nor can it be compared: %s" % (self.__name__, why)) from why
        inputs = [*tensors, *weights]
        if made is None:
            return self._first(key, inputs, shape, others, len(weights))
        return _pytree.tree_unflatten(made(inputs), self._shapes[key][0])

    def _check(self, tensors: List[torch.Tensor], weights: List[torch.Tensor]) -> None:
        if not installed():
            raise RuntimeError("graphtree.torch.function: call graphtree.torch.install() first")
        for i, tensor in enumerate([*tensors, *weights]):
            if tensor.requires_grad and torch.is_grad_enabled():
                raise NotImplementedError(
                    "graphtree.torch.function: tensor %d of '%s' requires a gradient, and a "
                    "backward pass is recorded by torch.compile(backend=\"cudagraphs\") or "
                    "mode=\"reduce-overhead\" alone; or call it under torch.no_grad()"
                    % (i, self.__name__))
            if not tensor.is_cuda:
                raise ValueError("graphtree.torch.function: tensor %d of '%s' is on %s, and a "
                                 "recording would keep its value" % (i, self.__name__,
                                                                     tensor.device))
        if len({tensor.device for tensor in tensors}) > 1 or not tensors:
            raise ValueError("graphtree.torch.function: the tensors of '%s' are to be on one GPU"
                             % self.__name__)

    def _first(self, key: Any, inputs: List[torch.Tensor], shape: Any, others: Tuple[Any, ...],
               weights: int) -> Any:
        if len(self._made) >= _MOST_SHAPES:
            raise RuntimeError("graphtree.torch.function: '%s' was called with %d combinations of "
                               "shapes and arguments: pad its inputs to fewer sizes"
                               % (self.__name__, _MOST_SHAPES))
        returned: List[Any] = []

        def model(given: List[Any]) -> List[Any]:
            tensors = iter(given[:len(given) - weights])
            leaves = [next(tensors) if other is _TENSOR else other for other in others]
            given.clear()
            args, named = _pytree.tree_unflatten(leaves, shape)
            del leaves, tensors
            flat, out = _pytree.tree_flatten(self._body(*args, **named))
            returned[:] = [out]
            return flat

        model.__name__ = self.__name__
        count = len(inputs)
        static = [*self._static, *range(count - weights, count)]
        manager = _trees.get_container(inputs[0].device.index).get_tree_manager()
        made, flat = manager.add_function(
            model, inputs, static, None, _trees.CompilationMode.INFERENCE, (), (),
            self._mutated, None)
        self._made[key] = made
        self._shapes[key] = returned
        return _pytree.tree_unflatten(flat, returned[0])

    @property
    def shapes(self) -> int:
        """How many combinations it was called with."""
        return len(self._made)


@overload
def function(body: Callable[..., Any]) -> GraphFunction: ...


@overload
def function(*, static: Sequence[int] = (),
             mutated: Sequence[int] = ()) -> Callable[[Callable[..., Any]], GraphFunction]: ...


def function(body: Optional[Callable[..., Any]] = None, *, static: Sequence[int] = (),
             mutated: Sequence[int] = ()) -> Any:
    """Makes a callable replay. `static`: tensors, by number, whose address seldom changes;
    `mutated`: those that the body writes to."""
    if body is None:
        return lambda given: GraphFunction(given, static, mutated)
    return GraphFunction(body, static, mutated)
