// One device a run; the run that no fault disturbs is the last.
#include "device/fault/every_call.h"

#include "device/base/sanitized.h"
#include "device/base/status_matchers.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

uint64_t CallAfter(uint64_t n) {
  constexpr uint64_t kAllUpTo = 100;
  return n + (kSanitized && n > kAllUpTo ? 3 : 1);
}

}  // namespace

uint64_t ForEveryFailingCall(const std::function<std::unique_ptr<Device>()>& make,
                             const std::function<void(FaultDevice&)>& body,
                             const EveryCallOptions& options) {
  uint64_t calls = 0;
  for (uint64_t n = options.first; n - options.first < options.max_calls; n = CallAfter(n)) {
    FaultDevice device(make());
    SCOPED_TRACE(testing::Message() << "the device call that fails is number " << n);
    device.plan().FailCall(n, options.code);
    body(device);
    const bool disturbed = device.plan().fired() > 0;
    SCOPED_TRACE(testing::Message()
                 << "it failed in " << (disturbed ? device.plan().fired_in() : "no call"));
    device.plan().Clear();
    EXPECT_THAT(device.Close(), IsOk());
    if (!disturbed) return calls;
    calls = n - options.first + 1;
    if (testing::Test::HasFatalFailure()) return calls;
  }
  ADD_FAILURE() << "the body was still making device calls after " << options.max_calls << " runs";
  return calls;
}

}  // namespace graphtree
