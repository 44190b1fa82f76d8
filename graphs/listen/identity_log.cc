// Writes what a launch declares as an identity, and puts identities at their places.
#include "graphs/listen/identity_log.h"

#include <charconv>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>

#include "absl/types/span.h"
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

// What follows is done for each argument of each op that is captured, so it makes no strings of its
// own.
void AppendSizes(absl::Span<const int64_t> sizes, std::string* text) {
  char digits[24];
  text->push_back('[');
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (i > 0) text->append(", ");
    text->append(digits, std::to_chars(digits, std::end(digits), sizes[i]).ptr);
  }
  text->push_back(']');
}

void NoteArgument(const Arg& argument, OpIdentity* identity) {
  if (identity->input_dims.size() > 1) {
    identity->input_dims.append(", ");
    identity->input_types.append(", ");
  }
  if (argument.tensor() == nullptr) {
    identity->input_dims.append("[]");
    identity->input_types.append("\"Scalar\"");
    return;
  }
  const Layout& layout = argument.tensor()->shape();
  AppendSizes(layout.sizes(), &identity->input_dims);
  identity->input_types.append("\"").append(TraceNameOf(layout.type())).append("\"");
  const auto bytes = static_cast<int64_t>(argument.tensor()->raw_bytes().bytes);
  const Access access = argument.access();
  if (access != Access::kWrite) identity->bytes_read += bytes;
  if (access != Access::kRead) identity->bytes_written += bytes;
}

}  // namespace

void Identify(const OpLaunch& op, absl::string_view scopes, OpIdentity* identity) {
  *identity = {};
  identity->kind = op.kind;
  identity->name.assign(op.name.data(), op.name.size());
  if (!op.scope.empty() || !scopes.empty()) identity->scope = JoinedScopes(op.scope, scopes);
  if (op.shape != nullptr) identity->shape = *op.shape;
  if (op.kernel != nullptr) {
    const KernelOrigin& origin = op.kernel->origin();
    const bool is_own = op.kernel->owner() == KernelOwner::kLibrary;
    if (is_own) identity->name.insert(0, "graphtree: ");
    identity->backend = is_own ? "graphtree" : op.kernel->backend();
    identity->file = origin.file;
    identity->hash = origin.hash;
    identity->arguments = origin.arguments;
  }
  identity->bytes_read = 0;
  identity->bytes_written = 0;
  identity->input_dims = "[";
  identity->input_types = "[";
  for (const Arg& argument : op.arguments) NoteArgument(argument, identity);
  identity->input_dims.push_back(']');
  identity->input_types.push_back(']');
}

void IdentityLog::BeginSection(size_t ingest) {
  ops_.clear();
  ingest_ = ingest;
  next_ = ingest;
  is_wrong_ = false;
}

void IdentityLog::Add(OpIdentity&& identity, std::optional<size_t> place) {
  if (place == kNotKnown) return;
  if (place.has_value()) {
    is_wrong_ |= *place < next_;
    next_ = *place;
  }
  if (ops_.empty()) ops_.reserve(kUsualOps);
  ops_.push_back(std::move(identity));
  ops_.back().op = static_cast<OpId>(next_++);
}

std::shared_ptr<const GraphIdentity> IdentityLog::EndSection(size_t op_count, size_t egress,
                                                             bool may_have_others,
                                                             GraphIdentity is) {
  const size_t told = next_ + egress;
  const bool fits = !is_wrong_ && (may_have_others ? told <= op_count : told == op_count);
  if (!fits) ops_.clear();
  is.op_count = op_count;
  if (ops_.size() == op_count) {  // each at its place, as all were told
    is.ops = std::exchange(ops_, {});
    return std::make_shared<const GraphIdentity>(std::move(is));
  }
  is.ops.reserve(op_count);
  auto told_op = ops_.begin();
  for (size_t place = 0; place < op_count; ++place) {
    if (told_op != ops_.end() && told_op->op == place) {
      is.ops.push_back(std::move(*told_op++));
    } else {
      NameNotTold(place, op_count, egress, &is.ops.emplace_back());
    }
    is.is_complete &= is.ops.back().is_known();
  }
  return std::make_shared<const GraphIdentity>(std::move(is));
}

void IdentityLog::NameNotTold(size_t place, size_t op_count, size_t egress,
                              OpIdentity* identity) const {
  identity->op = static_cast<OpId>(place);
  identity->name = kUnknownOp;
  const bool is_egress = place + egress >= op_count;
  if (!is_egress && place >= ingest_) return;
  identity->name = is_egress ? "graphtree: copy kept outputs" : "graphtree: copy inputs";
  identity->kind = OpKind::kKernel;
  identity->backend = "graphtree";
}

}  // namespace graphtree
