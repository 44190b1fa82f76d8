// What each line of a body does to the model.
#include "tests/outsider/mirror.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "tests/outsider/kernels.h"

namespace graphtree::outsider {
namespace {

uint32_t Extent(const Handle& handle) { return static_cast<uint32_t>(handle.extent()); }

BytesPtr NewBytes(uint64_t bytes) {
  auto made = std::make_shared<Bytes>();
  made->data.resize(bytes);
  return made;
}

}  // namespace

Place PlaceIn(int buffer, int offset, const Layout* layout) {
  const int index = (buffer < 0 ? -buffer : buffer) % kBuffers;
  if (layout->extent_bytes() > kBufferBytes[index]) layout = LayoutOf(0);
  const uint64_t room = kBufferBytes[index] - layout->extent_bytes() + 1;
  return {index, static_cast<uint64_t>(offset < 0 ? -offset : offset) % room, layout};
}

namespace {

bool DrawsNumbers(const std::vector<Statement>& body) {
  return std::any_of(body.begin(), body.end(), [](const Statement& line) {
    return line.what == Do::kRandom || DrawsNumbers(line.part);
  });
}

}  // namespace

// None that draws random numbers: where a recording fails after a part, the part runs twice, and
// what other trees drew is drawn again.
int FunctionOf(const Program& program, int tree, int n) {
  std::vector<int> found;
  for (size_t i = 0; i < program.functions.size(); ++i) {
    const FunctionPlan& function = program.functions[i];
    if (function[Trait::kTree] != tree || DrawsNumbers(function.body)) continue;
    found.push_back(static_cast<int>(i));
  }
  if (found.empty()) return -1;
  return found[static_cast<size_t>(n < 0 ? -n : n) % found.size()];
}

std::vector<int64_t> IntegersOf(const std::vector<Handle>& inputs) {
  std::vector<int64_t> integers;
  for (const Handle& input : inputs) {
    const bool has = input.kind == Handle::Kind::kInteger || input.kind == Handle::Kind::kOpaque;
    integers.push_back(has ? input.integer : kNoInteger);
  }
  return integers;
}

std::vector<Handle> ModelMachine::RunFunction(const FunctionPlan& function,
                                              std::vector<Handle>& inputs) {
  BodyRun<ModelMachine> run(*this, function, IntegersOf(inputs));
  run.AddInputs(inputs);
  run.Run(function.body);
  std::vector<Handle> outputs = run.Returned();
  // What its options say about outputs.
  const size_t most = static_cast<size_t>(function[Trait::kMostOutputs]);
  failed_ = failed_ || (most != 0 && outputs.size() > most) ||
            function[Trait::kKept] >> outputs.size() != 0;
  return outputs;
}

Handle ModelMachine::Empty(const Layout* layout) {
  BytesPtr bytes = NewBytes(layout->extent_bytes());
  bytes->tree = tree_;
  bytes->pool = tree_;
  bytes->step = mirror_.steps[tree_];
  bytes->born_in = mirror_.call;
  return Handle::Tensor(bytes, 0, layout);
}

Handle ModelMachine::Closure(int buffer, int offset, const Layout* layout) {
  const Place place = PlaceIn(buffer, offset, layout);
  return Handle::Tensor(mirror_.buffers[place.buffer], place.offset, place.layout);
}

bool ModelMachine::Overlap(const V& a, const V& b) {
  const bool overlap =
      a.bytes == b.bytes && a.at < b.at + b.extent() && b.at < a.at + a.extent();
  mirror_.senseless |= overlap;
  return overlap;
}

void ModelMachine::Mix(const V& target, const V& source, int by) {
  mirror_.journal.Touch(target);
  outsider::Mix(target.data(), source.data(),
                {Extent(target), Extent(source), 0, static_cast<uint32_t>(by)});
}

void ModelMachine::Bump(const V& target, int by) {
  mirror_.journal.Touch(target);
  outsider::Bump(target.data(), {Extent(target), 0, 0, static_cast<uint32_t>(by)});
}

void ModelMachine::Join(const V& target, const V& source, const V& more, int by) {
  mirror_.journal.Touch(target);
  outsider::Join(target.data(), source.data(), more.data(),
                 {Extent(target), Extent(source), Extent(more), static_cast<uint32_t>(by)});
}

void ModelMachine::Elements(const V& target, const V& source, int by) {
  mirror_.journal.Touch(target);
  outsider::Elements(target.data(), source.data(),
                     ElementsOf(*target.layout, *source.layout, static_cast<uint32_t>(by)));
}

void ModelMachine::Fill(const V& target, int byte) {
  mirror_.journal.Touch(target);
  if (Extent(target) > 0) std::memset(target.data(), byte & 255, Extent(target));
}

void ModelMachine::Copy(const V& target, const V& source) {
  mirror_.journal.Touch(target);
  if (Extent(target) > 0) std::memmove(target.data(), source.data(), Extent(target));
}

// What the side stream makes lies apart (1, 2) before it comes to the target.
void ModelMachine::Fork(const V& target, const V& source, int by, int style) {
  if (style == 0) return Mix(target, source, by);
  const V apart = Handle::Tensor(NewBytes(target.extent()), 0, target.layout);
  outsider::Mix(apart.data(), source.data(),
                {Extent(target), Extent(source), 0, static_cast<uint32_t>(by)});
  if (style == 2) Mix(target, apart, by + 1);
}

void ModelMachine::Random(int generator, const V& target, int count) {
  MirrorGenerator& from = mirror_.generators[static_cast<size_t>(generator) % kGenerators];
  const uint64_t numbers = Extent(target) + static_cast<uint64_t>(count % 8);
  mirror_.journal.Touch(target);
  Draw(target.data(), from.seed, from.offset, Extent(target));
  from.offset += numbers;
}

void ModelMachine::HostSees(const V& target, const V& source) {
  const int by = Extent(source) > 0 ? source.data()[0] : 3;
  Mix(target, source, by);
}

void ModelMachine::Scratch(const V& target, const V& source, int bytes, int by) {
  std::vector<uint8_t> scratch(bytes);
  mirror_.journal.Touch(target);
  Via(target.data(), scratch.data(), source.data(),
      {Extent(target), Extent(source), static_cast<uint32_t>(bytes), static_cast<uint32_t>(by)});
}

void ModelMachine::ForeignTemp(const V& target, const V& source, int bytes, int by) {
  Scratch(target, source, bytes, by);
}

void ModelMachine::Lasting(Do, int place, const V& target, const V& source, int by) {
  Scratch(target, source, static_cast<int>(LastingBytes(place % kLasting)), by);
}

void ModelMachine::Break(const FunctionPlan& function, const Statement& line,
                         const std::vector<std::pair<V*, Access>>& given,
                         const std::vector<int64_t>& integers) {
  BodyRun<ModelMachine> part(*this, function, integers);
  part.SetInPart();
  for (const auto& [value, access] : given) {
    if (access != Access::kRead) mirror_.journal.Touch(*value);
    part.AddSlot(*value, access);
  }
  part.Run(line.part);
}

void ModelMachine::Nested(int function, const V& target, const V& source) {
  const int index = FunctionOf(program_, 1, function);
  if (index < 0) return;
  const FunctionPlan& inner = program_.functions[index];
  std::vector<Handle> inputs;
  for (int i = 0; i < inner[Trait::kInputs]; ++i) {
    inputs.push_back((inner[Trait::kWritable] >> i & 1) != 0 ? target : source);
  }
  ModelMachine machine(program_, mirror_, 1);
  const std::vector<Handle> outputs = machine.RunFunction(inner, inputs);
  failed_ = failed_ || machine.failed();
  for (const auto& [place, handle] : machine.stored()) stored_[place] = handle;
  for (const Handle& output : outputs) {
    if (output.is_tensor()) return Mix(target, output, 11);
  }
}

void ModelMachine::KeepAlive(const V& target) {
  if (Extent(target) == 0) return;
  const V first = Handle::Tensor(target.bytes, target.at, outsider::LayoutOf(5));
  mirror_.journal.Touch(first);
  first.data()[0] = kAlive;
}

void ModelMachine::Aligned(const V& target, const V&, int) {
  if (Extent(target) == 0) return;
  const V first = Handle::Tensor(target.bytes, target.at, outsider::LayoutOf(5));
  mirror_.journal.Touch(first);
  first.data()[0] = 1;
}

}  // namespace graphtree::outsider
