"""Reads that promise the compiler never to touch what `put` writes in the same function.

Without the promise a loop over a strip, before it may take several numbers at a time, compares the ranges of all it reads with those of
all it writes, every time it begins: for the some ten cells of a short strip that takes longer than the loop itself. The kernels here
read one colour and write the other, or read some arrays and write others. An array that a loop both reads and writes at one place is
read as usual.
"""

from typing import Any

from llvmlite import ir
from numba import extending, types

intrinsic: Any = extending.intrinsic  # its type says that one calls it as it is written, with the context of typing in front


def _scope(module):
    """The list that holds the scope of what is written, one in a module.

    Scope and domain name themselves, as LLVM wants it: each inlined copy of a function then gets a scope of its own, and a promise made
    in one half-sweep says nothing about the next.
    """
    if not hasattr(module, "written_apart"):
        domain, scope, listed = (ir.MDValue(module, (), name=str(len(module.metadata))) for _ in range(3))
        domain.operands, scope.operands, listed.operands = (domain,), (scope, domain), (scope,)
        module.written_apart = listed
    return module.written_apart


def _place(context, builder, kind, array, index):
    return builder.gep(context.make_array(kind)(context, builder, array).data, [index])


@intrinsic
def get(_, array, index):
    """array[index], index unsigned, of a place that is not written."""

    def generate(context, builder, signature, args):
        value = builder.load(_place(context, builder, signature.args[0], *args), align=array.dtype.bitwidth // 8)
        value.set_metadata("noalias", _scope(builder.module))
        return value

    return array.dtype(array, index), generate


@intrinsic
def put(_, array, index, value):
    """array[index] = value, index unsigned."""

    def generate(context, builder, signature, args):
        place = _place(context, builder, signature.args[0], *args[:2])
        builder.store(args[2], place, align=array.dtype.bitwidth // 8).set_metadata("alias.scope", _scope(builder.module))
        return context.get_dummy_value()

    return types.void(array, index, array.dtype), generate
