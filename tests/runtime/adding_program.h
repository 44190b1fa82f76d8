// A program of one launch, for servers of tests: ids + the words at `known`, if there are any; else
// 2 * ids.
#ifndef GRAPHTREE_TESTS_RUNTIME_ADDING_PROGRAM_H_
#define GRAPHTREE_TESTS_RUNTIME_ADDING_PROGRAM_H_

#include <cstdint>
#include <string>
#include <utility>

#include "device/address.h"
#include "graphs/launcher.h"
#include "graphs/layout.h"
#include "graphs/tensor.h"
#include "runtime/program.h"
#include "tests/kernels/kernels.h"
#include "tests/kernels/launches.h"

namespace graphtree {

// With a slot of `most` ids, and as many words at `known`.
inline ProgramOptions AddingProgram(std::string name, std::string tag, uint32_t lane, int64_t most,
                                    AddressRange known = {}) {
  ProgramOptions options;
  options.name = std::move(name);
  options.tag = std::move(tag);
  options.lane = lane;
  options.slots = {{.name = "ids", .sizes = {most}, .rows = KeyField::kTokens}};
  options.body = [known, most](Launcher& on, const ProgramInputs& in) -> Values {
    const Tensor out = on.Empty(DType::kI32, {in.key().tokens});
    if (!on.ok()) return {};
    const Tensor other = known.empty()
                             ? in.slot(0)
                             : Tensor::Foreign(known.base, Layout::Of(DType::kI32, {most}));
    on.Launch(AddKernel(), TestShape(),
              {Out(out), In(in.slot(0)), In(other), Val(static_cast<uint32_t>(in.key().tokens))});
    return {out};
  };
  return options;
}

}  // namespace graphtree

#endif  // GRAPHTREE_TESTS_RUNTIME_ADDING_PROGRAM_H_
