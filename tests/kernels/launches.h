// The test kernels' calls, with what they read and write declared from the ranges.
//
//   ASSERT_THAT(FillPattern(*stream, x, 7), IsOk());
//   ASSERT_THAT(Add(*stream, sum, x, y), IsOk());
//
// Counts come from the written range's bytes. The same arguments as a list, for patching an op,
// come from the functions named ...Arguments.
#ifndef GRAPHTREE_TESTS_KERNELS_LAUNCHES_H_
#define GRAPHTREE_TESTS_KERNELS_LAUNCHES_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "device/address.h"
#include "device/kernel.h"
#include "device/stream.h"
#include "tests/kernels/kernels.h"

namespace graphtree {

// Four blocks of 128 threads; grid-stride kernels give the same bytes under any shape.
LaunchShape TestShape();
// One thread, for kernels that are one sequence (Append, Delay).
LaunchShape OneThread();

std::vector<Argument> FillPatternArguments(AddressRange out, uint32_t seed);
std::vector<Argument> AddArguments(AddressRange out, AddressRange a, AddressRange b);
std::vector<Argument> IncrementArguments(AddressRange data, uint32_t by);
std::vector<Argument> AppendArguments(AddressRange log, uint64_t id);

absl::Status Empty(Stream& stream);
absl::Status FillPattern(Stream& stream, AddressRange out, uint32_t seed);
absl::Status Add(Stream& stream, AddressRange out, AddressRange a, AddressRange b);
absl::Status Scale(Stream& stream, AddressRange data, float factor);
absl::Status Increment(Stream& stream, AddressRange data, uint32_t by);
absl::Status StridedCopy(Stream& stream, AddressRange out, AddressRange in, uint32_t stride);
absl::Status Checksum(Stream& stream, AddressRange out, AddressRange in);
absl::Status Append(Stream& stream, AddressRange log, uint64_t id);
absl::Status Delay(Stream& stream, uint32_t microseconds);
absl::Status ReadBigTable(Stream& stream, AddressRange out, const BigTable& table);

}  // namespace graphtree

#endif  // GRAPHTREE_TESTS_KERNELS_LAUNCHES_H_
