// Pools of graphtree.h.
#include "allocator/pool.h"

#include <memory>
#include <string>
#include <utility>

#include "allocator/pool_snapshot.h"
#include "runtime/c/device_objects.h"
#include "runtime/c/entry.h"
#include "runtime/c/shared_bytes_object.h"
#include "runtime/c/stats_of.h"

namespace graphtree::c {
namespace {

class PoolObject : public Object {
 public:
  static constexpr Kind kKind = c::kPool;
  PoolObject(std::shared_ptr<OpenedDevice> opened, std::unique_ptr<Pool> pool)
      : opened_(std::move(opened)), pool_(std::move(pool)) {}
  Pool& pool() { return *pool_; }
  absl::Status MayEnd() override { return pool_->Close(); }

 private:
  const std::shared_ptr<OpenedDevice> opened_;
  const std::unique_ptr<Pool> pool_;
};

PoolOptions OptionsOf(const gt_pool_options& options, Entry* entry) {
  PoolOptions made;
  if (options.name != nullptr) made.name = options.name;
  made.limit_bytes = options.limit_bytes;
  made.address_bytes = options.address_bytes;
  made.initial_bytes = options.initial_bytes;
  made.wished_base = options.wished_base;
  made.debug.poison_on_free = options.poison_on_free != 0;
  made.debug.guard_gaps = options.canaries != 0;
  made.debug.canaries = options.canaries != 0;
  made.shared_bytes = SharedBytesOf(options.shared_bytes, entry);
  return made;
}

BlockId BlockOf(uint64_t id) {
  return {static_cast<uint32_t>(id), static_cast<uint32_t>(id >> 32)};
}

CheckpointId CheckpointOf(const gt_checkpoint& checkpoint) {
  const BlockId name = BlockOf(checkpoint.words[0]);
  return {name.index, name.generation, checkpoint.words[1]};
}

// A function of one pool.
template <typename Do>
gt_error OnPool(const char* call, gt_pool pool, const Do& act) {
  return Within(call, [&](Entry& entry) -> gt_error {
    const Ref<PoolObject> of = entry.Get<PoolObject>(pool, "pool");
    return entry.ok() ? entry.Return(act(of->pool())) : entry.Failed();
  });
}

}  // namespace
}  // namespace graphtree::c

using graphtree::Pool;
using graphtree::c::Entry;
using graphtree::c::OnPool;
using graphtree::c::PoolObject;
using graphtree::c::Ref;
using graphtree::c::StreamObject;
using graphtree::c::Within;

gt_error gt_pool_new(gt_device device, const gt_pool_options* options, gt_pool* out) noexcept {
  return Within("gt_pool_new", [&](Entry& entry) -> gt_error {
    gt_pool_options read;
    entry.Read(options, "gt_pool_options", &read);
    const auto of = entry.Get<graphtree::c::DeviceObject>(device, "device");
    const graphtree::PoolOptions made = graphtree::c::OptionsOf(read, &entry);
    if (!entry.Sets(out, "out") || !entry.ok()) return entry.Failed();
    absl::StatusOr<std::unique_ptr<Pool>> pool = Pool::Create(of->device(), made);
    if (!pool.ok()) return entry.Return(pool.status());
    return entry.Give(graphtree::c::NewObject<PoolObject>(of->opened(), *std::move(pool)), out);
  });
}

gt_error gt_pool_allocate(gt_pool pool, uint64_t bytes, uint64_t alignment, int32_t lasting,
                          gt_stream stream, gt_block* out) noexcept {
  return Within("gt_pool_allocate", [&](Entry& entry) -> gt_error {
    const Ref<PoolObject> of = entry.Get<PoolObject>(pool, "pool");
    const Ref<StreamObject> on = entry.Get<StreamObject>(stream, "stream");
    if (!entry.Sets(out, "out") || !entry.ok()) return entry.Failed();
    const absl::StatusOr<graphtree::Block> block = of->pool().Allocate(
        bytes, on->stream(),
        {.alignment = alignment,
         .region = lasting != 0 ? graphtree::Region::kLasting : graphtree::Region::kStep});
    if (!block.ok()) return entry.Return(block.status());
    *out = {uint64_t{block->id.generation} << 32 | block->id.index, block->range.base,
            block->range.bytes};
    return nullptr;
  });
}

gt_error gt_pool_free(gt_pool pool, uint64_t block) noexcept {
  return OnPool("gt_pool_free", pool,
                [&](Pool& of) { return of.Free(graphtree::c::BlockOf(block)); });
}

gt_error gt_pool_use_on(gt_pool pool, uint64_t block, gt_stream stream) noexcept {
  return Within("gt_pool_use_on", [&](Entry& entry) -> gt_error {
    const Ref<PoolObject> of = entry.Get<PoolObject>(pool, "pool");
    const Ref<StreamObject> on = entry.Get<StreamObject>(stream, "stream");
    if (!entry.ok()) return entry.Failed();
    return entry.Return(of->pool().UseOn(graphtree::c::BlockOf(block), on->stream()));
  });
}

gt_error gt_pool_take_checkpoint(gt_pool pool, gt_checkpoint* out) noexcept {
  return Within("gt_pool_take_checkpoint", [&](Entry& entry) -> gt_error {
    const Ref<PoolObject> of = entry.Get<PoolObject>(pool, "pool");
    if (!entry.Sets(out, "out") || !entry.ok()) return entry.Failed();
    const absl::StatusOr<graphtree::CheckpointId> taken = of->pool().checkpoints().Take();
    if (!taken.ok()) return entry.Return(taken.status());
    *out = {{uint64_t{taken->generation} << 32 | taken->index, taken->pool}};
    return nullptr;
  });
}

gt_error gt_pool_restore(gt_pool pool, gt_checkpoint checkpoint) noexcept {
  return OnPool("gt_pool_restore", pool, [&](Pool& of) {
    return of.checkpoints().Restore(graphtree::c::CheckpointOf(checkpoint));
  });
}

gt_error gt_pool_drop_checkpoint(gt_pool pool, gt_checkpoint checkpoint) noexcept {
  return OnPool("gt_pool_drop_checkpoint", pool, [&](Pool& of) {
    return of.checkpoints().Drop(graphtree::c::CheckpointOf(checkpoint));
  });
}

gt_error gt_pool_look(gt_pool pool, gt_pool_stats* out) noexcept {
  return OnPool("gt_pool_look", pool, [&](Pool& of) {
    return graphtree::c::WriteFigures(graphtree::c::StatsOf(of.Stats()), "gt_pool_stats", out);
  });
}

gt_error gt_pool_trim(gt_pool pool, uint64_t goal_bytes, uint64_t* released) noexcept {
  return OnPool("gt_pool_trim", pool, [&](Pool& of) {
    const absl::StatusOr<uint64_t> went = of.memory().Trim(goal_bytes);
    if (went.ok() && released != nullptr) *released = *went;
    return went.status();
  });
}

gt_error gt_pool_set_limit(gt_pool pool, uint64_t bytes) noexcept {
  return OnPool("gt_pool_set_limit", pool, [&](Pool& of) { return of.memory().SetLimit(bytes); });
}

gt_error gt_pool_park(gt_pool pool, gt_contents contents) noexcept {
  return OnPool("gt_pool_park", pool, [&](Pool& of) {
    absl::Status known = graphtree::c::CheckEnum("contents", contents, GT_KEEP);
    if (!known.ok()) return known;
    return of.parking().Park(contents == GT_KEEP ? graphtree::ParkContents::kToHost
                                                 : graphtree::ParkContents::kDrop);
  });
}

gt_error gt_pool_wake(gt_pool pool) noexcept {
  return OnPool("gt_pool_wake", pool, [](Pool& of) { return of.parking().Wake(); });
}

gt_error gt_pool_write_snapshot(gt_pool pool, const char* path) noexcept {
  return Within("gt_pool_write_snapshot", [&](Entry& entry) -> gt_error {
    const Ref<PoolObject> of = entry.Get<PoolObject>(pool, "pool");
    if (!entry.Has(path, "path") || !entry.ok()) return entry.Failed();
    return entry.Return(graphtree::WritePoolSnapshot(of->pool(), path));
  });
}
