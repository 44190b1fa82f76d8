// What choosing a shape costs: found, found with padding, and not found, among few and many.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/base/check.h"
#include "runtime/shapes/key.h"
#include "runtime/shapes/mode.h"
#include "runtime/shapes/shape_table.h"
#include "runtime/why.h"
#include "tools/benching/row.h"
#include "tools/benching/timing.h"

namespace graphtree::bench {
namespace {

struct Case {
  ShapeTable table;
  std::vector<Key> hits;
  std::vector<Key> covers;
  std::vector<Key> misses;
  std::vector<Key> paddings;  // a context that is padded too much where the rules limit it
};

// Every shape is usable. Calls come in no order, so that nothing can be foreseen.
Case MakeCase(const KeyRules& rules, std::vector<Shape> shapes) {
  for (size_t i = 0; i < shapes.size(); ++i) shapes[i].id = i;
  auto table = ShapeTable::Make(rules, shapes);
  GRAPHTREE_CHECK(table.ok()) << table.status();
  Case made = {*std::move(table), {}, {}, {}, {}};
  for (uint32_t i = 0; i < made.table.size(); ++i) made.table.SetUsable(i, Why::kHit);
  constexpr uint64_t kCalls = 1024;
  for (uint64_t i = 0; i < kCalls; ++i) {
    const Key& key = shapes[i * 7919 % shapes.size()].key;
    Key call = key;
    made.hits.push_back(call);
    --call.tokens;
    if (call.requests > 1) --call.requests;
    made.covers.push_back(call);
    call = key;
    // Above the ceiling in one field or another, or of a kind that nobody recorded.
    if (i % 3 == 0) call.tokens = 100'000 + static_cast<int32_t>(i);
    if (i % 3 == 1) call.context = 1'000'000;
    if (i % 3 == 2) call.kind = 17;
    made.misses.push_back(call);
    call = key;
    call.context = 100;
    made.paddings.push_back(call);
  }
  return made;
}

// A ladder of batch sizes as engines start with.
std::vector<int32_t> Sizes(size_t count) {
  std::vector<int32_t> sizes = {2, 4};
  for (int32_t size = 8; sizes.size() < count; size += size < 256 ? 8 : 16) sizes.push_back(size);
  sizes.resize(count);
  return sizes;
}

Case Eight() {
  std::vector<Shape> shapes;
  for (const int32_t size : Sizes(8)) shapes.push_back({0, {.tokens = size, .requests = size}});
  return MakeCase({.tokens = {Covers::kAtMost, 2.0}}, shapes);
}

// 51 sizes, once as a whole with so many requests, once segmented with any.
Case OfAnEngine() {
  std::vector<Shape> shapes;
  for (const int32_t size : Sizes(51)) {
    shapes.push_back({0, {.tokens = size, .requests = size}, Mode::kFull});
    shapes.push_back({0, {.tokens = size, .requests = kAny}, Mode::kSegmented});
  }
  return MakeCase({.tokens = {Covers::kAtMost, 2.0}}, shapes);
}

// 50 sizes, with 5 contexts, 2 kinds and 2 counts of adaptors: six fields differ, four are limited.
Case Thousand() {
  std::vector<Shape> shapes;
  for (const int32_t size : Sizes(50)) {
    for (const int32_t context : {1024, 4096, 16384, 65536, 262144}) {
      for (const int32_t kind : {1, 2}) {
        for (const int32_t adaptors : {0, 4}) {
          shapes.push_back({0,
                            {.kind = kind,
                             .tokens = size,
                             .requests = kind == 1 ? size : (size + 3) / 4,
                             .query_length = kind == 1 ? 1 : 4,
                             .context = context,
                             .adaptors = adaptors}});
        }
      }
    }
  }
  KeyRules rules = {.tokens = {Covers::kAtMost, 2.0}, .requests = {Covers::kAtMost, 4.0, 64}};
  rules.context.most_ratio = 8.0;
  rules.adaptors = {.covers = Covers::kPowerOfTwo};
  return MakeCase(rules, shapes);
}

Outcome TimeCalls(const ShapeTable& table, const std::vector<Key>& calls) {
  size_t next = 0;
  return Measure([&] {
    const Choice choice = table.Choose(calls[next++ % 1024], Modes::All());
    DoNotOptimize(choice);
  });
}

void Register(const std::string& size, Case (*make)()) {
  const auto add = [&](const char* name, const char* ours, std::vector<Key> Case::*calls) {
    RegisterRow({.name = absl::StrCat("runtime.choose.", name, ".", size),
                 .ours = absl::StrCat(ours, " ", size, " shapes"),
                 .goal = "value <= 100 ns"},
                [make, calls]() -> Outcome {
                  const Case made = make();
                  return TimeCalls(made.table, made.*calls);
                });
  };
  add("hit", "an equal one of", &Case::hits);
  add("cover", "padded to one of", &Case::covers);
  add("miss", "none, and why, of", &Case::misses);
}

[[maybe_unused]] const bool kRegistered = [] {
  Register("8", Eight);
  Register("102", OfAnEngine);
  Register("1000", Thousand);
  // All fields are looked at, then again for the reason: the longest way through.
  RegisterRow({.name = "runtime.choose.padding.1000",
               .ours = "too much padding in each of 1000 shapes",
               .goal = "value <= 100 ns"},
              []() -> Outcome {
                const Case made = Thousand();
                const Choice choice = made.table.Choose(made.paddings.front(), Modes::All());
                GRAPHTREE_CHECK(choice.why == Why::kPadding) << WhyName(choice.why);
                return TimeCalls(made.table, made.paddings);
              });
  // The same, and no shape serves, as before the first recording.
  RegisterRow({.name = "runtime.choose.unusable.1000",
               .ours = "none of 1000 shapes that could serve is recorded",
               .goal = "value <= 100 ns"},
              []() -> Outcome {
                Case made = Thousand();
                for (uint32_t i = 0; i < made.table.size(); ++i) {
                  made.table.SetUsable(i, Why::kNotRecorded);
                }
                const Choice choice = made.table.Choose(made.covers.front(), Modes::All());
                GRAPHTREE_CHECK(choice.why == Why::kNotRecorded) << WhyName(choice.why);
                return TimeCalls(made.table, made.covers);
              });
  return true;
}();

}  // namespace
}  // namespace graphtree::bench
