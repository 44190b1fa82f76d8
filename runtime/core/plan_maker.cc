// Prices every shape, chooses, and adds up.
#include "runtime/core/plan_maker.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "device/base/status_macros.h"
#include "runtime/core/lane.h"
#include "runtime/core/ledger_rows.h"
#include "runtime/core/program_state.h"
#include "runtime/plan/places.h"
#include "runtime/shapes/cover_index.h"
#include "runtime/shapes/shape_table.h"

namespace graphtree {
namespace {

uint64_t InPieces(uint64_t bytes) {
  return (bytes + PlanMaker::kPiece - 1) / PlanMaker::kPiece * PlanMaker::kPiece;
}

std::string Mib(double bytes) { return absl::StrFormat("%.1f MiB", bytes / (1 << 20)); }

std::string Name(const ProgramState& program, const ShapeToRecord& shape) {
  return absl::StrCat("'", program.name(), "' (", ModeName(shape.mode), ", ", ToString(shape.key),
                      ")");
}

}  // namespace

std::vector<ShapeToRecord> PlanMaker::AllShapes() const {
  std::vector<ShapeToRecord> all;
  programs_.ForEach([&](ProgramId id, const ProgramState& program) {
    for (uint32_t i = 0; i < program.table().size(); ++i) {
      const Shape& shape = program.table().shape(i);
      all.push_back({id, shape.key, shape.mode});
    }
  });
  return all;
}

absl::StatusOr<std::vector<PlanMaker::Row>> PlanMaker::Resolve(
    absl::Span<const ShapeToRecord> shapes) const {
  std::vector<Row> rows;
  std::set<std::pair<const ProgramState*, uint32_t>> seen;
  for (const ShapeToRecord& shape : shapes) {
    Row row = {.shape = shape};
    GRAPHTREE_ASSIGN_OR_RETURN(row.program, programs_.Find(shape.program));
    row.index = row.program->FindShape(shape.key, shape.mode);
    if (row.index == kNoShape) {
      return absl::NotFoundError(
          absl::StrCat("a plan names a shape that is not there: ", Name(*row.program, shape)));
    }
    if (!seen.insert({row.program, row.index}).second) continue;
    const uint32_t device = row.program->lane().device_number;
    if (!rows.empty() && rows[0].program->lane().device_number != device) {
      return absl::InvalidArgumentError(absl::StrCat(
          "a plan has shapes of '", rows[0].program->name(), "' and '", row.program->name(),
          "', which are on different devices; make a plan for each device"));
    }
    row.is_recorded = recordings_.IsGood(*row.program, row.index);
    rows.push_back(std::move(row));
  }
  return rows;
}

PlanMaker::Known PlanMaker::Learn() const {
  Known known;
  known.input = CollectLedger(watch_, dependencies_.workspace_bytes());
  known.ledger = LedgerOf(known.input);
  programs_.ForEach([&](ProgramId id, const ProgramState&) { known.programs.push_back(id); });
  for (size_t i = 0; i < known.input.recordings.size(); ++i) {
    LedgerInput::Recording& one = known.input.recordings[i];
    if (one.program == LedgerInput::kNoProgram) continue;
    const ProgramId id = known.programs[one.program];
    const absl::StatusOr<ProgramState*> program = programs_.Find(id);
    if (!program.ok()) continue;
    one.shape = (*program)->table().IndexOf(one.shape);  // from here on by the table's order
    if (one.executable_bytes == 0) continue;             // evicted: nobody knows how many
    const ShapeState& shape = (*program)->shape(one.shape);
    const LedgerBytes& bytes = known.ledger.recordings[i].bytes;
    known.costs[{id.index, shape.mode}].Learn(
        shape.key, {bytes.alone + bytes.shared, one.executable_bytes, one.host_bytes});
    ++known.recordings;
  }
  return known;
}

void PlanMaker::Price(const Known& known, Row* row) {
  const auto costs = known.costs.find({row->shape.program.index, row->shape.mode});
  row->takes = costs == known.costs.end() ? CostModel().Of(row->shape.key)
                                          : costs->second.Of(row->shape.key);
  if (!row->takes.pool.is_known()) return;
  const DriverModel& device = driver(row->program->lane().device_number);
  row->own_bytes = device.Executables(row->takes.executables).most();
  if (!row->is_recorded) row->own_bytes += code(row->shape.program).Code(1).most();
  row->pool_bytes = InPieces(row->takes.pool.most());
}

absl::Status PlanMaker::CheckNeeds(const std::vector<Row>& rows, uint64_t budget) const {
  if (budget == 0) return absl::OkStatus();
  // A shape that is there already, or of which nothing is known, may need nothing.
  const auto need_of = [](const Row& row) {
    return row.is_recorded ? 0 : row.own_bytes + row.pool_bytes;
  };
  std::map<const ProgramState*, const Row*> least;
  for (const Row& row : rows) {
    const Row*& best = least[row.program];
    if (best == nullptr || need_of(row) < need_of(*best)) best = &row;
  }
  for (const auto& [program, row] : least) {
    const uint64_t need = need_of(*row);
    if (need <= budget) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "a plan has a budget of ", budget, " bytes, and the smallest shape of ",
        Name(*program, row->shape), " needs about ", need, ": ", row->pool_bytes,
        " of the pool, ", row->own_bytes, " for its executables and code"));
  }
  return absl::OkStatus();
}

std::vector<PlanMaker::LaneNow> PlanMaker::LanesNow(const Known& known,
                                                    const std::vector<Row>& rows) const {
  std::vector<LaneNow> lanes;
  const uint32_t device = rows[0].program->lane().device_number;
  std::set<std::pair<uint32_t, uint32_t>> planned;  // program and shape
  for (const Row& row : rows) {
    if (row.is_recorded) planned.insert({row.shape.program.index, row.index});
  }
  for (const LedgerInput::Lane& lane : known.input.lanes) {
    if (lane.device != device) continue;
    LaneNow now = {.number = lane.number,
                   .step_bytes = lane.mapped_bytes - lane.lasting_bytes,
                   .lasting_bytes = lane.lasting_bytes};
    for (const LedgerInput::Recording& one : known.input.recordings) {
      const LedgerInput::Lane& its = known.input.lanes[one.lane];
      if (its.device != device || its.number != lane.number) continue;
      const bool is_planned =
          one.program != LedgerInput::kNoProgram &&
          planned.contains({known.programs[one.program].index, one.shape});
      if (!is_planned) now.other_executables += one.executable_bytes;
    }
    lanes.push_back(now);
  }
  return lanes;
}

Guess PlanMaker::Workspaces(const std::vector<Row>& chosen) {
  Guess sum;
  std::map<uint32_t, const Row*> largest;  // by program
  for (const Row& row : chosen) {
    const Row*& best = largest[row.shape.program.index];
    if (best == nullptr || CostsLess(best->shape.key, row.shape.key)) best = &row;
  }
  for (const auto& [program, row] : largest) {
    const Guess now =
        Guess::Exactly(static_cast<double>(dependencies_.WorkspaceBytes(*row->program)));
    const Guess then = workspaces(row->shape.program).At(row->shape.key.tokens);
    const bool grows = !row->is_recorded && then.is_known() && then.bytes > now.bytes;
    sum += grows ? then : now;
  }
  return sum;
}

PlanEstimate PlanMaker::Estimate(const Known& known, const std::vector<Row>& chosen) {
  PlanEstimate estimate;
  estimate.learned_from = known.recordings;
  estimate.is_known = true;
  if (chosen.empty()) return estimate;
  const uint32_t device = chosen[0].program->lane().device_number;
  std::map<uint32_t, std::vector<Guess>> pools;  // by lane
  std::map<uint32_t, size_t> to_record;          // by program
  Guess executables;
  for (const Row& row : chosen) {
    estimate.is_known &= row.takes.pool.is_known();
    if (!row.takes.pool.is_known()) continue;
    pools[row.program->lane().number].push_back(row.takes.pool);
    executables += row.takes.executables;
    estimate.host += row.takes.host;
    to_record[row.shape.program.index] += row.is_recorded ? 0 : 1;
  }
  for (const LaneNow& lane : LanesNow(known, chosen)) {
    PoolGuess pool = PoolOf(pools[lane.number], kPiece);
    const double total = pool.alone.bytes + pool.shared.bytes;
    const auto mapped = static_cast<double>(lane.step_bytes);
    if (mapped >= total) pool.alone = Guess::Exactly(mapped - pool.shared.bytes);
    estimate.pool_alone += pool.alone;
    estimate.pool_alone += Guess::Exactly(static_cast<double>(lane.lasting_bytes));
    estimate.pool_shared += pool.shared;
    executables += Guess::Exactly(static_cast<double>(lane.other_executables));
  }
  estimate.executables = driver(device).Executables(executables);
  programs_.ForEach([&](ProgramId id, const ProgramState& program) {
    if (program.lane().device_number != device) return;
    estimate.code += Guess::Exactly(static_cast<double>(program.code_bytes()));
    estimate.code += code(id).Code(to_record[id.index]);
  });
  estimate.workspaces = Workspaces(chosen);
  return estimate;
}

std::string PlanMaker::Words(const RecordingPlan& plan, const std::vector<Row>& chosen) const {
  std::string words = absl::StrCat(plan.order.size(), " shapes to record, ", plan.recorded.size(),
                                   " recorded, ", plan.left_out.size(), " left out. ");
  const Guess device = plan.estimate.device();
  std::set<std::string> unknown;
  for (const Row& row : chosen) {
    if (row.takes.pool.is_known()) continue;
    unknown.insert(absl::StrCat("'", row.program->name(), "' (", ModeName(row.shape.mode), ")"));
  }
  if (!unknown.empty()) {
    absl::StrAppend(&words, "Nothing is known yet of what ", absl::StrJoin(unknown, ", "),
                    " will take: the first recordings will show that. ");
  }
  if (plan.estimate.learned_from > 0) {
    absl::StrAppend(&words, "By ", plan.estimate.learned_from, " recordings: ", Mib(device.bytes),
                    " +- ", Mib(device.error), " of the device, of these pools ",
                    Mib(plan.estimate.pool_alone.bytes + plan.estimate.pool_shared.bytes),
                    ", executables ", Mib(plan.estimate.executables.bytes), ", code ",
                    Mib(plan.estimate.code.bytes), ".");
  }
  return words;
}

// Leaves the rows that are chosen. REQUIRES: there are rows.
void PlanMaker::Choose(const Known& known, RecordingPlan* plan, std::vector<Row>* rows) const {
  std::vector<PlanItem> items;
  for (const Row& row : *rows) {
    items.push_back({.lane = row.program->lane().number,
                     .own_bytes = row.own_bytes,
                     .pool_bytes = row.pool_bytes,
                     .worth = 1 + row.program->shape(row.index).wanted,
                     .is_there = row.is_recorded});
  }
  for (const LaneNow& lane : LanesNow(known, *rows)) {
    items.push_back({.lane = lane.number,
                     .own_bytes = lane.lasting_bytes + lane.other_executables,
                     .pool_bytes = lane.step_bytes,
                     .is_there = true});
  }
  const Selection selection = SelectWithin(items, plan->budget);
  std::vector<Row> chosen;
  for (size_t i = 0; i < rows->size(); ++i) {
    const Row& row = (*rows)[i];
    if (selection.is_chosen[i]) {
      chosen.push_back(row);
      continue;
    }
    plan->left_out.push_back(
        {row.shape, LeftOut::kBudget,
         absl::StrCat("it would take ", row.own_bytes, " bytes of its own and ", row.pool_bytes,
                      " of the pool, and of the budget of ", plan->budget,
                      " what is worth more takes ", selection.bytes)});
  }
  rows->swap(chosen);
}

// What others have recorded stays. REQUIRES: the largest rows come first, as they cover the others.
void PlanMaker::ChooseByNodes(const Known& known, RecordingPlan* plan,
                              std::vector<Row>* rows) const {
  if (rows->empty()) return;
  const uint32_t device = (*rows)[0].program->lane().device_number;
  std::set<std::pair<uint32_t, uint32_t>> planned;  // program and shape
  for (const Row& row : *rows) planned.insert({row.shape.program.index, row.index});
  const auto or_none = [](uint64_t limit) {
    return limit > 0 ? limit : std::numeric_limits<uint64_t>::max();
  };
  Places places = {{}, or_none(options_.shared.nodes)};
  for (const LedgerInput::Lane& lane : known.input.lanes) {
    if (lane.device == device) places.of_lane[lane.number] = options_.tree.budget.nodes;
  }
  const auto take_one = [](uint64_t* places) { *places -= *places > 0 ? 1 : 0; };
  for (const LedgerInput::Recording& one : known.input.recordings) {
    const LedgerInput::Lane& lane = known.input.lanes[one.lane];
    const bool is_planned = one.program != LedgerInput::kNoProgram &&
                            planned.contains({known.programs[one.program].index, one.shape});
    if (lane.device != device || is_planned) continue;
    take_one(&places.of_lane[lane.number]);
    take_one(&places.of_all);
  }
  std::vector<PlaceWanted> wanted;
  for (const Row& row : *rows) {
    wanted.push_back({.lane = row.program->lane().number,
                      .worth = row.program->shape(row.index).wanted,
                      .is_there = row.is_recorded});
  }
  const std::vector<bool> has_place = GivePlaces(wanted, places);
  std::vector<Row> chosen;
  for (size_t i = 0; i < rows->size(); ++i) {
    const Row& row = (*rows)[i];
    if (has_place[i]) {
      chosen.push_back(row);
      continue;
    }
    std::string words = absl::StrCat("the tree of its lane may hold ", options_.tree.budget.nodes,
                                     " recordings (TreeBudget::nodes)");
    if (options_.shared.nodes > 0) {
      absl::StrAppend(&words, ", all trees of the device ", options_.shared.nodes,
                      " (RuntimeOptions::shared)");
    }
    absl::StrAppend(&words, ", and what is recorded or worth more takes these");
    plan->left_out.push_back({row.shape, LeftOut::kNodes, std::move(words)});
  }
  rows->swap(chosen);
}

absl::StatusOr<RecordingPlan> PlanMaker::Make(absl::Span<const ShapeToRecord> shapes,
                                              uint64_t budget) {
  std::vector<ShapeToRecord> all;
  if (shapes.empty()) shapes = all = AllShapes();
  GRAPHTREE_ASSIGN_OR_RETURN(std::vector<Row> rows, Resolve(shapes));
  RecordingPlan plan;
  plan.budget = budget;
  const Known known = Learn();
  std::vector<Row> chosen;
  for (Row& row : rows) {
    Price(known, &row);
    if (row.program->shape(row.index).life.is_excluded()) {
      plan.left_out.push_back({row.shape, LeftOut::kExcluded, "the caller excluded it"});
    } else {
      chosen.push_back(row);
    }
  }
  GRAPHTREE_RETURN_IF_ERROR(CheckNeeds(chosen, budget));
  if (!chosen.empty()) Choose(known, &plan, &chosen);
  // The largest first, as it sizes workspaces and pools for the others.
  std::stable_sort(chosen.begin(), chosen.end(), [](const Row& a, const Row& b) {
    return CostsLess(b.shape.key, a.shape.key);
  });
  ChooseByNodes(known, &plan, &chosen);
  for (const Row& row : chosen) {
    if (row.is_recorded) {
      plan.recorded.push_back(row.shape);
    } else {
      plan.order.push_back({row.shape, row.takes, row.program->shape(row.index).wanted});
    }
  }
  plan.estimate = Estimate(known, chosen);
  plan.words = Words(plan, chosen);
  return plan;
}

}  // namespace graphtree
