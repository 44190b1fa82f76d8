// For tests of bodies with eager parts: round trips over the host, which no graph can make.
#ifndef GRAPHTREE_TESTS_TREE_BREAKS_FIXTURE_H_
#define GRAPHTREE_TESTS_TREE_BREAKS_FIXTURE_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "graphs/launcher.h"
#include "tests/tree/tree_fixture.h"

namespace graphtree {

class BreaksFixture : public TreeTest {
 protected:
  // What a part on the host begins and ends with.
  static Words FromDevice(Launcher& on, const Tensor& tensor) {
    Words words(tensor.shape().elements());
    on.Fail(on.stream().Copy(AddressOf(words.data()), tensor.word(), words.size() * 4));
    on.Fail(on.stream().Synchronize());
    return words;
  }
  static void ToDevice(Launcher& on, const Words& words, const Tensor& tensor) {
    on.Fail(on.stream().Copy(tensor.word(), AddressOf(words.data()), words.size() * 4));
    on.Fail(on.stream().Synchronize());
  }
  // A new tensor of x times `factor`, by a part named "host".
  Tensor HostTimes(Launcher& on, const Value& x, uint32_t factor) {
    if (!on.ok()) return Tensor();
    const Tensor out = on.Empty(x.layout());
    if (!on.ok()) return Tensor();
    on.Break("host", {In(Tensor::From(x)), Out(out)},
             [factor](Launcher& part, absl::Span<const Tensor> tensors) {
               Words words = FromDevice(part, tensors[0]);
               for (uint32_t& word : words) word *= factor;
               ToDevice(part, words, tensors[1]);
             });
    return out;
  }
  // Adds to the tensor itself.
  void HostBump(Launcher& on, const Value& x, uint32_t by) {
    if (!on.ok()) return;
    on.Break("host", {InOut(Tensor::From(x))},
             [by](Launcher& part, absl::Span<const Tensor> tensors) {
               Words words = FromDevice(part, tensors[0]);
               for (uint32_t& word : words) word += by;
               ToDevice(part, words, tensors[0]);
             });
  }
  absl::Status Failure(FunctionId function, Values& inputs) {
    Values outputs;
    return tree().Run(function, absl::MakeSpan(inputs), a(), &outputs);
  }
};

}  // namespace graphtree

#endif  // GRAPHTREE_TESTS_TREE_BREAKS_FIXTURE_H_
