// What programs are made of, and how often.
#include "tests/outsider/generate.h"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <vector>

#include "tests/outsider/model.h"

namespace graphtree::outsider {
namespace {

class Dice {
 public:
  // Seeds that follow each other give unlike sequences.
  explicit Dice(uint64_t seed) : state_(Mixed(seed)) {}
  uint64_t Next() { return Mixed(state_ += 0x9E3779B97F4A7C15); }
  int Below(int n) { return static_cast<int>(Next() % static_cast<uint64_t>(n)); }
  bool Chance(int percent) { return Below(100) < percent; }
  int Of(std::initializer_list<int> values) {
    return values.begin()[Below(static_cast<int>(values.size()))];
  }
  // A mask of the first `bits`, each with the chance.
  int Mask(int bits, int percent) {
    int mask = 0;
    for (int i = 0; i < bits; ++i) mask |= Chance(percent) ? 1 << i : 0;
    return mask;
  }

 private:
  static uint64_t Mixed(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }

  uint64_t state_;
};

template <typename What>
struct Weight {
  What what;
  int weight;
};

template <typename What>
What Pick(Dice& dice, std::initializer_list<Weight<What>> rows) {
  int sum = 0;
  for (const auto& row : rows) sum += row.weight;
  int left = dice.Below(sum);
  for (const auto& row : rows) {
    if (left < row.weight) return row.what;
    left -= row.weight;
  }
  return rows.begin()->what;
}

class Maker {
 public:
  Maker(uint64_t seed, const Taste& taste) : dice_(seed), taste_(taste) {}

  Program Make() {
    Options();
    const int functions = 1 + dice_.Below(4);
    for (int i = 0; i < functions; ++i) Function(0);
    for (int i = dice_.Below(3); i > 0; --i) Function(1);
    Loop();
    for (const std::string& name : taste_.without) LeaveOut(name);
    return program_;
  }

 private:
  static void LeaveOutOf(std::vector<Statement>* body, const std::string& name) {
    body->erase(std::remove_if(body->begin(), body->end(),
                               [&](const Statement& line) { return name == NameOf(line.what); }),
                body->end());
    for (Statement& line : *body) LeaveOutOf(&line.part, name);
  }
  void LeaveOut(const std::string& name) {
    for (size_t i = 0; i < kOptionCount; ++i) {
      if (name == NameOf(static_cast<Option>(i))) program_.options[i] = 0;
    }
    for (FunctionPlan& function : program_.functions) {
      LeaveOutOf(&function.body, name);
      for (size_t i = 0; i < kTraitCount; ++i) {
        if (name == NameOf(static_cast<Trait>(i))) function.traits[i] = 0;
      }
    }
    std::vector<Action>& actions = program_.actions;
    actions.erase(std::remove_if(actions.begin(), actions.end(),
                                 [&](const Action& a) { return name == NameOf(a.what); }),
                  actions.end());
  }

  void Options() {
    Program& p = program_;
    p[Option::kDeviceSeed] = dice_.Below(1000);
    p[Option::kCloseOrder] = dice_.Below(32);
    p[Option::kObserved] = dice_.Chance(50);
    p[Option::kCheck] = dice_.Chance(15);
    p[Option::kStrict] = dice_.Chance(4);
    p[Option::kDisabled] = dice_.Chance(3);
    p[Option::kImmediate] = dice_.Chance(5);
    p[Option::kPatchBytes] = dice_.Chance(50) ? dice_.Of({1, 64, 256, 1024}) : 0;
    p[Option::kNoSpare] = dice_.Chance(10);
    const auto seldom = [&](Option option, std::initializer_list<int> values) {
      if (dice_.Chance(6)) p[option] = dice_.Of(values);
    };
    seldom(Option::kPoolKib, {2048, 4096, 6144, 8192});
    seldom(Option::kInitialKib, {64, 2048, 16384});
    seldom(Option::kRerecordLimit, {1, 2, 3});
    seldom(Option::kKeptBytes, {64, 512, 4096});
    seldom(Option::kNodes, {1, 2, 3, 5});
    seldom(Option::kExecutables, {1, 2, 3});
    seldom(Option::kExecutableKib, {120, 240, 500});
    seldom(Option::kSiblings, {1, 2});
    seldom(Option::kShapesOfFunction, {1, 2});
    seldom(Option::kShapes, {1, 2, 3});
    seldom(Option::kRetryAfter, {1, 4, 10});
    seldom(Option::kWarmUpLimit, {1, 2});
    if (dice_.Chance(10)) p[Option::kRoundTrips] = 1 + dice_.Below(2);
  }

  int LayoutCode() {
    return dice_.Chance(60) ? dice_.Below(4) : dice_.Below(dice_.Chance(95) ? 24 : kLayoutCodes);
  }
  int Slot() { return dice_.Below(12); }

  void Function(int tree) {
    FunctionPlan f;
    const int inputs = dice_.Below(4) + (dice_.Chance(80) ? 1 : 0);
    f[Trait::kTree] = tree;
    f[Trait::kInputs] = inputs;
    f[Trait::kStatics] = dice_.Mask(inputs, 20);
    f[Trait::kWritable] = dice_.Mask(inputs, 25);
    f[Trait::kMutated] = dice_.Mask(inputs, 25) & f[Trait::kWritable];
    f[Trait::kExclude] = dice_.Chance(8);
    f[Trait::kMoving] = dice_.Chance(80) ? 0 : 1 + dice_.Below(2);
    f[Trait::kChecked] = dice_.Chance(4);
    if (inputs > 0 && dice_.Chance(12)) {
      f[Trait::kAlignedInput] = dice_.Below(inputs);
      f[Trait::kAlignment] = dice_.Of({2, 16, 64, 256, 512});
    }
    if (dice_.Chance(3)) f[Trait::kMostOutputs] = 1 + dice_.Below(3);
    if (dice_.Chance(4)) f[Trait::kRecordedSize] = dice_.Of({1, 2, 64, 256});
    f[Trait::kSkipVarying] = dice_.Chance(4);
    f.body = Body(1 + dice_.Below(6), 0);
    if (f[Trait::kAlignment] != 0) f.body.push_back({Do::kAligned, {0, Slot()}});
    for (int i = dice_.Below(3) + (dice_.Chance(90) ? 1 : 0); i > 0; --i) {
      f.returns.push_back(dice_.Chance(5) ? -1 - dice_.Below(2) : inputs + dice_.Below(5));
    }
    // What a nested call drew is not given back where the call around it is done again.
    if (tree == 1 && taste_.faults) LeaveOutOf(&f.body, NameOf(Do::kRandom));
    const int outputs = static_cast<int>(f.returns.size());
    if (dice_.Chance(20)) f[Trait::kKept] = dice_.Mask(outputs + (dice_.Chance(5) ? 1 : 0), 60);
    // One more that was surely made here.
    if (dice_.Chance(70)) f.body.insert(f.body.begin(), Line(Do::kNew, 0));
    program_.functions.push_back(f);
  }

  std::vector<Statement> Body(int lines, int depth) {
    std::vector<Statement> body;
    for (int i = 0; i < lines; ++i) body.push_back(Line(depth == 0 ? Any() : InPart(depth), depth));
    return body;
  }

  Do Any() {
    return Pick<Do>(
        dice_, {{Do::kNew, 100},     {Do::kRows, 15},        {Do::kUnused, 12},
                {Do::kMix, 60},      {Do::kBump, 40},        {Do::kJoin, 30},
                {Do::kElements, 25}, {Do::kFill, 25},        {Do::kCopy, 25},
                {Do::kView, 40},     {Do::kRawFill, 12},     {Do::kRawMix, 20},
                {Do::kRawCopy, 12},  {Do::kFork, 14},        {Do::kUnjoined, 2},
                {Do::kScratch, 16},  {Do::kScratchFill, 10}, {Do::kForeignTemp, 12},
                {Do::kForeignHeld, 10}, {Do::kWorkspace, 10}, {Do::kRandom, 20},
                {Do::kDrop, 25},     {Do::kBreak, 22},       {Do::kKeepAlive, 6},
                {Do::kWarmUpAgain, 4}, {Do::kSync, 3},       {Do::kNested, 8},
                {Do::kStash, 10},    {Do::kClosure, 14},     {Do::kByInteger, 10},
                {Do::kFailIf, 3},     {Do::kThrowIf, 3},       {Do::kReenter, 2},
                {Do::kScratchPart, 6}});
  }
  Do InPart(int depth) {
    return Pick<Do>(
        dice_, {{Do::kNew, 40},      {Do::kUnused, 6},       {Do::kMix, 40},
                {Do::kBump, 30},     {Do::kJoin, 15},        {Do::kElements, 12},
                {Do::kFill, 15},     {Do::kCopy, 15},        {Do::kView, 12},
                {Do::kRawMix, 12},   {Do::kRawFill, 6},      {Do::kFork, 6},
                {Do::kScratch, 12},  {Do::kScratchFill, 10}, {Do::kForeignTemp, 8},
                {Do::kForeignHeld, 5}, {Do::kWorkspace, 10}, {Do::kRandom, 15},
                {Do::kHostSees, 30}, {Do::kKeepAlive, 6},    {Do::kWarmUpAgain, 4},
                {Do::kSync, 5},      {Do::kNested, 15},      {Do::kClosure, 6},
                {Do::kDrop, 5},      {Do::kByInteger, 8},    {Do::kBreak, depth < 3 ? 15 : 1},
                {Do::kFailIf, 2},     {Do::kThrowIf, 2},       {Do::kReenter, 2},
                {Do::kScratchPart, 4}});
  }

  Statement Line(Do what, int depth) {
    Statement line = {what, {Slot(), Slot(), dice_.Below(250), dice_.Below(250)}};
    auto& n = line.n;
    switch (what) {
      case Do::kNew:
      case Do::kUnused: n[0] = LayoutCode() + (what == Do::kUnused ? dice_.Below(17) : 0); break;
      case Do::kJoin: n[2] = Slot(); break;
      case Do::kView: n = {n[0], Offset(), LayoutCode()}; break;
      case Do::kClosure: n = {dice_.Below(4), Offset(), LayoutCode(), dice_.Chance(30)}; break;
      case Do::kScratch:
      case Do::kScratchPart:
      case Do::kForeignTemp: n[2] = dice_.Of({1, 64, 100, 512, 4096, 20000}); break;
      case Do::kScratchFill: n[0] = dice_.Of({1, 64, 1000, 4096, 65536}); break;
      case Do::kFork: n[3] = dice_.Below(3); break;
      case Do::kForeignHeld:
      case Do::kWorkspace: n = {dice_.Below(3), n[0], n[1], n[2]}; break;
      case Do::kRandom: n = {dice_.Below(2), n[0], dice_.Below(8)}; break;
      case Do::kNested: n = {dice_.Below(3), n[0], n[1]}; break;
      case Do::kStash: n = {dice_.Below(3), n[1]}; break;
      case Do::kThrowIf:
      case Do::kFailIf: n = {n[0], dice_.Below(6), n[2]}; break;
      case Do::kBreak:
        n = {n[0], n[1], Slot(), dice_.Below(27), dice_.Below(4)};
        line.part = Body(1 + dice_.Below(4), depth + 1);
        break;
      default: break;
    }
    return line;
  }

  int Offset() {
    return dice_.Chance(50) ? 512 * dice_.Below(8)
                            : dice_.Chance(50) ? 16 * dice_.Below(256) : dice_.Below(4096);
  }

  InputPlan Input(int call) {
    InputPlan plan;
    plan.from = Pick<From>(dice_, {{From::kBuffer, 45},
                                   {From::kShelf, call > 0 ? 45 : 8},
                                   {From::kBlock, 4},
                                   {From::kInteger, 8},
                                   {From::kOpaque, 3},
                                   {From::kVersioned, 3},
                                   {From::kNothing, 3}});
    auto& n = plan.n;
    switch (plan.from) {
      case From::kShelf:
        n = {call > 0 ? 3 * dice_.Below(call) + dice_.Below(2) : dice_.Below(16), dice_.Below(2)};
        break;
      case From::kBuffer:
      case From::kBlock: n = {dice_.Below(4), Offset(), LayoutCode()}; break;
      default: n = {dice_.Below(5)}; break;
    }
    return plan;
  }

  Action Call(int call) {
    Action action = {Act::kRun};
    const int function = dice_.Below(static_cast<int>(program_.functions.size()));
    action.n = {function, dice_.Chance(85) ? 0 : dice_.Below(3), 3 * call};
    for (int i = program_.functions[function][Trait::kInputs]; i > 0; --i) {
      action.inputs.push_back(Input(call));
    }
    return action;
  }

  // Something about a call that is not as it was last time.
  void Change(Action* action) {
    if (dice_.Chance(25)) action->n[1] = dice_.Below(3);
    if (action->inputs.empty()) return;
    InputPlan& input = action->inputs[dice_.Below(static_cast<int>(action->inputs.size()))];
    switch (input.from) {
      case From::kShelf:
        if (dice_.Chance(5)) {
          input.n[2] = 1;
        } else {
          input.n[1] ^= 1;
        }
        return;
      case From::kBuffer: (dice_.Chance(80) ? input.n[1] : input.n[2]) = Offset(); return;
      case From::kInteger: input.n[0] = dice_.Below(6); return;
      default:
        if (dice_.Chance(5)) input = {From::kConsumed};
        return;
    }
  }

  Action Between() {
    const Act what = Pick<Act>(
        dice_, {{Act::kDrop, 20},  {Act::kDropOnThread, 1}, {Act::kHold, 12},
                {Act::kLook, 12},  {Act::kWrite, 12},       {Act::kFill, 12},
                {Act::kReadBack, 12}, {Act::kCheck, 30},    {Act::kPark, 5},
                {Act::kWake, 5},   {Act::kTrim, 5},         {Act::kStats, 5},
                {Act::kSnapshot, 2}, {Act::kMoveWorkspace, 5}, {Act::kAllocateBlock, 8},
                {Act::kFreeBlock, 6}, {Act::kSeed, 3},      {Act::kForget, 5},
                {Act::kPrune, 2},  {Act::kStep, 6},         {Act::kUnregister, 4}});
    Action action = {what, {dice_.Below(16), dice_.Below(16), Offset(), LayoutCode(), 0}};
    auto& n = action.n;
    if (what == Act::kWrite || what == Act::kFill) {
      n = {dice_.Below(4), Offset(), dice_.Below(1000), dice_.Below(256), dice_.Below(3)};
    }
    if (what == Act::kPark || what == Act::kWake || what == Act::kStep) n = {dice_.Chance(25)};
    if (what == Act::kAllocateBlock) n = {dice_.Below(3), dice_.Below(5000)};
    if (what == Act::kTrim) n = {dice_.Chance(25)};
    return action;
  }

  // A pool is not left parked for long: little happens meanwhile.
  void PutBetween() {
    const Action between = Between();
    program_.actions.push_back(between);
    if (between.what != Act::kPark || dice_.Chance(20)) return;
    if (dice_.Chance(40)) program_.actions.push_back(Between());
    program_.actions.push_back({Act::kWake, between.n});
  }

  void PutFault() {
    if (dice_.Chance(50)) {
      program_.actions.push_back({Act::kFault, {dice_.Below(60), dice_.Chance(97) ? dice_.Below(4)
                                                                                 : 4}});
    } else {
      program_.actions.push_back(
          {Act::kFaultAt,
           {dice_.Below(16), dice_.Below(6), dice_.Chance(97) ? dice_.Below(4) : 4}});
    }
  }

  void Loop() {
    std::vector<Action> step;
    const int calls = 1 + dice_.Below(5);
    for (int i = 0; i < calls; ++i) step.push_back(Call(i));
    const int rounds = 3 + dice_.Below(8);
    const int restless = dice_.Of({0, 5, 15, 30});
    const int busy = dice_.Of({5, 20, 40});
    for (int round = 0; round < rounds; ++round) {
      if (dice_.Chance(95)) program_.actions.push_back({Act::kStep, {0}});
      if (dice_.Chance(50)) program_.actions.push_back({Act::kStep, {1}});
      if (dice_.Chance(30)) DropAll();
      for (int i = 0; i < calls; ++i) {
        if (dice_.Chance(busy)) PutBetween();
        if (taste_.faults && dice_.Chance(12)) PutFault();
        if (dice_.Chance(restless / 3)) continue;
        Action call = dice_.Chance(restless / 6) ? Call(i) : step[i];
        if (dice_.Chance(restless)) Change(&call);
        program_.actions.push_back(call);
      }
      if (dice_.Chance(30)) program_.actions.push_back({Act::kCheck});
    }
  }
  void DropAll() {
    for (int place = 0; place < 16; ++place) program_.actions.push_back({Act::kDrop, {place}});
  }

  Dice dice_;
  const Taste taste_;
  Program program_;
};

}  // namespace

Program Generate(uint64_t seed, const Taste& taste) { return Maker(seed, taste).Make(); }

}  // namespace graphtree::outsider
