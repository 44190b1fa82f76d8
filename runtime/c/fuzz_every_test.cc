// Every function of the C interface, called with random arguments in a random order, also in the
// bodies of functions and programs: none of it crashes or hangs, every error can be released, and
// in the end everything is. Worlds where something is left are counted (worlds_left).
//
// The list of functions is made from testdata/exported_names.txt (fuzz_calls.inc), so a new
// function is called as soon as it is there. GRAPHTREE_FUZZ_CALLS makes the test long,
// GRAPHTREE_FUZZ_SEED begins elsewhere.
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/c/fuzz_arguments.h"
#include "runtime/c/graphtree.h"

namespace graphtree::c {
namespace {

void DoNothing(void*, const gt_host_call*) {}

class EveryCall {
 public:
  explicit EveryCall(uint32_t seed) : arguments_(&world_, seed, &EveryCall::Body, this) {
    running_ = this;
    AddAll();
    AddByHand();
  }

  void Run(int calls) {
    constexpr int kCallsOfWorld = 3000;
    for (int i = 0; i < calls; ++i) {
      if (i % kCallsOfWorld == 0) EndWorld();
      Act();
    }
    EndWorld();
  }
  // Which functions have gone well, and which were called at all.
  const std::map<std::string, uint64_t>& went_well() const { return went_well_; }
  uint64_t failures() const { return failures_; }
  // After how many worlds something could not be released, and what the errors said.
  int worlds_left() const { return worlds_left_; }
  const std::string& left() const { return left_; }

 private:
  struct OneAct {
    std::string name;
    std::function<gt_error()> call;
  };

  // What makes something is called more often than one in two hundred calls.
  void Act() {
    const bool makes = arguments_.Roll(3) > 0;
    const std::vector<size_t>& from = makes ? makers_ : others_;
    const OneAct& act = acts_[from[arguments_.Roll(static_cast<uint32_t>(from.size()))]];
    Saw(act.name, act.call());
  }

  void Saw(const std::string& name, gt_error error) {
    if (error == nullptr) {
      ++went_well_[name];
      return;
    }
    ++failures_;
    EXPECT_GT(gt_error_look(error)->code, GT_OK) << name;
    EXPECT_STRNE(gt_error_look(error)->text, "") << name;
    gt_error again = gt_release(error);
    EXPECT_EQ(again, nullptr) << name << ": " << gt_error_look(again)->text;
  }

  // A context may be null here.
  static inline EveryCall* running_ = nullptr;
  static gt_error Body(void*, gt_launcher on) { return running_->InBody(on); }
  gt_error InBody(gt_launcher on) {
    if (depth_ >= 2) return nullptr;
    ++depth_;
    world_.Keep(on);
    for (uint32_t i = arguments_.Roll(6); i > 0; --i) Act();
    --depth_;
    gt_value made = gt_nothing();
    const std::vector<void*>& layouts = world_.Of<gt_layout>();
    if (layouts.empty() || arguments_.Roll(8) == 0) return nullptr;
    gt_release(gt_launcher_empty(on, static_cast<gt_layout>(layouts[0]), &made));
    return gt_launcher_output(on, &made);
  }

  template <typename Function>
  void Add(const char* name, Function* function, bool makes) {
    (makes ? makers_ : others_).push_back(acts_.size());
    acts_.push_back({name, [this, name, function] { return CallOne(name, function); }});
  }
  template <typename... Types>
  gt_error CallOne(const char* name, gt_error (*function)(Types...)) {
    // Each device has a heap of its own, and many trees on it.
    if (name == std::string("gt_device_open") && world_.Of<gt_device>().size() >= 4) return nullptr;
    return arguments_.Call(function);
  }
  template <typename Result, typename... Types>
  gt_error CallOne(const char*, Result (*function)(Types...)) {
    arguments_.Call(function);
    return nullptr;
  }

  void AddAll() {
#define CALL(name) Add(#name, &name, false)
#define MAKE(name) Add(#name, &name, true)
#include "runtime/c/fuzz_calls.inc"
#undef CALL
#undef MAKE
  }

  void ByHand(const char* name, std::function<gt_error()> call) {
    others_.push_back(acts_.size());
    acts_.push_back({name, std::move(call)});
  }
  std::string Path(const char* name) {
    const char* const folder = std::getenv("TEST_TMPDIR");
    return std::string(folder == nullptr ? "/tmp" : folder) + "/" + name;
  }

  // Those whose arguments say where memory or a file is.
  void AddByHand() {
    ByHand("gt_release", [this]() -> gt_error {
      const std::vector<void*>& all = world_.all();
      if (all.empty() || arguments_.Roll(3) > 0) return nullptr;
      GiveForeignBack();
      return gt_release(all[arguments_.Roll(static_cast<uint32_t>(all.size()))]);
    });
    ByHand("gt_error_new", [this]() -> gt_error {
      gt_error made = gt_error_new(static_cast<gt_code>(arguments_.Roll(40)),
                                   arguments_.AnyWord());
      return gt_release(made);
    });
    ByHand("gt_kernel_new", [this] {
      const uint32_t bytes[] = {8, 4};
      gt_kernel_options options = GT_INIT(gt_kernel_options);
      options.name = arguments_.AnyWord();
      options.parameter_count = arguments_.Roll(3);
      options.parameter_bytes = bytes;
      options.host = arguments_.Roll(8) == 0 ? nullptr : DoNothing;
      gt_kernel out = nullptr;
      gt_error error = gt_kernel_new(&options, &out);
      world_.Keep(out);
      return error;
    });
    ByHand("gt_pool_allocate", [this] {
      const auto pool = arguments_.AnyHandle<gt_pool>();
      gt_block block = {};
      gt_error error =
          gt_pool_allocate(pool, arguments_.Roll(2048), arguments_.Roll(3) * 256,
                           arguments_.Roll(2), arguments_.AnyHandle<gt_stream>(), &block);
      if (error == nullptr) blocks_.push_back({pool, block.id});
      return error;
    });
    ByHand("gt_foreign_allocate", [this] {
      const auto tree = arguments_.AnyHandle<gt_tree>();
      uint64_t address = 0;
      gt_error error = gt_foreign_allocate(tree, arguments_.Roll(2048), nullptr, &address);
      if (error == nullptr) foreign_.push_back({tree, address});
      return error;
    });
    AddAddresses();
    AddFiles();
    AddProfile();
  }

  void AddAddresses() {
    ByHand("gt_stream_copy", [this] {
      return gt_stream_copy(arguments_.AnyHandle<gt_stream>(), arguments_.Address(),
                            arguments_.Address(), arguments_.Roll(512));
    });
    ByHand("gt_stream_fill", [this] {
      return gt_stream_fill(arguments_.AnyHandle<gt_stream>(), arguments_.Address(), 1,
                            arguments_.Roll(6), arguments_.Roll(64));
    });
    ByHand("gt_executable_patch_copy", [this] {
      return gt_executable_patch_copy(arguments_.AnyHandle<gt_executable>(), arguments_.Roll(4),
                                      arguments_.Address(), arguments_.Address(),
                                      arguments_.Roll(512));
    });
    ByHand("gt_executable_patch_fill", [this] {
      return gt_executable_patch_fill(arguments_.AnyHandle<gt_executable>(), arguments_.Roll(4),
                                      arguments_.Address(), 1, arguments_.Roll(6),
                                      arguments_.Roll(64));
    });
  }

  void AddFiles() {
    ByHand("gt_tree_write_snapshot", [this] {
      return gt_tree_write_snapshot(arguments_.AnyHandle<gt_tree>(), Path("tree.pickle").c_str());
    });
    ByHand("gt_pool_write_snapshot", [this] {
      return gt_pool_write_snapshot(arguments_.AnyHandle<gt_pool>(), Path("pool.pickle").c_str());
    });
    ByHand("gt_runtime_open_door", [this] {
      return gt_runtime_open_door(arguments_.AnyHandle<gt_runtime>(), Path("door").c_str());
    });
  }

  void AddProfile() {
    ByHand("gt_profile_start", [this]() -> gt_error {
      // Each has threads and a file.
      if (arguments_.Roll(8) > 0) return nullptr;
      const std::string path = Path("profile.json");
      gt_profile_options options = GT_INIT(gt_profile_options);
      options.path = arguments_.Roll(8) == 0 ? nullptr : path.c_str();
      options.mode = static_cast<gt_profile_mode>(arguments_.Roll(5));
      options.most_replays = arguments_.Roll(3);
      options.runtime = arguments_.AnyHandle<gt_runtime>();
      gt_profile out = nullptr;
      gt_error error = gt_profile_start(arguments_.AnyHandle<gt_device>(), &options, &out);
      world_.Keep(out);
      return error;
    });
    ByHand("gt_profile_wait", [this] {
      int32_t over = 0;
      return gt_profile_wait(arguments_.AnyHandle<gt_profile>(), arguments_.Roll(2), &over);
    });
  }

  // A tree's memory stays while foreign blocks of it are out, and they go back through its handle.
  void GiveForeignBack() {
    for (const auto& [tree, address] : foreign_) {
      gt_release(gt_foreign_give_back(tree, address, nullptr));
    }
    foreign_.clear();
  }

  // What belongs to something goes first; a device goes when nothing of it is left.
  void EndWorld() {
    gt_release(gt_foreign_install(0, nullptr));
    // A pool is not closed while it has blocks, nor are they freed while it is parked.
    for (const auto& [pool, block] : blocks_) {
      gt_release(gt_pool_wake(pool));
      gt_release(gt_pool_free(pool, block));
    }
    blocks_.clear();
    GiveForeignBack();
    for (int round = 0; round < 4; ++round) {
      for (size_t n = world_.all().size(); n > 0; --n) gt_release(gt_release(world_.all()[n - 1]));
    }
    for (void* handle : world_.all()) {
      const gt_error error = gt_release(handle);
      if (error == nullptr || gt_error_look(error)->code == GT_BAD_HANDLE) {
        gt_release(error);
        continue;
      }
      left_ += gt_error_look(error)->text + std::string("\n");
      gt_release(error);
    }
    const size_t live = gt_live_handles();
    worlds_left_ += live > live_before_ ? 1 : 0;
    live_before_ = live;
    world_.Forget();
  }

  FuzzWorld world_;
  Arguments arguments_;
  std::vector<OneAct> acts_;
  std::vector<size_t> makers_, others_;
  std::vector<std::pair<gt_pool, uint64_t>> blocks_;
  std::vector<std::pair<gt_tree, uint64_t>> foreign_;
  std::map<std::string, uint64_t> went_well_;
  uint64_t failures_ = 0;
  size_t live_before_ = gt_live_handles();
  int worlds_left_ = 0;
  std::string left_;
  int depth_ = 0;
};

uint32_t NumberOf(const char* variable, uint32_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : static_cast<uint32_t>(std::strtoul(text, nullptr, 10));
}

TEST(FuzzEveryTest, AnyFunctionTakesAnything) {
  const int calls = static_cast<int>(NumberOf("GRAPHTREE_FUZZ_CALLS", 6000));
  const uint32_t first = NumberOf("GRAPHTREE_FUZZ_SEED", 1);
  std::map<std::string, uint64_t> went_well;
  const uint32_t seeds = NumberOf("GRAPHTREE_FUZZ_SEEDS", 4);
  for (uint32_t seed = first; seed < first + seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    EveryCall every(seed);
    every.Run(calls);
    EXPECT_GT(every.failures(), static_cast<uint64_t>(calls) / 10);
    EXPECT_EQ(every.worlds_left(), 0) << every.left();
    if (every.worlds_left() > 0) {
      std::printf("seed %u, %d calls: %d worlds left %s\n", seed, calls, every.worlds_left(),
                  every.left().c_str());
      std::fflush(stdout);
    }
    for (const auto& [name, count] : every.went_well()) went_well[name] += count;
  }
  // Wrong calls alone would say little: most functions also go well.
  EXPECT_GE(went_well.size(), 120u);
  std::printf("%zu functions went well\n", went_well.size());
}

}  // namespace
}  // namespace graphtree::c
