// Makes what is padded, pads it, looks where it lies.
#include "tests/runtime/simulation/pad_body.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graphs/layout.h"
#include "tests/kernels/kernels.h"
#include "tests/kernels/launches.h"

namespace graphtree::runtime_simulation {
namespace {

class PadRun {
 public:
  PadRun(const PadCase& pad, Launcher& on, PadsSeen* seen) : pad_(pad), on_(on), seen_(*seen) {}

  Tensor Grows() {
    Tensor made = on_.Empty(pad_.type, pad_.from);
    Fill(made, pad_.seed);
    return Padded(std::move(made), pad_.to, pad_.value, Place::kAny);
  }
  Tensor HasRoom() {
    Tensor made = on_.Empty(pad_.type, pad_.from, pad_.to);
    Fill(made, pad_.seed);
    made = Padded(std::move(made), pad_.between, pad_.value + 1, Place::kSame);
    return Padded(std::move(made), pad_.to, pad_.value, Place::kSame);
  }
  Tensor Rows() {
    Tensor made = on_.Empty(pad_.type, pad_.from, pad_.to);
    const Layout* const row = Layout::Of(pad_.type, {pad_.from[1]});
    for (int64_t i = 0; i < pad_.from[0] && on_.ok(); ++i) {
      Fill(made.View(row, 4 * i * pad_.to[1]), pad_.seed + static_cast<uint32_t>(i));
    }
    return Padded(std::move(made), pad_.to, pad_.value, Place::kSame);
  }
  // What is padded, and what another handle sees where the tail would be.
  Tensor Held() {
    const Tensor whole = on_.Empty(pad_.type, pad_.to);
    Fill(whole, pad_.seed);
    if (!on_.ok()) return whole;
    const Tensor padded = Copied(whole.View(Layout::Of(pad_.type, pad_.from), 0));
    const Tensor sum = on_.Empty(pad_.type, pad_.to);
    if (!on_.ok()) return sum;
    on_.Launch(AddKernel(), TestShape(),
               {Out(sum), In(padded), In(whole), Val(static_cast<uint32_t>(pad_.to[0]))});
    return sum;
  }
  Tensor Copied(Tensor tensor) {
    return Padded(std::move(tensor), pad_.to, pad_.value, Place::kOther);
  }

 private:
  enum class Place { kAny, kSame, kOther };

  void Fill(const Tensor& tensor, uint32_t seed) {
    if (!on_.ok()) return;
    const auto words = static_cast<uint32_t>(tensor.shape().extent_bytes() / 4);
    on_.Launch(FillPatternKernel(), TestShape(), {Out(tensor), Val(seed), Val(words)});
  }
  Tensor Padded(Tensor tensor, const Sizes& to, uint32_t value, Place expected) {
    if (!on_.ok()) return tensor;
    const Address before = tensor.word();
    Tensor padded = on_.Pad(std::move(tensor), to, value);
    if (!on_.ok()) return padded;
    const bool is_same = padded.word() == before;
    if (is_same) {
      ++seen_.in_place;
    } else {
      ++(expected == Place::kAny ? seen_.without : seen_.copied);
    }
    if (expected != Place::kAny && is_same != (expected == Place::kSame)) {
      (is_same ? seen_.wrong : seen_.needless) =
          absl::StrCat("a pad of kind ", static_cast<int>(pad_.kind), " is ",
                       is_same ? "in place" : "a copy");
    }
    return padded;
  }

  const PadCase& pad_;
  Launcher& on_;
  PadsSeen& seen_;
};

}  // namespace

Tensor RunPad(const PadCase& pad, Launcher& on, const ProgramInputs& in, Address foreign,
              PadsSeen* seen) {
  PadRun run(pad, on, seen);
  switch (pad.kind) {
    case PadKind::kGrows: return run.Grows();
    case PadKind::kHasRoom: return run.HasRoom();
    case PadKind::kRows: return run.Rows();
    case PadKind::kHeld: return run.Held();
    case PadKind::kSlot: return run.Copied(in.slot(pad.at));
    case PadKind::kPrepared: return run.Copied(Tensor::From(in.prepared()[0]));
    case PadKind::kForeign:
      return run.Copied(Tensor::Foreign(foreign, Layout::Of(pad.type, pad.from)));
  }
  return {};
}

}  // namespace graphtree::runtime_simulation
