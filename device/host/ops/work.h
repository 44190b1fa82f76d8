// What one op does, frozen when it was issued: a kernel with its argument bytes, a copy, a fill, a
// function of the host, or an event that is set.
//
//   storage:  | pointer 0 | pointer 1 | .. | footprint 0 | .. | bytes of argument 0 | of 1 | ..
//                  |__________________________________________^
//
// One block of memory holds everything of variable length, and is kept when the Work is used again:
// a queue that recycles its entries allocates nothing. A Work refers to nothing outside but the
// kernel.
//
// Not safe from several threads; its owner holds the engine's lock, or nobody changes it.
#ifndef GRAPHTREE_DEVICE_HOST_OPS_WORK_H_
#define GRAPHTREE_DEVICE_HOST_OPS_WORK_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "device/address.h"
#include "device/graph.h"
#include "device/kernel.h"

namespace graphtree::host {

struct EventState;  // engine/stream_queue.h

// Bytes that an op says it reads or writes.
struct Footprint {
  AddressRange range;
  Access access = Access::kRead;
  uint32_t argument = 0;  // of a kernel: which one holds the range's base

  bool writes() const { return access != Access::kRead; }
};

class Work {
 public:
  Work() = default;
  Work(Work&&) = default;
  Work& operator=(Work&&) = default;

  // Each call replaces what was there.
  void SetKernel(const Kernel& kernel, const LaunchShape& shape, Arguments arguments);
  // `other`, a kernel, with these argument bytes; what an argument points to stays as large.
  // REQUIRES: as many as ParameterLayout says.
  void SetRepatched(const Work& other, absl::Span<const uint8_t> bytes);
  void SetCopy(const CopyParams& copy);
  // Copies the source's bytes into the Work: the source may change or go at once.
  void SetFrozenCopy(const CopyParams& copy);
  void SetFill(const FillParams& fill);
  // A host call, or with kKernel a kernel that nobody declared (a library's own launch).
  void SetFunction(OpKind kind, std::string name, std::function<void()> function);
  // Does nothing by itself: whoever runs the op sets the event.
  void SetEventRecord(std::shared_ptr<EventState> event);
  void CopyFrom(const Work& other);
  // Destroys the function, and with it what it owns of the caller's.
  void DropFunction() { named_.reset(); }

  // Does the work. REQUIRES: the caller has checked the footprints.
  void Run() const;

  OpKind kind() const { return kind_; }
  const Kernel* kernel() const { return kernel_; }
  // Null but for an op that sets one.
  const std::shared_ptr<EventState>& event() const;
  const std::string& name() const;
  absl::Span<const Footprint> footprints() const { return {footprints_, footprint_count_}; }
  // True if the work may touch bytes that no footprint names.
  bool opaque() const { return opaque_; }
  void set_opaque(bool opaque) { opaque_ = opaque; }
  // True if the work may read or write such bytes. An op that reads by a table is not opaque.
  bool MayTouchUnnamed() const {
    return opaque_ || (kernel_ != nullptr && kernel_->reach() == KernelReach::kReadsByTable);
  }
  // Words of 8 bytes among the plain values, each maybe a pointer.
  template <typename Visitor>
  bool AnyValueWord(Visitor visitor) const;

  // Fills in the fields of `op` that describe this work.
  void Describe(Op& op) const;

 private:
  struct Named {
    std::string name;
    std::function<void()> function;
    std::shared_ptr<EventState> event = nullptr;
  };

  void Clear();
  char* Room(uint64_t bytes);
  void SetFootprints(absl::Span<const Footprint> footprints);

  OpKind kind_ = OpKind::kEmpty;
  bool opaque_ = false;
  uint32_t argument_count_ = 0;
  uint32_t footprint_count_ = 0;
  const Kernel* kernel_ = nullptr;
  const void** arguments_ = nullptr;
  Footprint* footprints_ = nullptr;
  LaunchShape shape_;
  CopyParams copy_;
  FillParams fill_;
  std::shared_ptr<const Named> named_;
  std::unique_ptr<char[]> storage_;
  uint64_t capacity_ = 0;
};

// Where each parameter of a kernel lies in its parameter block, and how long the block is.
uint32_t ParameterLayout(const Kernel& kernel, std::vector<ParamSlot>* slots);

template <typename Visitor>
bool Work::AnyValueWord(Visitor visitor) const {
  if (kernel_ == nullptr) return false;
  const std::vector<uint32_t>& bytes = kernel_->parameter_bytes();
  for (uint32_t i = 0; i < argument_count_; ++i) {
    for (uint32_t at = 0; at + sizeof(uint64_t) <= bytes[i]; at += sizeof(uint64_t)) {
      uint64_t word;
      std::memcpy(&word, static_cast<const char*>(arguments_[i]) + at, sizeof(word));
      if (visitor(word)) return true;
    }
  }
  return false;
}

}  // namespace graphtree::host

#endif  // GRAPHTREE_DEVICE_HOST_OPS_WORK_H_
