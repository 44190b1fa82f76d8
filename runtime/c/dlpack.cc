// Tensors handed to other frameworks: a DLPack struct that holds the tensor's bytes, and lets them
// go by itself, on any thread, whatever has become of the language that asked for it.
//
//   gt_value --CopyTensor--> Exported { struct, Tensor, pin of a gt_memory } --deleter--> gone
#include <memory>
#include <utility>

#include "graphs/layout.h"
#include "graphs/tensor.h"
#include "runtime/c/dlpack_layout.h"
#include "runtime/c/entry.h"
#include "runtime/c/held_values.h"
#include "runtime/c/values.h"

namespace graphtree::c {
namespace {

// A memory's object, of which nothing but its life is wanted here.
class HeldMemory : public Object {
 public:
  static constexpr Kind kKind = c::kMemory;
};

dlpack::DataType TypeOf(DType type) {
  switch (type) {
    case DType::kU8: return {1, 8, 1};
    case DType::kBool: return {6, 8, 1};
    case DType::kI32: return {0, 32, 1};
    case DType::kI64: return {0, 64, 1};
    case DType::kF16: return {2, 16, 1};
    case DType::kBF16: return {4, 16, 1};
    case DType::kF32: return {2, 32, 1};
    case DType::kF64: return {2, 64, 1};
  }
  return {};
}

class Exported : public Object {
 public:
  Exported(Tensor tensor, Ref<HeldMemory> memory, int32_t device_type, int32_t device_id)
      : held_(std::move(tensor)), memory_(std::move(memory)) {
    // Layouts are for ever, and nobody writes through these pointers.
    const Layout& layout = *held_.tensor().layout();
    const dlpack::Tensor described = {reinterpret_cast<void*>(held_.tensor().word()),
                                      device_type,
                                      device_id,
                                      static_cast<int32_t>(layout.sizes().size()),
                                      TypeOf(layout.type()),
                                      const_cast<int64_t*>(layout.sizes().data()),
                                      const_cast<int64_t*>(layout.strides().data()),
                                      0};
    managed_ = {described, this, End<dlpack::Managed>};
    versioned_ = {1, 0, this, End<dlpack::VersionedManaged>, 0, described};
  }
  void* managed() { return &managed_; }
  void* versioned() { return &versioned_; }

 private:
  template <typename Struct>
  static void End(Struct* self) {
    const std::unique_ptr<Exported> last(static_cast<Exported*>(self->context));
  }

  const ExportedTensor held_;
  const Ref<HeldMemory> memory_;
  dlpack::Managed managed_;
  dlpack::VersionedManaged versioned_;
};

}  // namespace
}  // namespace graphtree::c

using graphtree::Tensor;
using graphtree::c::Entry;
using graphtree::c::Within;

gt_error gt_dlpack_new(const gt_value* tensor, gt_memory memory, int32_t device_type,
                       int32_t device_id, int32_t versioned, void** out) noexcept {
  return Within("gt_dlpack_new", [&](Entry& entry) -> gt_error {
    Tensor held;
    graphtree::c::Ref<graphtree::c::HeldMemory> pin;
    if (memory != nullptr) pin = entry.Get<graphtree::c::HeldMemory>(memory, "memory");
    if (!entry.Sets(out, "out") || !entry.ok()) return entry.Failed();
    if (!graphtree::c::CopyTensor(tensor, "tensor", &entry, &held)) return entry.Failed();
    entry.Fail(held.bytes().status());
    if (!entry.ok()) return entry.Failed();
    auto exported = graphtree::c::NewObject<graphtree::c::Exported>(std::move(held), std::move(pin),
                                                                    device_type, device_id);
    if (exported == nullptr) return entry.Return(Entry::NoHandle());
    *out = versioned != 0 ? exported->versioned() : exported->managed();
    exported.release();
    return nullptr;
  });
}
