// Reads device memory into the host's, in the order of a stream, and waits: for checking, never for
// a call that should be fast.
#ifndef GRAPHTREE_GRAPHS_CHECK_BYTE_READER_H_
#define GRAPHTREE_GRAPHS_CHECK_BYTE_READER_H_

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "device/address.h"
#include "device/device.h"
#include "graphs/check/element_compare.h"

namespace graphtree {

class ByteReader {
 public:
  // Both outlive the reader.
  static absl::StatusOr<ByteReader> Make(Device& device, Stream& stream);

  absl::StatusOr<Bytes> Read(AddressRange range);

 private:
  ByteReader(Stream* stream, std::unique_ptr<HostBuffer> buffer)
      : stream_(stream), buffer_(std::move(buffer)) {}

  Stream* stream_;
  std::unique_ptr<HostBuffer> buffer_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_CHECK_BYTE_READER_H_
