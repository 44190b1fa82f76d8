// Serves.
#include "tests/outsider/serving/rank.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "device/kernel.h"
#include "runtime/parking.h"

namespace graphtree::outsider {
namespace {

constexpr uint64_t kUsedBytes = 16384;
constexpr int64_t kMostTokens = 24;
constexpr int32_t kVocabulary = 1000;
constexpr SlotId kIds = 0, kPagesOf = 1, kOffsets = 2, kTemperature = 3;

uint64_t NextState(uint64_t state, int32_t id, const int32_t* weights, int32_t temperature) {
  return state * 31 + static_cast<uint32_t>(id) +
         static_cast<uint32_t>(weights[static_cast<uint32_t>(id) % Rank::kWeights]) * temperature;
}

int32_t TokenOf(uint64_t state) { return static_cast<int32_t>(state % kVocabulary); }

LaunchShape OneThread() { return LaunchShape{}; }

// (tokens, states, cache, ids, pages, offsets, temperature, weights, rows)
const Kernel& DecodeKernel() {
  static const Kernel* const kernel = new Kernel(
      "decode",
      Params<int32_t*, uint64_t*, uint64_t*, const int32_t*, const int32_t*, const int32_t*,
             const int32_t*, const int32_t*, uint32_t>(),
      [](const HostCall& call) {
        auto* const cache = call.Get<uint64_t*>(2);
        for (uint32_t row = 0; row < call.Get<uint32_t>(8); ++row) {
          uint64_t& page = cache[call.Get<const int32_t*>(4)[row]];
          page = NextState(page, call.Get<const int32_t*>(3)[row], call.Get<const int32_t*>(7),
                           *call.Get<const int32_t*>(6));
          const int32_t* const offsets = call.Get<const int32_t*>(5);
          const uint64_t tokens_of_row = offsets[row + 1] - offsets[row];
          call.Get<uint64_t*>(1)[row] = page * tokens_of_row;
          call.Get<int32_t*>(0)[row] = TokenOf(page);
        }
      },
      CudaBody());
  return *kernel;
}

// (guesses, ids, rows)
const Kernel& DraftKernel() {
  static const Kernel* const kernel = new Kernel(
      "draft", Params<int32_t*, const int32_t*, uint32_t>(),
      [](const HostCall& call) {
        for (uint32_t row = 0; row < call.Get<uint32_t>(2); ++row) {
          call.Get<int32_t*>(0)[row] = call.Get<const int32_t*>(1)[row] * 7 % kVocabulary;
        }
      },
      CudaBody());
  return *kernel;
}

// (state, cache, ids, page, length, weights)
const Kernel& PrefillKernel() {
  static const Kernel* const kernel = new Kernel(
      "prefill",
      Params<uint64_t*, uint64_t*, const int32_t*, const int64_t*, const int64_t*,
             const int32_t*>(),
      [](const HostCall& call) {
        uint64_t& page = call.Get<uint64_t*>(1)[*call.Get<const int64_t*>(3)];
        for (int64_t i = 0; i < *call.Get<const int64_t*>(4); ++i) {
          page = NextState(page, call.Get<const int32_t*>(2)[i], call.Get<const int32_t*>(5), 1);
        }
        *call.Get<uint64_t*>(0) = page;
      },
      CudaBody());
  return *kernel;
}

Tensor Elsewhere(Address address, DType type, int64_t elements) {
  return Tensor::Foreign(address, Layout::Of(type, {elements}));
}

}  // namespace

absl::Status Rank::Open() {
  Memory& memory = device_.memory();
  GRAPHTREE_ASSIGN_OR_RETURN(stream_, device_.NewStream());
  GRAPHTREE_ASSIGN_OR_RETURN(transfer_, memory.AllocateHost(4096));
  const uint64_t bytes = std::max(kUsedBytes, memory.granularity());
  GRAPHTREE_ASSIGN_OR_RETURN(range_, memory.Reserve(bytes, {}));
  GRAPHTREE_ASSIGN_OR_RETURN(memory_, memory.Create(bytes));
  GRAPHTREE_RETURN_IF_ERROR(memory.Map(range_.base, *memory_));
  GRAPHTREE_RETURN_IF_ERROR(memory.SetAccess(range_, MemoryAccess::kReadWrite));
  // Only what is used: a fresh page takes longer than many calls.
  memory.NoteLive({range_.base, kUsedBytes}, "the toy server's cache and weights");
  GRAPHTREE_RETURN_IF_ERROR(stream_->Fill(range_.base, 0, 1, kUsedBytes));
  GRAPHTREE_RETURN_IF_ERROR(WriteWeights(0, session_.seed));
  RuntimeOptions options;
  options.records_while_serving = session_.records_while_serving;
  options.tree.pool_bytes = session_.is_small ? 4 << 20 : 32 << 20;
  options.tree.check = session_.is_checked;
  if (session_.is_small) options.tree.budget = {.nodes = 3, .executables = 2};
  GRAPHTREE_ASSIGN_OR_RETURN(runtime_, Runtime::Create(device_, options));
  GRAPHTREE_ASSIGN_OR_RETURN(weights_dep_, runtime_->DeclareDep("weights"));
  GRAPHTREE_RETURN_IF_ERROR(AddDecode());
  GRAPHTREE_RETURN_IF_ERROR(AddDraft());
  return AddPrefill();
}

absl::Status Rank::AddDecode() {
  ProgramOptions options;
  options.name = "decode";
  options.tag = "decode";
  options.slots = {
      {.name = "ids", .sizes = {kMostTokens}, .rows = KeyField::kTokens},
      {.name = "pages",
       .sizes = {kMostTokens},
       .rows = KeyField::kTokens,
       .pad = PadRule::kValue,
       .pad_value = kPages - 1},
      {.name = "offsets",
       .sizes = {kMostTokens + 1},
       .rows = KeyField::kTokens,
       .extra_rows = 1,
       .pad = PadRule::kLastRow},
      {.name = "temperature", .pad = PadRule::kFillOnce, .pad_value = 1, .may_be_left_out = true}};
  options.deps = {weights_dep_};
  options.kept_outputs = {0};
  options.body = [this](Launcher& on, const ProgramInputs& in) -> Values {
    const int64_t rows = in.key().tokens;
    const Tensor tokens = on.Empty(DType::kI32, {rows});
    const Tensor states = on.Empty(DType::kI64, {rows});
    if (!on.ok()) return {};
    on.Launch(DecodeKernel(), OneThread(),
              {Out(tokens), Out(states), InOut(Elsewhere(cache(), DType::kI64, kPages)),
               In(in.slot(kIds)), In(in.slot(kPagesOf)), In(in.slot(kOffsets)),
               In(in.slot(kTemperature)), In(Elsewhere(weights(place_), DType::kI32, kWeights)),
               Val(static_cast<uint32_t>(rows))});
    return {tokens, states};
  };
  GRAPHTREE_ASSIGN_OR_RETURN(decode_, runtime_->AddProgram(std::move(options)));
  return runtime_->AddShapes(decode_, {{.tokens = 1}, {.tokens = 4}, {.tokens = 8}});
}

absl::Status Rank::AddDraft() {
  ProgramOptions options;
  options.name = "draft";
  options.tag = "decode";
  options.slots = {{.name = "ids", .sizes = {kMostTokens}, .rows = KeyField::kTokens}};
  options.body = [](Launcher& on, const ProgramInputs& in) -> Values {
    const Tensor guesses = on.Empty(DType::kI32, {in.key().tokens});
    if (!on.ok()) return {};
    on.Launch(DraftKernel(), OneThread(),
              {Out(guesses), In(in.slot(kIds)), Val(static_cast<uint32_t>(in.key().tokens))});
    return {guesses};
  };
  GRAPHTREE_ASSIGN_OR_RETURN(draft_, runtime_->AddProgram(std::move(options)));
  return runtime_->AddShapes(draft_, {{.tokens = 2}});
}

absl::Status Rank::AddPrefill() {
  ProgramOptions options;
  options.name = "prefill";
  options.tag = "prefill";
  options.lane = 1;
  options.slots = {{.name = "ids", .sizes = {kMostTokens}, .rows = KeyField::kTokens},
                   {.name = "page", .type = DType::kI64},
                   {.name = "length", .type = DType::kI64}};
  options.rules.tokens = {.covers = Covers::kPowerOfTwo};
  options.deps = {weights_dep_};
  options.body = [this](Launcher& on, const ProgramInputs& in) -> Values {
    const Tensor state = on.Empty(DType::kI64, {1});
    if (!on.ok()) return {};
    on.Launch(PrefillKernel(), OneThread(),
              {Out(state), InOut(Elsewhere(cache(), DType::kI64, kPages)), In(in.slot(0)),
               In(in.slot(1)), In(in.slot(2)),
               In(Elsewhere(weights(place_), DType::kI32, kWeights))});
    return {state};
  };
  GRAPHTREE_ASSIGN_OR_RETURN(prefill_, runtime_->AddProgram(std::move(options)));
  return runtime_->AddShapes(prefill_, {{.tokens = 4}, {.tokens = 16}});
}

absl::Status Rank::Close() {
  last_.clear();
  runtime_ = nullptr;
  transfer_ = nullptr;
  stream_ = nullptr;
  absl::Status status;
  if (memory_ != nullptr) status.Update(device_.memory().Unmap(range_));
  memory_ = nullptr;
  if (!range_.empty()) status.Update(device_.memory().Release(range_));
  return status;
}

void Rank::Pick(bool again, uint32_t what) {
  feeds_last_ = again && !last_picked_.empty();
  modes_ = what % 16 == 3 ? Modes::None() : Modes::All();
  if (feeds_last_) {
    picked_ = last_picked_;
    ids_ = last_tokens_;
    return;
  }
  picked_.clear();
  ids_.clear();
  for (uint32_t sequence = 0; sequence < kSequences; ++sequence) {
    if ((what >> sequence & 1) == 0) continue;
    picked_.push_back(sequence);
    ids_.push_back(static_cast<int32_t>((what >> 8) * 31 + sequence) % kVocabulary);
    if (ids_.back() < 0) ids_.back() += kVocabulary;
  }
}

absl::StatusOr<Vote> Rank::MakeVote(uint32_t epoch) {
  return runtime_->MakeVote(decode_, key(), modes_, epoch);
}

uint64_t Rank::Next(uint64_t state, int32_t id) const {
  return NextState(state, id, weight_.data(), temperature_);
}

absl::Status Rank::Decode(const std::vector<Vote>& votes, uint32_t epoch, bool* replayed) {
  GRAPHTREE_ASSIGN_OR_RETURN(const Agreement agreed,
                             runtime_->Agree(decode_, key(), modes_, epoch, votes));
  const bool is_agreed = agreed.outcome == VoteOutcome::kAgreed;
  GRAPHTREE_ASSIGN_OR_RETURN(
      Step step, runtime_->Begin(decode_, agreed.key, *stream_,
                                 {.modes = agreed.modes, .is_voted_down = !is_agreed}));
  const auto rows = static_cast<int64_t>(picked_.size());
  const std::vector<int64_t> pages(picked_.begin(), picked_.end());
  std::vector<int32_t> offsets;
  for (int32_t i = 0; i <= rows; ++i) offsets.push_back(i);
  absl::Status staged =
      feeds_last_ ? step.Stage(kIds, DeviceRows{last_[0].word(), DType::kI32, rows})
                  : step.Stage(kIds, HostRows{ids_.data(), DType::kI32, rows});
  staged.Update(step.Stage(kPagesOf, HostRows{pages.data(), DType::kI64, rows}));
  staged.Update(step.Stage(kOffsets, HostRows{offsets.data(), DType::kI32, rows + 1}));
  if (stages_temperature_) staged.Update(step.Stage(kTemperature, double(temperature_)));
  if (!staged.ok()) step.Cancel();
  GRAPHTREE_RETURN_IF_ERROR(staged);
  Values outputs;
  GRAPHTREE_RETURN_IF_ERROR(step.Run(&outputs));
  stages_temperature_ = false;
  *replayed = IsReplay(step.why());
  ++decoded_;
  std::vector<uint64_t> expected;
  last_tokens_.clear();
  for (size_t row = 0; row < picked_.size(); ++row) {
    uint64_t& page = pages_[picked_[row]];
    page = Next(page, ids_[row]);
    expected.push_back(page);
    last_tokens_.push_back(TokenOf(page));
  }
  last_picked_ = picked_;
  GRAPHTREE_RETURN_IF_ERROR(CheckStates({outputs[1]}, expected));
  last_ = std::move(outputs);
  return absl::OkStatus();
}

// Rows that are padded are nobody's.
absl::Status Rank::CheckStates(const Values& outputs, const std::vector<uint64_t>& expected) {
  std::vector<uint64_t> found(expected.size());
  GRAPHTREE_RETURN_IF_ERROR(Read(outputs[0].word(), found.data(), found.size() * 8));
  for (size_t row = 0; row < found.size(); ++row) {
    if (found[row] == expected[row]) continue;
    return absl::DataLossError(absl::StrCat("row ", row, " of ", found.size(), " is ", found[row],
                                            " instead of ", expected[row]));
  }
  return absl::OkStatus();
}

absl::Status Rank::Do(Deed deed, uint32_t what, uint32_t common) {
  switch (deed) {
    case Deed::kPrefill: return Prefill(what);
    case Deed::kDraft: return Draft(what);
    case Deed::kSwap: return Swap(common);
    case Deed::kForget: return Forget(what % kSequences);
    case Deed::kShape: {
      const Key key = {.tokens = static_cast<int32_t>(2 + common % 11)};
      const absl::Status added = runtime_->AddShapes(decode_, {key});
      return absl::IsInvalidArgument(added) ? absl::OkStatus() : added;  // it is there
    }
    case Deed::kRecord: return Record();
    case Deed::kWarm:
      temperature_ = static_cast<int32_t>(common % 5);
      stages_temperature_ = true;
      return absl::OkStatus();
    case Deed::kLeave:
      GRAPHTREE_RETURN_IF_ERROR(runtime_->RemoveProgram(prefill_));
      return AddPrefill();
    case Deed::kSleep: return Sleep(what);
    case Deed::kDecode:
    case Deed::kAgain: break;
  }
  return absl::InternalError("no such deed");
}

// Nothing begins in that lane meanwhile. What was dropped is as it was at first: of what steps
// leave out that is the temperature.
absl::Status Rank::Sleep(uint32_t what) {
  const bool is_decode = what % 2 == 0;
  const char* const tag = is_decode ? "decode" : "prefill";
  const auto contents = static_cast<Contents>(what / 2 % 3);
  const absl::Status parked = runtime_->Park(tag, contents);
  if (parked.ok()) {
    absl::StatusOr<Step> step =
        runtime_->Begin(is_decode ? decode_ : prefill_, {.tokens = 1}, *stream_);
    if (step.ok()) return absl::DataLossError("a step began while its lane was asleep");
    ++slept_;
  }
  absl::Status woken = runtime_->Wake(tag);
  if (!woken.ok()) woken = runtime_->Wake(tag);
  if (is_decode && contents == Contents::kDrop) {
    if (parked.ok()) temperature_ = kFirstTemperature;
    stages_temperature_ = !parked.ok();
  }
  return parked.ok() ? woken : parked;
}

// It runs on slots of zeros: what the first page and the spare one had is gone, and all others are
// as they were.
absl::Status Rank::Record() {
  last_picked_.clear();  // recording ends what a step has made
  const absl::Status recorded = runtime_->Record(decode_, *stream_);
  GRAPHTREE_RETURN_IF_ERROR(stream_->Synchronize());
  GRAPHTREE_RETURN_IF_ERROR(Read(cache(), pages_.data(), sizeof(pages_[0])));
  GRAPHTREE_RETURN_IF_ERROR(ComparePages());
  return session_.is_small ? absl::OkStatus() : recorded;
}

absl::Status Rank::Prefill(uint32_t what) {
  const uint32_t sequence = what % kSequences;
  const int64_t length = 1 + what / 16 % 20;
  std::vector<int64_t> ids(length);
  for (int64_t i = 0; i < length; ++i) ids[i] = (what / 7 + i * 13) % kVocabulary;
  GRAPHTREE_ASSIGN_OR_RETURN(
      Step step,
      runtime_->Begin(prefill_, {.tokens = static_cast<int32_t>(length)}, *stream_));
  absl::Status staged = step.Stage(0, HostRows{ids.data(), DType::kI64, length});
  staged.Update(step.Stage(1, double(sequence)));
  staged.Update(step.Stage(2, double(length)));
  if (!staged.ok()) step.Cancel();
  GRAPHTREE_RETURN_IF_ERROR(staged);
  Values outputs;
  GRAPHTREE_RETURN_IF_ERROR(step.Run(&outputs));
  ++prefilled_;
  uint64_t& page = pages_[sequence];
  for (const int64_t id : ids) {
    page = NextState(page, static_cast<int32_t>(id), weight_.data(), 1);
  }
  return CheckStates(outputs, {page});
}

// A guess is made, and the step that goes on decodes it without the host having seen it.
absl::Status Rank::Draft(uint32_t what) {
  const uint32_t first = what % kSequences;
  const std::vector<uint32_t> sequences = {first, (first + 1) % kSequences};
  const int32_t ids[] = {static_cast<int32_t>(what / 3 % kVocabulary),
                         static_cast<int32_t>(what / 5 % kVocabulary)};
  GRAPHTREE_ASSIGN_OR_RETURN(Step draft, runtime_->Begin(draft_, {.tokens = 2}, *stream_));
  last_picked_.clear();
  GRAPHTREE_RETURN_IF_ERROR(draft.Stage(0, HostRows{ids, DType::kI32, 2}));
  Values guesses;
  GRAPHTREE_RETURN_IF_ERROR(draft.Run(&guesses));
  GRAPHTREE_ASSIGN_OR_RETURN(
      Step check, runtime_->Begin(decode_, {.tokens = 2}, *stream_, {.continues = true}));
  absl::Status staged = check.Stage(kIds, DeviceRows{guesses[0].word(), DType::kI32, 2});
  staged.Update(check.Stage(kPagesOf, HostRows{sequences.data(), DType::kI32, 2}));
  const int32_t offsets[] = {0, 1, 2};
  staged.Update(check.Stage(kOffsets, HostRows{offsets, DType::kI32, 3}));
  if (stages_temperature_) staged.Update(check.Stage(kTemperature, double(temperature_)));
  if (!staged.ok()) check.Cancel();
  GRAPHTREE_RETURN_IF_ERROR(staged);
  Values outputs;
  GRAPHTREE_RETURN_IF_ERROR(check.Run(&outputs));
  stages_temperature_ = false;
  ++drafted_;
  std::vector<uint64_t> expected;
  for (int i = 0; i < 2; ++i) {
    uint64_t& page = pages_[sequences[i]];
    page = Next(page, ids[i] * 7 % kVocabulary);
    expected.push_back(page);
  }
  return CheckStates({outputs[1]}, expected);
}

absl::Status Rank::WriteWeights(uint32_t place, uint32_t seed) {
  for (uint32_t i = 0; i < kWeights; ++i) weight_[i] = static_cast<int32_t>(seed * 7 + i * 3) % 99;
  std::memcpy(transfer_->data(), weight_.data(), sizeof(weight_));
  GRAPHTREE_RETURN_IF_ERROR(
      stream_->Copy(weights(place), AddressOf(transfer_->data()), sizeof(weight_)));
  return stream_->Synchronize();
}

// Where the weights were is somebody else's now.
absl::Status Rank::Swap(uint32_t common) {
  GRAPHTREE_RETURN_IF_ERROR(stream_->Synchronize());
  GRAPHTREE_RETURN_IF_ERROR(WriteWeights(1 - place_, common % 1000));
  GRAPHTREE_RETURN_IF_ERROR(stream_->Fill(weights(place_), 0x77, 1, sizeof(weight_)));
  place_ = 1 - place_;
  return runtime_->Touch(weights_dep_);
}

absl::Status Rank::Forget(uint32_t sequence) {
  pages_[sequence] = 0;
  GRAPHTREE_RETURN_IF_ERROR(stream_->Fill(cache() + sequence * 8, 0, 1, 8));
  return stream_->Synchronize();
}

// What the host took for the temperature, too, may not have come there.
absl::Status Rank::ForgetAll() {
  GRAPHTREE_RETURN_IF_ERROR(stream_->Synchronize());
  last_picked_.clear();
  stages_temperature_ = true;
  GRAPHTREE_RETURN_IF_ERROR(Swap(session_.seed));
  for (uint32_t sequence = 0; sequence < kSequences; ++sequence) {
    GRAPHTREE_RETURN_IF_ERROR(Forget(sequence));
  }
  if (runtime_->Choose(prefill_, {.tokens = 1}).ok()) return absl::OkStatus();
  return AddPrefill();
}

absl::Status Rank::Read(Address from, void* to, uint64_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  GRAPHTREE_RETURN_IF_ERROR(stream_->Copy(AddressOf(transfer_->data()), from, bytes));
  GRAPHTREE_RETURN_IF_ERROR(stream_->Synchronize());
  std::memcpy(to, transfer_->data(), bytes);
  return absl::OkStatus();
}

// Those without a sequence, too: nobody writes to them.
absl::Status Rank::ComparePages() {
  std::array<uint64_t, kPages - 1> found;
  GRAPHTREE_RETURN_IF_ERROR(Read(cache(), found.data(), sizeof(found)));
  for (uint32_t page = 0; page < found.size(); ++page) {
    if (found[page] == pages_[page]) continue;
    return absl::DataLossError(
        absl::StrCat("page ", page, " has ", found[page], " instead of ", pages_[page]));
  }
  return absl::OkStatus();
}

absl::Status Rank::CheckAtTheEnd() {
  GRAPHTREE_RETURN_IF_ERROR(ComparePages());
  const RuntimeStats stats = runtime_->stats();
  uint64_t whys = 0;
  for (const uint64_t count : stats.why) whys += count;
  if (whys == stats.steps) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(whys, " reasons for ", stats.steps, " steps"));
}

void Rank::Tell(Tally* tally) const {
  if (runtime_ == nullptr) return;
  const RuntimeStats stats = runtime_->stats();
  for (size_t i = 0; i < kWhyCount; ++i) {
    (*tally)[WhyName(static_cast<Why>(i))] += stats.why[i];
  }
  (*tally)["decoded"] += decoded_;
  (*tally)["prefilled"] += prefilled_;
  (*tally)["drafted"] += drafted_;
  (*tally)["slept"] += slept_;
}

}  // namespace graphtree::outsider
