// A runtime's memory in graphtree.h: tags that are parked and woken, and loans.
#include <memory>
#include <string>
#include <utility>

#include "runtime/c/entry.h"
#include "runtime/c/runtime_objects.h"
#include "runtime/runtime.h"

namespace graphtree::c {
namespace {

class LoanObject : public RuntimesOwn {
 public:
  static constexpr Kind kKind = c::kLoan;
  LoanObject(std::shared_ptr<OpenedRuntime> opened, Loan loan)
      : RuntimesOwn(std::move(opened)), loan_(std::move(loan)) {}
  Loan& loan() { return loan_; }

 private:
  Loan loan_;
};

// A function of one runtime and a word.
template <typename Do>
gt_error OnWord(const char* call, gt_runtime runtime, const char* word, const char* argument,
                const Do& act) {
  return Within(call, [&](Entry& entry) -> gt_error {
    const Ref<RuntimeObject> of = entry.Get<RuntimeObject>(runtime, "runtime");
    entry.Has(word, argument);
    return entry.ok() ? entry.Return(act(of->runtime())) : entry.Failed();
  });
}

}  // namespace
}  // namespace graphtree::c

using graphtree::Contents;
using graphtree::Runtime;
using graphtree::c::Entry;
using graphtree::c::LoanObject;
using graphtree::c::OnWord;
using graphtree::c::Ref;
using graphtree::c::RuntimeObject;
using graphtree::c::StreamObject;
using graphtree::c::Within;

gt_error gt_runtime_add_memory(gt_runtime runtime, const gt_tagged_memory* memory,
                               gt_range* out) noexcept {
  return Within("gt_runtime_add_memory", [&](Entry& entry) -> gt_error {
    const Ref<RuntimeObject> of = entry.Get<RuntimeObject>(runtime, "runtime");
    gt_tagged_memory read;
    entry.Read(memory, "gt_tagged_memory", &read);
    entry.Fail(graphtree::c::CheckEnum("contents", read.contents, GT_PINNED));
    if (!entry.Sets(out, "out") || !entry.ok()) return entry.Failed();
    graphtree::MemoryOptions made = {.tag = std::string(graphtree::c::WordOf(read.tag)),
                                     .name = std::string(graphtree::c::WordOf(read.name)),
                                     .bytes = read.bytes,
                                     .device = read.device};
    if (read.has_contents != 0) made.contents = static_cast<Contents>(read.contents);
    const absl::StatusOr<graphtree::AddressRange> range = of->runtime().AddMemory(made);
    if (!range.ok()) return entry.Return(range.status());
    *out = {range->base, range->bytes};
    return nullptr;
  });
}

gt_error gt_runtime_remove_memory(gt_runtime runtime, const char* name) noexcept {
  return OnWord("gt_runtime_remove_memory", runtime, name, "name",
                [&](Runtime& of) { return of.RemoveMemory(name); });
}

gt_error gt_runtime_park(gt_runtime runtime, const char* tag, gt_contents contents) noexcept {
  return OnWord("gt_runtime_park", runtime, tag, "tag", [&](Runtime& of) {
    absl::Status known = graphtree::c::CheckEnum("contents", contents, GT_PINNED);
    return known.ok() ? of.Park(tag, static_cast<Contents>(contents)) : known;
  });
}

gt_error gt_runtime_wake(gt_runtime runtime, const char* tag) noexcept {
  return OnWord("gt_runtime_wake", runtime, tag, "tag",
                [&](Runtime& of) { return of.Wake(tag); });
}

gt_error gt_runtime_lend(gt_runtime runtime, uint32_t lane, uint32_t device, uint64_t bytes,
                         int32_t until_given_back, gt_stream stream, gt_loan* out) noexcept {
  return Within("gt_runtime_lend", [&](Entry& entry) -> gt_error {
    const Ref<RuntimeObject> of = entry.Get<RuntimeObject>(runtime, "runtime");
    const Ref<StreamObject> on = entry.Get<StreamObject>(stream, "stream");
    if (!entry.Sets(out, "out") || !entry.ok()) return entry.Failed();
    absl::StatusOr<graphtree::Loan> loan = of->runtime().Lend(
        {.bytes = bytes,
         .until = until_given_back != 0 ? graphtree::LoanUntil::kGivenBack
                                        : graphtree::LoanUntil::kNextStep,
         .lane = lane,
         .device = device},
        on->stream());
    if (!loan.ok()) return entry.Return(loan.status());
    return graphtree::c::GiveRuntimesOwn(
        entry, graphtree::c::NewObject<LoanObject>(of->opened(), *std::move(loan)), out);
  });
}

gt_error gt_loan_range(gt_loan loan, gt_range* out) noexcept {
  return Within("gt_loan_range", [&](Entry& entry) -> gt_error {
    const Ref<LoanObject> of = entry.GetAlone<LoanObject>(loan, "loan");
    if (!entry.Sets(out, "out") || !entry.ok()) return entry.Failed();
    const graphtree::AddressRange range = of->loan().range();
    *out = {range.base, range.bytes};
    return nullptr;
  });
}

gt_error gt_loan_use_on(gt_loan loan, gt_stream stream) noexcept {
  return Within("gt_loan_use_on", [&](Entry& entry) -> gt_error {
    const Ref<LoanObject> of = entry.GetAlone<LoanObject>(loan, "loan");
    const Ref<StreamObject> on = entry.Get<StreamObject>(stream, "stream");
    return entry.ok() ? entry.Return(of->loan().UseOn(on->stream())) : entry.Failed();
  });
}
