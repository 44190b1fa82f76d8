// Arguments and shapes of the test kernels.
#include "tests/kernels/launches.h"

namespace graphtree {
namespace {

uint32_t Words(AddressRange range) { return static_cast<uint32_t>(range.bytes / sizeof(uint32_t)); }

}  // namespace

LaunchShape TestShape() {
  LaunchShape shape;
  shape.grid = {4};
  shape.block = {128};
  return shape;
}

LaunchShape OneThread() { return LaunchShape{}; }

std::vector<Argument> FillPatternArguments(AddressRange out, uint32_t seed) {
  return {Argument::Out(out), Argument::Value(seed), Argument::Value(Words(out))};
}

std::vector<Argument> AddArguments(AddressRange out, AddressRange a, AddressRange b) {
  return {Argument::Out(out), Argument::In(a), Argument::In(b), Argument::Value(Words(out))};
}

std::vector<Argument> IncrementArguments(AddressRange data, uint32_t by) {
  return {Argument::InOut(data), Argument::Value(by), Argument::Value(Words(data))};
}

std::vector<Argument> AppendArguments(AddressRange log, uint64_t id) {
  return {Argument::InOut({log.base, sizeof(uint64_t)}), Argument::Value(id)};
}

absl::Status Empty(Stream& stream) { return stream.Launch(EmptyKernel(), OneThread(), {}); }

absl::Status FillPattern(Stream& stream, AddressRange out, uint32_t seed) {
  return stream.Launch(FillPatternKernel(), TestShape(), FillPatternArguments(out, seed));
}

absl::Status Add(Stream& stream, AddressRange out, AddressRange a, AddressRange b) {
  return stream.Launch(AddKernel(), TestShape(), AddArguments(out, a, b));
}

absl::Status Scale(Stream& stream, AddressRange data, float factor) {
  return stream.Launch(
      ScaleKernel(), TestShape(),
      {Argument::InOut(data), Argument::Value(factor), Argument::Value(Words(data))});
}

absl::Status Increment(Stream& stream, AddressRange data, uint32_t by) {
  return stream.Launch(IncrementKernel(), TestShape(), IncrementArguments(data, by));
}

absl::Status StridedCopy(Stream& stream, AddressRange out, AddressRange in, uint32_t stride) {
  return stream.Launch(StridedCopyKernel(), TestShape(),
                       {Argument::Out(out), Argument::In(in), Argument::Value(stride),
                        Argument::Value(Words(out))});
}

absl::Status Checksum(Stream& stream, AddressRange out, AddressRange in) {
  LaunchShape one_block;
  one_block.block = {256};
  return stream.Launch(ChecksumKernel(), one_block,
                       {Argument::Out({out.base, sizeof(uint64_t)}), Argument::In(in),
                        Argument::Value(Words(in))});
}

absl::Status Append(Stream& stream, AddressRange log, uint64_t id) {
  return stream.Launch(AppendKernel(), OneThread(), AppendArguments(log, id));
}

absl::Status Delay(Stream& stream, uint32_t microseconds) {
  return stream.Launch(DelayKernel(), OneThread(), {Argument::Value(microseconds)});
}

absl::Status ReadBigTable(Stream& stream, AddressRange out, const BigTable& table) {
  return stream.Launch(BigTableKernel(), TestShape(),
                       {Argument::Out(out), Argument::Value(table)});
}

}  // namespace graphtree
