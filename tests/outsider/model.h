// The model: what every tensor's bytes must be, in plain host memory, with no device, no stream and
// no tree. A call is the body, run once, at once.
//
//   Bytes      one piece of memory: a buffer of the caller's, or what one Empty gave
//   Handle     a look at it, as a Value is: or an integer, something opaque, nothing
//   Journal    what a call has written, so that one that failed can be taken back
//
// Memory of a tree's is good until its step ends, unless it is kept.
#ifndef GRAPHTREE_TESTS_OUTSIDER_MODEL_H_
#define GRAPHTREE_TESTS_OUTSIDER_MODEL_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "device/address.h"
#include "graphs/layout.h"

namespace graphtree::outsider {

struct Bytes {
  std::vector<uint8_t> data;
  int tree = -1;        // whose step it lives in; -1: the caller's
  uint64_t step = 0;
  bool kept = false;    // beyond its step: said so, or made by an eager run
  bool mixed = false;   // returned kept and not kept
  bool gone = false;    // given back by whoever had it
  int pool = -1;        // in whose tree's pool it lies
  Address base = 0;     // where it really lies, once that was seen
  uint64_t saved_in = 0;  // the call whose journal has it
  uint64_t born_in = 0;   // the call that made it
};
using BytesPtr = std::shared_ptr<Bytes>;

struct Handle {
  enum class Kind : uint8_t { kNone, kTensor, kInteger, kOpaque };
  Kind kind = Kind::kNone;
  BytesPtr bytes = nullptr;
  uint64_t at = 0;
  const Layout* layout = nullptr;
  int64_t integer = 0;  // or the opaque object's version

  static Handle Tensor(BytesPtr bytes, uint64_t at, const Layout* layout) {
    return {Kind::kTensor, std::move(bytes), at, layout, 0};
  }
  static Handle Integer(int64_t value) { return {Kind::kInteger, nullptr, 0, nullptr, value}; }
  bool is_tensor() const { return kind == Kind::kTensor; }
  uint64_t extent() const { return layout == nullptr ? 0 : layout->extent_bytes(); }
  uint8_t* data() const { return bytes->data.data() + at; }
};

class Journal {
 public:
  struct Write {
    BytesPtr bytes;
    std::vector<uint8_t> before;
    std::vector<std::pair<uint64_t, uint64_t>> ranges;  // begin, end
  };

  void Begin(uint64_t call) {
    call_ = call;
    writes_.clear();
  }
  // Called before the bytes are written.
  void Touch(const Handle& handle) {
    Bytes& bytes = *handle.bytes;
    if (bytes.born_in == call_) return;
    if (bytes.saved_in != call_) {
      bytes.saved_in = call_;
      writes_.push_back({handle.bytes, bytes.data, {}});
    }
    for (Write& write : writes_) {
      if (write.bytes == handle.bytes) {
        write.ranges.emplace_back(handle.at, handle.at + handle.extent());
      }
    }
  }
  void RollBack() {
    for (Write& write : writes_) write.bytes->data = write.before;
  }
  const std::vector<Write>& writes() const { return writes_; }
  bool HasWritten(const Handle& handle) const {
    for (const Write& write : writes_) {
      if (write.bytes != handle.bytes) continue;
      for (const auto& [begin, end] : write.ranges) {
        if (begin < handle.at + handle.extent() && handle.at < end) return true;
      }
    }
    return false;
  }

 private:
  uint64_t call_ = 0;
  std::vector<Write> writes_;
};

// Whether elements cover every byte of the extent: only then a body may look at it byte by byte.
// What lies between the elements of a tensor is nobody's.
bool HasNoGaps(const Layout* layout);

// The layouts that programs speak of by number.
const Layout* LayoutOf(int code);
constexpr int kLayoutCodes = 26;

}  // namespace graphtree::outsider

#endif  // GRAPHTREE_TESTS_OUTSIDER_MODEL_H_
