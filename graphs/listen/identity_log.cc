// Writes what a launch declares as an identity, and puts identities at their places.
#include "graphs/listen/identity_log.h"

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graphs/launcher.h"
#include "graphs/layout.h"
#include "graphs/scope.h"
#include "graphs/tensor.h"

namespace graphtree {
namespace {

// The names that viewers of PyTorch's traces know.
const char* TraceNameOf(DType type) {
  switch (type) {
    case DType::kU8: return "unsigned char";
    case DType::kBool: return "bool";
    case DType::kI32: return "int";
    case DType::kI64: return "long int";
    case DType::kF16: return "c10::Half";
    case DType::kBF16: return "c10::BFloat16";
    case DType::kF32: return "float";
    case DType::kF64: return "double";
  }
  return "";
}

void NoteArgument(const Arg& argument, OpIdentity* identity) {
  const char* separator = identity->input_dims.size() > 1 ? ", " : "";
  if (argument.tensor() == nullptr) {
    absl::StrAppend(&identity->input_dims, separator, "[]");
    absl::StrAppend(&identity->input_types, separator, "\"Scalar\"");
    return;
  }
  const Layout& layout = argument.tensor()->shape();
  absl::StrAppend(&identity->input_dims, separator, "[", absl::StrJoin(layout.sizes(), ", "), "]");
  absl::StrAppend(&identity->input_types, separator, "\"", TraceNameOf(layout.type()), "\"");
  const auto bytes = static_cast<int64_t>(argument.tensor()->raw_bytes().bytes);
  const Access access = argument.access();
  if (access != Access::kWrite) identity->bytes_read += bytes;
  if (access != Access::kRead) identity->bytes_written += bytes;
}

OpIdentity Unknown() {
  OpIdentity identity;
  identity.name = kUnknownOp;
  return identity;
}

OpIdentity OwnOp(const char* name, OpKind kind) {
  OpIdentity identity;
  identity.kind = kind;
  identity.name = name;
  identity.backend = "graphtree";
  return identity;
}

}  // namespace

OpIdentity IdentityOf(const OpLaunch& op, absl::string_view scopes) {
  OpIdentity identity;
  identity.kind = op.kind;
  identity.name = std::string(op.name);
  identity.scope = JoinedScopes(op.scope, scopes);
  if (op.shape != nullptr) identity.shape = *op.shape;
  if (op.kernel != nullptr) {
    const KernelOrigin& origin = op.kernel->origin();
    const bool is_own = op.kernel->owner() == KernelOwner::kLibrary;
    if (is_own) identity.name = absl::StrCat("graphtree: ", op.name);
    identity.backend = is_own ? "graphtree" : op.kernel->backend();
    identity.file = origin.file;
    identity.hash = origin.hash;
    identity.arguments = origin.arguments;
  }
  identity.bytes_read = 0;
  identity.bytes_written = 0;
  identity.input_dims = "[";
  identity.input_types = "[";
  for (const Arg& argument : op.arguments) NoteArgument(argument, &identity);
  identity.input_dims += "]";
  identity.input_types += "]";
  return identity;
}

void IdentityLog::BeginSection(size_t ingest) {
  ops_.clear();
  ingest_ = ingest;
  next_ = ingest;
  is_wrong_ = false;
}

void IdentityLog::Add(OpIdentity identity, std::optional<size_t> place) {
  if (place == kNotKnown) return;
  if (place.has_value()) {
    is_wrong_ |= *place < next_;
    next_ = *place;
  }
  ops_.push_back({next_++, std::move(identity)});
}

std::shared_ptr<const GraphIdentity> IdentityLog::EndSection(size_t op_count, size_t egress,
                                                             bool may_have_others,
                                                             GraphIdentity is) {
  const size_t told = next_ + egress;
  const bool fits = !is_wrong_ && (may_have_others ? told <= op_count : told == op_count);
  is.op_count = op_count;
  is.ops.assign(op_count, Unknown());
  for (size_t i = 0; i < ingest_ && i < op_count; ++i) {
    is.ops[i] = OwnOp("graphtree: copy inputs", OpKind::kKernel);
  }
  for (size_t i = 0; i < egress && i < op_count; ++i) {
    is.ops[op_count - 1 - i] = OwnOp("graphtree: copy kept outputs", OpKind::kKernel);
  }
  for (Placed& op : ops_) {
    if (fits) is.ops[op.place] = std::move(op.identity);
  }
  for (size_t i = 0; i < op_count; ++i) {
    is.ops[i].op = static_cast<OpId>(i);
    is.is_complete &= is.ops[i].is_known();
  }
  return std::make_shared<const GraphIdentity>(std::move(is));
}

}  // namespace graphtree
