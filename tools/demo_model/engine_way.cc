// Captures at the start; copies, fills and launches in each step.
#include "tools/demo_model/engine_way.h"

#include <algorithm>
#include <set>
#include <utility>

#include "device/base/status_macros.h"
#include "graphs/launcher.h"
#include "graphs/layout.h"

namespace graphtree::demo {
namespace {

constexpr uint64_t kPartBytes = kMostTokens * sizeof(int);
constexpr uint64_t kPreparedParts = 5;

}  // namespace

EngineWay::EngineWay(Stream& stream, const Weights& weights, AddressRange memory)
    : stream_(stream),
      weights_(weights.model()),
      graph_arena_({memory.base, kStepArenaBytes}),
      arena_({memory.base + kStepArenaBytes, kStepArenaBytes}) {}

absl::StatusOr<std::unique_ptr<EngineWay>> EngineWay::Create(Device& device, Stream& stream,
                                                             const Weights& weights,
                                                             AddressRange memory,
                                                             const std::vector<Rung>& ladder) {
  std::unique_ptr<EngineWay> way(new EngineWay(stream, weights, memory));
  GRAPHTREE_ASSIGN_OR_RETURN(way->host_, device.memory().AllocateHost(way->piece_.bytes()));
  GRAPHTREE_ASSIGN_OR_RETURN(way->inputs_, DeviceBlock::Map(device, way->piece_.bytes()));
  GRAPHTREE_ASSIGN_OR_RETURN(way->prepared_,
                             DeviceBlock::Map(device, kPreparedParts * kPartBytes));
  GRAPHTREE_RETURN_IF_ERROR(way->CaptureLadder(ladder));
  return way;
}

Prepared EngineWay::PreparedFor(const StepSizes& sizes) const {
  const auto part = [&](int number, int count) {
    return Tensor::Foreign(prepared_->range().base + number * kPartBytes,
                           Layout::Of(DType::kI32, {count}));
  };
  return {part(0, sizes.tokens), part(1, sizes.tokens), part(2, sizes.tokens), part(3, 1),
          part(4, 1)};
}

absl::StatusOr<Address> EngineWay::Layers(StepArena& arena, const StepSizes& sizes) {
  arena.StartOver();
  Launcher on(stream_, arena, nullptr);
  const BatchTensors inputs = piece_.At(inputs_->range().base, sizes.tokens, sizes.requests);
  const Tensor hidden = RunLayers(on, weights_, inputs, PreparedFor(sizes), sizes);
  GRAPHTREE_RETURN_IF_ERROR(on.status());
  return hidden.word();
}

absl::Status EngineWay::CaptureSize(Captured* captured) {
  const StepSizes sizes = {captured->tokens, kMostRequests, captured->context};
  GRAPHTREE_RETURN_IF_ERROR(Layers(graph_arena_, sizes).status());
  GRAPHTREE_RETURN_IF_ERROR(stream_.BeginCapture(CaptureMode::kThreadLocal));
  const absl::StatusOr<Address> hidden = Layers(graph_arena_, sizes);
  const absl::StatusOr<std::unique_ptr<Graph>> graph = stream_.EndCapture();
  GRAPHTREE_RETURN_IF_ERROR(hidden.status());
  GRAPHTREE_RETURN_IF_ERROR(graph.status());
  captured->hidden = *hidden;
  GRAPHTREE_ASSIGN_OR_RETURN(captured->executable, (*graph)->Instantiate());
  return captured->executable->Upload(stream_);
}

absl::Status EngineWay::CaptureLadder(const std::vector<Rung>& ladder) {
  // The layers do not know whether they read prompts or decode.
  std::set<std::pair<int, int>> sizes;
  for (const Rung& rung : ladder) sizes.insert({rung.key.tokens, rung.key.context});
  for (const auto& [tokens, context] : sizes) {
    Captured& captured = captured_.emplace_back();
    captured.tokens = tokens;
    captured.context = context;
  }
  // Of nobody's rows: nothing is live.
  for (const DeviceBlock* block : {inputs_.get(), prepared_.get()}) {
    const AddressRange range = block->range();
    GRAPHTREE_RETURN_IF_ERROR(stream_.Fill(range.base, 0, sizeof(int), range.bytes / sizeof(int)));
  }
  for (auto captured = captured_.rbegin(); captured != captured_.rend(); ++captured) {
    GRAPHTREE_RETURN_IF_ERROR(CaptureSize(&*captured));
  }
  return stream_.Synchronize();
}

const EngineWay::Captured* EngineWay::Choose(const Batch& batch) const {
  const auto serves = [&](const Captured& captured) {
    return batch.tokens() <= captured.tokens && batch.context() <= captured.context;
  };
  const auto found = std::find_if(captured_.begin(), captured_.end(), serves);
  return found == captured_.end() ? nullptr : &*found;
}

absl::Status EngineWay::PadSlot(const Batch& batch, BatchSlot slot, const StepSizes& sizes,
                                uint64_t bytes, int* submissions) {
  const SlotSpec& spec = BatchSlotSpecs()[slot];
  const Key key = {.tokens = sizes.tokens, .requests = sizes.requests};
  const uint64_t whole =
      graphtree::RowsOf(spec, key) * RowElementsOf(spec) * BytesOf(spec.type);
  if (bytes >= whole) return absl::OkStatus();
  ++*submissions;
  const uint32_t value = spec.pad == PadRule::kLastRow ? batch.starts.back() : 0;
  return stream_.Fill(inputs_->range().base + piece_.offset(slot) + bytes, value, sizeof(int),
                      (whole - bytes) / sizeof(int));
}

absl::StatusOr<int> EngineWay::BringIn(const Batch& batch, const StepSizes& sizes) {
  int submissions = 0;
  for (int i = 0; i < kBatchSlots; ++i) {
    const auto slot = static_cast<BatchSlot>(i);
    const uint64_t bytes = piece_.Write(batch, slot, host_->data());
    const uint64_t offset = piece_.offset(slot);
    GRAPHTREE_RETURN_IF_ERROR(stream_.Copy(inputs_->range().base + offset,
                                           host_->range().base + offset, bytes));
    ++submissions;
    GRAPHTREE_RETURN_IF_ERROR(PadSlot(batch, slot, sizes, bytes, &submissions));
  }
  return submissions;
}

absl::StatusOr<Submitted> EngineWay::Submit(const Batch& batch) {
  const Captured* const captured = Choose(batch);
  StepSizes sizes = {batch.tokens(), batch.requests(), batch.context()};
  if (captured != nullptr) {
    const int requests = batch.is_prefill ? kPrefillRequests : captured->tokens;
    sizes = {captured->tokens, std::min(requests, kMostRequests), captured->context};
  }
  GRAPHTREE_ASSIGN_OR_RETURN(int submissions, BringIn(batch, sizes));
  const Prepared prepared = PreparedFor(sizes);
  arena_.StartOver();
  Launcher on(stream_, arena_, nullptr);
  const BatchTensors inputs = piece_.At(inputs_->range().base, sizes.tokens, sizes.requests);
  Prepare(on, inputs, sizes, prepared);
  Tensor hidden;
  if (captured != nullptr) {
    GRAPHTREE_RETURN_IF_ERROR(on.status());
    GRAPHTREE_RETURN_IF_ERROR(captured->executable->Launch(stream_));
    hidden = Tensor::Foreign(captured->hidden, Layout::Of(DType::kF32, {sizes.tokens, kHidden}));
  } else {
    hidden = RunLayers(on, weights_, inputs, prepared, sizes);
  }
  const Tensor tokens = PickTokens(on, weights_, inputs, prepared, sizes, hidden);
  GRAPHTREE_RETURN_IF_ERROR(on.status());
  submissions += kPrepareLaunches + kPickLaunches + (captured != nullptr ? 1 : kLayerLaunches);
  return Submitted{.tokens = tokens.word(),
                   .submissions = submissions,
                   .padded_tokens = sizes.tokens,
                   .is_replay = captured != nullptr};
}

WayGraphs EngineWay::graphs() const {
  WayGraphs graphs = {.count = captured_.size()};
  for (const Captured& captured : captured_) graphs.bytes += captured.executable->device_bytes();
  return graphs;
}

}  // namespace graphtree::demo
