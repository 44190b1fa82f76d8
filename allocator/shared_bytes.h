// Physical memory that several pools may have mapped together, and the part of each pool.
//
//   limit  |-- pool A has mapped --|-- pool B has mapped --|........ free ........|
//
// A pool takes bytes before it maps a piece, and gives them back after it has unmapped the piece.
// So the limit is never exceeded, whatever threads the pools are on, and one pool may have all.
//
//   auto all = std::make_shared<SharedBytes>(uint64_t{8} << 30);
//   auto pool_a = Pool::Create(device, {.shared_bytes = all});
//   auto pool_b = Pool::Create(device, {.shared_bytes = all});
//
// Threads: any. Cost: an atomic operation for each piece; the figures are one load each.
#ifndef GRAPHTREE_ALLOCATOR_SHARED_BYTES_H_
#define GRAPHTREE_ALLOCATOR_SHARED_BYTES_H_

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

namespace graphtree {

class SharedBytes {
 public:
  static constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();

  explicit SharedBytes(uint64_t limit) : limit_(limit) {}
  SharedBytes(const SharedBytes&) = delete;
  SharedBytes& operator=(const SharedBytes&) = delete;

  uint64_t limit() const { return limit_; }
  uint64_t taken() const { return taken_.load(std::memory_order_relaxed); }
  uint64_t free() const { return limit_ - taken(); }
  // All of it, or nothing and false.
  bool Take(uint64_t bytes) {
    uint64_t taken = taken_.load(std::memory_order_relaxed);
    do {
      if (bytes > limit_ - taken) return false;
    } while (!taken_.compare_exchange_weak(taken, taken + bytes, std::memory_order_relaxed));
    return true;
  }
  // REQUIRES: so many are taken.
  void Give(uint64_t bytes) { taken_.fetch_sub(bytes, std::memory_order_relaxed); }

 private:
  const uint64_t limit_;
  std::atomic<uint64_t> taken_{0};
};

// What one pool has of it. A pool that shares with nobody has one, too, without a limit.
class BytesShare : public std::enable_shared_from_this<BytesShare> {
 public:
  // Bytes that count as taken for as long as this lives, which may be longer than the pool.
  class Claim {
   public:
    Claim() = default;
    Claim(std::shared_ptr<BytesShare> share, uint64_t bytes)
        : share_(std::move(share)), bytes_(bytes) {}
    Claim(Claim&& other) noexcept { *this = std::move(other); }
    Claim& operator=(Claim&& other) noexcept {
      std::swap(share_, other.share_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    ~Claim() {
      if (share_ != nullptr) share_->Give(bytes_);
    }

   private:
    std::shared_ptr<BytesShare> share_;
    uint64_t bytes_ = 0;
  };

  // `whole` may be null: nothing is shared.
  static std::shared_ptr<BytesShare> Of(std::shared_ptr<SharedBytes> whole) {
    return std::shared_ptr<BytesShare>(new BytesShare(std::move(whole)));
  }
  BytesShare(const BytesShare&) = delete;
  BytesShare& operator=(const BytesShare&) = delete;

  // Nothing, if less is free.
  std::optional<Claim> Take(uint64_t bytes) {
    if (whole_ != nullptr && !whole_->Take(bytes)) return std::nullopt;
    taken_.fetch_add(bytes, std::memory_order_relaxed);
    return Claim(shared_from_this(), bytes);
  }
  // Of this pool alone.
  uint64_t taken() const { return taken_.load(std::memory_order_relaxed); }
  // What all may have, and what nobody has.
  uint64_t limit() const { return whole_ == nullptr ? SharedBytes::kNoLimit : whole_->limit(); }
  uint64_t free() const { return whole_ == nullptr ? SharedBytes::kNoLimit : whole_->free(); }

 private:
  explicit BytesShare(std::shared_ptr<SharedBytes> whole) : whole_(std::move(whole)) {}
  void Give(uint64_t bytes) {
    taken_.fetch_sub(bytes, std::memory_order_relaxed);
    if (whole_ != nullptr) whole_->Give(bytes);
  }

  const std::shared_ptr<SharedBytes> whole_;
  std::atomic<uint64_t> taken_{0};
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_SHARED_BYTES_H_
