// The tests run on a GPU. Where there is none they are all skipped, with the reason.
#include <string>

#include "gtest/gtest.h"
#include "runtime/c/graphtree.h"
#include "runtime/c/test_device.h"

namespace graphtree::c {

const char* const kTestDevice = "cuda:0";

namespace {

class NeedsTheDevice : public ::testing::Environment {
 public:
  void SetUp() override {
    gt_device device = nullptr;
    if (gt_error error = gt_device_open(kTestDevice, nullptr, &device)) {
      const std::string reason = gt_error_look(error)->text;
      gt_release(error);
      GTEST_SKIP() << reason;
    }
    ASSERT_EQ(gt_release(device), nullptr);
  }
};

[[maybe_unused]] const ::testing::Environment* const kEnvironment =
    ::testing::AddGlobalTestEnvironment(new NeedsTheDevice);

}  // namespace
}  // namespace graphtree::c
