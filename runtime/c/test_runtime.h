// A runtime for tests of the C interface, with one program: out = ids + weights' number.
#ifndef GRAPHTREE_RUNTIME_C_TEST_RUNTIME_H_
#define GRAPHTREE_RUNTIME_C_TEST_RUNTIME_H_

#include <string>
#include <vector>

#include "runtime/c/ids_slot.h"
#include "runtime/c/test_world.h"

namespace graphtree::c {

class RuntimeCTest : public CTest {
 protected:
  RuntimeCTest() {
    const gt_device over = device();
    gt_tree_options tree = GT_INIT(gt_tree_options);
    tree.initial_bytes = 16 << 20;
    gt_runtime_options options = GT_INIT(gt_runtime_options);
    options.tree = &tree;
    EXPECT_FINE(gt_runtime_new(&over, 1, &options, &runtime_));
  }
  ~RuntimeCTest() override { EXPECT_FINE(gt_release(runtime_)); }
  gt_runtime runtime() const { return runtime_; }

  static gt_key Tokens(int32_t tokens) {
    gt_key key = {};
    key.tokens = tokens;
    return key;
  }

  // The slot "ids" of kCount words; `by` is added to each of its rows.
  gt_program_options Options(const char* name) {
    slot_ = IdsSlot(&size_);
    gt_program_options options = GT_INIT(gt_program_options);
    options.name = name;
    options.slots = &slot_;
    options.slot_count = 1;
    options.body = Body;
    options.context = this;
    return options;
  }
  gt_program Program(const char* name, const std::vector<int32_t>& shapes) {
    const gt_program_options options = Options(name);
    return Program(options, shapes);
  }
  gt_program Program(const gt_program_options& options, const std::vector<int32_t>& shapes) {
    gt_program program = nullptr;
    EXPECT_FINE(gt_program_new(runtime_, &options, &program));
    std::vector<gt_key> keys;
    for (const int32_t tokens : shapes) keys.push_back(Tokens(tokens));
    EXPECT_FINE(gt_program_add_shapes(program, keys.data(), keys.size(), GT_FULL));
    return program;
  }

  // One step with as many ids as that, each 1; returns the first output's words.
  std::vector<int32_t> Step(gt_program program, int32_t tokens, gt_why* why = nullptr) {
    gt_step step = nullptr;
    const gt_key key = Tokens(tokens);
    EXPECT_FINE(gt_step_begin(program, &key, stream(), nullptr, &step));
    const std::vector<int32_t> ids(tokens, 1);
    const gt_rows rows = {GT_I32, 0, reinterpret_cast<uint64_t>(ids.data()), tokens, 0, 0};
    EXPECT_FINE(gt_step_stage(step, 0, &rows));
    gt_value out = gt_nothing();
    size_t count = 0;
    EXPECT_FINE(gt_step_run(step, &out, 1, &count));
    EXPECT_EQ(count, 1u);
    gt_choice choice = GT_INIT(gt_choice);
    EXPECT_FINE(gt_step_look(step, &choice));
    if (why != nullptr) *why = choice.why;
    std::vector<int32_t> words = Read(out);
    EXPECT_FINE(gt_release(out.storage));
    EXPECT_FINE(gt_release(step));
    return words;
  }

  int32_t by_ = 10;
  int bodies_ = 0;  // that ran

 private:
  static gt_error Body(void* context, gt_launcher on) {
    auto& test = *static_cast<RuntimeCTest*>(context);
    ++test.bodies_;
    gt_value ids, in, sum;
    gt_launcher_slot(on, 0, &ids);
    // The kernel adds to kCount words, whatever the shape.
    gt_launcher_empty(on, test.words(), &in);
    gt_launcher_empty(on, test.words(), &sum);
    gt_launcher_fill(on, &in, 0);
    gt_value part;
    gt_value_view(&in, ids.layout, 0, &part);
    gt_launcher_copy(on, &part, &ids);
    gt_release(part.storage);
    const gt_arg args[] = {GT_OUT(&sum), GT_IN(&in), GT_NUM(test.by_)};
    gt_launcher_launch(on, test.add(), &kShape, args, 3);
    return gt_launcher_output(on, &sum);
  }

  gt_runtime runtime_ = nullptr;
  gt_slot slot_ = GT_INIT(gt_slot);
  const int64_t size_ = kCount;
};

}  // namespace graphtree::c

#endif  // GRAPHTREE_RUNTIME_C_TEST_RUNTIME_H_
