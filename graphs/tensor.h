// A Tensor is a handle: a layout over bytes of a storage. A Value is what goes into a function and
// comes out of it: a tensor, an integer, an opaque object, or nothing. A tensor that a call
// consumed leaves a mark in its place, so that passing it again is told from passing nothing.
//
//   Tensor   | storage* | layout* | word |        24 bytes; word = address of the first element
//   Value    | null     | integer | word |        word = the integer itself
//   Value    | null     | null    | 0    |        nothing
//   Value    | null     | null    | 1    |        a tensor that a call has taken out of here
//   Value    | holder*  | opaque  | word |        word = a version, if it has one (opaque.h)
//
// All integers share a layout, and a layout knows which kind of value has it (layout.h). One form
// for all lets a call be compared with a recording in one loop over pairs of words.
//
// Copying a handle costs an atomic increment. A handle of foreign memory (the caller's own) has no
// storage and costs nothing.
#ifndef GRAPHTREE_GRAPHS_TENSOR_H_
#define GRAPHTREE_GRAPHS_TENSOR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "device/address.h"
#include "device/base/check.h"
#include "graphs/layout.h"
#include "graphs/opaque.h"
#include "graphs/storage.h"

namespace graphtree {

class Value {
 public:
  Value() = default;
  // The integer is part of a call's key: another value is another recording.
  static Value Integer(int64_t integer) {
    Value value;
    value.layout_ = Layout::OfKind(ValueKind::kInteger);
    value.word_ = static_cast<uint64_t>(integer);
    return value;
  }
  // The object is never compared: a call with another object matches the same recording.
  static Value Opaque(std::shared_ptr<const void> object) {
    return Value(OpaqueHolder::Make(std::move(object)), Layout::OfKind(ValueKind::kOpaque), 0);
  }
  // The version is part of a call's key; an object that has changed needs a new one.
  static Value Opaque(std::shared_ptr<const void> object, uint64_t version) {
    return Value(OpaqueHolder::Make(std::move(object)), Layout::OfKind(ValueKind::kVersionedOpaque),
                 version);
  }
  // What a call leaves in the place of a tensor that it took.
  static Value Consumed() { return Value(nullptr, nullptr, kConsumedWord); }
  Value(const Value& other)
      : storage_(other.storage_), layout_(other.layout_), word_(other.word_) {
    if (storage_ != nullptr) storage_->AddOutside();
  }
  Value(Value&& other) noexcept
      : storage_(std::exchange(other.storage_, nullptr)),
        layout_(std::exchange(other.layout_, nullptr)),
        word_(std::exchange(other.word_, 0)) {}
  Value& operator=(Value other) noexcept {
    std::swap(storage_, other.storage_);
    std::swap(layout_, other.layout_);
    std::swap(word_, other.word_);
    return *this;
  }
  ~Value() {
    if (storage_ != nullptr) storage_->DropOutside();
  }

  ValueKind kind() const {
    if (layout_ != nullptr) return layout_->kind();
    return word_ == kConsumedWord ? ValueKind::kConsumed : ValueKind::kNothing;
  }
  bool is_none() const { return kind() == ValueKind::kNothing; }
  bool is_consumed() const { return kind() == ValueKind::kConsumed; }
  bool is_integer() const { return kind() == ValueKind::kInteger; }
  bool is_opaque() const { return kind() == ValueKind::kOpaque || has_version(); }
  bool has_version() const { return kind() == ValueKind::kVersionedOpaque; }
  bool is_tensor() const { return kind() == ValueKind::kTensor; }
  int64_t integer() const { return static_cast<int64_t>(word_); }

  // REQUIRES: is_opaque(), and the object is a T.
  template <typename T>
  const T& opaque() const {
    return *static_cast<const T*>(object());
  }
  const void* object() const { return OpaqueHolder::ObjectOf(*storage_); }

  // What matching compares; see the drawing above.
  Storage* storage() const { return storage_; }
  const Layout* layout() const { return layout_; }
  uint64_t word() const { return word_; }

 protected:
  Value(Storage* storage, const Layout* layout, uint64_t word)
      : storage_(storage), layout_(layout), word_(word) {
    if (storage_ != nullptr) storage_->AddOutside();
  }

 private:
  static constexpr uint64_t kConsumedWord = 1;

  Storage* storage_ = nullptr;
  const Layout* layout_ = nullptr;
  uint64_t word_ = 0;
};

// Whether `bytes` bytes of a storage that somebody holds may be used now. An error if the step that
// made them has ended, since they may be overwritten, and if its tree's memory is parked.
absl::Status MayBeUsed(const Storage& storage, uint64_t bytes);

// The value in words, for a sentence: "the integer 7", "a tensor of f32[4,128]", "nothing".
std::string Description(const Value& value);

class Tensor : public Value {
 public:
  Tensor() = default;
  // Memory of the caller's, which must stay while anything recorded from it may run.
  static Tensor Foreign(Address address, const Layout* layout) {
    return Tensor(nullptr, layout, address);
  }
  // For whoever owns the storage.
  static Tensor Over(Storage* storage, const Layout* layout, Address address) {
    return Tensor(storage, layout, address);
  }
  // REQUIRES: value.is_tensor(). Anything else ends the process, with words that name neither the
  // function nor the input. A body asks for its inputs with Launcher::Input, where a wrong value is
  // an error.
  static Tensor From(const Value& value) {
    GRAPHTREE_CHECK(value.is_tensor())
        << "Tensor::From takes a tensor, and was given " << Description(value);
    return Tensor(value.storage(), value.layout(), value.word());
  }

  bool defined() const { return layout() != nullptr; }
  const Layout& shape() const { return *layout(); }
  int64_t dim(size_t index) const { return layout()->sizes()[index]; }

  // The tensor's bytes. Fails if they may not be used now, as MayBeUsed says.
  absl::StatusOr<AddressRange> bytes() const {
    if (storage() != nullptr) {
      if (absl::Status may = MayBeUsed(*storage(), raw_bytes().bytes); !may.ok()) return may;
    }
    return raw_bytes();
  }
  // The bytes without that check, for launching into memory that is known to be live.
  AddressRange raw_bytes() const { return {word(), layout()->extent_bytes()}; }

  // Another look at the same storage. REQUIRES: it stays inside the bytes of this one's storage.
  Tensor View(const Layout* layout, uint64_t offset_bytes) const {
    return Tensor(storage(), layout, word() + offset_bytes);
  }

 private:
  Tensor(Storage* storage, const Layout* layout, Address address)
      : Value(storage, layout, address) {}
};

using Values = std::vector<Value>;

inline uint32_t HandlesIn(absl::Span<const Value> values, const Storage* storage) {
  uint32_t count = 0;
  for (const Value& value : values) count += value.storage() == storage ? 1 : 0;
  return count;
}

// The bytes of a tensor, as raw_bytes(); empty for any other value.
inline AddressRange RangeOf(const Value& value) {
  return value.is_tensor() ? AddressRange{value.word(), value.layout()->extent_bytes()}
                           : AddressRange{};
}

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_TENSOR_H_
