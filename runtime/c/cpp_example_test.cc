// The example of the project through graphtree.hpp, as a program outside of the workspace writes
// it.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "runtime/c/graphtree.hpp"

namespace {

constexpr uint32_t kCount = 1024;

// The host body computes what all threads of the CUDA body compute together.
void AddOnHost(const gt::HostCall& call) {
  auto* out = call.Get<uint32_t*>(0);
  const auto* in = call.Get<const uint32_t*>(1);
  const auto by = call.Get<uint32_t>(2);
  for (uint32_t i = 0; i < kCount; ++i) out[i] = in[i] + by;
}

constexpr char kAddOnCuda[] = R"(
  extern "C" __global__ void add(unsigned* out, const unsigned* in, unsigned by) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 1024) out[i] = in[i] + by;
  })";

int Run(const char* name) {
  const gt::Device device = gt::Device::Open(name).value();
  const gt::Stream stream = device.NewStream().value();
  const gt::Kernel add =
      gt::Kernel::New<uint32_t*, const uint32_t*, uint32_t>("add", AddOnHost, {kAddOnCuda, "add"})
          .value();
  const gt::Memory input = device.NewMemory(GT_ON_HOST, kCount * sizeof(uint32_t)).value();
  for (uint32_t i = 0; i < kCount; ++i) input.as<uint32_t>()[i] = i;

  const gt::Tree tree = device.NewTree().value();
  const gt::Function function = tree.Register("three additions", [&](gt::Launcher& on) {
    gt::View x = on.Input(0);
    for (uint32_t by : {1u, 10u, 100u}) {
      const gt::View sum = on.Empty(x.layout);
      on.Launch(add, gt::Shape(4, 256), {gt::Out(sum), gt::In(x), gt::Val(by)});
      x = sum;
    }
    return gt::Views{x};
  }).value();
  const gt_layout layout = gt::LayoutOf(GT_I32, {kCount}).value();
  std::vector<uint32_t> result(kCount);
  for (int step = 0; step < 5; ++step) {
    if (gt::Error error = tree.BeginStep()) return 1;
    const gt::Values outputs = function.Call({input.Tensor(layout)}, stream).value();
    if (stream.CopyToHost(result.data(), outputs[0], kCount * sizeof(uint32_t))) return 1;
    if (stream.Synchronize()) return 1;
    if (result[7] != 7 + 111) return 1;
  }
  const gt_tree_stats stats = tree.stats().value();
  std::printf("on %s: %llu calls, 1 eager to warm up, %llu recorded, %llu replayed, all right\n",
              name, static_cast<unsigned long long>(stats.calls),
              static_cast<unsigned long long>(stats.recordings),
              static_cast<unsigned long long>(stats.replays));
  return stats.replays == 3 ? 0 : 1;
}

// A profile of a few steps, with the launches of the body under a name.
int RunProfiled(const char* name, const char* path) {
  const gt::Device device = gt::Device::Open(name).value();
  const gt::Stream stream = device.NewStream().value();
  const gt::Tree tree = device.NewTree().value();
  const gt::Memory memory = device.NewMemory(GT_ON_HOST, kCount).value();
  const gt_layout layout = gt::LayoutOf(GT_U8, {kCount}).value();
  const gt::Function fill = tree.Register("fill", [](gt::Launcher& on) {
    const gt::Scope layer(on, "layer 3");
    const gt::View out = on.Empty(on.Input(0).layout);
    on.Fill(out, 7);
    return gt::Views{out};
  }).value();
  const gt::Profile profile = gt::Profile::Start(device, path, GT_PROFILE_HOST).value();
  if (gt::Profile::Start(device, path).ok()) return 1;
  const gt::Scope decode(tree, "decode");
  for (int step = 0; step < 4; ++step) {
    if (gt::Error error = tree.BeginStep()) return 1;
    if (!fill.Call({memory.Tensor(layout)}, stream).ok()) return 1;
  }
  if (stream.Synchronize()) return 1;
  if (profile.Wait(0).value()) return 1;
  const gt_profile_report report = profile.Stop().value();
  return report.launches >= 3 && profile.why_not_full().empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  static_assert(__cplusplus < 202002L, "the header is for C++17");
  {
    const auto missing = gt::Device::Open("nowhere");
    const bool has_failed = !missing.ok() && missing.error().code() != GT_OK;
    if (!has_failed || std::string(missing.error().text()).find("nowhere") == std::string::npos) {
      return 2;
    }
  }
  const int code = Run(argc > 1 ? argv[1] : "host");
  if (code != 0) return code;
  const char* const folder = std::getenv("TEST_TMPDIR");
  const std::string path = std::string(folder != nullptr ? folder : ".") + "/cpp_example.json";
  if (RunProfiled("host", path.c_str()) != 0) return 4;
  std::remove(path.c_str());
  return gt_live_handles() == 0 ? 0 : 3;
}
