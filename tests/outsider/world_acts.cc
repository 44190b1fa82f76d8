// What the caller does beside calling functions.
#include <cstring>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/outsider/kernels.h"
#include "tests/outsider/world.h"

namespace graphtree::outsider {
namespace {

int Positive(int n) { return n < 0 ? -n : n; }

}  // namespace

// From the host everything is waited for first; on a stream the work is ordered.
void World::Write(const Action& action, bool from_host) {
  const auto& n = action.n;
  const Place place = PlaceIn(n[0], n[1], Layout::Of(DType::kU8, {1 + Positive(n[2]) % 4096}));
  Bytes& model = *mirror_.buffers[place.buffer];
  const uint64_t bytes = place.layout->extent_bytes();
  const Address at = model.base + place.offset;
  std::memset(model.data.data() + place.offset, n[3] & 255, bytes);
  if (from_host) {
    if (absl::Status s = SyncAll(); !s.ok()) return Wrong(s.ToString());
    std::memset(PointerTo<uint8_t>(at), n[3] & 255, bytes);
    return;
  }
  Stream& stream = StreamOf(n[4]);
  OrderBehindLast(stream, -1);
  const absl::Status status =
      Bare(stream).Fill(at, static_cast<uint32_t>(n[3] & 255), 1, bytes);
  if (!status.ok()) Wrong("filling: " + status.ToString());
}

// In the order of the stream that ran last, so that a tree that gives the bytes away too early is
// seen.
void World::ReadBackOne(const Action& action) {
  const Held& held = ShelfAt(action.n[0]);
  if (!held.model.is_tensor() || IsStale(held) || last_stream_ == nullptr) return;
  if (!IsThere(*held.model.bytes) || held.model.extent() == 0) return;
  OrderBehindLast(*last_stream_, -1);
  ReadBack back;
  back.landing = rig_.device->wrapped().memory().AllocateHost(held.model.extent()).value();
  back.expected.assign(held.model.data(), held.model.data() + held.model.extent());
  const absl::Status status = Bare(*last_stream_).Copy(back.landing->range().base,
                                                       held.value.word(), held.model.extent());
  if (!status.ok()) return Wrong("reading back: " + status.ToString());
  read_backs_.push_back(std::move(back));
}

void World::Look(const Action& action) {
  const auto& n = action.n;
  const Held held = ShelfAt(n[0]);
  const Layout* layout = LayoutOf(n[3]);
  if (!held.model.is_tensor() || layout->extent_bytes() > held.model.extent()) return;
  const uint64_t offset =
      static_cast<uint64_t>(Positive(n[2])) % (held.model.extent() - layout->extent_bytes() + 1);
  ShelfAt(n[1]) = {Tensor::From(held.value).View(layout, offset),
                   Handle::Tensor(held.model.bytes, held.model.at + offset, layout)};
}

void World::DropOnThread(const Action& action) {
  Held held = std::move(ShelfAt(action.n[0]));
  ShelfAt(action.n[0]) = Held();
  std::thread([value = std::move(held.value)]() mutable { value = Value(); }).join();
}

// Contents are kept. A fault may hit it, and then nothing has changed.
void World::ParkOrWake(const Action& action) {
  const int tree = TreeOf(action.n[0]);
  const bool park = action.what == Act::kPark;
  if (parked_[tree] == park) return;
  Pool& pool = rig_.trees[tree]->pool();
  // The pool knows its own tree's streams; what others did with its memory is the caller's matter.
  if (last_user_ != tree) {
    if (absl::Status s = SyncAll(); !s.ok()) return Wrong(s.ToString());
  }
  const uint64_t faults = fired();
  const absl::Status status =
      park ? pool.parking().Park(ParkContents::kToHost) : pool.parking().Wake();
  if (!status.ok() && fired() == faults) {
    return Wrong(absl::StrCat(park ? "parking: " : "waking: ", status.ToString()));
  }
  if (!status.ok()) had_fault_ = true;
  parked_[tree] = pool.parking().is_parked();
  if (status.ok() && parked_[tree] != park) Wrong("parked or not, other than was asked");
}

void World::Trim(const Action& action) {
  const int tree = TreeOf(action.n[0]);
  if (parked_[tree]) return;
  const uint64_t faults = fired();
  const auto trimmed = rig_.trees[tree]->pool().memory().Trim(0, (action.n[1] & 1) != 0);
  if (!trimmed.ok() && fired() == faults) Wrong("trimming: " + trimmed.status().ToString());
}

void World::Fault(const Action& action) {
  static constexpr ErrorCode kCodes[] = {ErrorCode::kUnknown, ErrorCode::kOutOfMemory,
                                         ErrorCode::kInvalidValue, ErrorCode::kNotPermitted,
                                         ErrorCode::kLaunchFailure};
  static constexpr const char* kNames[] = {
      "Stream.Launch",      "Stream.Record",     "Stream.Wait",        "Stream.Synchronize",
      "Stream.EndCapture",  "Stream.Fill",       "Stream.BeginCapture", "Graph.Instantiate",
      "Executable.Launch",  "Memory.Map",        "Memory.Create",      "Stream.Copy",
      "Device.NewEvent",    "Executable.PatchKernel", "Memory.SetAccess", "Stream.Capture"};
  const auto& n = action.n;
  FaultPlan& plan = rig_.device->plan();
  if (action.what == Act::kFault) {
    plan.FailCall(1 + Positive(n[0]), kCodes[Positive(n[1]) % 5]);
  } else {
    plan.FailCallOf(kNames[Positive(n[0]) % 16], 1 + Positive(n[1]), kCodes[Positive(n[2]) % 5]);
  }
}

// Its old id is an error from then on; what it handed out is checked as everything else is.
void World::Unregister(const Action& action) {
  if (program_.functions.empty()) return;
  const size_t function = static_cast<size_t>(Positive(action.n[0])) % program_.functions.size();
  const int tree = program_.functions[function][Trait::kTree];
  const FunctionId old = rig_.functions[function];
  const uint64_t faults = fired();
  const absl::Status status = rig_.trees[tree]->Unregister(old);
  if (!status.ok()) {
    if (fired() == faults) Wrong("unregistering: " + status.ToString());
    return;
  }
  rig_.functions[function] = RegisterOne(function);
  Values none, outputs;
  if (rig_.trees[tree]->Run(old, absl::MakeSpan(none), *rig_.streams[0], &outputs).ok()) {
    Wrong("a function that was unregistered may be called");
  }
}

void World::MoveWorkspace(const Action& action) {
  const int which = Positive(action.n[0]) % 6;
  const int to = Positive(action.n[1]) % 6;
  const int tree = which / 3;
  const absl::Status status = rig_.trees[tree]->MoveWorkspace(
      rig_.workspaces[tree][which % 3], workspace_memory_[to]->range());
  if (!status.ok()) Wrong("moving a workspace: " + status.ToString());
}

// Foreign code allocates and frees between calls, through the first tree.
void World::Block(const Action& action) {
  const int place = Positive(action.n[0]) % kBlocks;
  if (parked_[0] || parked_[1]) return;
  Stream& stream = last_stream_ != nullptr ? *last_stream_ : *rig_.streams[0];
  OrderBehindLast(stream, -1);
  const uint64_t faults = fired();
  ForeignAllocator& foreign = rig_.trees[0]->foreign_allocator();
  if (action.what == Act::kFreeBlock) {
    for (int tree = 0; tree < kTrees; ++tree) {
      const Address held = std::exchange(rig_.held[tree][place], 0);
      const absl::Status status = rig_.trees[tree]->foreign_allocator().Free(held, stream);
      if (!status.ok() && fired() == faults) Wrong("freeing a held block: " + status.ToString());
    }
    if (block_bytes_[place] != nullptr) block_bytes_[place]->gone = true;
    block_bytes_[place] = nullptr;
    const absl::Status status = foreign.Free(std::exchange(blocks_[place], 0), stream);
    if (!status.ok() && fired() == faults) Wrong("freeing a block: " + status.ToString());
    return;
  }
  if (blocks_[place] != 0) return;
  const uint64_t bytes = 64 + static_cast<uint64_t>(Positive(action.n[1]) % 8192);
  const absl::StatusOr<Address> at = foreign.Allocate(bytes, stream);
  if (!at.ok()) {
    if (fired() == faults && !tiny_[0]) Wrong("allocating a block: " + at.status().ToString());
    return;
  }
  blocks_[place] = *at;
  block_bytes_[place] = std::make_shared<Bytes>();
  block_bytes_[place]->data.assign(bytes, 0x42);
  block_bytes_[place]->base = *at;
  block_bytes_[place]->pool = 0;
  if (absl::Status s = Bare(stream).Fill(*at, 0x42, 1, bytes); !s.ok()) Wrong(s.ToString());
}

}  // namespace graphtree::outsider
