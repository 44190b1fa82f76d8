// Joins dimensions, widens pieces, deals out blocks; pairs the kernels' bodies.
#include "graphs/pad/pad_op.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "device/base/any_bytes.h"
#include "graphs/pad/pad_symbols.h"

namespace graphtree {
namespace {

using pad::Dim;
using pad::Table;

// A block of 256 threads with four pieces in flight each. A large pad gets larger shares once the
// grid would have more blocks than any GPU holds at a time.
constexpr uint64_t kPiecesPerBlock = 4 * pad::kThreads;
constexpr uint64_t kManyBlocks = 2048;

// Those that matter, the largest stride of the target first.
std::vector<Dim> DimsOf(const Layout& from, const Layout& to) {
  const uint64_t element = BytesOf(to.type());
  std::vector<Dim> dims;
  for (size_t i = 0; i < to.sizes().size(); ++i) {
    const Dim dim = {static_cast<uint64_t>(from.sizes()[i]), static_cast<uint64_t>(to.sizes()[i]),
                     to.strides()[i] * element, from.strides()[i] * element};
    if (dim.kept != 1 || dim.size != 1) dims.push_back(dim);
  }
  std::stable_sort(dims.begin(), dims.end(), [](const Dim& a, const Dim& b) {
    return a.target_stride > b.target_stride;
  });
  return dims;
}

// Whether the two are as one: `inner` is not padded, and `outer` steps over just that.
bool AreOne(const Dim& outer, const Dim& inner, bool copies) {
  if (inner.kept != inner.size) return false;
  if (outer.target_stride != inner.size * inner.target_stride) return false;
  return !copies || outer.kept <= 1 || outer.source_stride == inner.size * inner.source_stride;
}

std::vector<Dim> Joined(const std::vector<Dim>& dims, bool copies) {
  std::vector<Dim> joined;
  for (const Dim& dim : dims) {
    if (joined.empty() || !AreOne(joined.back(), dim, copies)) {
      joined.push_back(dim);
      continue;
    }
    Dim& outer = joined.back();
    outer = {outer.kept * dim.kept, outer.size * dim.size, dim.target_stride, dim.source_stride};
  }
  return joined;
}

// The widest piece, up to 16 bytes, of which everything is a multiple.
uint32_t PieceOf(const std::vector<Dim>& dims, uint64_t element, bool copies) {
  const Dim& inner = dims.back();
  if (inner.target_stride != element || (copies && inner.source_stride != element)) {
    return static_cast<uint32_t>(element);
  }
  uint64_t bits = inner.kept * element | inner.size * element | pad::kMaxPiece;
  for (size_t i = 0; i + 1 < dims.size(); ++i) {
    bits |= dims[i].target_stride | (copies ? dims[i].source_stride : 0);
  }
  return static_cast<uint32_t>(std::max(bits & (~bits + 1), element));
}

Word128 Repeated(uint64_t bits, uint64_t element) {
  uint8_t bytes[pad::kMaxPiece];
  for (uint64_t at = 0; at < sizeof(bytes); at += element) std::memcpy(bytes + at, &bits, element);
  Word128 value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

void PadInPlaceOnHost(const HostCall& call) {
  const auto tail = call.Get<uint64_t>(0);
  const auto table = call.Get<Table>(1);
  for (uint32_t i = 0; i < call.shape().grid.x; ++i) pad::PadThread(table, tail, 0, i, 0, 1);
}

void PadCopyOnHost(const HostCall& call) {
  const auto target = call.Get<uint64_t>(0);
  const auto source = call.Get<uint64_t>(1);
  const auto table = call.Get<Table>(2);
  for (uint32_t i = 0; i < call.shape().grid.x; ++i) {
    pad::PadThread(table, target, source, i, 0, 1);
  }
}

CudaBody BodyOf(const void* symbol) {
  return symbol == nullptr ? CudaBody() : CudaSymbol{symbol};
}

}  // namespace

absl::StatusOr<PadOp> PadOp::InPlace(const Layout& from, const Layout& to, uint64_t bits) {
  return Make(from, to, bits, false);
}

absl::StatusOr<PadOp> PadOp::Copy(const Layout& from, const Layout& to, uint64_t bits) {
  return Make(from, to, bits, true);
}

absl::StatusOr<PadOp> PadOp::Make(const Layout& from, const Layout& to, uint64_t bits,
                                  bool copies) {
  const uint64_t element = BytesOf(to.type());
  std::vector<Dim> dims = Joined(DimsOf(from, to), copies);
  if (dims.size() > pad::kMaxDims) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a tensor of ", from.ToString(), " is to be padded to ", to.ToString(), ", and ",
        dims.size(), " dimensions are left once those that lie side by side are joined; at most ",
        pad::kMaxDims, " can be"));
  }
  PadOp op;
  Table& table = op.table_;
  table.value = Repeated(bits, element);
  table.dims = static_cast<uint32_t>(dims.size());
  table.piece = PieceOf(dims, element, copies);
  dims.back().kept = dims.back().kept * element / table.piece;
  dims.back().size = dims.back().size * element / table.piece;
  if (table.piece != element) {
    dims.back().target_stride = table.piece;
    dims.back().source_stride = table.piece;
  }
  std::copy(dims.begin(), dims.end(), table.dim);
  op.end_ = to.extent_bytes();
  op.DealOut(copies);
  return op;
}

// The first byte that is written is the first one of some box.
void PadOp::DealOut(bool copies) {
  Table& table = table_;
  const uint32_t boxes = table.dims + (copies ? 1 : 0);
  uint64_t pieces = 0;
  table.skipped = copies ? 0 : end_;
  for (uint32_t box = 0; box < boxes; ++box) {
    const uint64_t in_box = pad::PiecesOf(table, box);
    pieces += in_box;
    if (in_box == 0 || copies) continue;
    table.skipped = std::min(table.skipped, table.dim[box].kept * table.dim[box].target_stride);
  }
  const uint64_t share = (pieces + kManyBlocks - 1) / kManyBlocks;
  const uint64_t rounds = std::max<uint64_t>((share + kPiecesPerBlock - 1) / kPiecesPerBlock, 1);
  table.pieces_per_block = rounds * kPiecesPerBlock;
  uint64_t blocks = 0;
  for (uint32_t box = 0; box <= table.dims; ++box) {
    table.first_block[box] = static_cast<uint32_t>(blocks);
    if (box == table.dims && !copies) break;
    blocks += (pad::PiecesOf(table, box) + table.pieces_per_block - 1) / table.pieces_per_block;
  }
  table.first_block[table.dims + 1] = static_cast<uint32_t>(blocks);
}

LaunchShape PadOp::shape() const {
  LaunchShape shape;
  shape.grid.x = table_.first_block[table_.dims + 1];
  shape.block.x = pad::kThreads;
  return shape;
}

const Kernel& PadInPlaceKernel() {
  static const Kernel* const kernel =
      new Kernel("graphtree_pad_in_place", Params<uint8_t*, Table>(), PadInPlaceOnHost,
                 BodyOf(LinkedPadKernels().in_place), KernelOwner::kLibrary);
  return *kernel;
}

const Kernel& PadCopyKernel() {
  static const Kernel* const kernel =
      new Kernel("graphtree_pad_copy", Params<uint8_t*, const uint8_t*, Table>(), PadCopyOnHost,
                 BodyOf(LinkedPadKernels().copy), KernelOwner::kLibrary);
  return *kernel;
}

}  // namespace graphtree
