// Fills the memory once, and anew where its contents were dropped.
#include "runtime/slots/slot_memory.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/base/insist.h"
#include "device/base/status_macros.h"
#include "device/memory.h"
#include "device/stream.h"

namespace graphtree {
namespace {

absl::Status Zero(Stream& stream, AddressRange range) {
  return stream.Fill(range.base, 0, 1, range.bytes);
}

// Page-locked memory that queued copies read.
using Pieces = std::vector<std::unique_ptr<HostBuffer>>;

// Writes `count` elements of 8 bytes, through page-locked memory: a stream's fill has at most 4.
absl::Status FillWide(Device& device, Stream& stream, Address target, uint64_t bits, uint64_t count,
                      Pieces& pieces) {
  constexpr uint64_t kPiece = 1 << 16;
  GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<HostBuffer> piece,
                             device.memory().AllocateHost(kPiece));
  auto* const words = static_cast<uint64_t*>(piece->data());
  std::fill(words, words + kPiece / sizeof(bits), bits);
  const Address source = piece->range().base;
  pieces.push_back(std::move(piece));
  const uint64_t bytes = count * sizeof(bits);
  for (uint64_t done = 0; done < bytes; done += kPiece) {
    GRAPHTREE_RETURN_IF_ERROR(stream.Copy(target + done, source, std::min(kPiece, bytes - done)));
  }
  return absl::OkStatus();
}

absl::Status FillSlot(Device& device, Stream& stream, const SlotSpec& slot, Address target,
                      Pieces& pieces) {
  const uint64_t bits = PadBits(slot);
  if (slot.pad != PadRule::kFillOnce || bits == 0) return absl::OkStatus();
  const uint32_t width = BytesOf(slot.type);
  const uint64_t count = GreatestBytes(slot) / width;
  if (width == 8) return FillWide(device, stream, target, bits, count, pieces);
  return stream.Fill(target, static_cast<uint32_t>(bits), width, count);
}

absl::Status FillAll(Device& device, Stream& stream, absl::Span<const SlotSpec> slots,
                     const ArenaPlan& plan, AddressRange range, Pieces& pieces) {
  GRAPHTREE_RETURN_IF_ERROR(Zero(stream, range));
  for (size_t i = 0; i < slots.size(); ++i) {
    GRAPHTREE_RETURN_IF_ERROR(
        FillSlot(device, stream, slots[i], range.base + plan.offsets[i], pieces));
  }
  return stream.Synchronize();
}

}  // namespace

absl::StatusOr<std::unique_ptr<SlotMemory>> SlotMemory::Create(Device& device,
                                                               absl::Span<const SlotSpec> slots,
                                                               const ArenaPlan& plan) {
  absl::StatusOr<std::unique_ptr<ParkableMemory>> made =
      ParkableMemory::Create(device, plan.bytes, "the memory of its slots");
  if (!made.ok()) {
    return absl::Status(made.status().code(), absl::StrCat("making ", plan.bytes,
                                                           " bytes for slots: ",
                                                           made.status().message()));
  }
  std::unique_ptr<SlotMemory> memory(new SlotMemory(device, *std::move(made)));
  GRAPHTREE_RETURN_IF_ERROR(memory->Fill(slots, plan));
  return memory;
}

absl::Status SlotMemory::Fill(absl::Span<const SlotSpec> slots, const ArenaPlan& plan) {
  if (plan.bytes == 0) return absl::OkStatus();
  Pieces pieces;
  GRAPHTREE_ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream, device_.NewStream());
  const absl::Status filled = FillAll(device_, *stream, slots, plan, range(), pieces);
  if (filled.ok()) return filled;
  // What was issued before the failure still writes the memory, and is done before that goes.
  Insist([&stream] { return stream->Synchronize(); }).IgnoreError();
  return absl::Status(
      filled.code(), absl::StrCat("filling ", plan.bytes, " bytes of slots: ", filled.message()));
}

absl::Status SlotMemory::Park(Contents contents) {
  GRAPHTREE_RETURN_IF_ERROR(memory_->Park(contents));
  must_fill_ = contents == Contents::kDrop;
  return absl::OkStatus();
}

absl::Status SlotMemory::Wake(absl::Span<const SlotSpec> slots, const ArenaPlan& plan) {
  GRAPHTREE_RETURN_IF_ERROR(memory_->Wake());
  if (!must_fill_) return absl::OkStatus();
  GRAPHTREE_RETURN_IF_ERROR(Fill(slots, plan));
  must_fill_ = false;
  return absl::OkStatus();
}

absl::Status SlotMemory::DropContents(absl::Span<const SlotSpec> slots, const ArenaPlan& plan) {
  memory_->GiveUpContents();
  must_fill_ = true;
  return memory_->is_parked() ? absl::OkStatus() : Wake(slots, plan);
}

}  // namespace graphtree
