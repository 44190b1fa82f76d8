// Allocates within what is mapped.
#include "runtime/core/lender.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "allocator/pool.h"
#include "device/base/known_enum.h"
#include "device/base/status_macros.h"
#include "device/device.h"
#include "graphs/tree.h"
#include "runtime/core/program_state.h"
#include "runtime/loan_state.h"
#include "runtime/slots/planted_bug.h"

namespace graphtree {
namespace {

// Of the lasting region, where a block of idle memory fits; never more memory than is mapped.
absl::StatusOr<Block> AllocateIdle(Pool& pool, uint64_t bytes, Stream& stream) {
  GRAPHTREE_RETURN_IF_ERROR(pool.FreeQueued());
  const PoolStats stats = pool.Stats();
  const uint64_t idle = pool.memory().IdleBytes();
  const auto too_much = [&](absl::string_view what) {
    return absl::ResourceExhaustedError(
        absl::StrCat(bytes, " bytes were to be lent, and ", what, idle, " are idle, of ",
                     stats.mapped_bytes, " that are mapped; all else recordings or outputs need"));
  };
  if (bytes > idle) return too_much("");
  GRAPHTREE_RETURN_IF_ERROR(pool.memory().SetLimit(stats.mapped_bytes));
  absl::StatusOr<Block> block = pool.Allocate(bytes, stream, {.region = Region::kLasting});
  const absl::Status limited = pool.memory().SetLimit(stats.limit_bytes);
  if (block.ok() && !limited.ok()) {
    pool.Free(block->id).IgnoreError();
    return limited;
  }
  if (absl::IsResourceExhausted(block.status())) return too_much("not so many lie together: ");
  return block;
}

}  // namespace

absl::Status Lender::Check(const Lane& lane, const LoanOptions& options, const Stream& stream) {
  if (options.bytes == 0) return absl::InvalidArgumentError("0 bytes were to be lent");
  if (!IsKnown(options.until, LoanUntil::kGivenBack)) {
    return absl::InvalidArgumentError(
        absl::StrCat("memory was to be lent until ", NotKnown("time", options.until)));
  }
  if (&stream.device() == &lane.device) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("memory of ", lane.device.info().name, " was to be lent for a stream of another "
                   "device, ", stream.device().info().name));
}

absl::StatusOr<Loan> Lender::Lend(const LoanOptions& options, Stream& stream) {
  Lane* const lane = lanes_.Find({options.device, options.lane});
  ProgramState* owner = nullptr;
  programs_.ForEach([&](ProgramId, ProgramState& program) {
    if (&program.lane() == lane) owner = &program;
  });
  if (lane == nullptr || owner == nullptr) {
    return absl::NotFoundError(absl::StrCat("memory of lane ", options.lane, " of device ",
                                            options.device,
                                            " was to be lent, and no program lies there"));
  }
  GRAPHTREE_RETURN_IF_ERROR(Check(*lane, options, stream));
  if (lanes_.InCallOf() != nullptr) {
    return absl::FailedPreconditionError("a body was to be lent memory; do it between steps");
  }
  if (!lane->Take(owner)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "memory of lane ", lane->number, " was to be lent while a step is under way there"));
  }
  const absl::Status awake = owner->CheckAwake();
  absl::StatusOr<Loan> loan =
      awake.ok() ? LendOf(*lane, options, stream) : absl::StatusOr<Loan>(awake);
  lane->GiveBack();
  return loan;
}

absl::StatusOr<Loan> Lender::LendOf(Lane& lane, const LoanOptions& options, Stream& stream) {
  Tree& tree = *lane.tree;
  absl::StatusOr<Block> block = absl::UnknownError("");
  tree.Inspect([&] { block = AllocateIdle(tree.pool(), options.bytes, stream); });
  GRAPHTREE_RETURN_IF_ERROR(block.status());
  auto state = std::make_shared<LoanState>();
  state->until = options.until;
  state->range = block->range;
  state->block = block->id;
  state->watch = lane.watch;
  state->tree = &tree;
  lane.watch->lent_bytes.fetch_add(state->range.bytes, std::memory_order_relaxed);
  std::erase_if(lane.loans, [](const auto& loan) { return loan->is_over(); });
  lane.loans.push_back(state);
  return Loan(std::move(state));
}

void Lender::EndForStep(Lane& lane) {
  if (IsPlanted(RuntimeBug::kForgetsLoans)) return;
  for (const std::shared_ptr<LoanState>& loan : lane.loans) {
    if (loan->until == LoanUntil::kNextStep) loan->End();
  }
  std::erase_if(lane.loans, [](const auto& loan) { return loan->is_over(); });
}

void Lender::EndAll() {
  lanes_.ForEach([](Lane& lane) {
    for (const std::shared_ptr<LoanState>& loan : lane.loans) loan->End();
    lane.loans.clear();
  });
}

}  // namespace graphtree
