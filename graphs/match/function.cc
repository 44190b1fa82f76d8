// Checks options, and finds the variant of a call.
#include "graphs/match/function.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "device/base/check.h"
#include "device/base/known_enum.h"

namespace graphtree {
namespace {

bool SameKey(const Values& key, absl::Span<const Value> inputs) {
  if (key.size() != inputs.size()) return false;
  for (size_t i = 0; i < key.size(); ++i) {
    if (key[i].layout() != inputs[i].layout()) return false;
    if (key[i].is_integer() && key[i].integer() != inputs[i].integer()) return false;
    if (key[i].has_version() && key[i].word() != inputs[i].word()) return false;
  }
  return true;
}

uint64_t HashKey(absl::Span<const Value> inputs) {
  uint64_t hash = inputs.size();
  for (const Value& input : inputs) {
    hash = (hash ^ reinterpret_cast<uintptr_t>(input.layout())) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 31;
    if (!input.is_integer() && !input.has_version()) continue;
    hash = (hash ^ input.word()) * 0xc2b2ae3d27d4eb4fu;
  }
  return hash;
}

}  // namespace

absl::Status CheckOptions(const Function& function) {
  // No call brings so many inputs: a larger number is a mistake, or -1.
  constexpr uint32_t kMostInputs = uint32_t{1} << 20;
  constexpr uint64_t kMostAligned = uint64_t{1} << 30;
  const auto wrong = [&function](auto... text) {
    return absl::InvalidArgumentError(absl::StrCat("'", function.name, "' ", text...));
  };
  if (!function.body) return wrong("was registered without a body");
  const FunctionOptions& options = function.options;
  if (!IsKnown(options.moving, Moving::kEager)) {
    return wrong("was registered with ", NotKnown("FunctionOptions::moving", options.moving));
  }
  for (const std::vector<uint32_t>* inputs : {&options.static_inputs, &options.mutated_inputs}) {
    for (uint32_t input : *inputs) {
      if (input >= kMostInputs) return wrong("was registered with options for input ", input);
    }
  }
  for (const InputAlignment& aligned : options.alignments) {
    if (aligned.input >= kMostInputs) {
      return wrong("was registered with options for input ", aligned.input);
    }
    const bool is_power = aligned.bytes != 0 && (aligned.bytes & (aligned.bytes - 1)) == 0;
    if (is_power && aligned.bytes <= kMostAligned) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "input ", aligned.input, " of '", function.name, "' is declared aligned to ", aligned.bytes,
        is_power ? absl::StrCat(" bytes; at most ", kMostAligned, " can be had")
                 : " bytes, which is no power of two"));
  }
  return absl::OkStatus();
}

std::string InputName(const Function& function, size_t input) {
  const std::vector<std::string>& names = function.options.input_names;
  if (input >= names.size() || names[input].empty()) return absl::StrCat("input ", input);
  return absl::StrCat("input ", input, " ('", names[input], "')");
}

Variant* FindVariant(const Function& function, absl::Span<const Value> inputs) {
  const auto same_hash = function.variants.find(HashKey(inputs));
  if (same_hash == function.variants.end()) return nullptr;
  for (const std::unique_ptr<Variant>& variant : same_hash->second) {
    if (SameKey(variant->key, inputs)) return variant.get();
  }
  return nullptr;
}

std::unique_ptr<Variant> NewVariant(Function* function, absl::Span<const Value> inputs,
                                    uint32_t id) {
  auto variant = std::make_unique<Variant>();
  variant->function = function;
  variant->id = id;
  variant->hash = HashKey(inputs);
  for (const Value& input : inputs) {
    const bool by_layout = input.is_tensor() || input.is_opaque();
    const uint64_t word = input.has_version() ? input.word() : 0;
    variant->key.push_back(by_layout ? Value(Tensor::Foreign(word, input.layout())) : input);
  }
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].has_version()) variant->opaque.push_back({i, inputs[i]});
  }
  variant->mutates.assign(inputs.size(), false);
  variant->mutates_somewhere.assign(inputs.size(), false);
  variant->uses.resize(inputs.size());
  variant->writers.resize(inputs.size());
  for (uint32_t input : function->options.mutated_inputs) {
    if (input < inputs.size()) variant->mutates[input] = variant->mutates_somewhere[input] = true;
  }
  return variant;
}

void AddVariant(std::unique_ptr<Variant> variant) {
  Function& function = *variant->function;
  ++function.variant_count;
  ++function.variants_seen;
  std::vector<std::unique_ptr<Variant>>& same_hash = function.variants[variant->hash];
  same_hash.push_back(std::move(variant));
}

void ForgetVariant(Function* function, const Variant* variant) {
  const auto found = function->variants.find(variant->hash);
  GRAPHTREE_CHECK(found != function->variants.end()) << "a variant is not its function's";
  std::vector<std::unique_ptr<Variant>>& same_hash = found->second;
  same_hash.erase(std::find_if(same_hash.begin(), same_hash.end(),
                               [variant](const auto& one) { return one.get() == variant; }));
  if (same_hash.empty()) function->variants.erase(found);
  --function->variant_count;
}

bool IsRecordedSize(const Function& function, absl::Span<const Value> inputs) {
  const std::vector<std::vector<int64_t>>& sizes = function.options.recorded_sizes;
  if (sizes.empty()) return true;
  std::vector<int64_t> size;
  for (const Value& input : inputs) {
    if (input.is_integer()) size.push_back(input.integer());
  }
  for (size_t i = 0; i < inputs.size() && size.empty(); ++i) {
    if (!inputs[i].is_tensor() || function.IsStatic(i)) continue;
    const absl::Span<const int64_t> dimensions = inputs[i].layout()->sizes();
    if (!dimensions.empty()) size.push_back(dimensions[0]);
  }
  return std::find(sizes.begin(), sizes.end(), size) != sizes.end();
}

}  // namespace graphtree
