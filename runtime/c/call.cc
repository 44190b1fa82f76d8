// Calling a function: values in, a run of the tree's, values out.
//
//   gt_value[] --Bring--> Values --Tree::Run--> Values --HandOut--> gt_value[]
//      ^                     |
//      `-- what was not consumed goes back to its slot
#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "graphs/reports/parity.h"
#include "graphs/tree.h"
#include "runtime/c/entry.h"
#include "runtime/c/texts.h"
#include "runtime/c/tree_objects.h"
#include "runtime/c/values.h"

namespace graphtree::c {
namespace {

struct CallInputs {
  gt_value* values;
  size_t count;
};
// Calls on other threads may have the value, too, as this one does not consume it.
bool IsShared(const gt_value& value, const FunctionObject& function, size_t index) {
  return IsOpaque(value) || function.IsStatic(index);
}
// The same handle stands twice among the inputs: the second is a copy of the first.
bool TakeFromEarlier(const CallInputs& given, size_t index, const CallScratch& scratch,
                     Value* into) {
  const gt_value& value = given.values[index];
  for (size_t i = 0; i < index; ++i) {
    const Value& earlier = scratch.inputs[i];
    if (given.values[i].storage != value.storage || earlier.storage() == nullptr) continue;
    const Layout* const layout = LayoutOf(value.layout);
    if (earlier.is_opaque() || layout == nullptr) return false;
    const AddressRange bytes = earlier.storage()->range();
    if (value.word < bytes.base || value.word > bytes.end() ||
        layout->extent_bytes() > bytes.end() - value.word) {
      return false;
    }
    *into = Tensor::Over(earlier.storage(), layout, value.word);
    return true;
  }
  return false;
}

// Memory of the caller's, most often where it was in the last call. False for what is no such.
inline bool BringPlain(const gt_value& value, KnownLayout* known, Value* input) {
  if (value.storage != nullptr || value.kind != GT_TENSOR || value.reserved != 0) return false;
  if (value.layout != known->handle || known->layout == nullptr) {
    *known = {LayoutOf(value.layout), value.layout};
    if (known->layout == nullptr) return false;
  }
  const bool is_same = input->layout() == known->layout && input->word() == value.word &&
                       input->storage() == nullptr;
  if (!is_same) *input = Tensor::Foreign(value.word, known->layout);
  return true;
}

// A value with a storage: copied where calls share it, else taken out of its slot.
bool BringStored(const FunctionObject& function, const CallInputs& given, size_t index,
                 CallScratch* scratch, Entry* entry) {
  const gt_value& value = given.values[index];
  Value* const input = &scratch->inputs[index];
  const bool is_taken = Table().Look(HandleOf(value.storage), kStorage) == HandleState::kTaken;
  if (is_taken && TakeFromEarlier(given, index, *scratch, input)) return true;
  entry->AtInput(index);
  const bool has = IsShared(value, function, index)
                       ? CopyValue(value, "the input", entry, input)
                       : TakeValue(value, "the input", entry, input, &scratch->taken[index]);
  if (has) entry->NoInput();
  return has;
}

// True if any input has a storage, which the scratch holds then.
bool Bring(const FunctionObject& function, const CallInputs& given, CallScratch* scratch,
           Entry* entry) {
  bool has_stored = false;
  if (!scratch->MakeRoom(given.count)) {
    entry->Fail(Entry::NoHandle());
    return false;
  }
  for (size_t i = 0; i < given.count; ++i) {
    const gt_value& value = given.values[i];
    Value& input = scratch->inputs[i];
    if (BringPlain(value, &scratch->layouts[i], &input)) continue;
    if (value.storage == nullptr) {
      entry->AtInput(i);
      if (!CopyValue(value, absl::StrCat("input ", i).c_str(), entry, &input)) break;
      entry->NoInput();
      continue;
    }
    if (!has_stored) std::fill_n(scratch->taken.begin(), given.count, nullptr);
    has_stored = true;
    if (!BringStored(function, given, i, scratch, entry)) break;
  }
  return has_stored;
}

// What was consumed is gone for the caller; all else is as it was.
void TakeBack(const CallInputs& given, CallScratch* scratch) {
  for (size_t i = 0; i < given.count; ++i) {
    Value& input = scratch->inputs[i];
    if (given.values[i].storage == nullptr) continue;
    const bool is_gone = input.is_consumed();
    if (scratch->taken[i] != nullptr) {
      if (is_gone) {
        LoseSlot(scratch->taken[i]);
      } else {
        PutValueBack(scratch->taken[i], std::move(input));
      }
    }
    input = Value();
    if (!is_gone) continue;
    given.values[i] = gt_value{};
    given.values[i].kind = GT_CONSUMED;
  }
}

// Of a call that failed. Outputs may lie in the places of inputs, which then stay as they are.
void NothingComesOut(const CallInputs& given, const CallOutputs& out) {
  const std::less<const gt_value*> before;
  for (size_t i = 0; i < out.capacity; ++i) {
    const gt_value* const place = &out.values[i];
    const bool is_an_input = given.count > 0 && !before(place, given.values) &&
                             before(place, given.values + given.count);
    if (!is_an_input) out.values[i] = gt_value{};
  }
  if (out.count != nullptr) *out.count = 0;
}

template <typename Run>
gt_error CallWith(Entry* entry, const FunctionObject& function, CallScratch* scratch,
                  const CallInputs& given, const CallOutputs& out, const Run& run) {
  const bool has_stored = Bring(function, given, scratch, entry);
  if (entry->ok()) {
    entry->Fail(run(absl::MakeSpan(scratch->inputs.data(), given.count), &scratch->outputs));
  }
  if (has_stored) TakeBack(given, scratch);
  if (!entry->ok()) {
    scratch->outputs.clear();
    NothingComesOut(given, out);
    return entry->Failed();
  }
  return entry->Return(HandOut(scratch, out));
}

// `run` is given the inputs and where the outputs go.
template <typename Run>
gt_error Call(Entry* entry, const Ref<FunctionObject>& function, const CallInputs& given,
              const CallOutputs& out, const Run& run) {
  if (!entry->HasArray(given.values, given.count, "inputs") ||
      !entry->HasArray(out.values, out.capacity, "outputs")) {
    return entry->Failed();
  }
  entry->InFunction(function->name());
  // Another call that is in the function has its vectors, and is about to tell this one so.
  if (function.is_only()) return CallWith(entry, *function, &function->scratch(), given, out, run);
  CallScratch own;
  return CallWith(entry, *function, &own, given, out, run);
}

// A call that differs from others in how the tree is asked alone: `run` is given the tree, too.
template <typename Run>
gt_error CallBy(const char* name, gt_function function, const CallInputs& given, gt_stream stream,
                const CallOutputs& out, const Run& run) {
  return Within(name, [&](Entry& entry) -> gt_error {
    const Ref<FunctionObject> called = entry.Get<FunctionObject>(function, "function");
    const Ref<StreamObject> on = entry.Get<StreamObject>(stream, "stream");
    if (!entry.ok()) return entry.Failed();
    return Call(&entry, called, given, out, [&](absl::Span<Value> inputs, Values* outputs) {
      return run(called->tree(), called->id(), inputs, on->stream(), outputs);
    });
  });
}

// Copies, for what consumes nothing.
bool CopyAll(const gt_value* inputs, size_t count, Entry* entry, Values* into) {
  if (!entry->HasArray(inputs, count, "inputs")) return false;
  if (!entry->Own([&] { into->resize(count); })) return false;
  for (size_t i = 0; i < count; ++i) {
    entry->AtInput(i);
    if (!CopyValue(inputs[i], "the input", entry, &(*into)[i])) return false;
  }
  entry->NoInput();
  return true;
}

}  // namespace
}  // namespace graphtree::c

using graphtree::FunctionId;
using graphtree::Stream;
using graphtree::Tree;
using graphtree::Value;
using graphtree::Values;
using graphtree::c::Entry;
using graphtree::c::FunctionObject;
using graphtree::c::Ref;
using graphtree::c::StreamObject;
using graphtree::c::Within;

gt_error gt_call(gt_function function, gt_value* inputs, size_t input_count, gt_stream stream,
                 gt_value* outputs, size_t capacity, size_t* count) noexcept {
  return graphtree::c::CallBy(
      "gt_call", function, {inputs, input_count}, stream, {outputs, capacity, count},
      [](Tree& tree, FunctionId id, absl::Span<Value> in, Stream& on, Values* out) {
        return tree.Run(id, in, on, out);
      });
}

gt_error gt_call_replay(gt_function function, gt_value* inputs, size_t input_count,
                        gt_stream stream, gt_value* outputs, size_t capacity,
                        size_t* count) noexcept {
  return graphtree::c::CallBy(
      "gt_call_replay", function, {inputs, input_count}, stream, {outputs, capacity, count},
      [](Tree& tree, FunctionId id, absl::Span<Value> in, Stream& on, Values* out) {
        return tree.RunReplay(id, in, on, out);
      });
}

gt_error gt_call_compared(gt_function function, gt_value* inputs, size_t input_count,
                          gt_stream stream, gt_value* outputs, size_t capacity, size_t* count,
                          double absolute, double relative, gt_parity* parity,
                          gt_text* text) noexcept {
  return Within("gt_call_compared", [&](Entry& entry) -> gt_error {
    const Ref<FunctionObject> called = entry.Get<FunctionObject>(function, "function");
    const Ref<StreamObject> on = entry.Get<StreamObject>(stream, "stream");
    if (text != nullptr) *text = nullptr;
    if (!entry.Sets(parity, "parity") || !entry.ok()) return entry.Failed();
    graphtree::ParityResult result;
    const gt_error error = graphtree::c::Call(
        &entry, called, {inputs, input_count}, {outputs, capacity, count},
        [&](absl::Span<Value> in, Values* out) {
          return called->tree().RunCompared(called->id(), in, on->stream(), out,
                                            {.absolute = absolute, .relative = relative}, &result);
        });
    if (error != nullptr) return error;
    *parity = static_cast<gt_parity>(result.parity);
    return text == nullptr ? nullptr : graphtree::c::GiveText(entry, std::move(result.text), text);
  });
}

gt_error gt_record(gt_function function, const gt_value* inputs, size_t input_count,
                   gt_stream stream) noexcept {
  return Within("gt_record", [&](Entry& entry) -> gt_error {
    const Ref<FunctionObject> called = entry.Get<FunctionObject>(function, "function");
    const Ref<StreamObject> on = entry.Get<StreamObject>(stream, "stream");
    Values copies;
    if (!entry.ok() || !graphtree::c::CopyAll(inputs, input_count, &entry, &copies)) {
      return entry.Failed();
    }
    entry.InFunction(called->name());
    return entry.Return(called->tree().Record(called->id(), std::move(copies), on->stream()));
  });
}

gt_error gt_would_replay(gt_function function, const gt_value* inputs, size_t input_count,
                         gt_stream stream, gt_place_on_path where, int32_t* out) noexcept {
  return Within("gt_would_replay", [&](Entry& entry) -> gt_error {
    const Ref<FunctionObject> called = entry.Get<FunctionObject>(function, "function");
    const Ref<StreamObject> on = entry.Get<StreamObject>(stream, "stream");
    entry.Fail(graphtree::c::CheckEnum("place", where, GT_FIRST_OP));
    Values copies;
    if (!entry.Sets(out, "out") || !entry.ok() ||
        !graphtree::c::CopyAll(inputs, input_count, &entry, &copies)) {
      return entry.Failed();
    }
    Tree& tree = called->tree();
    const absl::Span<Value> given = absl::MakeSpan(copies);
    const bool would = where == GT_FIRST_OP
                           ? tree.WouldReplayFirst(called->id(), given, on->stream())
                           : tree.WouldReplay(called->id(), given, on->stream(),
                                              where == GT_IN_NEW_STEP);
    *out = would ? 1 : 0;
    return nullptr;
  });
}
