// A Kernel is one computation with two bodies: one for the host device and one for CUDA.
//
//                      +-- HostBody: a function of this process, run once for the whole grid
//   Kernel "scale" ----+
//                      +-- CUDA body: a linked __global__ symbol, an image (cubin, PTX, fatbin),
//                          or CUDA source that NVRTC compiles when it is first loaded
//
// A Kernel is plain data, belongs to no device, and must outlive what was launched or recorded from
// it: devices know it by its id, which no other kernel of the process ever gets, and load its CUDA
// body once. The host body computes what all blocks and threads of the CUDA body compute together,
// byte for byte. Calls of the host body to the device that runs it are refused.
//
//   const Kernel kScale("scale", Params<float*, float, int>(), ScaleOnHost,
//                       CudaSymbol{kScaleSymbol});
//   stream->Launch(kScale, {.grid = {4}, .block = {256}},
//                  {Argument::InOut(x), Argument::Value(2.0f), Argument::Value(n)});
//
// What a kernel reads and writes is declared where it is launched, in its arguments: In, Out and
// InOut are pointers, each with the range that the kernel may touch, and Value is anything else.
// The host device checks the declaration before it runs the body; the recorder reads it to know
// what a graph touches.
#ifndef GRAPHTREE_DEVICE_KERNEL_H_
#define GRAPHTREE_DEVICE_KERNEL_H_

#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/types/span.h"
#include "device/address.h"

namespace graphtree {

struct Dim3 {
  uint32_t x = 1;
  uint32_t y = 1;
  uint32_t z = 1;
  friend bool operator==(const Dim3& a, const Dim3& b) {
    return a.x == b.x && a.y == b.y && a.z == b.z;
  }
};

struct LaunchShape {
  Dim3 grid = {};
  Dim3 block = {};
  uint32_t shared_bytes = 0;
  // The kernel may start before its predecessor on the stream has ended (programmatic dependent
  // launch). In a capture this makes the edge between the two a programmatic one.
  bool programmatic = false;
};

enum class Access : uint8_t { kValue, kRead, kWrite, kReadWrite };

// One argument of a launch. An Argument holds a value of up to 8 bytes itself, and refers to a
// larger one, which must live until the launch call returns (devices copy it in that call).
// Whether equal values of the type have equal bytes and mean the same in every run: not so with
// addresses, and not with structs that have padding. A type that is to be an exception says so in a
// specialisation.
template <typename T>
inline constexpr bool kBytesAreTheValue =
    !std::is_pointer_v<T> &&
    (std::has_unique_object_representations_v<T> || std::is_floating_point_v<T>);

class Argument {
 public:
  template <typename T>
  static Argument Value(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>, "an argument is copied byte by byte");
    Argument argument(&value, sizeof(T));
    argument.is_comparable_ = kBytesAreTheValue<T>;
    return argument;
  }
  static Argument Bytes(const void* data, uint32_t bytes) { return Argument(data, bytes); }
  // The same, of a value whose equals have equal bytes.
  static Argument ComparableBytes(const void* data, uint32_t bytes) {
    Argument argument(data, bytes);
    argument.is_comparable_ = true;
    return argument;
  }
  static Argument In(AddressRange range) { return Argument(range, Access::kRead); }
  static Argument Out(AddressRange range) { return Argument(range, Access::kWrite); }
  static Argument InOut(AddressRange range) { return Argument(range, Access::kReadWrite); }

  const void* data() const { return outside_ != nullptr ? outside_ : &inside_; }
  uint32_t bytes() const { return bytes_; }
  Access access() const { return access_; }
  // A value whose bytes another run of the same code may be compared with.
  bool is_comparable() const { return is_comparable_; }
  // The memory that a pointer argument points to; empty for a value.
  AddressRange range() const {
    return access_ == Access::kValue ? AddressRange{} : AddressRange{inside_, extent_};
  }

 private:
  Argument(AddressRange range, Access access)
      : inside_(range.base), extent_(range.bytes), bytes_(sizeof(Address)), access_(access) {}
  Argument(const void* data, uint32_t bytes) : bytes_(bytes), access_(Access::kValue) {
    if (bytes <= sizeof(inside_)) {
      std::memcpy(&inside_, data, bytes);
    } else {
      outside_ = data;
    }
  }

  uint64_t inside_ = 0;
  const void* outside_ = nullptr;
  uint64_t extent_ = 0;
  uint32_t bytes_;
  Access access_;
  bool is_comparable_ = false;
};

using Arguments = absl::Span<const Argument>;

// What a host body sees: the shape of the launch and the frozen bytes of every argument.
class HostCall {
 public:
  HostCall(const LaunchShape& shape, absl::Span<const void* const> arguments)
      : shape_(shape), arguments_(arguments) {}
  const LaunchShape& shape() const { return shape_; }
  size_t argument_count() const { return arguments_.size(); }
  // Where the bytes of each lie.
  absl::Span<const void* const> arguments() const { return arguments_; }
  template <typename T>
  T Get(size_t index) const {
    T value;
    std::memcpy(&value, arguments_[index], sizeof(T));
    return value;
  }

 private:
  const LaunchShape& shape_;
  absl::Span<const void* const> arguments_;
};

// A host body that throws loses the host device, as an op that faults does; the error says what was
// thrown.
using HostBody = std::function<void(const HostCall&)>;

// The address of a __global__ function linked into this program.
struct CudaSymbol {
  const void* symbol = nullptr;
};

// A cubin, PTX text or fatbin, and the (mangled) name of the function in it.
struct CudaImage {
  std::string bytes = {};
  std::string entry = {};
};

// CUDA C++ for NVRTC. `entry` is the function's name as the source writes it; templates and
// namespaces are spelled out ("ns::f<float>"). Options are NVRTC's ("--use_fast_math").
struct CudaSource {
  std::string text = {};
  std::string entry = {};
  std::vector<std::string> options = {};
};

using CudaBody = std::variant<std::monostate, CudaSymbol, CudaImage, CudaSource>;

// A kernel's parameters, in order: their sizes, and which of them are pointers that the kernel may
// write through. Made from sizes alone, no parameter counts as such a pointer.
class KernelParams {
 public:
  KernelParams(std::vector<uint32_t> bytes) : bytes_(std::move(bytes)) {}
  KernelParams(std::initializer_list<uint32_t> bytes) : bytes_(bytes) {}
  KernelParams(std::vector<uint32_t> bytes, std::vector<bool> writable)
      : bytes_(std::move(bytes)), writable_(std::move(writable)) {}

  const std::vector<uint32_t>& bytes() const { return bytes_; }
  // Whether the parameter is known to be a pointer to something that is not const.
  bool MayWrite(size_t index) const { return index < writable_.size() && writable_[index]; }

 private:
  std::vector<uint32_t> bytes_;
  std::vector<bool> writable_;
};

// From the types in the kernel's signature: Params<float*, const float*, int>().
template <typename... Types>
KernelParams Params() {
  return KernelParams(
      {static_cast<uint32_t>(sizeof(Types))...},
      {(std::is_pointer_v<Types> && !std::is_const_v<std::remove_pointer_t<Types>>)...});
}

// The library launches some kernels by itself, in a body's name: it pads, copies, unpacks. How is
// its own matter, and may differ from run to run.
enum class KernelOwner : uint8_t { kUser, kLibrary };

// Which of the device's memory a kernel touches: what its arguments name, or it also reads what
// tables in memory point to. A device that writes over freed memory waits for the latter first.
enum class KernelReach : uint8_t { kArguments, kReadsByTable };

// Where a kernel comes from, for people who look at a trace. Nothing else depends on it.
struct KernelOrigin {
  std::string backend = {};    // "triton"; empty: what the kernel's bodies say, "cuda" or "host"
  std::string file = {};       // of its source
  std::string hash = {};       // of that source
  std::string arguments = {};  // it was compiled or is launched with: "XBLOCK=1024, num_warps=4"
};

class Kernel {
 public:
  Kernel(std::string name, KernelParams params, HostBody host, CudaBody cuda,
         KernelOwner owner = KernelOwner::kUser, KernelReach reach = KernelReach::kArguments,
         KernelOrigin origin = {})
      : name_(std::move(name)),
        params_(std::move(params)),
        host_(std::move(host)),
        cuda_(std::move(cuda)),
        owner_(owner),
        reach_(reach),
        origin_(std::move(origin)) {}
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  const std::string& name() const { return name_; }
  // An address may be used again after a kernel is gone; an id never is.
  uint64_t id() const { return id_; }
  const KernelParams& params() const { return params_; }
  const std::vector<uint32_t>& parameter_bytes() const { return params_.bytes(); }
  // Empty where there is no host body.
  const HostBody& host() const { return host_; }
  const CudaBody& cuda() const { return cuda_; }
  KernelOwner owner() const { return owner_; }
  KernelReach reach() const { return reach_; }
  const KernelOrigin& origin() const { return origin_; }
  // origin().backend, or what the bodies say.
  const char* backend() const {
    if (!origin_.backend.empty()) return origin_.backend.c_str();
    return std::holds_alternative<std::monostate>(cuda_) ? "host" : "cuda";
  }

 private:
  static uint64_t NextId() {
    static std::atomic<uint64_t> next{1};
    return next.fetch_add(1, std::memory_order_relaxed);
  }

  const uint64_t id_ = NextId();
  const std::string name_;
  const KernelParams params_;
  const HostBody host_;
  const CudaBody cuda_;
  const KernelOwner owner_;
  const KernelReach reach_;
  const KernelOrigin origin_;
};

// Compares the number and sizes of the arguments with the kernel's parameters. Returns a sentence
// that names the argument that is wrong; empty if all are right.
std::string ArgumentMismatch(const Kernel& kernel, Arguments arguments);

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_KERNEL_H_
