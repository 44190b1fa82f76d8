// The words of a captured op that may be addresses: of a kernel its arguments, also inside of
// arguments that are structures; of a copy or a fill where it reads and writes.
//
// Pure. Cost: a load and a call for every 4 bytes of arguments.
#ifndef GRAPHTREE_GRAPHS_INPUTS_OP_WORDS_H_
#define GRAPHTREE_GRAPHS_INPUTS_OP_WORDS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "device/graph.h"

namespace graphtree {

// The arguments of a copy, and of a fill.
constexpr uint32_t kTargetArgument = 0;
constexpr uint32_t kSourceArgument = 1;

// Visits every word of an op that may be an address, with the number of its argument, or -1 for a
// word inside of one. `by_bytes`: with its first byte among the argument bytes.
template <typename Visitor>
void VisitWords(const Op& op, bool by_bytes, Visitor visit) {
  if (op.kind == OpKind::kCopy) {
    visit(op.copy.target, static_cast<int>(kTargetArgument));
    visit(op.copy.source, static_cast<int>(kSourceArgument));
    return;
  }
  if (op.kind == OpKind::kFill) return visit(op.fill.target, static_cast<int>(kTargetArgument));
  constexpr size_t kStep = 4;  // addresses are aligned in arguments, packed ones to this at least
  for (size_t at = 0; at + sizeof(uint64_t) <= op.argument_bytes.size(); at += kStep) {
    uint64_t word;
    std::memcpy(&word, op.argument_bytes.data() + at, sizeof(word));
    int argument = by_bytes ? static_cast<int>(at) : -1;
    for (size_t p = 0; p < op.parameters.size() && !by_bytes; ++p) {
      if (op.parameters[p].offset == at) argument = static_cast<int>(p);
    }
    visit(word, argument);
  }
}

// Whether the op touches memory without showing where.
inline bool IsBlind(const Op& op) {
  switch (op.kind) {
    case OpKind::kEmpty:
    case OpKind::kEventRecord:
    case OpKind::kEventWait:
    case OpKind::kAllocate:
    case OpKind::kFree: return false;
    case OpKind::kKernel: return op.parameters.empty() && !op.argument_bytes.empty();
    case OpKind::kCopy: return op.copy.bytes == 0;
    case OpKind::kFill: return op.fill.count == 0;
    case OpKind::kHost:
    case OpKind::kChildGraph:
    case OpKind::kConditional:
    case OpKind::kOther: return true;
  }
  return true;
}

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_INPUTS_OP_WORDS_H_
