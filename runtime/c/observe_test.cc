// Observers, scopes and hooks of functions through the C interface.
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/c/test_tree.h"

namespace graphtree::c {
namespace {

// What an observer has heard.
struct Heard {
  int events[5] = {};    // by kind
  int moments[6] = {};
  int phases[GT_PHASE_REQUEST + 1] = {};
  int destroyed = 0;
  std::vector<std::string> names;  // of functions; of ops where it is about one
  std::vector<uint64_t> op_counts;
  gt_observer ends = nullptr;      // that one, in the first call
  gt_observer releases = nullptr;  // likewise
  gt_function calls = nullptr;
  std::string said;                // by what was called
};

void Hear(void* context, const gt_observed* event) {
  auto& heard = *static_cast<Heard*>(context);
  EXPECT_EQ(event->size, sizeof(gt_observed));
  ++heard.events[event->kind];
  if (event->kind == GT_SAW_GRAPH) {
    ++heard.moments[event->moment];
    if (event->moment == GT_REPLAY_BEGIN) heard.op_counts.push_back(event->op_count);
  }
  if (event->kind >= GT_SAW_PHASE_BEGIN) ++heard.phases[event->phase];
  heard.names.emplace_back(event->op != nullptr ? event->op : event->function,
                           event->op != nullptr ? event->op_bytes : event->function_bytes);
  if (heard.ends != nullptr) {
    EXPECT_FINE(gt_observer_end(heard.ends));
  }
  if (heard.releases != nullptr) heard.said = TextOf(gt_release(heard.releases));
  if (heard.calls != nullptr) {
    heard.said = TextOf(gt_call(heard.calls, nullptr, 0, nullptr, nullptr, 0, nullptr));
  }
}

// Released before what it tells.
class Watching {
 public:
  explicit Watching(gt_observer observer) : observer_(observer) {}
  ~Watching() { EXPECT_FINE(gt_release(observer_)); }
  Watching(const Watching&) = delete;
  Watching& operator=(const Watching&) = delete;

 private:
  const gt_observer observer_;
};

class ObserveTest : public TreeCTest {
 protected:
  gt_observer Observe(gt_tree tree, const gt_observe_options* options, Heard* heard) {
    gt_observer observer = nullptr;
    EXPECT_FINE(gt_observe(
        tree, options, Hear, heard,
        [](void* context) { ++static_cast<Heard*>(context)->destroyed; }, &observer));
    return observer;
  }
  void Steps(gt_function function, int steps) {
    for (int step = 0; step < steps; ++step) {
      EXPECT_FINE(gt_tree_begin_step(tree()));
      const gt_value out = Call(function, {x_});
      EXPECT_EQ(Read(out), std::vector<int32_t>(kCount, 4));
      EXPECT_FINE(gt_release(out.storage));
    }
  }

 private:
  const gt_value x_ = Words(1);
};

gt_observe_options All() {
  gt_observe_options options = GT_INIT(gt_observe_options);
  options.ops = 1;
  options.phases = 1;
  return options;
}

TEST_F(ObserveTest, GraphsOpsAndPhasesAreTold) {
  Heard heard;
  const gt_observe_options all = All();
  const gt_observer observer = Observe(tree(), &all, &heard);
  const gt_function add = Register("add three", AddThree);
  Steps(add, 4);
  EXPECT_EQ(heard.moments[GT_INSTANTIATE], 1);
  EXPECT_EQ(heard.moments[GT_REPLAY_BEGIN], 3) << "the recording's own launch, and two replays";
  EXPECT_EQ(heard.moments[GT_REPLAY_END], 3);
  EXPECT_THAT(heard.op_counts, ::testing::Each(::testing::Ge(1u)));
  EXPECT_GE(heard.events[GT_SAW_OP_BEGIN], 1);
  EXPECT_EQ(heard.events[GT_SAW_OP_BEGIN], heard.events[GT_SAW_OP_END]);
  EXPECT_GE(heard.phases[GT_PHASE_WARM_UP], 2);
  EXPECT_GE(heard.phases[GT_PHASE_RECORD], 2);
  EXPECT_EQ(heard.events[GT_SAW_PHASE_BEGIN], heard.events[GT_SAW_PHASE_END]);
  EXPECT_THAT(heard.names, ::testing::Contains("add three"));
  EXPECT_THAT(heard.names, ::testing::Contains("add"));
  EXPECT_EQ(heard.destroyed, 0);
  EXPECT_FINE(gt_release(observer));
  EXPECT_EQ(heard.destroyed, 1);
}

TEST_F(ObserveTest, WithoutWishesThereAreGraphsAndReplays) {
  Heard heard, replays;
  gt_observe_options options = GT_INIT(gt_observe_options);
  options.no_graphs = 1;
  options.replay_in = 2;
  const Watching watching(Observe(tree(), nullptr, &heard));
  const Watching sampling(Observe(tree(), &options, &replays));
  Steps(Register("add", AddThree), 5);
  EXPECT_EQ(heard.events[GT_SAW_OP_BEGIN] + heard.events[GT_SAW_PHASE_BEGIN], 0);
  EXPECT_EQ(heard.moments[GT_CAPTURE_END], 1);
  EXPECT_EQ(heard.moments[GT_REPLAY_END], 4);
  EXPECT_EQ(replays.moments[GT_CAPTURE_END], 0);
  EXPECT_EQ(replays.moments[GT_REPLAY_END], 2) << "the first of two each";
}

TEST_F(ObserveTest, AnObserverOfAllTreesHearsOfThoseThatCome) {
  Heard heard;
  const gt_observer observer = Observe(nullptr, nullptr, &heard);
  Steps(Register("add", AddThree), 3);
  EXPECT_EQ(heard.moments[GT_REPLAY_END], 2);
  EXPECT_FINE(gt_release(observer));
  EXPECT_EQ(heard.destroyed, 1);
}

TEST_F(ObserveTest, OneThatEndsWithinItsCallHearsNothingMore) {
  Heard heard, other;
  const gt_observer observer = Observe(tree(), nullptr, &heard);
  const Watching others(Observe(tree(), nullptr, &other));
  heard.ends = observer;
  const gt_function add = Register("add", AddThree);
  Steps(add, 3);
  EXPECT_EQ(heard.events[GT_SAW_GRAPH], 1);
  EXPECT_EQ(other.moments[GT_REPLAY_END], 2) << "the other one goes on";
  EXPECT_EQ(heard.destroyed, 0);
  EXPECT_FINE(gt_observer_end(observer));
  EXPECT_FINE(gt_release(observer));
  EXPECT_EQ(heard.destroyed, 1);
  EXPECT_FAILS(gt_observer_end(observer), GT_BAD_HANDLE, "was released");
}

TEST_F(ObserveTest, OneThatIsReleasedWithinACallIsAnError) {
  Heard heard;
  const gt_observer observer = Observe(tree(), nullptr, &heard);
  heard.releases = observer;
  const gt_function add = Register("add", AddThree);
  Steps(add, 2);
  EXPECT_THAT(heard.said, ::testing::HasSubstr("gt_observer_end ends an observer there"));
  EXPECT_GT(heard.events[GT_SAW_GRAPH], 1) << "it goes on";
  EXPECT_FINE(gt_release(observer));
}

TEST_F(ObserveTest, OneThatCallsTheTreeGetsItsError) {
  Heard heard;
  const Watching watching(Observe(tree(), nullptr, &heard));
  const gt_function add = Register("add", AddThree);
  heard.calls = Register("nothing", [](gt_launcher) -> gt_error { return nullptr; });
  Steps(add, 3);
  EXPECT_NE(heard.said, "");
  heard.calls = nullptr;
}

TEST_F(ObserveTest, OneThatGoesWithItsTreeWithinACallIsLeftToTheNext) {
  struct Ending {
    gt_tree tree = nullptr;
    int destroyed = 0;
  } ending;
  gt_observer observer = nullptr;
  ASSERT_FINE(gt_tree_new(device(), nullptr, &ending.tree));
  ASSERT_FINE(gt_observe(
      ending.tree, nullptr,
      [](void* context, const gt_observed*) {
        auto& ends = *static_cast<Ending*>(context);
        if (ends.tree == nullptr) return;
        EXPECT_FINE(gt_release(ends.tree));
        ends.tree = nullptr;
      },
      &ending, [](void* context) { ++static_cast<Ending*>(context)->destroyed; }, &observer));
  gt_function function = nullptr;
  ASSERT_FINE(gt_tree_register(ending.tree, "add", nullptr, AddThree, this, nullptr, &function));
  for (int step = 0; step < 2; ++step) {
    gt_value x = Words(1), out = gt_nothing();
    gt_release(gt_call(function, &x, 1, stream(), &out, 1, nullptr));
    EXPECT_FINE(gt_stream_synchronize(stream()));
    EXPECT_FINE(gt_release(out.storage));
  }
  EXPECT_EQ(ending.tree, nullptr) << "the observer was told";
  EXPECT_FAILS(gt_observer_end(observer), GT_BAD_HANDLE, "has ended with what it belonged to");
  Heard heard;
  const gt_observer next = Observe(nullptr, nullptr, &heard);
  EXPECT_FINE(gt_release(next));
  EXPECT_EQ(ending.destroyed, 1);
}

TEST_F(ObserveTest, WrongOnesAreErrors) {
  Heard heard;
  gt_observer out = nullptr;
  const auto destroy = [](void* context) { ++static_cast<Heard*>(context)->destroyed; };
  EXPECT_FAILS(gt_observe(nullptr, nullptr, nullptr, &heard, destroy, &out), GT_INVALID_ARGUMENT,
               "saw is null");
  EXPECT_FAILS(gt_observe(nullptr, nullptr, Hear, &heard, destroy, nullptr), GT_INVALID_ARGUMENT,
               "out is null");
  EXPECT_FAILS(gt_observe(reinterpret_cast<gt_tree>(stream()), nullptr, Hear, &heard, destroy,
                          &out),
               GT_BAD_HANDLE, "tree is a stream");
  EXPECT_EQ(heard.destroyed, 3);
  EXPECT_FAILS(gt_observer_end(nullptr), GT_BAD_HANDLE, "observer is null");
}

// ---- Scopes

TEST_F(ObserveTest, ScopesEndInTheirOrder) {
  EXPECT_FAILS(gt_tree_pop_scope(tree()), GT_FAILED_PRECONDITION, "no scope is open");
  EXPECT_FAILS(gt_tree_push_scope(tree(), nullptr), GT_INVALID_ARGUMENT, "name is null");
  EXPECT_FAILS(gt_tree_push_scope(nullptr, "step"), GT_BAD_HANDLE, "tree is null");
  EXPECT_FINE(gt_tree_push_scope(tree(), "step"));
  const gt_function add = Register("add", [&](gt_launcher on) -> gt_error {
    EXPECT_FINE(gt_launcher_push_scope(on, "layer 1"));
    EXPECT_FINE(gt_launcher_push_scope(on, "norm"));
    const gt_error error = Add(on, 3);
    EXPECT_FINE(gt_launcher_pop_scope(on));
    EXPECT_FINE(gt_launcher_pop_scope(on));
    return error;
  });
  Steps(add, 3);
  EXPECT_FINE(gt_tree_pop_scope(tree()));
  EXPECT_FAILS(gt_tree_pop_scope(tree()), GT_FAILED_PRECONDITION, "no scope is open");
}

TEST_F(ObserveTest, APopTooManyFailsTheBody) {
  const gt_function add = Register("add", [](gt_launcher on) -> gt_error {
    return gt_launcher_pop_scope(on);
  });
  EXPECT_FAILS(gt_call(add, nullptr, 0, stream(), nullptr, 0, nullptr), GT_FAILED_PRECONDITION,
               "no scope is open");
}

// ---- Hooks

struct Hooked {
  int before[5] = {};
  int after[5] = {};
  int failed = 0;
  int destroyed = 0;
  bool refuses = false;
  std::vector<std::string> names;
};

gt_function_options HooksTo(Hooked* hooked) {
  gt_function_options options = GT_INIT(gt_function_options);
  options.before_launch = [](void* context, const gt_launch_info* launch) -> gt_error {
    auto& told = *static_cast<Hooked*>(context);
    ++told.before[launch->run];
    EXPECT_EQ(std::string(launch->function, launch->function_bytes), "add");
    if (launch->op != nullptr) told.names.emplace_back(launch->op, launch->op_bytes);
    EXPECT_EQ(launch->op_count == 0, launch->op != nullptr);
    return told.refuses ? gt_error_new(GT_RESOURCE_EXHAUSTED, "not admitted") : nullptr;
  };
  options.after_launch = [](void* context, const gt_launch_info* launch) {
    auto& told = *static_cast<Hooked*>(context);
    ++told.after[launch->run];
    if (launch->ok == 0) ++told.failed;
  };
  options.hooks_context = hooked;
  options.destroy_hooks = [](void* context) { ++static_cast<Hooked*>(context)->destroyed; };
  return options;
}

TEST_F(ObserveTest, HooksSeeEachLaunchAndMayStopIt) {
  Hooked hooked;
  const gt_function_options options = HooksTo(&hooked);
  const gt_function add = Register("add", AddThree, &options);
  Steps(add, 4);
  EXPECT_EQ(hooked.before[GT_RUN_WARM_UP], 1);
  EXPECT_EQ(hooked.before[GT_RUN_REPLAY], 2);
  EXPECT_EQ(hooked.after[GT_RUN_REPLAY], 2);
  EXPECT_THAT(hooked.names, ::testing::Contains("add"));
  hooked.refuses = true;
  EXPECT_FINE(gt_tree_begin_step(tree()));
  gt_value x = Words(1), out = gt_nothing();
  EXPECT_FAILS(gt_call(add, &x, 1, stream(), &out, 1, nullptr), GT_RESOURCE_EXHAUSTED,
               "not admitted");
  hooked.refuses = false;
  Steps(add, 1);
  EXPECT_EQ(hooked.failed, 0);
  EXPECT_FINE(gt_release(add));
  EXPECT_EQ(hooked.destroyed, 1);
}

TEST_F(ObserveTest, NobodyChangesATreeInTheMiddleOfItsCall) {
  struct Both {
    gt_tree told, other;
    std::vector<std::string> said;
    int fine;
  } both = {tree(), nullptr, {}, 0};
  ASSERT_FINE(gt_tree_new(device(), nullptr, &both.other));
  gt_observer observer = nullptr;
  ASSERT_FINE(gt_observe(
      tree(), nullptr,
      [](void* context, const gt_observed* event) {
        auto& it = *static_cast<Both*>(context);
        if (event->kind != GT_SAW_GRAPH || event->moment != GT_REPLAY_BEGIN) return;
        it.said = {TextOf(gt_tree_begin_step(it.told)), TextOf(gt_tree_park(it.told, GT_KEEP)),
                   TextOf(gt_tree_wake(it.told))};
        gt_error error = gt_tree_begin_step(it.other);
        if (error == nullptr) ++it.fine;
      },
      &both, nullptr, &observer));
  const gt_function add = Register("add", AddThree);
  Steps(add, 4);
  ASSERT_EQ(both.said.size(), 3u);
  for (const std::string& said : both.said) {
    EXPECT_THAT(said, ::testing::HasSubstr("in the middle of a call of that tree"));
  }
  EXPECT_GE(both.fine, 1);
  EXPECT_FINE(gt_release(observer));
  EXPECT_FINE(gt_release(both.other));
}

TEST_F(ObserveTest, HooksOfAFunctionThatIsRefusedGoAtOnce) {
  Hooked hooked;
  gt_function_options options = HooksTo(&hooked);
  options.moving = 9;
  gt_function out = nullptr;
  EXPECT_FAILS(gt_tree_register(tree(), "add", &options, AddThree, this, nullptr, &out),
               GT_INVALID_ARGUMENT, "moving");
  EXPECT_EQ(hooked.destroyed, 1);
}

}  // namespace
}  // namespace graphtree::c
