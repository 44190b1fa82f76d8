// Votes, steps, compares.
#include "tests/runtime/socket_rank.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "device/open.h"
#include "runtime/runtime.h"
#include "tests/kernels/kernels.h"
#include "tests/kernels/launches.h"

namespace graphtree {
namespace {

constexpr int32_t kMost = 32;
constexpr time_t kAnswerSeconds = 30;

// What a rank tells of a step.
struct Report {
  uint64_t count = 0;
  uint64_t digest = 0;
  uint64_t why = 0;
};

class Peer {
 public:
  explicit Peer(int socket) : socket_(socket) {
    const timeval limit = {.tv_sec = kAnswerSeconds, .tv_usec = 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  }

  // Both ranks send first: what they send fits into the socket.
  template <typename T>
  absl::Status Exchange(const T& mine, T* theirs) {
    GRAPHTREE_RETURN_IF_ERROR(Move(sizeof(T), [&](size_t at) {
      return send(socket_, reinterpret_cast<const char*>(&mine) + at, sizeof(T) - at, MSG_NOSIGNAL);
    }));
    return Move(sizeof(T), [&](size_t at) {
      return recv(socket_, reinterpret_cast<char*>(theirs) + at, sizeof(T) - at, 0);
    });
  }

 private:
  template <typename F>
  absl::Status Move(size_t bytes, const F& some) {
    for (size_t done = 0; done < bytes;) {
      const ssize_t moved = some(done);
      if (moved < 0 && errno == EINTR) continue;
      if (moved <= 0) {
        return absl::UnavailableError(absl::StrCat(
            "the other rank went away after ", done, " of ", bytes, " bytes",
            moved == 0 ? "" : absl::StrCat(": ", std::strerror(errno))));
      }
      done += moved;
    }
    return absl::OkStatus();
  }

  const int socket_;
};

Values DoubleBody(Launcher& on, const ProgramInputs& in) {
  const Tensor out = on.Empty(DType::kI32, {kMost});
  if (!on.ok()) return {};
  on.Fill(out, 0);
  const auto count = static_cast<uint32_t>(in.key().tokens);
  if (count == 0) return {out};
  on.Launch(AddKernel(), TestShape(), {Out(out), In(in.slot(0)), In(in.slot(0)), Val(count)});
  return {out};
}

class Rank {
 public:
  explicit Rank(const RankOptions& options)
      : options_(options), peer_(options.socket), random_(options.rank + 1) {}

  absl::Status Run() {
    GRAPHTREE_RETURN_IF_ERROR(Open());
    absl::Status status;
    for (uint32_t step = 0; step < options_.steps && status.ok() && !parted_; ++step) {
      status = DoStep(step);
    }
    if (status.ok()) {
      std::printf("rank %u: %llu steps, %u replayed, %u voted down\n", options_.rank,
                  static_cast<unsigned long long>(runtime_->stats().steps), replayed_,
                  voted_down_);
    }
    runtime_ = nullptr;
    transfer_ = nullptr;
    stream_ = nullptr;
    if (device_ != nullptr) status.Update(device_->Close());
    return status;
  }

 private:
  absl::Status Open() {
    GRAPHTREE_ASSIGN_OR_RETURN(device_, OpenDevice(options_.device));
    GRAPHTREE_ASSIGN_OR_RETURN(stream_, device_->NewStream());
    GRAPHTREE_ASSIGN_OR_RETURN(transfer_, device_->memory().AllocateHost(kMost * 4));
    RuntimeOptions options;
    options.tree.pool_bytes = 64 << 20;
    GRAPHTREE_ASSIGN_OR_RETURN(runtime_, Runtime::Create(*device_, options));
    ProgramOptions program;
    program.name = "double";
    program.slots = {{.name = "ids", .sizes = {kMost}, .rows = KeyField::kTokens}};
    program.body = DoubleBody;
    GRAPHTREE_ASSIGN_OR_RETURN(program_, runtime_->AddProgram(std::move(program)));
    const std::vector<Key> shapes = {{.tokens = 1}, {.tokens = 4}, {.tokens = 8}, {.tokens = 24}};
    GRAPHTREE_RETURN_IF_ERROR(runtime_->AddShapes(program_, shapes));
    return runtime_->Record(program_, *stream_);
  }

  uint32_t Below(uint32_t end) { return random_() % end; }

  absl::Status DoStep(uint32_t epoch) {
    // A rank may have nothing to do, more than any shape has, or a reason to run eagerly.
    const Key call = {.tokens = static_cast<int32_t>(Below(kMost))};
    const Modes modes = Below(10) == 0 ? Modes::None() : Modes::All();
    std::vector<Vote> votes(2);
    GRAPHTREE_ASSIGN_OR_RETURN(votes[options_.rank],
                               runtime_->MakeVote(program_, call, modes, epoch));
    GRAPHTREE_RETURN_IF_ERROR(
        peer_.Exchange(votes[options_.rank], &votes[1 - options_.rank]));
    GRAPHTREE_ASSIGN_OR_RETURN(const Agreement agreed,
                               runtime_->Agree(program_, call, modes, epoch, votes));
    const bool is_agreed = agreed.outcome == VoteOutcome::kAgreed;
    Key key = agreed.key;
    if (epoch == options_.parts_at) key.tokens = key.tokens > 8 ? 8 : 24;
    const int32_t rows = std::min(call.tokens, key.tokens);
    GRAPHTREE_ASSIGN_OR_RETURN(
        Step step,
        runtime_->Begin(program_, key, *stream_,
                        {.modes = epoch == options_.parts_at ? Modes::All() : agreed.modes,
                         .is_voted_down = !is_agreed && epoch != options_.parts_at}));
    GRAPHTREE_RETURN_IF_ERROR(StageAndRun(step, epoch, rows));
    replayed_ += IsReplay(step.why()) ? 1 : 0;
    voted_down_ += step.why() == Why::kVotedDown ? 1 : 0;
    if (modes.empty() && IsReplay(step.why()) && epoch != options_.parts_at) {
      return absl::InternalError("a rank that may not replay did");
    }
    return Compare(epoch, step);
  }

  absl::Status StageAndRun(Step& step, uint32_t epoch, int32_t rows) {
    std::vector<int32_t> ids(kMost);
    for (int32_t i = 0; i < rows; ++i) ids[i] = epoch * 100 + i + options_.rank * 7;
    GRAPHTREE_RETURN_IF_ERROR(step.Stage(0, HostRows{ids.data(), DType::kI32, rows}));
    Values outputs;
    GRAPHTREE_RETURN_IF_ERROR(step.Run(&outputs));
    GRAPHTREE_RETURN_IF_ERROR(
        stream_->Copy(AddressOf(transfer_->data()), outputs[0].word(), kMost * 4));
    GRAPHTREE_RETURN_IF_ERROR(stream_->Synchronize());
    for (int32_t& id : ids) id *= 2;
    if (std::memcmp(ids.data(), transfer_->data(), kMost * 4) == 0) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("step ", epoch, " gave other bytes: ",
                                            step.Describe()));
  }

  // The ranks' digests differ only if they went different ways.
  absl::Status Compare(uint32_t epoch, const Step& step) {
    const LaunchHistory& history = runtime_->history();
    const Report mine = {history.count(), history.digest(), static_cast<uint64_t>(step.why())};
    Report theirs;
    GRAPHTREE_RETURN_IF_ERROR(peer_.Exchange(mine, &theirs));
    const bool is_same = mine.count == theirs.count && mine.digest == theirs.digest;
    const bool both_replayed =
        IsReplay(step.why()) == IsReplay(static_cast<Why>(theirs.why));
    if (is_same && both_replayed) return absl::OkStatus();
    parted_ = true;
    auto other = std::make_unique<LaunchHistory>();
    GRAPHTREE_RETURN_IF_ERROR(peer_.Exchange(history, other.get()));
    const LaunchHistory& first = options_.rank == 0 ? history : *other;
    const LaunchHistory& second = options_.rank == 0 ? *other : history;
    std::printf("parted in step %u\n%s\n", epoch,
                DumpBoth("rank 0", first, "rank 1", second).c_str());
    return absl::OkStatus();
  }

  const RankOptions options_;
  Peer peer_;
  std::mt19937 random_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<HostBuffer> transfer_;
  std::unique_ptr<Runtime> runtime_;
  ProgramId program_;
  uint32_t replayed_ = 0;
  uint32_t voted_down_ = 0;
  bool parted_ = false;
};

}  // namespace

int RunRank(const RankOptions& options) {
  alarm(kRankSeconds);
  const absl::Status status = Rank(options).Run();
  if (!status.ok()) std::printf("rank %u: %s\n", options.rank, status.ToString().c_str());
  std::fflush(stdout);
  return status.ok() ? 0 : 1;
}

}  // namespace graphtree
