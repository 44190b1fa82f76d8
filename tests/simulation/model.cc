// Follows a run on cells.
#include "tests/simulation/model.h"

#include <utility>

#include "tests/kernels/kernels.h"

namespace graphtree::simulation {

uint32_t KeyOf(const Value& value) {
  if (value.is_integer()) return static_cast<uint32_t>(value.integer());
  return value.is_opaque() ? value.opaque<Thing>().content : 0;
}

Model::Model(const FunctionSpec& spec, const std::vector<Seen>& arguments, uint32_t elements,
             uint64_t run)
    : spec_(&spec), elements_(elements), run_(run), copies_(arguments.size()) {
  recorded_.copied.resize(arguments.size(), false);
  for (const Seen& argument : arguments) {
    Source source = argument.source;
    const bool is_callers = argument.handle.is_tensor() && argument.handle.storage() == nullptr;
    if (is_callers) source = {Source::Kind::kCell, argument.cell};
    registers_.push_back({argument.cell, std::move(source)});
    key_ += KeyOf(argument.handle);
  }
}

void Model::Copied(size_t p) {
  recorded_.copied[p] = true;
  copies_[p] = std::make_shared<Cell>(*registers_[p].cell);
}

void Model::Do(const OpSpec& op) {
  switch (op.kind) {
    case OpSpecKind::kDrop:
    case OpSpecKind::kStore:
    case OpSpecKind::kForget: return;
    case OpSpecKind::kIncrement:
    case OpSpecKind::kSecret:
      for (uint32_t& word : *registers_[op.a].cell) word += op.immediate;
      if (copies_[op.a] == nullptr) return;
      // The copy is written, and given back behind the body.
      for (uint32_t& word : *copies_[op.a]) word += op.immediate;
      return;
    case OpSpecKind::kLoad: recorded_.loads.push_back(std::nullopt); break;
    default: break;
  }
  const bool fills = op.kind == OpSpecKind::kFill || op.kind == OpSpecKind::kLoad;
  auto out = std::make_shared<Cell>(elements_);
  for (uint32_t e = 0; e < elements_; ++e) {
    (*out)[e] = fills ? PatternWord(op.immediate + key_, e)
                      : (*registers_[op.a].cell)[e] + (*registers_[op.b].cell)[e];
  }
  const Source own{Source::Kind::kRegister, nullptr, kThisRun, registers_.size()};
  registers_.push_back({std::move(out), own, Life::kUnknown, run_});
  copies_.push_back(nullptr);
}

void Model::Take(Register found) {
  // An earlier run of this call came to nothing: nobody will find what it made.
  const bool is_lost =
      found.source.kind == Source::Kind::kRegister && found.source.recording == kThisRun;
  recorded_.loads.push_back(is_lost ? Source() : found.source);
  registers_.push_back(std::move(found));
  copies_.push_back(nullptr);
}

void Model::TakeOwn(size_t number) {
  recorded_.loads.push_back(Source{Source::Kind::kRegister, nullptr, kThisRun, number});
  registers_.push_back(Register(registers_[number]));
  copies_.push_back(CellPtr(copies_[number]));
}

bool Model::Replay(const Recorded& recorded,
                   const std::function<CellPtr(const Source&)>& find) {
  bool knows_all = true;
  for (size_t p = 0; p < recorded.copied.size(); ++p) {
    if (recorded.copied[p]) Copied(p);
  }
  size_t load = 0;
  for (size_t i = 0; i < spec_->ops.size() && knows_all; ++i) {
    const OpSpec& op = spec_->ops[i];
    const bool takes = op.kind == OpSpecKind::kLoad && recorded.loads[load++].has_value();
    if (!takes) {
      Do(op);
      continue;
    }
    const Source& source = *recorded.loads[load - 1];
    const bool is_own = source.kind == Source::Kind::kRegister && source.recording == kThisRun;
    if (is_own) {
      TakeOwn(source.number);
      continue;
    }
    const CellPtr cell = find(source);
    knows_all = cell != nullptr || !spec_->UsesBehind(i, static_cast<int>(registers_.size()));
    Take({cell, source});
  }
  return knows_all;
}

Register Model::ForShelf(size_t number) const {
  if (copies_[number] == nullptr) return registers_[number];
  return {copies_[number], {Source::Kind::kRegister, nullptr, kThisRun, number},
          Life::kUnknown, run_};
}

std::vector<CellPtr> Model::Cells() const {
  std::vector<CellPtr> cells;
  for (size_t i = 0; i < registers_.size(); ++i) cells.push_back(ForShelf(i).cell);
  return cells;
}

}  // namespace graphtree::simulation
