// What calls throw, and threads that end within them.
#include "device/base/guarded_call.h"

#include <pthread.h>

#include <stdexcept>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

using testing::HasSubstr;

TEST(GuardedCallTest, ExceptionsAreErrors) {
  EXPECT_TRUE(Guarded([] {}).ok());
  const absl::Status known = GuardedBy("the clock", [] { throw std::runtime_error("no luck"); });
  EXPECT_EQ(known.message(), "the clock threw an exception: no luck");
  const absl::Status other = Guarded([] { throw 7; });
  EXPECT_THAT(std::string(other.message()), HasSubstr("no std::exception"));
}

TEST(GuardedCallTest, AnExceptionIsKeptForItsCaller) {
  EXPECT_EQ(Caught([] {}), nullptr);
  EXPECT_NO_THROW(ThrowOn(nullptr));
  EXPECT_THROW(ThrowOn(Caught([] { throw std::runtime_error("no luck"); })), std::runtime_error);
}

int result_of_thread;
void EndThread() { pthread_exit(&result_of_thread); }

void* ExitWithinGuarded(void* went_on) {
  if (!GuardedBy("it", EndThread).ok()) *static_cast<bool*>(went_on) = true;
  return nullptr;
}

void* ExitWithinCaught(void* went_on) {
  if (Caught(EndThread) != nullptr) *static_cast<bool*>(went_on) = true;
  return nullptr;
}

TEST(GuardedCallTest, AThreadThatExitsWithinACallEnds) {
  for (void* (*const act)(void*) : {ExitWithinGuarded, ExitWithinCaught}) {
    bool went_on = false;
    pthread_t thread;
    ASSERT_EQ(pthread_create(&thread, nullptr, act, &went_on), 0);
    void* result = nullptr;
    ASSERT_EQ(pthread_join(thread, &result), 0);
    EXPECT_EQ(result, &result_of_thread);
    EXPECT_FALSE(went_on);
  }
}

}  // namespace
}  // namespace graphtree
