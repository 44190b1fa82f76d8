// One copy, and then the model as it stands.
#include "tools/demo_model/eager_way.h"

#include "device/base/status_macros.h"
#include "graphs/launcher.h"
#include "tools/demo_model/model.h"

namespace graphtree::demo {

absl::StatusOr<std::unique_ptr<EagerWay>> EagerWay::Create(Device& device, Stream& stream,
                                                           const Weights& weights,
                                                           AddressRange memory) {
  std::unique_ptr<EagerWay> way(new EagerWay(stream, weights, memory));
  GRAPHTREE_ASSIGN_OR_RETURN(way->host_, device.memory().AllocateHost(way->piece_.bytes()));
  GRAPHTREE_ASSIGN_OR_RETURN(way->inputs_, DeviceBlock::Map(device, way->piece_.bytes()));
  return way;
}

absl::StatusOr<Submitted> EagerWay::Submit(const Batch& batch) {
  for (int slot = 0; slot < kBatchSlots; ++slot) {
    piece_.Write(batch, static_cast<BatchSlot>(slot), host_->data());
  }
  const Address base = inputs_->range().base;
  GRAPHTREE_RETURN_IF_ERROR(stream_.Copy(base, host_->range().base, piece_.bytes()));
  arena_.StartOver();
  Launcher on(stream_, arena_, nullptr);
  const StepSizes sizes = {batch.tokens(), batch.requests(), batch.context()};
  const BatchTensors inputs = piece_.At(base, sizes.tokens, sizes.requests);
  const Prepared prepared = EmptyPrepared(on, sizes);
  Prepare(on, inputs, sizes, prepared);
  const Tensor hidden = RunLayers(on, weights_, inputs, prepared, sizes);
  const Tensor tokens = PickTokens(on, weights_, inputs, prepared, sizes, hidden);
  GRAPHTREE_RETURN_IF_ERROR(on.status());
  return Submitted{.tokens = tokens.word(),
                   .submissions = 1 + kStepLaunches,
                   .padded_tokens = sizes.tokens};
}

}  // namespace graphtree::demo
