// For tests: random sets of inputs to copy, compared with a naive copy, element by element.
//
//   RandomInputs inputs(seed);
//   ... source arena of inputs.source_bytes(), target arena of inputs.target_bytes() ...
//   IngestPlan::For(inputs.CopiesAt(target_base, source_base), {});
//   EXPECT_EQ(inputs.Mistake(source, before, after), "");
//
// Everything is an offset, so that the same set can be laid over host vectors and device memory.
#ifndef GRAPHTREE_GRAPHS_INPUTS_INGEST_RANDOM_INPUTS_H_
#define GRAPHTREE_GRAPHS_INPUTS_INGEST_RANDOM_INPUTS_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "device/address.h"
#include "graphs/inputs/ingest/ingest.h"
#include "graphs/layout.h"

namespace graphtree {

using ByteVector = std::vector<uint8_t>;

// Dense, permuted, padded, expanded and overlapping layouts, with zero to nine dims.
const Layout* RandomLayout(std::mt19937_64& random);

class RandomInputs {
 public:
  explicit RandomInputs(uint64_t seed);

  uint64_t source_bytes() const { return source_bytes_; }
  uint64_t target_bytes() const { return target_bytes_; }
  std::vector<IngestCopy> CopiesAt(Address target, Address source) const;
  std::string ToString() const;

  // Names the first byte of the target arena that is wrong; empty if there is none. Elements are
  // copied; bytes between them (unless the layout overlaps itself) and all others stay as they
  // were.
  std::string Mistake(const ByteVector& source, const ByteVector& before,
                      const ByteVector& after) const;

 private:
  struct Input {
    const Layout* layout;
    uint64_t source;
    uint64_t target;
  };

  std::vector<Input> inputs_;
  uint64_t source_bytes_ = 0;
  uint64_t target_bytes_ = 0;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_INPUTS_INGEST_RANDOM_INPUTS_H_
