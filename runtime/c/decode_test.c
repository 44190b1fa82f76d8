// A C program that uses the library as a server would: a tree, then a runtime with a program, on
// the host device. It knows nothing but graphtree.h.
//
//   step   ids --> embed (a table lookup) --> add a bias --> tokens, which the next step is given
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/c/graphtree.h"

#define MOST 16
#define VOCABULARY 64

static int failures = 0;

// Prints the error and counts it.
static void Check(const char* what, gt_error error) {
  if (error == NULL) return;
  const gt_error_info* info = gt_error_look(error);
  printf("%s: %s: %s (in %s, function '%s')\n", what, gt_code_name(info->code), info->text,
         info->call, info->function);
  gt_release(error);
  ++failures;
}
#define CHECK(call) Check(#call, call)

static void Expect(int is_so, const char* what) {
  if (is_so) return;
  printf("not so: %s\n", what);
  ++failures;
}
#define EXPECT(condition) Expect(condition, #condition)

// out[i] = table[in[i]] + bias, for as many as the launch has threads.
static void EmbedOnHost(void* context, const gt_host_call* call) {
  int32_t* out = *(int32_t* const*)call->arguments[0];
  const int32_t* in = *(const int32_t* const*)call->arguments[1];
  const int32_t* table = *(const int32_t* const*)call->arguments[2];
  const int32_t bias = *(const int32_t*)call->arguments[3];
  (void)context;
  for (uint32_t i = 0; i < call->shape.block[0]; ++i) {
    out[i] = table[in[i] % VOCABULARY] + bias;
  }
}

typedef struct Model {
  gt_kernel embed;
  gt_value table;
  int bodies;
} Model;

static gt_error Embed(Model* model, gt_launcher on, const gt_value* in, int32_t bias,
                      gt_value* out) {
  gt_layout_info info = GT_INIT(gt_layout_info);
  gt_launch_shape shape = {{1, 1, 1}, {1, 1, 1}, 0, 0};
  CHECK(gt_layout_look(in->layout, &info));
  shape.block[0] = (uint32_t)info.elements;
  gt_launcher_empty(on, in->layout, out);
  gt_arg args[] = {GT_OUT(out), GT_IN(in), GT_IN(&model->table), GT_NUM(bias)};
  return gt_launcher_launch(on, model->embed, &shape, args, 4);
}

static gt_error TreeBody(void* context, gt_launcher on) {
  Model* model = context;
  gt_value in, once, twice;
  ++model->bodies;
  gt_launcher_input(on, 0, &in);
  Embed(model, on, &in, 1, &once);
  Embed(model, on, &once, 2, &twice);
  return gt_launcher_output(on, &twice);
}

static gt_error ProgramBody(void* context, gt_launcher on) {
  Model* model = context;
  gt_value ids, tokens;
  ++model->bodies;
  gt_launcher_slot(on, 0, &ids);
  Embed(model, on, &ids, 5, &tokens);
  return gt_launcher_output(on, &tokens);
}

static int32_t Embedded(int32_t id, int32_t bias) { return id % VOCABULARY * 3 + bias; }

static void ServeByTree(gt_device device, gt_stream stream, Model* model) {
  const int64_t sizes[] = {MOST};
  gt_tree tree = NULL;
  gt_function function = NULL;
  gt_memory memory = NULL;
  gt_range range = {0, 0};
  gt_layout layout = NULL;
  gt_tree_stats stats = GT_INIT(gt_tree_stats);
  CHECK(gt_layout_new(GT_I32, 1, sizes, NULL, &layout));
  CHECK(gt_memory_new(device, GT_ON_HOST, MOST * sizeof(int32_t), &memory));
  CHECK(gt_memory_range(memory, &range));
  CHECK(gt_tree_new(device, NULL, &tree));
  CHECK(gt_tree_register(tree, "two layers", NULL, TreeBody, model, NULL, &function));
  for (int32_t step = 0; step < 6; ++step) {
    int32_t* ids = (int32_t*)(uintptr_t)range.address;
    int32_t result[MOST];
    gt_value in = gt_tensor(range.address, layout), out = gt_nothing();
    for (int32_t i = 0; i < MOST; ++i) ids[i] = step + i;
    CHECK(gt_tree_begin_step(tree));
    CHECK(gt_call(function, &in, 1, stream, &out, 1, NULL));
    CHECK(gt_stream_copy(stream, (uint64_t)(uintptr_t)result, out.word, sizeof(result)));
    CHECK(gt_stream_synchronize(stream));
    for (int32_t i = 0; i < MOST; ++i) {
      EXPECT(result[i] == Embedded(Embedded(step + i, 1), 2));
    }
    CHECK(gt_release(out.storage));
  }
  CHECK(gt_tree_look(tree, &stats));
  EXPECT(stats.replays == 4);
  EXPECT(model->bodies == 2);
  CHECK(gt_release(tree));
  CHECK(gt_release(memory));
}

// Each step's tokens are the next one's ids.
static void Decode(gt_runtime runtime, gt_program program, gt_stream stream, Model* model) {
  int32_t ids[MOST], expected[MOST];
  const int before = model->bodies;
  (void)runtime;
  for (int32_t i = 0; i < MOST; ++i) expected[i] = ids[i] = i;
  for (int32_t step = 0; step < 20; ++step) {
    const int32_t tokens = 1 + step % MOST;
    gt_key key;
    gt_step handle = NULL;
    gt_rows rows;
    gt_value out = gt_nothing();
    gt_choice choice = GT_INIT(gt_choice);
    memset(&key, 0, sizeof(key));
    memset(&rows, 0, sizeof(rows));
    key.tokens = tokens;
    rows.dtype = GT_I32;
    rows.address = (uint64_t)(uintptr_t)ids;
    rows.rows = tokens;
    CHECK(gt_step_begin(program, &key, stream, NULL, &handle));
    CHECK(gt_step_stage(handle, 0, &rows));
    CHECK(gt_step_run(handle, &out, 1, NULL));
    CHECK(gt_step_look(handle, &choice));
    EXPECT(choice.why == GT_HIT || choice.why == GT_COVER);
    CHECK(gt_stream_copy(stream, (uint64_t)(uintptr_t)ids, out.word, tokens * sizeof(int32_t)));
    CHECK(gt_stream_synchronize(stream));
    for (int32_t i = 0; i < tokens; ++i) expected[i] = Embedded(expected[i], 5);
    EXPECT(memcmp(ids, expected, sizeof(ids)) == 0);
    CHECK(gt_release(out.storage));
    CHECK(gt_release(handle));
  }
  EXPECT(model->bodies == before);
}

static void ServeByRuntime(gt_device device, gt_stream stream, Model* model) {
  const int64_t sizes[] = {MOST};
  gt_runtime runtime = NULL;
  gt_program program = NULL;
  gt_slot slot = GT_INIT(gt_slot);
  gt_program_options options = GT_INIT(gt_program_options);
  gt_key keys[3];
  slot.name = "ids";
  slot.dtype = GT_I32;
  slot.rank = 1;
  slot.sizes = sizes;
  slot.rows = GT_TOKENS;
  options.name = "decode";
  options.slots = &slot;
  options.slot_count = 1;
  options.body = ProgramBody;
  options.context = model;
  memset(keys, 0, sizeof(keys));
  keys[0].tokens = 1;
  keys[1].tokens = 8;
  keys[2].tokens = MOST;
  CHECK(gt_runtime_new(&device, 1, NULL, &runtime));
  CHECK(gt_program_new(runtime, &options, &program));
  CHECK(gt_program_add_shapes(program, keys, 3, GT_FULL));
  CHECK(gt_program_record(program, stream));
  Decode(runtime, program, stream, model);
  CHECK(gt_release(runtime));
}

// What a program does wrong is an error, and the program goes on.
static void DoWrong(gt_stream stream) {
  const gt_error error = gt_call((gt_function)stream, NULL, 0, stream, NULL, 0, NULL);
  EXPECT(gt_error_look(error)->code == GT_BAD_HANDLE);
  CHECK(gt_release(error));
}

int main(void) {
  static const uint32_t parameters[] = {8, 8, 8, 4};
  const int64_t sizes[] = {VOCABULARY};
  Model model;
  gt_device device = NULL;
  gt_stream stream = NULL;
  gt_memory memory = NULL;
  gt_range range = {0, 0};
  gt_layout layout = NULL;
  gt_kernel_options kernel = GT_INIT(gt_kernel_options);
  memset(&model, 0, sizeof(model));
  kernel.name = "embed";
  kernel.parameter_count = 4;
  kernel.parameter_bytes = parameters;
  kernel.host = EmbedOnHost;
  CHECK(gt_version_check(GT_VERSION_MAJOR, GT_VERSION_MINOR));
  CHECK(gt_device_open("host", NULL, &device));
  CHECK(gt_stream_new(device, &stream));
  CHECK(gt_kernel_new(&kernel, &model.embed));
  CHECK(gt_layout_new(GT_I32, 1, sizes, NULL, &layout));
  CHECK(gt_memory_new(device, GT_ON_HOST, VOCABULARY * sizeof(int32_t), &memory));
  CHECK(gt_memory_range(memory, &range));
  for (int32_t i = 0; i < VOCABULARY; ++i) ((int32_t*)(uintptr_t)range.address)[i] = 3 * i;
  model.table = gt_tensor(range.address, layout);
  ServeByTree(device, stream, &model);
  ServeByRuntime(device, stream, &model);
  DoWrong(stream);
  CHECK(gt_release(memory));
  CHECK(gt_release(model.embed));
  CHECK(gt_release(stream));
  CHECK(gt_release(device));
  EXPECT(gt_live_handles() == 0);
  printf("graphtree %s: %d failures\n", gt_version_string(), failures);
  return failures == 0 ? 0 : 1;
}
