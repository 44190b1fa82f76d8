// Small accessors of a snapshot and the table of entry details.
#include "allocator/snapshot/snapshot.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"

namespace graphtree::snapshot {
namespace {

uint64_t HashDetails(const EntryDetails& details) {
  const uint64_t form = (static_cast<uint64_t>(details.shape) << 32) | details.extras;
  return MixHash(MixHash(MixHash(HashSeed(), form), details.stream.bits()),
                 details.internal_metadata);
}

}  // namespace

uint32_t DetailsTable::Find(const EntryDetails& details) {
  const uint64_t hash = HashDetails(details);
  last_ = index_.Find(hash, [&](uint32_t id) { return details_[id] == details; });
  if (last_ == kNoId) {
    last_ = static_cast<uint32_t>(details_.size());
    details_.Push(details);
    index_.Insert(hash, last_);
  }
  return last_;
}

std::optional<Value> Snapshot::Get(StringId key) const {
  for (size_t i = root.size(); i-- > 0;) {
    if (root[i].key.is_string(key)) return root[i].value;
  }
  return std::nullopt;
}

std::pair<uint64_t, uint64_t> Snapshot::Pool(PoolId pool) const {
  if (pool == kNoId) return {0, 0};
  return {values.pair(pool)[0], values.pair(pool)[1]};
}

bool Snapshot::HasKey(ShapeId shape, StringId key) const {
  return absl::c_linear_search(shapes[shape], key);
}

size_t Snapshot::bytes() const {
  return strings.bytes() + values.bytes() + frames.bytes() + stacks.bytes() + shapes.bytes() +
         extras.bytes() + details.bytes() + blocks.bytes() + entries.bytes() +
         (gpu.segments.capacity() + host.segments.capacity()) * sizeof(Segment);
}

std::string IntegerText(const ValueStore& values, Value value) {
  if (value.is(Value::kWideUnsigned)) return absl::StrCat(values.wide_bits(value));
  return absl::StrCat(values.AsInteger(value).value_or(0));
}

std::optional<std::pair<uint64_t, uint64_t>> TwoIntegers(const ValueStore& values, Value value) {
  if (value.is(Value::kPair)) {
    const uint64_t* pair = values.pair(value.id());
    return std::make_pair(pair[0], pair[1]);
  }
  const std::vector<Value>* items = values.ListItems(value);
  if (items == nullptr || items->size() != 2) return std::nullopt;
  const auto first = values.AsUnsigned((*items)[0]), second = values.AsUnsigned((*items)[1]);
  if (!first.has_value() || !second.has_value()) return std::nullopt;
  return std::make_pair(*first, *second);
}

}  // namespace graphtree::snapshot
