// A tree for tests of the C interface, and bodies for it.
#ifndef GRAPHTREE_RUNTIME_C_TEST_TREE_H_
#define GRAPHTREE_RUNTIME_C_TEST_TREE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/c/test_world.h"

namespace graphtree::c {

class TreeCTest : public CTest {
 public:
  // Output 0 is input 0 plus that.
  gt_error Add(gt_launcher on, int32_t by) {
    gt_value x, sum;
    gt_launcher_input(on, 0, &x);
    gt_launcher_empty(on, x.layout, &sum);
    const gt_arg args[] = {GT_OUT(&sum), GT_IN(&x), GT_NUM(by)};
    gt_launcher_launch(on, add(), &kShape, args, 3);
    return gt_launcher_output(on, &sum);
  }

 protected:
  using TestBody = std::function<gt_error(gt_launcher on)>;

  TreeCTest() { EXPECT_FINE(gt_tree_new(device(), nullptr, &tree_)); }
  ~TreeCTest() override { EXPECT_FINE(gt_release(tree_)); }
  gt_tree tree() const { return tree_; }

  // Output 0 is input 0 plus 3. The context is the test.
  static gt_error AddThree(void* test, gt_launcher on) {
    return static_cast<TreeCTest*>(test)->Add(on, 3);
  }
  gt_function Register(const char* name, gt_body body,
                       const gt_function_options* options = nullptr) {
    gt_function function = nullptr;
    EXPECT_FINE(gt_tree_register(tree_, name, options, body, this, nullptr, &function));
    return function;
  }
  gt_function Register(const char* name, TestBody body,
                       const gt_function_options* options = nullptr) {
    bodies_.push_back(std::make_unique<TestBody>(std::move(body)));
    gt_function function = nullptr;
    EXPECT_FINE(gt_tree_register(
        tree_, name, options,
        [](void* context, gt_launcher on) { return (*static_cast<TestBody*>(context))(on); },
        bodies_.back().get(), nullptr, &function));
    return function;
  }
  // The first output.
  gt_value Call(gt_function function, std::vector<gt_value> inputs) {
    gt_value out = gt_nothing();
    EXPECT_FINE(gt_call(function, inputs.data(), inputs.size(), stream(), &out, 1, nullptr));
    return out;
  }

 private:
  gt_tree tree_ = nullptr;
  std::vector<std::unique_ptr<TestBody>> bodies_;
};

}  // namespace graphtree::c

#endif  // GRAPHTREE_RUNTIME_C_TEST_TREE_H_
