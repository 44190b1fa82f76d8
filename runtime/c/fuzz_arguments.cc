// Fills in the structs that a call does little without.
#include "runtime/c/fuzz_arguments.h"

namespace graphtree::c {

int64_t Arguments::AnyNumber() {
  static const std::vector<int64_t> edges = {0,  1,  2,       3,         4,         7,
                                             8,  64, 512,     4096,      -1,        -7,
                                             1 << 20, INT64_MAX, INT64_MIN, uint32_t{0xFFFFFFFF}};
  return Roll(3) > 0 ? Roll(4) : Of(edges);
}

const char* Arguments::AnyWord() {
  static const std::vector<const char*> words = {"host", "host", "a", "b", "weights", "", "\n",
                                                 nullptr};
  return Of(words);
}

// A layout may reach beyond the memory that is there; a tensor of such a layout would be the
// caller's own fault.
gt_value Arguments::AnyValue() {
  if (Roll(3) == 0 && !world_.values().empty()) return Of(world_.values());
  switch (Roll(6)) {
    case 0: return gt_integer(AnyNumber());
    case 1: return gt_nothing();
    default: break;
  }
  const gt_layout layout = AnyHandle<gt_layout>();
  gt_layout_info info = GT_INIT(gt_layout_info);
  gt_error error = gt_layout_look(layout, &info);
  if (error == nullptr && info.extent_bytes > kBytesAtAddress) return gt_nothing();
  gt_release(error);
  gt_value value = gt_tensor(Address(), layout);
  if (Roll(16) == 0) value.kind = static_cast<gt_value_kind>(AnyNumber());
  if (Roll(16) == 0) value.storage = AnyHandle<gt_storage>();
  return value;
}

gt_key Arguments::AnyKey() {
  gt_key key = {};
  key.tokens = static_cast<int32_t>(Roll(8) == 0 ? AnyNumber() : Roll(10));
  key.kind = Roll(8) == 0 ? 1 : 0;
  key.context = Roll(8) == 0 ? GT_ANY : 0;
  return key;
}

void Arguments::KeepIfNew(const gt_value& value) {
  if (value.storage == nullptr) return;
  for (void* const known : world_.Of<gt_storage>()) {
    if (known == value.storage) return;
  }
  world_.KeepValue(value);
}

void Arguments::FillStruct(gt_arg* out) {
  tensor_ = AnyValue();
  out->access = static_cast<gt_access>(Roll(7));
  out->bytes = Roll(3) * 4;
  out->data = out->access == GT_BYTES || out->access == GT_NUMBER ? static_cast<void*>(memory_)
                                                                   : &tensor_;
  // What a range says is a range: the first two words of a tensor are not.
  if (out->access == GT_RANGE) out->access = GT_READ;
  if (Roll(16) == 0) out->data = nullptr;
}

void Arguments::FillStruct(gt_launch_shape* out) {
  for (int i = 0; i < 3; ++i) out->grid[i] = out->block[i] = Roll(16) == 0 ? Roll(3) : 1;
  out->programmatic = Roll(8) == 0;
}

void Arguments::FillStruct(gt_rows* out) {
  *out = {static_cast<gt_dtype>(Roll(9)), 0, Address(), static_cast<int64_t>(Roll(10)), 0, 0};
}

void Arguments::FillStruct(gt_ahead_rows* out) {
  out->slot = Roll(8) == 0 ? 7 : 0;
  out->is_number = static_cast<int32_t>(Roll(2));
  FillStruct(&out->rows);
}

void Arguments::FillStruct(gt_shape* out) {
  *out = {AnyHandle<gt_program>(), AnyKey(), static_cast<gt_mode>(Roll(4)), 0};
}

void Arguments::FillStruct(gt_device_options* out) {
  out->memory_bytes = 64 << 20;
  out->scheduler = static_cast<gt_scheduler>(Roll(8) == 0 ? 9 : Roll(2));
}

void Arguments::FillStruct(gt_tree_options* out) {
  out->strict = Roll(8) == 0;
  out->check = Roll(4) == 0;
}

void Arguments::FillStruct(gt_function_options* out) {
  out->static_inputs = out->mutated_inputs = out->kept_outputs = places_;
  out->static_input_count = Roll(2);
  out->kept_output_count = Roll(4) == 0 ? 1 : 0;
  out->mutated_input_count = Roll(8) == 0 ? 1 : 0;
  out->moving = static_cast<gt_moving>(Roll(4));
  out->check = Roll(8) == 0;
}

void Arguments::FillStruct(gt_slot* out) {
  out->name = "ids";
  out->dtype = Roll(8) == 0 ? static_cast<gt_dtype>(Roll(9)) : gt_dtype{GT_I32};
  out->rank = Roll(8) == 0 ? Roll(3) : 1;
  out->sizes = sizes_;
  out->rows = Roll(8) == 0 ? static_cast<gt_key_field>(Roll(4)) : gt_key_field{GT_TOKENS};
  out->pad = static_cast<gt_pad>(Roll(5));
}

void Arguments::FillStruct(gt_program_options* out) {
  slot_ = GT_INIT(gt_slot);
  FillStruct(&slot_);
  out->name = "program";
  out->slots = Roll(16) == 0 ? nullptr : &slot_;
  out->slot_count = 1;
  out->body = Roll(16) == 0 ? nullptr : body_;
  out->context = context_;
  out->lane = Roll(2);
  out->device = Roll(8) == 0 ? 1 : 0;
  out->tag = Roll(2) == 0 ? nullptr : "weights";
  out->needs_commit = Roll(4) == 0;
  out->tells_when_free = Roll(4) == 0;
}

void Arguments::FillStruct(gt_tagged_memory* out) {
  out->tag = AnyWord();
  out->name = AnyWord();
  out->bytes = 4096;
  out->contents = static_cast<gt_contents>(Roll(4));
}

void Arguments::FillStruct(gt_serving_mode* out) {
  out->serving = static_cast<gt_serving>(Roll(5));
  out->parity_every = Roll(4) == 0 ? 2 : 0;
}

void Arguments::FillStruct(gt_observe_options* out) {
  out->ops = static_cast<int32_t>(Roll(2));
  out->phases = static_cast<int32_t>(Roll(2));
  out->replay_in = Roll(3);
}

void Arguments::FillStruct(gt_step_options* out) {
  out->forbidden = Roll(8) == 0 ? Roll(5) : 0;
  out->is_voted_down = Roll(8) == 0;
  out->continues = Roll(8) == 0;
}

}  // namespace graphtree::c
