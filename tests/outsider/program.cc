// Programs as text and back.
#include "tests/outsider/program.h"

#include <sstream>

namespace graphtree::outsider {
namespace {

constexpr std::array<const char*, kOptionCount> kOptions = {
    "check", "strict", "disabled", "pool_kib", "initial_kib", "rerecord_limit", "patch_bytes",
    "no_spare", "kept_bytes", "nodes", "executables", "executable_kib", "siblings",
    "shapes_of_function", "shapes", "retry_after", "warm_up_limit", "immediate", "device_seed",
    "observed", "close_order", "round_trips"};
constexpr std::array<const char*, kTraitCount> kTraits = {
    "tree", "inputs", "statics", "mutated", "writable", "kept", "exclude", "moving", "checked",
    "aligned_input", "alignment", "most_outputs", "recorded_size", "skip_varying"};
constexpr std::array<const char*, kDoCount> kDos = {
    "new", "rows", "unused", "mix", "bump", "join", "elements", "fill", "copy", "view", "raw_fill",
    "raw_mix", "raw_copy", "fork", "unjoined", "scratch", "scratch_fill", "foreign_temp",
    "foreign_held", "workspace", "random", "drop", "break", "host_sees", "keep_alive",
    "warm_up_again", "sync", "nested", "stash", "closure", "aligned", "by_integer", "fail_if",
    "throw_if", "reenter", "scratch_part"};
constexpr std::array<const char*, kFromCount> kFroms = {
    "shelf", "buffer", "block", "integer", "opaque", "versioned", "nothing", "consumed"};
constexpr std::array<const char*, kActCount> kActs = {
    "run", "step", "drop_", "drop_on_thread", "hold", "look", "write", "fill_", "read_back",
    "check_", "park", "wake", "trim", "stats", "snapshot", "move_workspace", "allocate_block",
    "free_block", "seed", "fault", "fault_at", "forget", "prune", "unregister"};

template <size_t kCount>
int Find(const std::array<const char*, kCount>& names, const std::string& word) {
  for (size_t i = 0; i < kCount; ++i) {
    if (word == names[i]) return static_cast<int>(i);
  }
  return -1;
}

// Without the zeros at the end.
template <size_t kCount>
void PutNumbers(const std::array<int, kCount>& numbers, std::string* text) {
  size_t count = kCount;
  while (count > 0 && numbers[count - 1] == 0) --count;
  for (size_t i = 0; i < count; ++i) *text += " " + std::to_string(numbers[i]);
}

template <size_t kCount>
void TakeNumbers(std::istringstream& words, std::array<int, kCount>* numbers) {
  for (int& number : *numbers) {
    if (!(words >> number)) return;
  }
}

void PutBody(const std::vector<Statement>& body, const std::string& indent, std::string* text) {
  for (const Statement& statement : body) {
    *text += indent + NameOf(statement.what);
    PutNumbers(statement.n, text);
    *text += "\n";
    if (statement.what != Do::kBreak) continue;
    PutBody(statement.part, indent + "  ", text);
    *text += indent + "end\n";
  }
}

// Takes the text line by line; `nest_` is where statements go, innermost last.
class Reader {
 public:
  explicit Reader(Program* program) : program_(*program) {}

  bool Take(const std::string& line) {
    std::istringstream words(line);
    std::string word;
    if (!(words >> word) || word[0] == '#') return true;
    if (word == "option") return Set(kOptions, words, &program_.options);
    if (word == "function") {
      program_.functions.emplace_back();
      nest_ = {&program_.functions.back().body};
      return true;
    }
    if (word == "end") {
      if (nest_.size() < 2) return false;
      nest_.pop_back();
      return true;
    }
    if (const int act = Find(kActs, word); act >= 0) return TakeAction(act, words);
    return !nest_.empty() && TakeInFunction(word, words);
  }

 private:
  template <size_t kCount>
  static bool Set(const std::array<const char*, kCount>& names, std::istringstream& words,
                  std::array<int, kCount>* values) {
    std::string name;
    int value = 0;
    if (!(words >> name >> value)) return false;
    const int index = Find(names, name);
    if (index >= 0) (*values)[index] = value;
    return index >= 0;
  }

  bool TakeInFunction(const std::string& word, std::istringstream& words) {
    FunctionPlan& function = program_.functions.back();
    if (word == "trait") return Set(kTraits, words, &function.traits);
    if (word == "returns") {
      for (int slot = 0; words >> slot;) function.returns.push_back(slot);
      return true;
    }
    const int what = Find(kDos, word);
    if (what < 0) return false;
    Statement statement;
    statement.what = static_cast<Do>(what);
    TakeNumbers(words, &statement.n);
    nest_.back()->push_back(statement);
    if (statement.what == Do::kBreak) nest_.push_back(&nest_.back()->back().part);
    return true;
  }

  bool TakeAction(int act, std::istringstream& words) {
    Action action;
    action.what = static_cast<Act>(act);
    std::string part;
    for (bool first = true; std::getline(words, part, ';'); first = false) {
      std::istringstream inner(part);
      if (first) {
        TakeNumbers(inner, &action.n);
        continue;
      }
      std::string from;
      if (!(inner >> from) || Find(kFroms, from) < 0) return false;
      InputPlan input;
      input.from = static_cast<From>(Find(kFroms, from));
      TakeNumbers(inner, &input.n);
      action.inputs.push_back(input);
    }
    program_.actions.push_back(action);
    return true;
  }

  Program& program_;
  std::vector<std::vector<Statement>*> nest_;
};

}  // namespace

const char* NameOf(Option option) { return kOptions[static_cast<size_t>(option)]; }
const char* NameOf(Trait trait) { return kTraits[static_cast<size_t>(trait)]; }
const char* NameOf(Do what) { return kDos[static_cast<size_t>(what)]; }
const char* NameOf(From from) { return kFroms[static_cast<size_t>(from)]; }
const char* NameOf(Act act) { return kActs[static_cast<size_t>(act)]; }

std::string TextOf(const Program& program) {
  std::string text;
  for (size_t i = 0; i < kOptionCount; ++i) {
    if (program.options[i] == 0) continue;
    text += std::string("option ") + kOptions[i] + " " + std::to_string(program.options[i]) + "\n";
  }
  for (const FunctionPlan& function : program.functions) {
    text += "function\n";
    for (size_t i = 0; i < kTraitCount; ++i) {
      if (function.traits[i] == 0) continue;
      text += std::string("  trait ") + kTraits[i];
      text += " " + std::to_string(function.traits[i]) + "\n";
    }
    PutBody(function.body, "  ", &text);
    text += "  returns";
    for (int slot : function.returns) text += " " + std::to_string(slot);
    text += "\n";
  }
  for (const Action& action : program.actions) {
    text += NameOf(action.what);
    PutNumbers(action.n, &text);
    for (const InputPlan& input : action.inputs) {
      text += std::string(" ; ") + NameOf(input.from);
      PutNumbers(input.n, &text);
    }
    text += "\n";
  }
  return text;
}

bool ProgramOf(const std::string& text, Program* program, std::string* wrong) {
  Reader reader(program);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (reader.Take(line)) continue;
    *wrong = line;
    return false;
  }
  return true;
}

}  // namespace graphtree::outsider
