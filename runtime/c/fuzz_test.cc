// Random calls with handles that are good, null, dangling, made up or of another kind, with numbers
// at the edges, and with nothing where something should be: none of them crashes, every error can
// be released, and in the end everything is.
//
// The seed is printed; GRAPHTREE_FUZZ_CALLS makes it long.
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "runtime/c/dlpack_layout.h"
#include "runtime/c/test_world.h"

namespace graphtree::c {
namespace {

void EndExported(void* exported, bool is_versioned) {
  if (is_versioned) {
    auto* const managed = static_cast<dlpack::VersionedManaged*>(exported);
    managed->deleter(managed);
  } else {
    auto* const managed = static_cast<dlpack::Managed*>(exported);
    managed->deleter(managed);
  }
}

class Fuzzer {
 public:
  explicit Fuzzer(uint32_t seed) : random_(seed) { MakeActs(); }

  void Run(int calls) {
    constexpr int kCallsOfWorld = 2000;
    for (int i = 0; i < calls; ++i) {
      acts_[random_() % acts_.size()]();
      if ((i + 1) % kCallsOfWorld == 0) EndWorld();
    }
    EndWorld();
  }
  int failures() const { return failures_; }
  int successes() const { return successes_; }

 private:
  // ---- what calls are given

  template <typename Handle>
  Handle Any(const std::vector<Handle>& good) {
    const uint32_t roll = random_() % 20;
    if (roll == 0) return nullptr;
    if (roll == 1) return reinterpret_cast<Handle>(uint64_t{random_()} << 32 | random_());
    if (roll == 2 && !handles_.empty()) return reinterpret_cast<Handle>(Of(handles_));
    return good.empty() ? nullptr : Of(good);
  }
  template <typename T>
  T Of(const std::vector<T>& all) {
    return all[random_() % all.size()];
  }
  int64_t Number() {
    static const std::vector<int64_t> edges = {0, 1, 2, 3, 4, 7, 8, 64, -1, -7, 1 << 20,
                                               INT64_MAX, INT64_MIN, uint32_t{0xFFFFFFFF}};
    return Of(edges);
  }
  template <typename T>
  T* Maybe(T* pointer) {
    return random_() % 16 == 0 ? nullptr : pointer;
  }
  size_t Size(size_t right) {
    static const std::vector<int64_t> wrong = {0, 4, 8, 12, 1 << 20, -1};
    return random_() % 8 == 0 ? static_cast<size_t>(Of(wrong)) : right;
  }
  // Whether a tensor of that layout lies in memory that is there: where else would be the caller's
  // own fault. A layout that is none is refused by whoever gets the tensor.
  static bool Fits(gt_layout layout) {
    gt_layout_info info = GT_INIT(gt_layout_info);
    const gt_error error = gt_layout_look(layout, &info);
    gt_release(error);
    return error != nullptr || info.extent_bytes <= sizeof(memory_) - 8 * 64;
  }
  // Memory that is there, a tensor of a tree's, a number, or what is no value.
  gt_value Value() {
    gt_value value = gt_nothing();
    switch (random_() % 6) {
      case 0: value = gt_integer(Number()); break;
      case 1: value.kind = static_cast<gt_value_kind>(Number()); break;
      case 2: value.storage = Any(storages_); break;
      default: break;
    }
    const gt_layout layout = Any(layouts_);
    if (random_() % 2 == 0 && Fits(layout)) value = gt_tensor(words_ + random_() % 8 * 64, layout);
    if (random_() % 4 == 0 && !values_.empty()) value = Of(values_);
    return value;
  }
  const char* Word() {
    static const std::vector<const char*> words = {"", "a", "b", "host", "weights", "\n", nullptr};
    return Of(words);
  }

  // ---- what becomes of them

  void Saw(gt_error error) {
    (error == nullptr ? successes_ : failures_) += 1;
    if (error == nullptr) return;
    EXPECT_GT(gt_error_look(error)->code, GT_OK);
    EXPECT_STRNE(gt_error_look(error)->text, "");
    EXPECT_EQ(gt_release(error), nullptr);
  }
  template <typename Handle>
  void Keep(Handle handle, std::vector<Handle>* into) {
    if (handle == nullptr) return;
    handles_.push_back(handle);
    into->push_back(handle);
  }
  void KeepValue(const gt_value& value) {
    if (value.storage == nullptr) return;
    storages_.push_back(value.storage);
    values_.push_back(value);
  }

  // What belongs to something goes first; a device goes when nothing of it is left.
  void EndWorld() {
    for (const gt_storage storage : storages_) gt_release(gt_release(storage));
    for (int round = 0; round < 3; ++round) {
      for (size_t n = handles_.size(); n > 0; --n) gt_release(gt_release(handles_[n - 1]));
      for (const Exported& one : exported_) EndExported(one.managed, one.is_versioned);
      exported_.clear();
    }
    for (void* handle : handles_) {
      const gt_error error = gt_release(handle);
      EXPECT_EQ(gt_error_look(error)->code, GT_BAD_HANDLE) << gt_error_look(error)->text;
      gt_release(error);
    }
    EXPECT_EQ(gt_live_handles(), 0u);
    handles_.clear(), devices_.clear(), streams_.clear(), events_.clear(), memories_.clear();
    storages_.clear(), values_.clear(), trees_.clear(), functions_.clear(), workspaces_.clear();
    runtimes_.clear(), programs_.clear(), steps_.clear(), plans_.clear();
  }

  // ---- acts

  static gt_error Body(void* context, gt_launcher on) {
    return static_cast<Fuzzer*>(context)->InBody(on);
  }
  // Wrong calls in a body, too; their errors are the launcher's.
  gt_error InBody(gt_launcher on) {
    gt_value value = Value(), made = gt_nothing();
    gt_range range = {};
    gt_key key = {};
    last_launcher_ = on;
    for (uint32_t i = random_() % 4; i > 0; --i) {
      switch (random_() % 12) {
        case 0: gt_launcher_input(on, random_() % 3, Maybe(&made)); break;
        case 1: gt_launcher_fill(on, Maybe(&made), 1); break;
        case 2: gt_launcher_output(on, Maybe(&value)); break;
        case 3: gt_launcher_scratch(on, random_() % 512, Maybe(&made)); break;
        case 4: gt_launcher_drop_input(on, random_() % 3); break;
        case 5: gt_launcher_slot(on, random_() % 3, Maybe(&made)); break;
        case 6: gt_launcher_key(on, Maybe(&key), nullptr); break;
        case 7: gt_launcher_dependency(on, random_() % 2, Maybe(&range)); break;
        case 8: gt_launcher_copy(on, Maybe(&made), Maybe(&value)); break;
        case 9: gt_launcher_keep_alive(on, nullptr, nullptr); break;
        case 10: Saw(gt_release(Any(trees_))); break;
        default: gt_launcher_prepared(on, random_() % 2, Maybe(&made)); break;
      }
    }
    if (random_() % 8 == 0) return gt_error_new(static_cast<gt_code>(Number()), Word());
    gt_launcher_empty(on, Any(layouts_), &made);
    return gt_launcher_output(on, &made);
  }

  void MakeActs() {
    words_ = reinterpret_cast<uint64_t>(memory_);
    DeviceActs();
    ValueActs();
    TreeActs();
    RuntimeActs();
    LookActs();
    acts_.push_back([this] {
      if (random_() % 4 == 0 && !handles_.empty()) Saw(gt_release(Any(handles_)));
    });
  }

  void DeviceActs() {
    acts_.push_back([this] {
      gt_device out = nullptr;
      gt_device_options options = GT_INIT(gt_device_options);
      options.size = Size(options.size);
      options.memory_bytes = 64 << 20;
      options.scheduler = random_() % 8 == 0 ? 9 : 0;
      const char* const name = devices_.size() < 4 && random_() % 4 > 0 ? "host" : Word();
      if (devices_.size() < 8) Saw(gt_device_open(name, Maybe(&options), Maybe(&out)));
      Keep(out, &devices_);
    });
    acts_.push_back([this] {
      gt_stream out = nullptr;
      Saw(gt_stream_new(Any(devices_), Maybe(&out)));
      Keep(out, &streams_);
    });
    acts_.push_back([this] {
      gt_stream out = nullptr;
      Saw(gt_stream_adopt(Any(devices_), random_() % 2 == 0 ? nullptr : this, Maybe(&out)));
      Keep(out, &streams_);
    });
    acts_.push_back([this] {
      gt_event out = nullptr;
      Saw(gt_event_new(Any(devices_), random_() % 2, Maybe(&out)));
      Keep(out, &events_);
    });
    acts_.push_back([this] { Saw(gt_stream_record(Any(streams_), Any(events_))); });
    acts_.push_back([this] { Saw(gt_stream_wait(Any(streams_), Any(events_))); });
    acts_.push_back([this] { Saw(gt_stream_synchronize(Any(streams_))); });
    acts_.push_back([this] {
      int32_t done = 0;
      Saw(gt_event_is_done(Any(events_), Maybe(&done)));
      Saw(gt_stream_is_done(Any(streams_), Maybe(&done)));
    });
    acts_.push_back([this] {
      gt_memory out = nullptr;
      const auto place = static_cast<gt_place>(random_() % 3);
      Saw(gt_memory_new(Any(devices_), place, random_() % 4096, Maybe(&out)));
      Keep(out, &memories_);
    });
    acts_.push_back([this] {
      gt_range range = {};
      Saw(gt_memory_range(Any(memories_), Maybe(&range)));
    });
  }

  void ValueActs() {
    acts_.push_back([this] {
      const int64_t sizes[] = {static_cast<int64_t>(random_() % 8), Number()};
      gt_layout out = nullptr;
      const uint32_t rank = random_() % 8 == 0 ? static_cast<uint32_t>(Number()) : random_() % 3;
      // More dimensions than there are sizes would be read: the caller's own fault.
      if (rank > 2 && rank <= 64) return;
      Saw(gt_layout_new(static_cast<gt_dtype>(random_() % 9), rank, Maybe(sizes), nullptr,
                        Maybe(&out)));
      if (out != nullptr) layouts_.push_back(out);
    });
    acts_.push_back([this] {
      gt_value value = Value(), out = gt_nothing();
      Saw(gt_value_copy(Maybe(&value), Maybe(&out)));
      KeepValue(out);
    });
    acts_.push_back([this] {
      gt_value value = Value(), out = gt_nothing();
      Saw(gt_value_view(Maybe(&value), Any(layouts_), static_cast<uint64_t>(Number()),
                        Maybe(&out)));
      KeepValue(out);
    });
    acts_.push_back([this] {
      const gt_value value = Value();
      gt_text text = nullptr;
      Saw(gt_value_check(Maybe(&value)));
      Saw(gt_value_describe(Maybe(&value), Maybe(&text)));
      EXPECT_EQ(gt_release(text), nullptr);
    });
    acts_.push_back([this] {
      const gt_value value = Value();
      void* out = nullptr;
      const int32_t versioned = random_() % 2;
      Saw(gt_dlpack_new(Maybe(&value), Any(memories_), 1, 0, versioned, Maybe(&out)));
      if (out == nullptr) return;
      // Whoever has the struct ends it, at once or when everything else has gone.
      if (random_() % 2 == 0) {
        EndExported(out, versioned != 0);
      } else {
        exported_.push_back({out, versioned != 0});
      }
    });
    acts_.push_back([this] {
      gt_value out = gt_nothing();
      const uint64_t version = random_();
      Saw(gt_opaque_new(nullptr, nullptr, Maybe(&version), Maybe(&out)));
      KeepValue(out);
    });
    acts_.push_back([this] {
      if (!storages_.empty()) Saw(gt_release(Any(storages_)));
    });
  }

  void TreeActs() {
    acts_.push_back([this] {
      gt_tree out = nullptr;
      gt_tree_options options = GT_INIT(gt_tree_options);
      options.size = Size(options.size);
      options.strict = random_() % 8 == 0;
      options.check = random_() % 4 == 0;
      Saw(gt_tree_new(Any(devices_), Maybe(&options), Maybe(&out)));
      Keep(out, &trees_);
    });
    acts_.push_back([this] {
      gt_function out = nullptr;
      gt_function_options options = GT_INIT(gt_function_options);
      const uint32_t numbers[] = {0, 1, static_cast<uint32_t>(Number())};
      options.size = Size(options.size);
      options.static_inputs = Maybe(numbers);
      options.static_input_count = random_() % 3;
      options.kept_outputs = numbers;
      options.kept_output_count = random_() % 2;
      options.moving = static_cast<gt_moving>(random_() % 4);
      Saw(gt_tree_register(Any(trees_), Word(), Maybe(&options),
                           random_() % 16 == 0 ? nullptr : Body, this, nullptr, Maybe(&out)));
      Keep(out, &functions_);
    });
    for (int weight = 0; weight < 6; ++weight) {
      acts_.push_back([this] {
        gt_value inputs[3] = {Value(), Value(), Value()}, outputs[2] = {};
        size_t count = 0;
        Saw(gt_call(Any(functions_), Maybe(&inputs[0]), random_() % 4, Any(streams_),
                    Maybe(&outputs[0]), random_() % 3, Maybe(&count)));
        for (const gt_value& output : outputs) KeepValue(output);
      });
      acts_.push_back([this] { Saw(gt_tree_begin_step(Any(trees_))); });
    }
    acts_.push_back([this] {
      const gt_value input = Value();
      int32_t would = 0;
      Saw(gt_record(Any(functions_), Maybe(&input), random_() % 2, Any(streams_)));
      Saw(gt_would_replay(Any(functions_), Maybe(&input), random_() % 2, Any(streams_),
                          static_cast<gt_place_on_path>(random_() % 4), Maybe(&would)));
    });
    acts_.push_back([this] {
      gt_workspace out = nullptr;
      const gt_range range = {static_cast<uint64_t>(Number()), static_cast<uint64_t>(Number())};
      Saw(gt_workspace_new(Any(trees_), Word(), range, Maybe(&out)));
      Keep(out, &workspaces_);
      Saw(gt_workspace_touch(Any(workspaces_)));
      Saw(gt_workspace_move(Any(workspaces_), range));
    });
    acts_.push_back([this] {
      Saw(gt_tree_park(Any(trees_), static_cast<gt_contents>(random_() % 4)));
      Saw(gt_tree_wake(Any(trees_)));
    });
  }

  void RuntimeActs() {
    acts_.push_back([this] {
      const gt_device over[] = {Any(devices_), Any(devices_)};
      gt_runtime out = nullptr;
      Saw(gt_runtime_new(Maybe(over), random_() % 3, nullptr, Maybe(&out)));
      Keep(out, &runtimes_);
    });
    acts_.push_back([this] {
      const int64_t sizes[] = {8};
      gt_slot slot = GT_INIT(gt_slot);
      slot.size = Size(slot.size);
      slot.name = Word();
      slot.dtype = static_cast<gt_dtype>(random_() % 9);
      slot.rank = random_() % 2;
      slot.sizes = Maybe(sizes);
      slot.rows = static_cast<gt_key_field>(random_() % 3);
      slot.pad = static_cast<gt_pad>(random_() % 6);
      gt_program_options options = GT_INIT(gt_program_options);
      options.size = Size(options.size);
      options.name = Word();
      options.slots = Maybe(&slot);
      options.slot_count = random_() % 2;
      options.body = random_() % 16 == 0 ? nullptr : Body;
      options.context = this;
      options.device = random_() % 3;
      gt_program out = nullptr;
      Saw(gt_program_new(Any(runtimes_), Maybe(&options), Maybe(&out)));
      Keep(out, &programs_);
    });
    acts_.push_back([this] {
      const gt_key keys[] = {Key(), Key()};
      Saw(gt_program_add_shapes(Any(programs_), Maybe(keys), random_() % 3,
                                static_cast<gt_mode>(random_() % 4)));
    });
    acts_.push_back([this] { Saw(gt_program_record(Any(programs_), Any(streams_))); });
    StepActs();
    acts_.push_back([this] {
      const gt_shape shape = {Any(programs_), Key(), static_cast<gt_mode>(random_() % 4), 0};
      gt_plan out = nullptr;
      Saw(gt_plan_new(Any(runtimes_), Maybe(&shape), random_() % 2, random_() % 2 << 20,
                      Maybe(&out)));
      Keep(out, &plans_);
      Saw(gt_plan_record(Any(plans_), Any(streams_), nullptr, nullptr, nullptr));
      Saw(gt_runtime_progress(Any(runtimes_), Any(streams_), nullptr, nullptr));
    });
  }

  void StepActs() {
    for (int weight = 0; weight < 4; ++weight) {
      acts_.push_back([this] {
        const gt_key key = Key();
        gt_step_options options = GT_INIT(gt_step_options);
        options.size = Size(options.size);
        options.forbidden = random_() % 5;
        gt_step out = nullptr;
        Saw(gt_step_begin(Any(programs_), Maybe(&key), Any(streams_), Maybe(&options),
                          Maybe(&out)));
        Keep(out, &steps_);
      });
      acts_.push_back([this] {
        const gt_rows rows = {static_cast<gt_dtype>(random_() % 9), 0, words_,
                              static_cast<int64_t>(random_() % 10), 0, 0};
        const gt_value value = Value();
        Saw(gt_step_stage(Any(steps_), random_() % 2, Maybe(&rows)));
        Saw(gt_step_stage_number(Any(steps_), random_() % 2, 1e300));
        Saw(gt_step_stage_value(Any(steps_), random_() % 2, Maybe(&value)));
      });
      acts_.push_back([this] {
        gt_value out = gt_nothing();
        Saw(gt_step_run(Any(steps_), Maybe(&out), random_() % 2, nullptr));
        KeepValue(out);
      });
    }
    acts_.push_back([this] { Saw(gt_step_cancel(Any(steps_))); });
  }

  gt_key Key() {
    gt_key key = {};
    key.tokens = random_() % 8 == 0 ? static_cast<int32_t>(Number())
                                    : static_cast<int32_t>(random_() % 10);
    key.context = random_() % 8 == 0 ? GT_ANY : 0;
    return key;
  }

  void LookActs() {
    acts_.push_back([this] {
      gt_text text = nullptr;
      Saw(gt_tree_describe(Any(trees_), static_cast<gt_tree_text>(random_() % 7), Maybe(&text)));
      EXPECT_EQ(gt_release(text), nullptr);
      text = nullptr;
      Saw(gt_runtime_describe(Any(runtimes_), static_cast<gt_runtime_text>(random_() % 12), nullptr,
                              Maybe(&text)));
      EXPECT_EQ(gt_release(text), nullptr);
    });
    acts_.push_back([this] {
      gt_tree_stats stats = GT_INIT(gt_tree_stats);
      stats.size = Size(stats.size) % (sizeof(stats) + 1);  // no more than there is
      gt_choice choice = GT_INIT(gt_choice);
      Saw(gt_tree_look(Any(trees_), Maybe(&stats)));
      Saw(gt_step_look(Any(steps_), Maybe(&choice)));
    });
    acts_.push_back([this] {
      gt_value out = gt_nothing();
      Saw(gt_launcher_empty(last_launcher_, Any(layouts_), Maybe(&out)));
      EXPECT_EQ(gt_error_look(reinterpret_cast<gt_error>(Any(handles_)))->size,
                sizeof(gt_error_info));
      gt_text_chars(reinterpret_cast<gt_text>(Any(handles_)), nullptr);
    });
  }

  std::mt19937 random_;
  std::vector<std::function<void()>> acts_;
  alignas(64) uint8_t memory_[1 << 12] = {};
  uint64_t words_ = 0;
  int failures_ = 0;
  int successes_ = 0;
  gt_launcher last_launcher_ = nullptr;
  std::vector<void*> handles_;
  std::vector<gt_device> devices_;
  std::vector<gt_stream> streams_;
  std::vector<gt_event> events_;
  std::vector<gt_memory> memories_;
  struct Exported {
    void* managed;
    bool is_versioned;
  };
  std::vector<Exported> exported_;
  std::vector<gt_layout> layouts_;
  std::vector<gt_storage> storages_;
  std::vector<gt_value> values_;
  std::vector<gt_tree> trees_;
  std::vector<gt_function> functions_;
  std::vector<gt_workspace> workspaces_;
  std::vector<gt_runtime> runtimes_;
  std::vector<gt_program> programs_;
  std::vector<gt_step> steps_;
  std::vector<gt_plan> plans_;
};

TEST(FuzzTest, WrongCallsAreErrors) {
  const char* const asked = std::getenv("GRAPHTREE_FUZZ_CALLS");
  const int calls = asked != nullptr ? static_cast<int>(std::strtol(asked, nullptr, 10)) : 4000;
  const char* const from = std::getenv("GRAPHTREE_FUZZ_SEED");
  const uint32_t first = from != nullptr ? std::strtoul(from, nullptr, 10) : 1;
  for (uint32_t seed = first; seed < first + 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::printf("seed %u, %d calls\n", seed, calls);
    std::fflush(stdout);
    Fuzzer fuzzer(seed);
    fuzzer.Run(calls);
    EXPECT_GT(fuzzer.failures(), calls / 10);
    EXPECT_GT(fuzzer.successes(), calls / 10);
  }
}

}  // namespace
}  // namespace graphtree::c
