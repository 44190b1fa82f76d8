// Merges a layout's dims into as few pieces as possible.
#include "graphs/inputs/ingest/ingest_shape.h"

#include <algorithm>
#include <vector>

namespace graphtree::ingest {
namespace {

CopyShape Flat(uint64_t bytes) {
  CopyShape shape;
  shape.amount = bytes;
  return shape;
}

// The dims that reach different bytes, smallest stride first. Source and target share strides,
// so the order in which elements are visited is free.
std::vector<Dim> MovingDims(const Layout& layout) {
  const uint64_t element = BytesOf(layout.type());
  std::vector<Dim> dims;
  for (size_t i = 0; i < layout.sizes().size(); ++i) {
    if (layout.sizes()[i] == 1 || layout.strides()[i] == 0) continue;
    dims.push_back({static_cast<uint64_t>(layout.sizes()[i]), layout.strides()[i] * element});
  }
  std::sort(dims.begin(), dims.end(),
            [](const Dim& a, const Dim& b) { return a.stride < b.stride; });
  return dims;
}

// Each dim has to step over everything that the ones before it reach.
bool Overlap(const std::vector<Dim>& dims, uint64_t element) {
  uint64_t reach = element;
  for (const Dim& dim : dims) {
    if (dim.stride < reach) return true;
    reach += dim.stride * (dim.size - 1);
  }
  return false;
}

std::vector<Dim> Merged(const std::vector<Dim>& dims) {
  std::vector<Dim> merged;
  for (const Dim& dim : dims) {
    if (!merged.empty() && dim.stride == merged.back().stride * merged.back().size) {
      merged.back().size *= dim.size;
    } else {
      merged.push_back(dim);
    }
  }
  return merged;
}

}  // namespace

CopyShape ShapeOf(const Layout& layout) {
  if (layout.elements() == 0) return Flat(0);
  const uint64_t element = BytesOf(layout.type());
  std::vector<Dim> dims = MovingDims(layout);
  if (Overlap(dims, element)) return Flat(layout.extent_bytes());
  dims = Merged(dims);
  uint64_t run = element;  // bytes in one piece of memory
  if (!dims.empty() && dims.front().stride == element) {
    run *= dims.front().size;
    dims.erase(dims.begin());
  }
  if (dims.empty()) return Flat(run);
  CopyShape shape;
  uint64_t steps = run | kUnitBytes;
  for (const Dim& dim : dims) steps |= dim.stride;
  shape.width = static_cast<uint32_t>(steps & (0 - steps));
  if (run > shape.width) dims.insert(dims.begin(), Dim{run / shape.width, shape.width});
  if (dims.size() > kMaxDims) return Flat(layout.extent_bytes());
  shape.amount = 1;
  for (const Dim& dim : dims) {
    shape.dim[shape.dims++] = dim;
    shape.amount *= dim.size;
  }
  return shape;
}

}  // namespace graphtree::ingest
