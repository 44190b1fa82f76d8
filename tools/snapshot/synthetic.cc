// A small pickler in Python's manner and in PyTorch's, and the training run that it writes down.
#include "tools/snapshot/synthetic.h"

#include <cstring>
#include <map>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace graphtree::snapshot {
namespace {

constexpr uint32_t kNotYet = 0xffffffffu;
constexpr uint32_t kBlocksPerSegment = 24;
constexpr uint64_t kSizes[] = {512, 4096, 66048, 1 << 20, 3 << 19, 5 << 20};

// Python's pickler, as far as snapshots need it: it memoises every text, list, tuple and
// dictionary, before what is in it, and from protocol 4 on writes in frames of at least 64 KiB.
// PyTorch's C++ pickler writes protocol 2, memoises texts by what they say, and a list or
// dictionary behind its content if something else still holds it.
class Pickler {
 public:
  Pickler(const SyntheticOptions& options, ByteSink& sink)
      : protocol_(options.protocol), cpp_(options.cpp_writer), sink_(sink) {
    sink_.Write(absl::string_view("\x80", 1));
    sink_.Byte(static_cast<char>(protocol_));
  }

  // Before every value: here, and nowhere else, Python begins a new frame.
  void Boundary() {
    if (frame_.size() >= kFrameTarget) CloseFrame();
  }
  void Op(absl::string_view opcodes) { frame_.append(opcodes.data(), opcodes.size()); }
  uint32_t Memoise() {
    if (protocol_ >= 4) {
      Op("\x94");
    } else if (memo_ < 256) {
      Op(absl::StrCat("q", Little(memo_, 1)));
    } else {
      Op(absl::StrCat("r", Little(memo_, 4)));
    }
    return memo_++;
  }
  void Get(uint32_t number) {
    Boundary();
    Number(number < 256 ? 'h' : 'j', number, number < 256 ? 1 : 4);
  }
  void Int(int64_t value) {
    Boundary();
    if (value >= 0 && value < 0x10000) {
      return Number(value < 0x100 ? 'K' : 'M', static_cast<uint64_t>(value), value < 0x100 ? 1 : 2);
    }
    if (value == static_cast<int32_t>(value)) {
      return Number('J', static_cast<uint64_t>(value), 4);
    }
    int bytes = cpp_ ? 8 : 5;
    while (bytes < 8 && value >> (8 * bytes - 1) != 0 && value >> (8 * bytes - 1) != -1) ++bytes;
    char text[10] = {'\x8a', static_cast<char>(bytes)};
    std::memcpy(text + 2, &value, 8);
    Op({text, static_cast<size_t>(2 + bytes)});
  }
  // A text of its own.
  void Text(absl::string_view text) { cpp_ ? Word(text) : static_cast<void>(NewText(text)); }
  uint32_t NewText(absl::string_view text) {
    Boundary();
    if (protocol_ >= 4 && text.size() < 256) {
      Op(absl::StrCat("\x8c", Little(text.size(), 1), text));
    } else {
      Op(absl::StrCat("X", Little(text.size(), 4), text));
    }
    return Memoise();
  }
  // A text of which there is one object only, as Python interns names and keys.
  void Word(absl::string_view word) {
    const auto found = words_.find(word);
    if (found != words_.end()) return Get(found->second);
    words_.emplace(word, NewText(word));
  }
  uint32_t BeginList() { return Begin("]"); }
  // Around the items of a list: Python marks them, a thousand at a time, unless there is just one.
  class Items {
   public:
    Items(Pickler& pickler, size_t count) : pickler_(pickler), count_(count) {
      if (pickler_.cpp_) pickler_.Op("(");
    }
    void Next() {
      if (pickler_.cpp_) return;
      if (count_ > 1 && at_++ % kBatch == 0) pickler_.Op(at_ > 1 ? "e(" : "(");
    }
    ~Items() {
      if (count_ != 0 || pickler_.cpp_) pickler_.Op(count_ > 1 || pickler_.cpp_ ? "e" : "a");
    }

   private:
    static constexpr size_t kBatch = 1000;
    Pickler& pickler_;
    size_t count_;
    size_t at_ = 0;
  };
  // What BeginList gave, behind the items. `shared`: something else holds it.
  uint32_t EndList(uint32_t number, bool shared = true) { return End(number, shared); }
  // A list without items; of the C++ writer there is only one.
  void EmptyList() {
    if (empty_list_ != kNotYet) return Get(empty_list_);
    const uint32_t number = BeginList();
    { const Items none(*this, 0); }
    EndList(number);
    if (cpp_) empty_list_ = memo_ - 1;
  }
  uint32_t BeginDict() {
    const uint32_t number = Begin("}");
    Op("(");
    return number;
  }
  uint32_t EndDict(uint32_t number, bool shared = true) {
    Op("u");
    return End(number, shared);
  }
  void Pair(int64_t first, int64_t second) {
    Boundary();
    Int(first);
    Int(second);
    Op("\x86");
    if (!cpp_) Memoise();
  }

  void Stop() {
    Op(".");
    CloseFrame();
  }

 private:
  static constexpr size_t kFrameTarget = 64 << 10;

  uint32_t Begin(absl::string_view opcode) {
    Boundary();
    Op(opcode);
    return cpp_ ? kNotYet : Memoise();
  }
  uint32_t End(uint32_t number, bool shared) { return cpp_ && shared ? Memoise() : number; }
  static std::string Little(uint64_t value, size_t bytes) {
    return std::string(reinterpret_cast<const char*>(&value), bytes);
  }
  void Number(char opcode, uint64_t value, size_t bytes) {
    char text[9] = {opcode};
    std::memcpy(text + 1, &value, sizeof(value));
    Op({text, 1 + bytes});
  }
  void CloseFrame() {
    if (protocol_ >= 4 && frame_.size() >= 4) {
      sink_.Write(absl::StrCat("\x95", Little(frame_.size(), 8)));
    }
    sink_.Write(frame_);
    frame_.clear();
  }

  const int protocol_;
  const bool cpp_;
  ByteSink& sink_;
  std::string frame_;
  std::map<std::string, uint32_t, std::less<>> words_;
  uint32_t memo_ = 0;
  uint32_t empty_list_ = kNotYet;
};

struct SyntheticBlock {
  uint64_t address = 0;
  uint64_t size = 0;
  uint64_t requested = 0;
  uint32_t stack = 0;
  uint64_t last_step = ~uint64_t{0};  // that allocated it
  uint32_t list = kNotYet;            // memo number of its frames
};

struct Step {
  uint32_t block;
  uint32_t free_stack;
  uint32_t stack;
  uint64_t requested;
};

class TrainingRun {
 public:
  TrainingRun(const SyntheticOptions& options, ByteSink& sink)
      : options_(options), pickler_(options, sink), frames_(FrameCount(), kNotYet) {}

  SyntheticTotals Write() {
    LayOut();
    Play([&](uint64_t number, const Step& step) {
      SyntheticBlock& block = blocks_[step.block];
      block.stack = step.stack;
      block.requested = step.requested;
      block.last_step = number;
    });
    const uint32_t root = pickler_.BeginDict();
    pickler_.Word("segments");
    WriteSegments();
    pickler_.Word("device_traces");
    WriteTraces();
    pickler_.Word("external_annotations");
    pickler_.EmptyList();
    pickler_.EndDict(root);
    pickler_.Stop();
    for (const SyntheticBlock& block : blocks_) totals_.requested += block.requested;
    return totals_;
  }

 private:
  // Outer frames are common to many stacks, the innermost ones tell them apart.
  uint32_t FrameCount() const { return options_.stacks + 16 * options_.depth; }
  uint32_t FrameOf(uint32_t stack, uint32_t level) const {
    return level == 0 ? stack : options_.stacks + 16 * level + (stack >> (level % 5)) % 16;
  }

  void LayOut() {
    for (uint32_t i = 0; i < options_.segments * kBlocksPerSegment; ++i) {
      const uint64_t base = 0x7f0000000000 + i / kBlocksPerSegment * (uint64_t{1} << 32);
      SyntheticBlock block;
      block.size = kSizes[i % std::size(kSizes)];
      block.address = i % kBlocksPerSegment == 0
                          ? base
                          : blocks_.back().address + blocks_.back().size;
      block.requested = block.size;
      block.stack = i % options_.stacks;
      blocks_.push_back(block);
    }
    totals_.segments = options_.segments;
    totals_.blocks = blocks_.size();
    totals_.entries = 3 * options_.steps;
  }

  template <typename Visit>
  void Play(Visit visit) {
    std::mt19937_64 random(options_.seed);
    for (uint64_t number = 0; number < options_.steps; ++number) {
      const uint64_t dice = random();
      Step step;
      step.block = static_cast<uint32_t>(dice % blocks_.size());
      step.free_stack = static_cast<uint32_t>((dice >> 20) % options_.stacks);
      step.stack = static_cast<uint32_t>((dice >> 36) % options_.stacks);
      step.requested = blocks_[step.block].size - (dice >> 56);
      visit(number, step);
    }
  }

  void WriteFrame(uint32_t frame) {
    if (frames_[frame] != kNotYet) return pickler_.Get(frames_[frame]);
    const uint32_t dict = pickler_.BeginDict();
    pickler_.Word("name");
    pickler_.Text(absl::StrCat("function_", frame));
    pickler_.Word("filename");
    pickler_.Word(absl::StrCat("/site-packages/model/part_", frame % 97, ".py"));
    pickler_.Word("line");
    pickler_.Int(frame % 4000 + 1);
    frames_[frame] = pickler_.EndDict(dict);
  }

  uint32_t WriteStack(uint32_t stack) {
    const uint32_t list = pickler_.BeginList();
    {
      Pickler::Items items(pickler_, options_.depth);
      for (uint32_t level = 0; level < options_.depth; ++level) {
        items.Next();
        WriteFrame(FrameOf(stack, level));
      }
    }
    return pickler_.EndList(list);
  }

  void Number(absl::string_view key, uint64_t value) {
    pickler_.Word(key);
    pickler_.Int(static_cast<int64_t>(value));
  }

  void WriteBlock(SyntheticBlock& block) {
    const uint32_t dict = pickler_.BeginDict();
    Number("address", block.address);
    Number("size", block.size);
    Number("requested_size", block.requested);
    pickler_.Word("state");
    pickler_.Word("active_allocated");
    pickler_.Word("frames");
    block.list = WriteStack(block.stack);
    pickler_.EndDict(dict);
  }

  void WriteSegments() {
    const uint32_t list = pickler_.BeginList();
    {
      Pickler::Items segments(pickler_, options_.segments);
      for (uint32_t i = 0; i < options_.segments; ++i) {
        segments.Next();
        WriteSegment(i);
      }
    }
    pickler_.EndList(list);
  }

  void WriteSegment(uint32_t i) {
    SyntheticBlock* const first = &blocks_[i * kBlocksPerSegment];
    uint64_t size = 0;
    uint64_t requested = 0;
    for (uint32_t k = 0; k < kBlocksPerSegment; ++k) {
      size += first[k].size;
      requested += first[k].requested;
    }
    totals_.reserved += size;
    const uint32_t dict = pickler_.BeginDict();
    Number("device", 0);
    Number("address", first->address);
    Number("total_size", size);
    Number("allocated_size", size);
    Number("active_size", size);
    Number("requested_size", requested);
    Number("stream", 0);
    pickler_.Word("segment_type");
    pickler_.Word("large");
    pickler_.Word("segment_pool_id");
    pickler_.Pair(0, 0);
    pickler_.Word("is_expandable");
    pickler_.Boundary();
    pickler_.Op("\x89");
    pickler_.Word("frames");
    pickler_.EmptyList();
    pickler_.Word("blocks");
    const uint32_t list = pickler_.BeginList();
    {
      Pickler::Items items(pickler_, kBlocksPerSegment);
      for (uint32_t k = 0; k < kBlocksPerSegment; ++k) {
        items.Next();
        WriteBlock(first[k]);
      }
    }
    pickler_.EndList(list, false);
    pickler_.EndDict(dict, false);
  }

  // Writes the stack, or refers to the list of frames that is given; returns the list.
  uint32_t WriteEntry(absl::string_view action, const SyntheticBlock& block, uint64_t size,
                      uint32_t stack, uint32_t list) {
    const uint32_t dict = pickler_.BeginDict();
    pickler_.Word("action");
    pickler_.Word(action);
    Number("addr", block.address);
    Number("size", size);
    Number("stream", 0);
    time_us_ += 1 + (block.address >> 9) % 13;
    Number("time_us", time_us_);
    pickler_.Word("compile_context");
    pickler_.Text("N/A");  // PyTorch makes a new text for each entry
    pickler_.Word("user_metadata");
    pickler_.Word("");
    pickler_.Word("pool_id");
    pickler_.Pair(0, 0);
    pickler_.Word("frames");
    if (list == kNotYet) {
      list = WriteStack(stack);
    } else {
      pickler_.Get(list);
    }
    pickler_.EndDict(dict);
    return list;
  }

  void WriteTraces() {
    const uint32_t list = pickler_.BeginList();
    {
      Pickler::Items devices(pickler_, 1);
      devices.Next();
      const uint32_t trace = pickler_.BeginList();
      WriteEntries();
      pickler_.EndList(trace, false);
    }
    pickler_.EndList(list);
  }

  void WriteEntries() {
    Pickler::Items entries(pickler_, totals_.entries);
    std::vector<uint64_t> held;
    for (const SyntheticBlock& block : blocks_) held.push_back(block.size);
    Play([&](uint64_t number, const Step& step) {
      const SyntheticBlock& block = blocks_[step.block];
      entries.Next();
      const uint32_t list = WriteEntry("free_requested", block, held[step.block], step.free_stack,
                                       kNotYet);
      entries.Next();
      WriteEntry("free_completed", block, held[step.block], step.free_stack, list);
      entries.Next();
      held[step.block] = step.requested;
      WriteEntry("alloc", block, step.requested, step.stack,
                 block.last_step == number ? block.list : kNotYet);
    });
  }

  const SyntheticOptions options_;
  Pickler pickler_;
  std::vector<uint32_t> frames_;  // memo numbers
  std::vector<SyntheticBlock> blocks_;
  SyntheticTotals totals_;
  uint64_t time_us_ = 1'790'000'000'000'000;
};

}  // namespace

uint64_t SyntheticStepBytes(const SyntheticOptions& options) {
  return 3 * 80 + 2 * (8 + 5 * uint64_t{options.depth});
}

SyntheticTotals WriteSynthetic(const SyntheticOptions& options, ByteSink& sink) {
  return TrainingRun(options, sink).Write();
}

std::string SyntheticPickle(const SyntheticOptions& options, SyntheticTotals* totals) {
  std::string text;
  const std::unique_ptr<ByteSink> sink = ByteSink::To(&text);
  const SyntheticTotals written = WriteSynthetic(options, *sink);
  sink->Commit().IgnoreError();  // into memory: nothing can fail
  if (totals != nullptr) *totals = written;
  return text;
}

}  // namespace graphtree::snapshot
