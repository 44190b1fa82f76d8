// What the tests of the runtime stand on: a runtime on every device of the conformance suite, and a
// program whose result a test can say without a device.
//
//   "double":  slot 0 `ids`, i32[kMost], one row for each token   ->   2 * ids, as the shape has it
#ifndef GRAPHTREE_TESTS_RUNTIME_RUNTIME_FIXTURE_H_
#define GRAPHTREE_TESTS_RUNTIME_RUNTIME_FIXTURE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "graphs/tensor.h"
#include "runtime/runtime.h"
#include "tests/conformance/conformance.h"

namespace graphtree {

using Ids = std::vector<int32_t>;

class RuntimeTest : public ConformanceTest {
 protected:
  static constexpr int64_t kMost = 64;

  void SetUp() override;
  void TearDown() override;

  void OpenRuntime(RuntimeOptions options);
  Runtime& runtime() { return *runtime_; }
  void CloseRuntime() { runtime_.reset(); }

  static std::vector<Key> KeysOf(const std::vector<int32_t>& tokens);
  // Adds the program and its shapes.
  ProgramId Add(ProgramOptions options, const std::vector<Key>& keys, Mode mode = Mode::kFull);
  // Of the program above.
  ProgramOptions DoubleOptions(std::string name = "double");
  // Added, with shapes of so many tokens.
  ProgramId AddDouble(const std::vector<int32_t>& tokens, std::string name = "double");
  static Values DoubleBody(Launcher& on, const ProgramInputs& in);

  static Ids IdsFrom(int32_t first, size_t count);
  // 2 * ids, and zeros up to `padded`.
  static Ids Doubled(const Ids& ids, size_t padded);

  // A step of the program with these ids; how it ran.
  Why StepWith(ProgramId program, const Ids& ids, StepOptions options = {});
  Value LastValue() const { return outputs_.empty() ? Value() : outputs_[0]; }
  // What the last step returned first.
  Ids LastOutput();
  std::string LastDescription() const { return description_; }
  const std::vector<std::string>& warnings() const { return warnings_; }
  uint64_t Count(Why why) { return runtime().stats().why[static_cast<size_t>(why)]; }

  Ids ReadIds(const Value& value);

  // Ends the process where bodies wait for one another, as threads that do cannot be joined.
  static void EndAfterHalfAMinute(const std::atomic<bool>& is_over);

 private:
  std::unique_ptr<Runtime> runtime_;
  std::vector<std::string> warnings_;
  Values outputs_;
  std::string description_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_TESTS_RUNTIME_RUNTIME_FIXTURE_H_
