// Graphtree in C: record kernels once, replay them at the price of a launch. This one header is the
// whole interface, for C from C99 on, for C++, and for every language that calls C.
//
//   gt_device device; gt_stream stream; gt_tree tree; gt_function twice; gt_value in, out;
//
//   static gt_error Body(void* context, gt_launcher on) {         // the work, whatever the run
//     gt_value x, sum;
//     gt_launcher_input(on, 0, &x);
//     gt_launcher_empty(on, x.layout, &sum);                      // from the tree's memory
//     gt_arg args[] = {GT_OUT(&sum), GT_IN(&x)};
//     gt_launcher_launch(on, *(gt_kernel*)context, &shape, args, 2);
//     return gt_launcher_output(on, &sum);
//   }
//
//   gt_device_open("cuda:0", NULL, &device);                      // or "host"
//   gt_stream_new(device, &stream);
//   gt_tree_new(device, NULL, &tree);
//   gt_tree_register(tree, "twice", NULL, Body, &kernel, NULL, &twice);
//   while (serving) {
//     gt_tree_begin_step(tree);                                   // the last step ends
//     in = gt_tensor(address, layout);
//     if ((error = gt_call(twice, &in, 1, stream, &out, 1, NULL))) {  // once eager, recorded
//       fprintf(stderr, "%s\n", gt_error_look(error)->text);          // once, then one launch
//       gt_release(error);
//     }
//     gt_release(out.storage);
//   }
//
// Handles are numbers in a pointer's clothes, and are never followed: one that is null, released,
// of another kind or of another copy of the library is an error of the call that is given it.
//
//   gt_..._new, _open, _register --> handle --any number of calls--> gt_release(handle)
//                                       |                               |
//                                       |   calls of other threads      |  nobody finds the handle;
//                                       |   may be using the object     v  the object ends with the
//                                       |-----------------------------> +  last call that uses it
//                                       `-- or with what it belongs to: functions with their tree,
//                                           programs with their runtime, a launcher with its body
//
// What holds for all functions:
//
//   errors    a gt_error is returned: null if all went well, else an object of the caller's, which
//             it looks into (gt_error_look) and releases. A function that fails has set no
//             out-parameter but to null, zero or nothing
//   owners    what a function gives through an out-parameter is the caller's to release, unless its
//             comment says otherwise. What it is given it uses during the call; strings, arrays and
//             structs are copied
//   threads   any, unless the comment says otherwise. Nothing belongs to a thread
//   cost      as the C++ function, and a few nanoseconds for each handle. A replay (gt_call,
//             gt_step_run) and what leads to it takes nothing from the heap
//   structs   that begin with `size` have it set by their user, as GT_INIT does, and may grow at
//             their end in later versions: 0 in any field is its default. A field `reserved` of
//             what is given must be 0, or it is an error that names the field
//   enums     are numbers that never change
//   callbacks are called with the context that came with them, on the thread that acts. One that
//             returns an error gives it to the library, which carries it on to the caller. One that
//             throws a C++ exception has failed, too; one that leaves by longjmp leaves locks
//             behind: it must not. `destroy`, where there is one, is called once, with the
//             context, when nothing calls it any more, and must not throw. That is at once where
//             the function that was given it fails, unless it could not read the struct with it
//   memory    where the host has none for an object of this interface, the error says so; where the
//             library itself finds none, the process ends, with words on its standard error that
//             name the function
#ifndef GRAPHTREE_RUNTIME_C_GRAPHTREE_H_
#define GRAPHTREE_RUNTIME_C_GRAPHTREE_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__cplusplus)
#define GT_NOEXCEPT noexcept
extern "C++" {
template <typename T>
inline T gt_struct_of_size() noexcept {  // for GT_INIT
  T made = T();
  made.size = sizeof(T);
  return made;
}
}
extern "C" {
#else
#define GT_NOEXCEPT
#endif

#if defined(__GNUC__)
#define GT_API __attribute__((visibility("default")))
#else
#define GT_API
#endif

// ---- Handles -----------------------------------------------------------------------------------

typedef struct gt_error_s* gt_error;        // what went wrong; null: nothing
typedef struct gt_text_s* gt_text;          // words that the library has made
typedef struct gt_device_s* gt_device;      // the host, or one GPU
typedef struct gt_stream_s* gt_stream;      // work in order
typedef struct gt_event_s* gt_event;        // a point in a stream's work
typedef struct gt_memory_s* gt_memory;      // bytes that this interface has allocated
typedef struct gt_kernel_s* gt_kernel;      // one computation, with a body for each kind of device
typedef struct gt_layout_s* gt_layout;      // a tensor's type, sizes and strides; never ends
typedef struct gt_storage_s* gt_storage;    // holds the bytes that a tensor looks into
typedef struct gt_tree_s* gt_tree;          // functions, their recordings, their memory
typedef struct gt_function_s* gt_function;  // one function of a tree
typedef struct gt_launcher_s* gt_launcher;  // what a body launches through; good while it runs
typedef struct gt_workspace_s* gt_workspace;  // memory that a library keeps between calls
typedef struct gt_generator_s* gt_generator;  // random numbers
typedef struct gt_budget_s* gt_budget;        // what several trees may hold together
typedef struct gt_shared_bytes_s* gt_shared_bytes;  // memory that pools may have together
typedef struct gt_observer_s* gt_observer;    // is told what becomes of a tree's graphs
typedef struct gt_profile_s* gt_profile;      // what the process does, as a trace in a file
typedef struct gt_runtime_s* gt_runtime;      // what an inference server links
typedef struct gt_program_s* gt_program;      // a body with slots, and its shapes
typedef struct gt_step_s* gt_step;            // one step of a program
typedef struct gt_dependency_s* gt_dependency;  // what recordings point to and a runtime owns not
typedef struct gt_plan_s* gt_plan;            // what is to be recorded, and what that takes
typedef struct gt_loan_s* gt_loan;            // idle memory of a lane, lent
typedef struct gt_ahead_s* gt_ahead;          // prepares a program's next step on a side stream
typedef struct gt_pool_s* gt_pool;            // blocks at addresses that never move
typedef struct gt_graph_s* gt_graph;          // what a capture recorded; never changes
typedef struct gt_executable_s* gt_executable;  // made from a graph, and launched

// A struct with its size, and defaults: gt_tree_options options = GT_INIT(gt_tree_options);
#if defined(__cplusplus)
#define GT_INIT(type) (gt_struct_of_size<type>())
#else
#define GT_INIT(type) {.size = sizeof(type)}
#endif

// Releases a handle of any kind; null is fine. A device is closed: an error, and nothing changes,
// while things of it are left. A function or program whose tree is in another call waits for that
// call. Threads: any. Cost: what ends with the object.
GT_API gt_error gt_release(void* handle) GT_NOEXCEPT;

// How many handles are there now, of all kinds but layouts: 0 when all was released. Cost: counts
// them.
GT_API size_t gt_live_handles(void) GT_NOEXCEPT;

// ---- Version -----------------------------------------------------------------------------------

// Of this header. Within one major version functions and fields are only added.
#define GT_VERSION_MAJOR 1
#define GT_VERSION_MINOR 0
#define GT_VERSION_PATCH 0

// Of the library, "1.0.0". It lives as long as the library.
GT_API const char* gt_version_string(void) GT_NOEXCEPT;
GT_API void gt_version(int32_t* major, int32_t* minor, int32_t* patch) GT_NOEXCEPT;
// Whether the library has what a header of this version declares:
// gt_version_check(GT_VERSION_MAJOR, GT_VERSION_MINOR). The error names both versions.
GT_API gt_error gt_version_check(int32_t major, int32_t minor) GT_NOEXCEPT;

// ---- Errors ------------------------------------------------------------------------------------

typedef int32_t gt_code;
enum {
  GT_OK = 0,
  GT_CANCELLED = 1,
  GT_UNKNOWN = 2,
  GT_INVALID_ARGUMENT = 3,     // what was asked for makes no sense
  GT_DEADLINE_EXCEEDED = 4,
  GT_NOT_FOUND = 5,
  GT_ALREADY_EXISTS = 6,
  GT_PERMISSION_DENIED = 7,
  GT_RESOURCE_EXHAUSTED = 8,   // no memory, or no budget
  GT_FAILED_PRECONDITION = 9,  // not now, or not any more
  GT_ABORTED = 10,
  GT_OUT_OF_RANGE = 11,
  GT_UNIMPLEMENTED = 12,       // this build, device or version has it not
  GT_INTERNAL = 13,
  GT_UNAVAILABLE = 14,
  GT_DATA_LOSS = 15,
  GT_BAD_HANDLE = 100          // null, released, of another kind, or of another copy of the library
};

typedef struct gt_error_info {
  size_t size;
  gt_code code;
  int32_t cuda_code;     // cudaError_t's number, on the host device too; 0: it is no device's error
  const char* text;      // for people: what was tried, with which values, and what stood against it
  const char* call;      // the function of this interface that failed; "" for one of a callback's
  const char* function;  // the name of the recorded function or program; "" if none is at fault
  int64_t input;         // which input or slot, from 0 on; -1: none
  int64_t op;            // which op of the function's body, from 1 on; -1: none
  const char* op_name;   // "" if none
} gt_error_info;

// Never null: of a null error GT_OK and empty words; of a bad handle GT_BAD_HANDLE. Good until the
// error is released. Threads: any, one at a time with its release. Cost: a few nanoseconds.
GT_API const gt_error_info* gt_error_look(gt_error error) GT_NOEXCEPT;
// For callbacks: an error of one's own. It goes to whoever it is returned to. A code that is none
// counts as GT_UNKNOWN. Never null. Cost: an allocation.
GT_API gt_error gt_error_new(gt_code code, const char* text) GT_NOEXCEPT;
// The code's name, "GT_NOT_FOUND"; "GT_UNKNOWN" for one that is none. It lives as long as the
// library.
GT_API const char* gt_code_name(gt_code code) GT_NOEXCEPT;

// ---- Texts -------------------------------------------------------------------------------------

// What a text says, with a 0 after it; "" for a bad handle. Good until the text is released.
// `bytes` may be null. Cost: a few nanoseconds.
GT_API const char* gt_text_chars(gt_text text, size_t* bytes) GT_NOEXCEPT;

// ---- Layouts -----------------------------------------------------------------------------------

typedef int32_t gt_dtype;
enum {
  GT_U8 = 0,
  GT_BOOL = 1,
  GT_I32 = 2,
  GT_I64 = 3,
  GT_F16 = 4,
  GT_BF16 = 5,
  GT_F32 = 6,
  GT_F64 = 7
};

typedef struct gt_layout_info {
  size_t size;
  gt_dtype dtype;
  uint32_t rank;
  const int64_t* sizes;    // these two live as long as the library
  const int64_t* strides;  // in elements
  int64_t elements;
  uint64_t extent_bytes;   // from the first to the last byte of an element
  int32_t is_dense;
  int32_t overlaps_itself;
} gt_layout_info;

// The layout of a tensor. Null strides: dense, the last dimension fastest. Equal layouts are the
// same handle. Sizes that no tensor has are an error. Owner: the library; a layout need not be
// released. Cost: a lock and a hash; a server makes its layouts once.
GT_API gt_error gt_layout_new(gt_dtype dtype, uint32_t rank, const int64_t* sizes,
                              const int64_t* strides, gt_layout* out) GT_NOEXCEPT;
// Cost: a copy.
GT_API gt_error gt_layout_look(gt_layout layout, gt_layout_info* out) GT_NOEXCEPT;

// ---- Values ------------------------------------------------------------------------------------
//
// What goes into functions and comes out of them. A value is plain bytes, which may be copied; its
// storage, if it has one, is one handle of memory that a tree has made, and is released once, with
// gt_release(value.storage), whatever number of copies there are.
//
//   tensor of the caller's    gt_tensor(address, layout)    no storage: nothing to release
//   tensor that a tree made   out of a call                 a storage; good until its step ends
//   integer                   gt_integer(8)                 part of a call's key
//   opaque object             gt_opaque_new                 a storage that holds the object
//
// A tensor that a tree made is consumed by the call that it is given to: its handle is gone then,
// and the caller's array has GT_CONSUMED in its place. gt_value_copy makes a handle to keep. While
// a call has such a tensor other calls with the same handle are errors. Opaque values and static
// inputs are not consumed: any number of calls on any threads have them at the same time.

typedef int32_t gt_value_kind;
enum {
  GT_NOTHING = 0,
  GT_TENSOR = 1,
  GT_INTEGER = 2,
  GT_OPAQUE = 3,
  GT_VERSIONED_OPAQUE = 4,
  GT_CONSUMED = 5  // what a call leaves where it has taken a tensor; passing it on is an error
};

typedef struct gt_value {
  gt_value_kind kind;
  int32_t reserved;    // 0
  gt_layout layout;    // of a tensor
  uint64_t word;       // a tensor's first byte; the integer; an opaque object's version
  gt_storage storage;  // null: none
} gt_value;

// No value.
static inline gt_value gt_nothing(void) {
  gt_value value = {GT_NOTHING, 0, NULL, 0, NULL};
  return value;
}
// An integer, which is part of a call's key.
static inline gt_value gt_integer(int64_t integer) {
  gt_value value = {GT_INTEGER, 0, NULL, 0, NULL};
  value.word = (uint64_t)integer;
  return value;
}
// Memory of the caller's, which stays while anything that was recorded from it may run. It lies on
// the device, or is page-locked memory of the host.
static inline gt_value gt_tensor(uint64_t address, gt_layout layout) {
  gt_value value = {GT_TENSOR, 0, NULL, 0, NULL};
  value.layout = layout;
  value.word = address;
  return value;
}

// Another handle of the same bytes. Cost: two atomic operations; nothing without a storage.
GT_API gt_error gt_value_copy(const gt_value* value, gt_value* out) GT_NOEXCEPT;
// Another look at the same bytes, with a handle of its own. An error if it does not stay inside the
// storage. Cost: likewise.
GT_API gt_error gt_value_view(const gt_value* value, gt_layout layout, uint64_t offset_bytes,
                              gt_value* out) GT_NOEXCEPT;
// Whether the tensor's bytes may be used now: an error if its step has ended, with who made it and
// who ended it. Cost: a load.
GT_API gt_error gt_value_check(const gt_value* value) GT_NOEXCEPT;
// The tensor for another framework: a DLManagedTensor of DLPack, or with `versioned` a
// DLManagedTensorVersioned of version 1.0. It is another handle of the tensor's bytes, and holds
// `memory`, too, unless that is null: releasing the memory leaves the bytes until then. Whoever has
// the struct ends it by its own deleter, on any thread. The two numbers are DLPack's, and go into
// the struct as they are: (1, 0) the host, (2, N) a GPU, (3, N) page-locked memory. As
// gt_value_check, an error for bytes that may not be used now; afterwards nobody looks whether the
// step has ended. Cost: an allocation.
GT_API gt_error gt_dlpack_new(const gt_value* tensor, gt_memory memory, int32_t device_type,
                              int32_t device_id, int32_t versioned, void** out) GT_NOEXCEPT;
// The destructor of a capsule of Python's with such a struct, for PyCapsule_New: ends the struct if
// nobody has taken it. An error of Python's that is pending stays. Threads: those that hold
// Python's lock. In a process without Python it does nothing. Cost: the deleter's.
GT_API void gt_dlpack_end_capsule(void* capsule) GT_NOEXCEPT;
// The bytes of a storage. Cost: as a copy of a struct.
GT_API gt_error gt_storage_range(gt_storage storage, uint64_t* address,
                                 uint64_t* bytes) GT_NOEXCEPT;
// "a tensor of f32[4,128]". The text is the caller's. Cost: words.
GT_API gt_error gt_value_describe(const gt_value* value, gt_text* out) GT_NOEXCEPT;
// An object that functions are handed and no kernel reads; `destroy`, which may be null, is called
// with it when the last value of it has gone. Null `version`: never compared; else part of a call's
// key. Cost: two allocations.
GT_API gt_error gt_opaque_new(void* object, void (*destroy)(void* object), const uint64_t* version,
                              gt_value* out) GT_NOEXCEPT;
// The object of an opaque value. Cost: as a copy of a struct.
GT_API gt_error gt_opaque_object(const gt_value* value, void** out) GT_NOEXCEPT;

// ---- Kernels -----------------------------------------------------------------------------------

typedef struct gt_launch_shape {
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t shared_bytes;
  uint32_t programmatic;  // 1: may start before its predecessor on the stream has ended
} gt_launch_shape;

// What a body for the host device sees of a launch: good while the body runs.
typedef struct gt_host_call {
  size_t size;
  gt_launch_shape shape;
  size_t count;                  // of arguments
  const void* const* arguments;  // each points to the argument's bytes, as they were at the launch
} gt_host_call;

// Computes what all blocks and threads of the CUDA body compute together. It must not call the
// device that runs it.
typedef void (*gt_host_body)(void* context, const gt_host_call* call);

typedef int32_t gt_cuda_kind;
enum {
  GT_CUDA_NONE = 0,    // the kernel runs on the host device alone
  GT_CUDA_SYMBOL = 1,  // a __global__ function that is linked into the program: its host address
  GT_CUDA_IMAGE = 2,   // a cubin, PTX text or a fatbin
  GT_CUDA_SOURCE = 3   // CUDA C++, compiled by NVRTC when the kernel is first loaded
};

typedef struct gt_kernel_options {
  size_t size;
  const char* name;
  size_t parameter_count;
  const uint32_t* parameter_bytes;     // of each parameter
  const uint8_t* parameter_writable;   // 1: a pointer to what is not const; null: not known
  gt_host_body host;                   // null: the host device cannot run the kernel
  void* context;                       // of `host`
  void (*destroy)(void* context);
  gt_cuda_kind cuda_kind;
  // 1: `host` runs an interpreter. Where `host` touches memory that is not there, it is ended and
  // the device is lost. Whoever is ended in the middle of an interpreter holds its locks for ever,
  // so then the process ends, with the same words.
  int32_t host_is_interpreted;
  const void* cuda;                    // the symbol, the image's bytes, or the source
  size_t cuda_bytes;                   // of an image; of a source 0: up to its end
  const char* entry;                   // the function's name in an image or source
  size_t option_count;                 // NVRTC's
  const char* const* options;
} gt_kernel_options;

// What a kernel does with an argument. A tensor's `data` points to a gt_value.
typedef int32_t gt_access;
enum {
  GT_BYTES = 0,       // `bytes` bytes at `data`, whatever they are
  GT_READ = 1,        // a tensor
  GT_WRITE = 2,
  GT_READ_WRITE = 3,
  GT_RANGE = 4,       // a gt_range: memory without a layout, that is read and written
  GT_NUMBER = 5       // as GT_BYTES; equal values have equal bytes, so checked mode compares them
};

typedef struct gt_arg {
  gt_access access;
  uint32_t bytes;  // of GT_BYTES and GT_NUMBER
  const void* data;
} gt_arg;

typedef struct gt_range {
  uint64_t address;
  uint64_t bytes;
} gt_range;

// Initialisers of a gt_arg: gt_arg args[] = {GT_OUT(&sum), GT_IN(&x), GT_VAL(by)};
#define GT_IN(value) {GT_READ, 0, (value)}
#define GT_OUT(value) {GT_WRITE, 0, (value)}
#define GT_INOUT(value) {GT_READ_WRITE, 0, (value)}
#define GT_VAL(variable) {GT_BYTES, (uint32_t)sizeof(variable), &(variable)}
#define GT_NUM(variable) {GT_NUMBER, (uint32_t)sizeof(variable), &(variable)}

// A kernel belongs to no device. It may be released while recordings launch it, which hold it.
// Cost: copies the image or source; compiling comes with the first launch, or gt_device_load.
GT_API gt_error gt_kernel_new(const gt_kernel_options* options, gt_kernel* out) GT_NOEXCEPT;

// ---- Devices -----------------------------------------------------------------------------------

typedef int32_t gt_scheduler;
enum {
  GT_SCHEDULER_SEEDED = 0,     // waiting work runs in an order that the seed picks
  GT_SCHEDULER_IMMEDIATE = 1,  // a call returns when its work is done
  GT_SCHEDULER_THREADS = 2     // each stream has a thread
};

typedef struct gt_device_options {
  size_t size;
  // Of a CUDA device: the folder of libnvrtc, and where compiled kernels are kept; null: nowhere.
  const char* nvrtc_folder;
  const char* kernel_cache_folder;
  // Of the host device.
  gt_scheduler scheduler;
  uint32_t queue_limit;     // 0: 1024
  uint64_t seed;            // 0: 1
  uint64_t memory_bytes;    // 0: 8 GiB
  int32_t no_poison;        // 1: fresh and freed bytes stay as they are
  int32_t no_race_check;    // 1: ops that touch the same bytes in no order are not found
} gt_device_options;

typedef struct gt_device_info {
  size_t size;
  const char* name;          // what it was opened by; the strings live as long as the device
  const char* model;
  const char* architecture;  // "sm_90"; "host"
  const char* identity;      // a GPU's UUID; "host"
  int32_t driver_version;    // 13000 for 13.0; 0 on the host
  int32_t runtime_version;
  int32_t multiprocessors;
  int32_t reserved;
  uint64_t total_bytes;
} gt_device_info;

typedef int32_t gt_capability;
enum {
  GT_CAN_VIRTUAL_MEMORY = 0,
  GT_CAN_WISHED_BASE = 1,
  GT_CAN_CAPTURE = 2,
  GT_CAN_PATCH_OPS = 3,
  GT_CAN_PROGRAMMATIC_EDGES = 4,
  GT_CAN_COMPILE_SOURCE = 5,
  GT_CAN_CONDITIONAL_NODES = 6,
  GT_CAN_GRAPH_IDENTITY = 7,
  GT_CAN_KERNEL_PARAMETER_COUNT = 8,
  GT_CAN_RECAPTURE = 9,
  GT_CAN_BATCH_COPY_NODE = 10
};

// Opens "host", "cuda" or "cuda:N". A missing driver, or one that is too old, is an error that says
// so. gt_release closes the device, which waits for its work; it fails, names them and changes
// nothing while things of the device are left, also values that its trees have made. Cost:
// milliseconds.
GT_API gt_error gt_device_open(const char* name, const gt_device_options* options,
                               gt_device* out) GT_NOEXCEPT;
// The host device and every GPU, one to a line, with what each can do, or why it cannot be opened.
// Cost: opens and closes each.
GT_API gt_error gt_devices_describe(gt_text* out) GT_NOEXCEPT;
GT_API gt_error gt_device_look(gt_device device, gt_device_info* out) GT_NOEXCEPT;
// Whether the device can do that; if not, `reason` says why, and lives as long as the device. It
// may be null.
GT_API gt_error gt_device_can(gt_device device, gt_capability capability, int32_t* can,
                              const char** reason) GT_NOEXCEPT;
// Null, or the error that lost the device.
GT_API gt_error gt_device_health(gt_device device) GT_NOEXCEPT;
// Cost: asks the driver, which may take milliseconds.
GT_API gt_error gt_device_free_bytes(gt_device device, uint64_t* free_bytes,
                                     uint64_t* total_bytes) GT_NOEXCEPT;
// Loads, and if need be compiles, the kernel's body now and not at its first launch. The error has
// the compiler's own lines. The device holds the kernel until it is closed.
GT_API gt_error gt_device_load(gt_device device, gt_kernel kernel) GT_NOEXCEPT;
// Captures that are open on the device, on any thread; and gives back what trees and pools have
// left with the device because of one, if none is open now.
GT_API gt_error gt_device_open_captures(gt_device device, int32_t* out) GT_NOEXCEPT;
GT_API gt_error gt_device_give_back_leftovers(gt_device device) GT_NOEXCEPT;

// ---- Memory ------------------------------------------------------------------------------------

typedef int32_t gt_place;
enum {
  GT_ON_DEVICE = 0,
  GT_ON_HOST = 1     // page-locked; kernels and captured copies may use it
};

// Bytes of one's own, at one address until they are released: for weights, caches and inputs.
// REQUIRES of releasing: no work uses them, and nothing recorded from them runs again. Cost: driver
// calls.
GT_API gt_error gt_memory_new(gt_device device, gt_place place, uint64_t bytes,
                              gt_memory* out) GT_NOEXCEPT;
// The bytes; of GT_ON_HOST the host may use the address as a pointer. Cost: a copy of a struct.
GT_API gt_error gt_memory_range(gt_memory memory, gt_range* out) GT_NOEXCEPT;

// ---- Streams and events ------------------------------------------------------------------------

// A stream of the library's own. Cost: a driver call.
GT_API gt_error gt_stream_new(gt_device device, gt_stream* out) GT_NOEXCEPT;
// A view of a stream of the caller's, a cudaStream_t or CUstream, which stays the caller's and goes
// after the view. On the host device null alone is one: the legacy stream.
GT_API gt_error gt_stream_adopt(gt_device device, void* native, gt_stream* out) GT_NOEXCEPT;
// The cudaStream_t of a stream of CUDA's. It is the stream's. An error on the host device.
GT_API gt_error gt_stream_native(gt_stream stream, void** out) GT_NOEXCEPT;

// These put work on the stream, and return at once. On a stream that captures they are recorded.
// Cost: a launch.
GT_API gt_error gt_stream_launch(gt_stream stream, gt_kernel kernel, const gt_launch_shape* shape,
                                 const gt_arg* args, size_t count) GT_NOEXCEPT;
// Host memory that is not page-locked is copied before the call returns, or the copy waits.
GT_API gt_error gt_stream_copy(gt_stream stream, uint64_t target, uint64_t source,
                               uint64_t bytes) GT_NOEXCEPT;
// `count` elements of `width` bytes (1, 2 or 4), each the low bytes of `value`.
GT_API gt_error gt_stream_fill(gt_stream stream, uint64_t target, uint32_t value, uint32_t width,
                               uint64_t count) GT_NOEXCEPT;
// Calls `function` in the stream's order, on a thread of the device's. It must not call the device,
// nor throw.
GT_API gt_error gt_stream_call_host(gt_stream stream, void (*function)(void* context),
                                    void* context) GT_NOEXCEPT;
GT_API gt_error gt_stream_record(gt_stream stream, gt_event event) GT_NOEXCEPT;
GT_API gt_error gt_stream_wait(gt_stream stream, gt_event event) GT_NOEXCEPT;
// Whether all work is done; the host waits for all of it.
GT_API gt_error gt_stream_is_done(gt_stream stream, int32_t* out) GT_NOEXCEPT;
GT_API gt_error gt_stream_synchronize(gt_stream stream) GT_NOEXCEPT;

// An event counts as done until it is recorded. `timing`: 1 if gt_event_elapsed is to be asked.
GT_API gt_error gt_event_new(gt_device device, int32_t timing, gt_event* out) GT_NOEXCEPT;
GT_API gt_error gt_event_is_done(gt_event event, int32_t* out) GT_NOEXCEPT;
GT_API gt_error gt_event_synchronize(gt_event event) GT_NOEXCEPT;
// From `start` to `end`, both with timing and done.
GT_API gt_error gt_event_elapsed(gt_event start, gt_event end, double* nanoseconds) GT_NOEXCEPT;

// ---- Trees -------------------------------------------------------------------------------------
//
// A function of a tree is run eagerly once, recorded once, and then replayed at the price of a
// launch. What is recorded depends on the path: the functions that were called before it in the
// same step.

typedef struct gt_tree_options {
  size_t size;
  uint64_t pool_bytes;         // of the device, for all that the tree does; 0: as much as there is
  uint64_t initial_bytes;      // mapped when the tree is made
  int32_t off;                 // 1: every call runs eagerly
  int32_t strict;              // 1: a call that cannot be recorded is an error
  int32_t check;               // 1: checked mode, which waits for the device in every call
  int32_t compare_replays;     // 1: in checked mode, replays are compared with runs of the body
  int32_t skip_varying_sizes;  // 1: no function is recorded whose sizes vary
  int32_t reserved;            // 0
  uint64_t rerecord_limit;     // 0: 128; likewise below
  uint64_t patch_bytes;        // 1 MiB: from there on inputs that move are patched and not copied
  int64_t spare_after;         // 4; -1: never
  uint64_t kept_bytes;         // no limit
  int64_t pad_room_bytes;      // 64 MiB; -1: none
  uint64_t shape_warn_limit;   // 8
  uint64_t warm_up_limit;      // 16
  // What it may hold (0: the default); and what it may hold together with others.
  uint64_t nodes;              // 4096
  uint64_t executables;        // 2048
  uint64_t executable_bytes;   // 1 GiB
  uint64_t siblings;           // 128
  uint64_t shapes_of_function; // 128
  uint64_t shapes;             // 1024
  uint64_t half_life;          // 4096
  uint64_t retry_after;        // 1024
  gt_budget budget;            // null: none
  // Called with each warning, once for each function and reason, on the thread that calls the tree.
  void (*warn)(void* context, const char* text);
  void* context;
  void (*destroy)(void* context);
  gt_shared_bytes shared_bytes;  // of which the pool takes what it maps; null: none
} gt_tree_options;

typedef int32_t gt_moving;
enum {
  GT_MOVING_PATCH = 0,  // ops that take an input that moves are patched, where that pays
  GT_MOVING_COPY = 1,   // it is always copied: for a body that writes its address into memory
  GT_MOVING_EAGER = 2   // the function runs eagerly if a pinned input is at a second address
};

typedef struct gt_alignment {
  uint32_t input;
  uint32_t reserved;  // 0
  uint64_t bytes;     // a power of two
} gt_alignment;

// What the caller promises of a function. Arrays are of inputs' or outputs' numbers.
// In which kind of run something is launched.
typedef int32_t gt_run_kind;
enum {
  GT_RUN_WARM_UP = 0,  // the body runs now, before it is recorded
  GT_RUN_CAPTURE = 1,  // its ops are captured; or what was captured is launched for the first time
  GT_RUN_REPLAY = 2,
  GT_RUN_EAGER = 3,    // the body runs now, as no recording serves
  GT_RUN_PART = 4      // a part of a body that no graph can hold
};

// A launch that a function's hooks are told of: of one op where a body runs, of one graph in a
// replay and at the end of a recording. Texts are not ended by a 0, and good during the call.
typedef struct gt_launch_info {
  size_t size;
  gt_run_kind run;
  int32_t ok;             // after the launch: whether it went well; before it: 1
  const char* function;   // `function_bytes` long
  size_t function_bytes;
  const char* op;         // an op's name; null for a graph
  size_t op_bytes;
  uint64_t recording;     // of a graph, and of ops that are captured; UINT64_MAX: none
  uint64_t section;       // likewise
  uint64_t op_count;      // of a graph, which is known whole; else 0
} gt_launch_info;

typedef struct gt_function_options {
  size_t size;
  const uint32_t* static_inputs;   // whose address seldom changes: weights, caches
  size_t static_input_count;
  const uint32_t* mutated_inputs;  // that opaque work writes to
  size_t mutated_input_count;
  const gt_alignment* alignments;
  size_t alignment_count;
  const uint32_t* kept_outputs;    // that outlive their step, for as long as they are held
  size_t kept_output_count;
  const char* const* input_names;  // for errors
  size_t input_name_count;
  // The only sizes to record: `recorded_size_count` rows of `recorded_size_length` numbers each.
  const int64_t* recorded_sizes;
  size_t recorded_size_count;
  size_t recorded_size_length;
  uint64_t most_outputs;           // 0: any number
  gt_moving moving;
  int32_t unseen_writes;           // 1: ops write through addresses that no launch shows
  int32_t exclude;                 // 1: never record it
  int32_t recorded_apart;          // 1: gt_record alone records it
  int32_t skip_varying_sizes;
  int32_t check;                   // 1: look for undeclared writes in its calls
  // Asked before each launch of the function, and told after it, on the thread of the call; either
  // may be null. An error of the first stops the launch, and the call fails with it. Neither may
  // call the tree: that is an error of what it calls. `destroy_hooks` may be null.
  gt_error (*before_launch)(void* context, const gt_launch_info* launch);
  void (*after_launch)(void* context, const gt_launch_info* launch);
  void* hooks_context;
  void (*destroy_hooks)(void* context);
} gt_function_options;

// A body launches its work through `on`, and hands its outputs to gt_launcher_output. It is the
// same for every run, may be called any number of times, and computes nothing on the host that
// depends on data of the device. A replay does not call it.
typedef gt_error (*gt_body)(void* context, gt_launcher on);

// A tree takes address space, and memory as it needs it. gt_release closes it, with its functions,
// after waiting for its work; its outputs stay good for as long as they are held.
GT_API gt_error gt_tree_new(gt_device device, const gt_tree_options* options,
                            gt_tree* out) GT_NOEXCEPT;
// Owner of the function: the caller, and the tree, with which it goes. gt_release forgets its
// recordings; inside of a body that is an error. `destroy` may be null. Threads: any; waits for the
// call that runs. Cost: an allocation or two.
GT_API gt_error gt_tree_register(gt_tree tree, const char* name, const gt_function_options* options,
                                 gt_body body, void* context, void (*destroy)(void* context),
                                 gt_function* out) GT_NOEXCEPT;

// Calls the function. Its outputs go to `outputs`, up to `capacity`; the rest of that is nothing,
// and outputs beyond it are dropped. `count`, which may be null, is set to how many there were.
// They may take the inputs' places, which stay as they are if the call fails.
// Tensors of trees among the inputs are consumed, if the call goes well. Owner: each output's
// storage is the caller's to release. Threads: any, one at a time for each tree; a second one is an
// error. Cost: a hit is one launch, takes nothing from the heap and no lock of this interface's.
GT_API gt_error gt_call(gt_function function, gt_value* inputs, size_t input_count,
                        gt_stream stream, gt_value* outputs, size_t capacity,
                        size_t* count) GT_NOEXCEPT;

// gt_call, but only as a replay: where no recording serves the call, or there is no room for what
// its replay needs, it is an error that says so, and nothing runs. A recording that is cut may have
// run some of its parts by then.
GT_API gt_error gt_call_replay(gt_function function, gt_value* inputs, size_t input_count,
                               gt_stream stream, gt_value* outputs, size_t capacity,
                               size_t* count) GT_NOEXCEPT;

typedef int32_t gt_parity;
enum {
  GT_NOT_COMPARED = 0,
  GT_SAME = 1,
  GT_DIFFERS = 2
};

// gt_call, and a replay is compared with two runs of the body, within the tolerances. `text`, which
// may be null, says what was found. The host waits.
GT_API gt_error gt_call_compared(gt_function function, gt_value* inputs, size_t input_count,
                                 gt_stream stream, gt_value* outputs, size_t capacity,
                                 size_t* count, double absolute, double relative,
                                 gt_parity* parity, gt_text* text) GT_NOEXCEPT;
// Records the function after the path in force, and launches nothing. Inputs are not consumed.
// GT_RESOURCE_EXHAUSTED where there is no memory, or no budget, for the recording.
GT_API gt_error gt_record(gt_function function, const gt_value* inputs, size_t input_count,
                          gt_stream stream) GT_NOEXCEPT;

typedef int32_t gt_place_on_path;
enum {
  GT_ON_PATH = 0,     // as the path is now
  GT_IN_NEW_STEP = 1, // after gt_tree_begin_step
  GT_FIRST_OP = 2     // likewise, and the body's first op would be the first work that runs
};

// Whether gt_call would replay a recording. Inputs are not consumed.
GT_API gt_error gt_would_replay(gt_function function, const gt_value* inputs, size_t input_count,
                                gt_stream stream, gt_place_on_path where,
                                int32_t* out) GT_NOEXCEPT;

// The caller's loop begins another pass: the path ends, and outputs of it that are held go stale,
// but for kept ones. An error within a call of an observer's that this tree tells. Cost: nothing,
// if none is held.
GT_API gt_error gt_tree_begin_step(gt_tree tree) GT_NOEXCEPT;

// ---- What a tree tells -------------------------------------------------------------------------

typedef int32_t gt_route;
enum {
  GT_ROUTE_NONE = 0,
  GT_ROUTE_REPLAYED = 1,
  GT_ROUTE_RECORDED = 2,
  GT_ROUTE_WARMED_UP = 3,
  GT_ROUTE_EAGER = 4
};

// Why a call ran eagerly, or a recording was not used again: a number with a name and a sentence,
// gt_reason_name(0) being "excluded". Names never change; numbers do not within one major version.
typedef int32_t gt_reason;
enum {
  GT_NO_REASON = -1,
  GT_MOST_REASONS = 64
};
// How many there are, from 0 on.
GT_API int32_t gt_reason_count(void) GT_NOEXCEPT;
// "?" for a number that is none. They live as long as the library.
GT_API const char* gt_reason_name(gt_reason reason) GT_NOEXCEPT;
GT_API const char* gt_reason_sentence(gt_reason reason) GT_NOEXCEPT;

typedef struct gt_durations {
  uint64_t count;
  uint64_t total_ns;
} gt_durations;

typedef struct gt_tree_stats {
  size_t size;
  uint64_t calls;
  uint64_t replays;
  uint64_t recordings;
  uint64_t sections;
  uint64_t eager_parts;
  uint64_t warm_ups;
  uint64_t eager;
  uint64_t thrown;
  uint64_t restores;
  uint64_t copied_inputs;
  uint64_t patched_inputs;
  uint64_t pads_in_place;
  uint64_t pads_copied;
  uint64_t pad_room_bytes;
  uint64_t nodes;               // now, as those that follow
  uint64_t executables;
  uint64_t executable_bytes;
  uint64_t shapes;
  uint64_t instantiated_again;  // ever
  uint64_t spares;              // ever
  uint64_t live_blocks;
  uint64_t pool_reserved_bytes;
  uint64_t pool_live_bytes;
  uint64_t kept_bytes;
  uint64_t foreign_held_bytes;
  uint64_t lacked_bytes;
  gt_durations captures;
  gt_durations instantiations;
  gt_durations updates;
  uint64_t reasons[GT_MOST_REASONS];  // by gt_reason
} gt_tree_stats;

typedef struct gt_function_stats {
  size_t size;
  uint64_t shapes;
  uint64_t replays;
  uint64_t recordings;
  uint64_t warm_ups;
  uint64_t eager;
  uint64_t reasons[GT_MOST_REASONS];
} gt_function_stats;

typedef int32_t gt_tree_text;
enum {
  GT_OUTLINE = 0,           // all recordings, as a drawing
  GT_OUTLINE_JSON = 1,
  GT_OUTLINE_GRAPHVIZ = 2,
  GT_EDGES = 3,             // what became of calls, by function and the one before it
  GT_FUNCTIONS = 4,         // by function
  GT_STATE = 5              // the state that the tree is in, in a few words
};

typedef int32_t gt_ops_text;
enum {
  GT_OPS_JSON = 0,
  GT_OPS_GRAPHVIZ = 1
};

// A place where a recording holds an address.
typedef struct gt_pointer {
  uint64_t recording;  // its number in the outline
  uint64_t address;
  uint32_t op;
  int32_t argument;    // -1: between two arguments
  uint32_t byte;
  uint32_t reserved;
} gt_pointer;

// What the last call came to: for the thread that made it. GT_NO_REASON where there is none.
GT_API gt_error gt_tree_last_call(gt_tree tree, gt_route* route, gt_reason* reason) GT_NOEXCEPT;
// These wait for the call that runs. Threads: any.
GT_API gt_error gt_tree_look(gt_tree tree, gt_tree_stats* out) GT_NOEXCEPT;
GT_API gt_error gt_function_look(gt_function function, gt_function_stats* out) GT_NOEXCEPT;
GT_API gt_error gt_tree_describe(gt_tree tree, gt_tree_text what, gt_text* out) GT_NOEXCEPT;
// The numbers that the function's recordings have in the outline, up to `capacity`; `count` is how
// many there are.
GT_API gt_error gt_function_recordings(gt_function function, uint64_t* recordings, size_t capacity,
                                       size_t* count) GT_NOEXCEPT;
// The ops of one recording.
GT_API gt_error gt_recording_describe(gt_tree tree, uint64_t recording, gt_ops_text form,
                                      gt_text* out) GT_NOEXCEPT;
// Where a recording holds addresses in the range, up to `capacity` places; and how many of its ops
// hide what they touch. `hidden_ops` may be null.
GT_API gt_error gt_recording_pointers(gt_tree tree, uint64_t recording, gt_range range,
                                      gt_pointer* pointers, size_t capacity, size_t* count,
                                      uint64_t* hidden_ops) GT_NOEXCEPT;
// The tree's memory as a file for `graphtree memory` and PyTorch's viewers. The file's ending
// chooses the form: .pickle, .json or .sqlite.
GT_API gt_error gt_tree_write_snapshot(gt_tree tree, const char* path) GT_NOEXCEPT;
// Whether this thread is in the tree, in a body for example, and whether another one is. Each of
// the two may be null. They wait for nobody.
GT_API gt_error gt_tree_who(gt_tree tree, int32_t* this_thread, int32_t* others) GT_NOEXCEPT;
// Whether a function of this tree made the tensor.
GT_API gt_error gt_tree_made(gt_tree tree, const gt_value* tensor, int32_t* out) GT_NOEXCEPT;
// Null if work of the tree's device may read the tensor now: it is not stale, and lies there.
GT_API gt_error gt_tree_may_read(gt_tree tree, const gt_value* tensor) GT_NOEXCEPT;

// What becomes of a tree's graphs. Strings and handles are good during the call.
typedef int32_t gt_moment;
enum {
  GT_CAPTURE_BEGIN = 0,
  GT_CAPTURE_END = 1,
  GT_INSTANTIATE = 2,
  GT_REPLAY_BEGIN = 3,
  GT_REPLAY_END = 4,   // it was launched, or refused: its work is still under way
  GT_DESTROY = 5
};

typedef struct gt_graph_event {
  size_t size;
  gt_moment moment;
  int32_t ok;            // 0: what ends here, or was to be made, failed
  const char* function;  // not ended by a 0: `function_bytes` long
  size_t function_bytes;
  uint64_t recording;
  uint64_t section;      // of a recording that is cut
} gt_graph_event;

// `saw` is told on the thread that acts, one event after the other, and must not call the tree.
// gt_release ends it, and waits for an event that is being told; within a call of an observer's it
// is an error, and gt_observer_end is there for it. Cost: while nobody observes, a load for each
// event.
GT_API gt_error gt_tree_observe(gt_tree tree,
                                void (*saw)(void* context, const gt_graph_event* event),
                                void* context, void (*destroy)(void* context),
                                gt_observer* out) GT_NOEXCEPT;

typedef int32_t gt_observed_kind;
enum {
  GT_SAW_GRAPH = 0,
  GT_SAW_OP_BEGIN = 1,    // an op is launched, and not by a replay
  GT_SAW_OP_END = 2,
  GT_SAW_PHASE_BEGIN = 3,
  GT_SAW_PHASE_END = 4
};

typedef int32_t gt_phase;
enum {
  GT_PHASE_MATCH = 0,     // what no recording serves at once is looked at: a miss
  GT_PHASE_WARM_UP = 1,
  GT_PHASE_EAGER = 2,
  GT_PHASE_RECORD = 3,
  GT_PHASE_PART = 4,
  GT_PHASE_PATCH = 5,     // arguments of a graph change before its launch
  GT_PHASE_RESTORE = 6,   // the pool's books go back to a recording
  GT_PHASE_PARK = 7,
  GT_PHASE_STAGE = 8,
  GT_PHASE_STEP = 9,
  GT_PHASE_PLAN = 10,
  GT_PHASE_EVICT = 11,    // what was evicted is destroyed
  GT_PHASE_REQUEST = 12   // a label (gt_label_push), which is the function's name
};

// What an observer is told, good during the call. Texts are not ended by a 0. An end comes for
// every begin, also where what is between fails.
typedef struct gt_observed {
  size_t size;
  gt_observed_kind kind;
  gt_moment moment;       // of a graph
  gt_phase phase;         // of a phase
  gt_run_kind run;        // of a graph or an op
  int32_t ok;             // 0: what ends here, or was to be made, failed
  int32_t reserved;
  const char* function;   // `function_bytes` long, and empty where it is about none
  size_t function_bytes;
  const char* op;         // an op's name; null for what is none
  size_t op_bytes;
  uint64_t recording;     // UINT64_MAX: none
  uint64_t section;       // of a recording that is cut
  uint64_t tree;          // which tree: a number of the process
  uint64_t launch;        // which launch: a number of the process, one for begin and end
  uint64_t op_count;      // of a graph that was captured whole; else 0
} gt_observed;

typedef struct gt_observe_options {
  size_t size;
  int32_t no_graphs;      // 1: nothing of graphs but of their replays
  int32_t no_replays;
  int32_t ops;            // 1: ops that are launched by no replay, too
  int32_t phases;         // 1: phases, too
  uint64_t replay_in;     // of each tree's replays the first of so many; 0: all
} gt_observe_options;

// As gt_tree_observe, of all that is told: of one tree, or with a null tree of all there are and
// will be, on the threads of all of them at once. `saw` must not call a tree that tells it: that is
// an error of the function that it calls. What it throws is counted (gt_tree_stats), and changes
// nothing. `options` may be null. gt_release ends the observer, and waits for calls of `saw` on
// other threads; within a call of an observer's that is an error, and gt_observer_end is there for
// it. Cost: while nobody observes, a load for each event; else a lock and the call.
GT_API gt_error gt_observe(gt_tree tree, const gt_observe_options* options,
                           void (*saw)(void* context, const gt_observed* event), void* context,
                           void (*destroy)(void* context), gt_observer* out) GT_NOEXCEPT;
// The observer, of either function, hears nothing any more; a second time is fine. Outside of an
// observer's call no call of it runs from here on. Within one (its own, for example) calls of it on
// other threads may still be under way. The handle is left to be released.
GT_API gt_error gt_observer_end(gt_observer observer) GT_NOEXCEPT;

// Scopes name stretches of launches for whoever looks at a trace. These are around calls of the
// tree; gt_launcher_push_scope is for bodies. An op has the names, the inner first, that are open
// when it is launched or recorded: a recording keeps its own. Every scope that is pushed is popped
// again, the last one first; a pop without an open scope is an error. Threads: the one that calls
// the tree.
GT_API gt_error gt_tree_push_scope(gt_tree tree, const char* name) GT_NOEXCEPT;
GT_API gt_error gt_tree_pop_scope(gt_tree tree) GT_NOEXCEPT;

// ---- A tree's memory ---------------------------------------------------------------------------

// What several trees may hold together; 0 is no limit. Trees are given it in their options, and it
// may be released before them.
GT_API gt_error gt_budget_new(uint64_t nodes, uint64_t executables, uint64_t executable_bytes,
                              gt_budget* out) GT_NOEXCEPT;
// Physical memory that pools and trees which are given it in their options have mapped together:
// never more than the limit, whatever threads they are on, and one of them may have all. It may be
// released before them.
GT_API gt_error gt_shared_bytes_new(uint64_t limit, gt_shared_bytes* out) GT_NOEXCEPT;
GT_API gt_error gt_shared_bytes_look(gt_shared_bytes shared, uint64_t* limit,
                                     uint64_t* taken) GT_NOEXCEPT;
// Evicts what is worth the least until the tree holds no more than that.
GT_API gt_error gt_tree_give_up(gt_tree tree, uint64_t nodes, uint64_t executables,
                                uint64_t executable_bytes) GT_NOEXCEPT;
// Unmaps what nobody uses, and gives recordings up, until the tree has so many bytes less. Who runs
// eagerly then is told `for_whom`. `unmapped` may be null.
GT_API gt_error gt_tree_give_memory(gt_tree tree, uint64_t bytes, const char* for_whom,
                                    uint64_t* unmapped) GT_NOEXCEPT;
// What pauses of the function, as its recording has failed, is recorded by the next calls.
GT_API gt_error gt_function_end_pause(gt_function function) GT_NOEXCEPT;

typedef int32_t gt_contents;
enum {
  GT_DROP = 0,   // lost: after waking the bytes are anything
  GT_KEEP = 1,   // saved on the host, and brought back
  GT_PINNED = 2  // of a runtime's tags alone: the memory stays where it is
};

// The tree's physical memory leaves the device, and comes back under the same addresses: recordings
// stay valid. GT_DROP or GT_KEEP. While a capture is open, or a call uses the memory, it is queued.
// Within a call of an observer's that this tree tells both are errors.
GT_API gt_error gt_tree_park(gt_tree tree, gt_contents contents) GT_NOEXCEPT;
GT_API gt_error gt_tree_wake(gt_tree tree) GT_NOEXCEPT;

typedef struct gt_pool_stats {
  size_t size;
  uint64_t live_blocks;
  uint64_t live_bytes;
  uint64_t requested_bytes;
  uint64_t peak_live_bytes;
  uint64_t mapped_bytes;  // physical memory
  uint64_t peak_mapped_bytes;
  uint64_t pinned_bytes;
  uint64_t lasting_bytes;
  uint64_t parked_bytes;
  uint64_t limit_bytes;
  uint64_t address_bytes;
  uint64_t checkpoints;
  uint64_t restores;
  uint64_t out_of_memory;
  uint64_t initial_shortfall;
  uint64_t bookkeeping_bytes;
} gt_pool_stats;

// Waits for the call that runs. Threads: any.
GT_API gt_error gt_tree_pool_look(gt_tree tree, gt_pool_stats* out) GT_NOEXCEPT;
// Gives memory back that nobody uses, until at most `goal_bytes` are mapped. `released` may be
// null.
GT_API gt_error gt_tree_trim(gt_tree tree, uint64_t goal_bytes, uint64_t* released) GT_NOEXCEPT;
// The most physical memory that the tree may have; less than it needs now is an error.
GT_API gt_error gt_tree_set_limit(gt_tree tree, uint64_t bytes) GT_NOEXCEPT;

// Memory for the allocator callbacks of foreign code that runs inside bodies: a recording may go on
// using the blocks. `native` is the stream as gt_stream_adopt takes it.
GT_API gt_error gt_foreign_allocate(gt_tree tree, uint64_t bytes, void* native,
                                    uint64_t* address) GT_NOEXCEPT;
GT_API gt_error gt_foreign_give_back(gt_tree tree, uint64_t address, void* native) GT_NOEXCEPT;
GT_API gt_error gt_foreign_use_on(gt_tree tree, uint64_t address, void* native) GT_NOEXCEPT;
// From here on the three functions below take from this tree for device number `device`; a null
// tree: from none. The tree is uninstalled when it is released. Blocks go back to the tree that has
// given them, by gt_foreign_free also after that was released: its memory goes with the last one.
GT_API gt_error gt_foreign_install(int32_t device, gt_tree tree) GT_NOEXCEPT;
// As PyTorch's pluggable allocator looks them up. Null where there is no memory, or no tree.
GT_API void* gt_foreign_malloc(int64_t bytes, int device, void* native) GT_NOEXCEPT;
GT_API void gt_foreign_free(void* address, int64_t bytes, int device, void* native) GT_NOEXCEPT;
GT_API void gt_foreign_record_stream(void* address, int device, void* native) GT_NOEXCEPT;

// ---- Workspaces and random numbers -------------------------------------------------------------

// Memory that a library keeps between calls and points its kernels to. Recordings that have it as
// it was are made again. It is the tree's until that is closed; releasing the handle forgets the
// handle.
GT_API gt_error gt_workspace_new(gt_tree tree, const char* name, gt_range memory,
                                 gt_workspace* out) GT_NOEXCEPT;
// The library has other memory now. A body may call it. The same memory changes nothing.
GT_API gt_error gt_workspace_move(gt_workspace workspace, gt_range memory) GT_NOEXCEPT;
// What is there is another thing now.
GT_API gt_error gt_workspace_touch(gt_workspace workspace) GT_NOEXCEPT;

// A seed and the position of the next number. Any number of trees may draw from one.
GT_API gt_error gt_generator_new(uint64_t seed, gt_generator* out) GT_NOEXCEPT;
// Starts another sequence, or goes to a position. Not while somebody draws.
GT_API gt_error gt_generator_seed(gt_generator generator, uint64_t seed,
                                  uint64_t offset) GT_NOEXCEPT;
GT_API gt_error gt_generator_look(gt_generator generator, uint64_t* seed,
                                  uint64_t* offset) GT_NOEXCEPT;

// ---- Launchers ---------------------------------------------------------------------------------
//
// What a body launches its work through. For the body, on its thread, while it runs: after that the
// launcher is an error like any other handle that has ended. What these functions give a body is
// the launcher's, and ends with the body: storages, streams and errors need not be released. A
// storage that is released earlier makes room for what the body makes next.
//
// Errors stick: after the first failure the launcher does nothing more, its functions return that
// error, and the call fails with it. So a body needs no checks of its own, and may return what any
// of them returned. A body that releases the error gets it anew from the next function.

// The body's inputs. Integers and tensors are asked for as what they are.
GT_API gt_error gt_launcher_input_count(gt_launcher on, size_t* out) GT_NOEXCEPT;
GT_API gt_error gt_launcher_input(gt_launcher on, size_t index, gt_value* out) GT_NOEXCEPT;
GT_API gt_error gt_launcher_integer(gt_launcher on, size_t index, int64_t* out) GT_NOEXCEPT;
// An input of any kind, as it was given.
GT_API gt_error gt_launcher_any_input(gt_launcher on, size_t index, gt_value* out) GT_NOEXCEPT;
// The body needs the input no more: its memory may be used for what comes next, once no handle of
// it is left.
GT_API gt_error gt_launcher_drop_input(gt_launcher on, size_t index) GT_NOEXCEPT;
// The next output of the body.
GT_API gt_error gt_launcher_output(gt_launcher on, const gt_value* value) GT_NOEXCEPT;

// A tensor of the tree's memory. What is in it first is anything.
GT_API gt_error gt_launcher_empty(gt_launcher on, gt_layout layout, gt_value* out) GT_NOEXCEPT;
// With room behind it, or behind its rows, for gt_launcher_pad up to the sizes `room`.
GT_API gt_error gt_launcher_empty_with_room(gt_launcher on, gt_dtype dtype, uint32_t rank,
                                            const int64_t* sizes, const int64_t* room,
                                            gt_value* out) GT_NOEXCEPT;
// The tensor padded to larger sizes with `number`. The tensor's handle goes; where it was the only
// one, and there is room, only the tail is written.
GT_API gt_error gt_launcher_pad(gt_launcher on, const gt_value* tensor, uint32_t rank,
                                const int64_t* sizes, double number, gt_value* out) GT_NOEXCEPT;
// Bytes for the op that is launched next, and no longer.
GT_API gt_error gt_launcher_scratch(gt_launcher on, uint64_t bytes, gt_value* out) GT_NOEXCEPT;
// The tensor's memory is registered elsewhere: the tree never parks or unmaps it.
GT_API gt_error gt_launcher_pin(gt_launcher on, const gt_value* tensor) GT_NOEXCEPT;

// Launches a kernel, and says what it reads and writes: from that the tree learns what a replay
// has to do.
GT_API gt_error gt_launcher_launch(gt_launcher on, gt_kernel kernel, const gt_launch_shape* shape,
                                   const gt_arg* args, size_t count) GT_NOEXCEPT;
GT_API gt_error gt_launcher_copy(gt_launcher on, const gt_value* target,
                                 const gt_value* source) GT_NOEXCEPT;
GT_API gt_error gt_launcher_fill(gt_launcher on, const gt_value* target, uint8_t byte) GT_NOEXCEPT;

// A part of the body that no graph holds: it runs at once, in its place, in every run of the
// function, a replay, too, and gets the tensors that it is declared with. What it launches goes
// through a launcher of its own.
typedef gt_error (*gt_part)(void* context, gt_launcher on, const gt_value* tensors, size_t count);

// Cuts the recording here. `args` are tensors, and say what the part reads and writes. `destroy` is
// called when no recording has the part any more.
GT_API gt_error gt_launcher_break(gt_launcher on, const char* why, const gt_arg* args, size_t count,
                                  gt_part part, void* context,
                                  void (*destroy)(void* context)) GT_NOEXCEPT;
// Sets the event after all that was launched so far, in every run, a replay, too.
GT_API gt_error gt_launcher_set_event(gt_launcher on, gt_event event) GT_NOEXCEPT;
// Ops from here on, until the pop, have this name, as do those of gt_tree_push_scope: "layer 3". A
// pop without an open scope is an error.
GT_API gt_error gt_launcher_push_scope(gt_launcher on, const char* name) GT_NOEXCEPT;
GT_API gt_error gt_launcher_pop_scope(gt_launcher on) GT_NOEXCEPT;

// Where a kernel's random numbers begin: it is given this by value (GT_VAL), and takes seed and
// offset from `words` where that is not null: {words[0], words[1] + offset}, else {seed, offset}.
typedef struct gt_random_state {
  const uint64_t* words;  // device memory
  uint64_t seed;
  uint64_t offset;
} gt_random_state;

// The next `count` numbers, for one op. Every run draws numbers of its own.
GT_API gt_error gt_launcher_random(gt_launcher on, gt_generator generator, uint64_t count,
                                   gt_random_state* out) GT_NOEXCEPT;
// The memory of a workspace of the tree's.
GT_API gt_error gt_launcher_workspace(gt_launcher on, gt_workspace workspace,
                                      gt_range* out) GT_NOEXCEPT;
// The body is not settled yet: the next call shall warm up again.
GT_API gt_error gt_launcher_warm_up_again(gt_launcher on, const char* why) GT_NOEXCEPT;
// Work that was launched needs `object`; `destroy` is called when no run or recording needs it.
GT_API gt_error gt_launcher_keep_alive(gt_launcher on, void* object,
                                       void (*destroy)(void* object)) GT_NOEXCEPT;

// Opaque work: a library, or launches of one's own on the raw stream. The body declares before it
// what it reads and writes.
//
//   gt_launcher_reads(on, &x);
//   gt_launcher_writes(on, &y);
//   gt_launcher_native_stream(on, &raw);           // a cudaStream_t
//   norm<<<grid, block, 0, (cudaStream_t)raw>>>(...);
GT_API gt_error gt_launcher_reads(gt_launcher on, const gt_value* tensor) GT_NOEXCEPT;
GT_API gt_error gt_launcher_writes(gt_launcher on, const gt_value* tensor) GT_NOEXCEPT;
GT_API gt_error gt_launcher_stream(gt_launcher on, gt_stream* out) GT_NOEXCEPT;
GT_API gt_error gt_launcher_native_stream(gt_launcher on, void** out) GT_NOEXCEPT;
// Work that is put on `side` from here on comes after the body's so far; gt_launcher_join_forks, or
// the end of the body, joins it.
GT_API gt_error gt_launcher_fork(gt_launcher on, gt_stream side) GT_NOEXCEPT;
GT_API gt_error gt_launcher_join_forks(gt_launcher on) GT_NOEXCEPT;
// Opaque work on `side` uses the tensor: said after that work was put there.
GT_API gt_error gt_launcher_used_on(gt_launcher on, const gt_value* tensor,
                                    gt_stream side) GT_NOEXCEPT;

// The launcher's first failure, or null. Owner: the launcher.
GT_API gt_error gt_launcher_status(gt_launcher on) GT_NOEXCEPT;

// ---- Keys --------------------------------------------------------------------------------------
//
// What a step is asked to be. A shape, for which a graph is recorded, has a key, too, and serves
// the steps that it covers.

#define GT_ANY (-1)  // a shape's field that takes every value

typedef struct gt_key {
  int32_t kind;          // the caller's: prefill, decode, ...
  int32_t tokens;
  int32_t requests;
  int32_t query_length;  // tokens of one request, where all have as many
  int32_t context;       // tokens of the longest request
  int32_t adaptors;
  int32_t microbatches;
  int32_t speculation;   // tokens that are guessed ahead
  uint64_t extra;        // the caller's, always compared for equality
  int32_t any_extra;     // of a shape: 1 takes every value of `extra`
  int32_t reserved;      // 0
} gt_key;

// In the order in which shapes are compared.
typedef int32_t gt_key_field;
enum {
  GT_NO_FIELD = 0,
  GT_TOKENS = 1,
  GT_REQUESTS = 2,
  GT_QUERY_LENGTH = 3,
  GT_CONTEXT = 4,
  GT_ADAPTORS = 5,
  GT_MICROBATCHES = 6,
  GT_SPECULATION = 7,
  GT_KIND = 8,
  GT_EXTRA = 9
};

typedef int32_t gt_covers;
enum {
  GT_COVERS_DEFAULT = 0,      // at most, for tokens, requests and context; else equal
  GT_COVERS_EQUAL = 1,
  GT_COVERS_AT_MOST = 2,      // the call's number is at most the shape's
  GT_COVERS_POWER_OF_TWO = 3  // the call's, rounded up to a power of two, is the shape's
};

typedef struct gt_field_rule {
  gt_covers covers;
  int32_t most_extra;  // the shape's is at most so much more; 0: no limit; -1: no more at all
  double most_ratio;   // the shape's is at most so many times the call's; 0: no limit
} gt_field_rule;

typedef struct gt_key_rules {
  size_t size;
  gt_field_rule kind;
  gt_field_rule tokens;
  gt_field_rule requests;
  gt_field_rule query_length;
  gt_field_rule context;
  gt_field_rule adaptors;
  gt_field_rule microbatches;
  gt_field_rule speculation;
} gt_key_rules;

// How a step runs. Sets of the last two are sums of GT_ALLOW_...
typedef int32_t gt_mode;
enum {
  GT_EAGER = 0,
  GT_SEGMENTED = 1,  // a graph that is cut where parts run eagerly
  GT_FULL = 2        // one graph for all
};
typedef uint32_t gt_modes;
enum {
  GT_ALLOW_NONE = 0,
  GT_ALLOW_SEGMENTED = 1,
  GT_ALLOW_FULL = 2,
  GT_ALLOW_ALL = 3
};

// Why a step was replayed, or why it was not: a number with a name and a sentence, as gt_reason.
// gt_why_name(0) is "hit", gt_why_name(1) "cover": these two were replayed.
typedef int32_t gt_why;
enum {
  GT_HIT = 0,
  GT_COVER = 1,
  GT_MOST_WHYS = 32
};
// As gt_reason_count, gt_reason_name and gt_reason_sentence.
GT_API int32_t gt_why_count(void) GT_NOEXCEPT;
GT_API const char* gt_why_name(gt_why why) GT_NOEXCEPT;
GT_API const char* gt_why_sentence(gt_why why) GT_NOEXCEPT;

// ---- Runtimes ----------------------------------------------------------------------------------
//
//   gt_runtime_new; gt_program_new; gt_program_add_shapes; gt_program_record
//   while (serving) {
//     gt_step_begin(decode, &key, stream, NULL, &step);  // the cheapest shape that covers the key
//     gt_step_stage(step, 0, &rows);                     // brought in; nothing is launched
//     gt_step_run(step, outputs, 1, NULL);               // one launch
//     gt_release(step);
//   }
//
// Threads: one at a time in each lane. Programs, shapes and dependencies are added while no step is
// under way in any lane.

typedef int32_t gt_serving;
enum {
  GT_SERVE_REPLAY = 0,  // what a graph serves is replayed, all else runs eagerly
  GT_SERVE_OFF = 1,     // everything runs eagerly
  GT_SERVE_SHADOW = 2,  // likewise, and what graphs would have served is counted
  GT_SERVE_STRICT = 3   // a step that no graph serves is an error
};

typedef struct gt_serving_mode {
  size_t size;
  gt_serving serving;
  uint32_t parity_every;     // one in so many replays is compared with runs of its body; 0: none
  double tolerance_absolute;
  double tolerance_relative;
} gt_serving_mode;

typedef int32_t gt_log_level;
enum {
  GT_LOG_INFO = 0,
  GT_LOG_WARNING = 1
};

typedef struct gt_runtime_options {
  size_t size;
  const gt_tree_options* tree;  // of each lane's tree; may be null
  uint64_t pool_bytes;          // that the trees of one device may take together; 0: no such limit
  uint64_t nodes;               // likewise
  uint64_t executables;
  uint64_t executable_bytes;
  const gt_serving_mode* serving;          // at first; may be null
  int32_t no_recording_while_serving;      // 1: a shape that was not recorded ahead serves no step
  int32_t no_watch;                        // 1: steps are counted, and neither timed nor kept
  int32_t use_environment;                 // 1: GRAPHTREE_... variables win over these options
  int32_t reserved;                        // 0
  const char* door;                        // a socket for tools (gt_runtime_open_door), or null
  // What a log should have, and a clock in nanoseconds that never goes back; both may be null, and
  // have one context.
  void (*log)(void* context, gt_log_level level, const char* text);
  int64_t (*clock_ns)(void* context);
  void* context;
  void (*destroy)(void* context);
} gt_runtime_options;

// Over one device or several. gt_release ends it with its programs, after waiting for its work; its
// outputs stay good for as long as they are held. Cost: little; lanes come with programs.
GT_API gt_error gt_runtime_new(const gt_device* devices, size_t count,
                               const gt_runtime_options* options, gt_runtime* out) GT_NOEXCEPT;
// How steps are served from now on. An error while a step is under way.
GT_API gt_error gt_runtime_set_serving(gt_runtime runtime,
                                       const gt_serving_mode* mode) GT_NOEXCEPT;
GT_API gt_error gt_runtime_serving(gt_runtime runtime, gt_serving_mode* out) GT_NOEXCEPT;
// The tree of a lane, for what trees tell. The handle ends with the runtime; releasing it earlier
// leaves the tree as it is. An error if no program lies in that lane.
GT_API gt_error gt_runtime_tree(gt_runtime runtime, uint32_t lane, uint32_t device,
                                gt_tree* out) GT_NOEXCEPT;

// ---- Dependencies ------------------------------------------------------------------------------

// What recordings point to: weights, communicators, caches. Recordings that depend on it and were
// made before it was touched are made again. The name is its own. Released, it stays declared.
GT_API gt_error gt_dependency_new(gt_runtime runtime, const char* name,
                                  gt_dependency* out) GT_NOEXCEPT;
// One with memory, which a library keeps between calls (gt_launcher_dependency).
GT_API gt_error gt_dependency_new_workspace(gt_runtime runtime, const char* name, gt_range memory,
                                            gt_dependency* out) GT_NOEXCEPT;
// Between steps, or by a body, while no other thread runs a step. Cost: a compare in each lane.
GT_API gt_error gt_dependency_touch(gt_dependency dependency) GT_NOEXCEPT;
GT_API gt_error gt_dependency_move(gt_dependency dependency, gt_range memory) GT_NOEXCEPT;

// ---- Programs ----------------------------------------------------------------------------------

typedef int32_t gt_pad;
enum {
  GT_PAD_ZERO = 0,
  GT_PAD_VALUE = 1,
  GT_PAD_LAST_ROW = 2,   // what the last staged row has
  GT_PAD_KEEP = 3,       // what was there before
  GT_PAD_FILL_ONCE = 4   // `pad_value`, when the slot is made; kept after that
};

// A tensor at a fixed place that is filled before each step.
typedef struct gt_slot {
  size_t size;             // of all slots the same
  const char* name;
  gt_dtype dtype;
  uint32_t rank;
  const int64_t* sizes;    // the greatest that any shape has
  gt_key_field rows;       // the field of the key that says how many rows it has, or GT_NO_FIELD
  uint32_t axis;           // of the rows
  int64_t extra_rows;
  gt_pad pad;
  int32_t may_be_left_out; // 1: a step that does not stage it keeps what it has
  double pad_value;
  // Null, or launches the kernels that compute the slot in every step: it is never staged then. Its
  // context is the program's.
  gt_error (*fill)(void* context, gt_launcher on, const gt_key* key, const gt_value* slot);
} gt_slot;

// Inside of a program's body the launcher gives the key, the slots and so on, as below, and has no
// inputs.
typedef struct gt_program_options {
  size_t size;
  const char* name;
  const gt_slot* slots;
  size_t slot_count;
  const gt_key_rules* rules;        // may be null
  gt_body prepare;                  // may be null: computes on the device what the body needs
  gt_body body;
  void* context;                    // of all of these
  void (*destroy)(void* context);
  uint32_t lane;                    // graphs of one lane share memory, and follow one another
  uint32_t device;                  // its place in gt_runtime_new
  const gt_dependency* dependencies;
  size_t dependency_count;
  const char* tag;                  // what it is parked by, with its lane; may be null
  const char* const* needs;         // tags of memory that its bodies use
  size_t need_count;
  const uint32_t* kept_outputs;
  size_t kept_output_count;
  int32_t needs_commit;             // 1: its graphs are not launched before gt_runtime_commit
  int32_t tells_when_free;          // 1: gt_program_when_free
  int32_t unseen_writes;
  int32_t check;
} gt_program_options;

// gt_release removes the program with its shapes, recordings and slots; that is an error, and
// nothing goes, while a step is under way or a capture is open on the device.
GT_API gt_error gt_program_new(gt_runtime runtime, const gt_program_options* options,
                               gt_program* out) GT_NOEXCEPT;
// All of them, or an error and none.
GT_API gt_error gt_program_add_shapes(gt_program program, const gt_key* keys, size_t count,
                                      gt_mode mode) GT_NOEXCEPT;
GT_API gt_error gt_program_exclude(gt_program program, const gt_key* key,
                                   int32_t excluded) GT_NOEXCEPT;
// Records all shapes that are not recorded. The first failure is returned after all were tried.
GT_API gt_error gt_program_record(gt_program program, gt_stream stream) GT_NOEXCEPT;
// The whole slot, as it lies while the program is there: for work of one's own that fills it.
// Without a storage.
GT_API gt_error gt_program_slot(gt_program program, uint32_t slot, gt_value* out) GT_NOEXCEPT;
// Events that say when the rows and the slots of the last step may be written again. They are not
// recorded by others. Either may be null.
GT_API gt_error gt_program_when_free(gt_program program, gt_event* rows,
                                     gt_event* slots) GT_NOEXCEPT;
// Where the recordings of a shape hold addresses in the range (gt_recording_pointers).
GT_API gt_error gt_program_pointers(gt_program program, const gt_key* key, gt_range range,
                                    gt_pointer* pointers, size_t capacity, size_t* count,
                                    uint64_t* hidden_ops) GT_NOEXCEPT;

// In a program's body: the padded key and the mode of the shape (either may be null), its slots as
// large as that says, the memory of its dependencies by their place, and what `prepare` handed out.
GT_API gt_error gt_launcher_key(gt_launcher on, gt_key* key, gt_mode* mode) GT_NOEXCEPT;
GT_API gt_error gt_launcher_slot(gt_launcher on, uint32_t slot, gt_value* out) GT_NOEXCEPT;
GT_API gt_error gt_launcher_dependency(gt_launcher on, size_t place, gt_range* out) GT_NOEXCEPT;
GT_API gt_error gt_launcher_prepared(gt_launcher on, size_t index, gt_value* out) GT_NOEXCEPT;
// From here on the slots may be written for the next step. Once in a body.
GT_API gt_error gt_launcher_slots_are_free(gt_launcher on) GT_NOEXCEPT;

// ---- Steps -------------------------------------------------------------------------------------

typedef struct gt_step_options {
  size_t size;
  gt_modes forbidden;      // what the caller does not allow now
  int32_t is_voted_down;   // 1: the ranks did not agree on a graph
  int32_t continues;       // 1: goes on where the lane's last step ended: its outputs stay good
  int32_t reserved;        // 0
} gt_step_options;

typedef struct gt_choice {
  size_t size;
  gt_why why;
  gt_key_field field;  // that stands against every shape, or GT_NO_FIELD
  int32_t shape;       // its place in the program's table; -1: it runs eagerly
  int32_t better;      // a cheaper shape that could not serve it now; -1: none
  gt_key key;          // what the call is padded to
} gt_choice;

// Rows of the caller's. A stride counts elements; 0 stands for rows without gaps.
typedef struct gt_rows {
  gt_dtype dtype;
  int32_t on_device;   // 1: read by the step's first op, and stay as they are until then
  uint64_t address;    // of host memory a pointer as a number
  int64_t rows;
  int64_t row_stride;
  int64_t piece_stride;
} gt_rows;

// What gt_step_begin would choose. Cost: no heap, no lock.
GT_API gt_error gt_program_choose(gt_program program, const gt_key* key, gt_modes allowed,
                                  gt_choice* out) GT_NOEXCEPT;
// A step has its lane until it is run or canceled. Its handle is released by the caller, which
// cancels a step that was not run; it ends by itself when the program's next step begins. The
// stream must not be released before that. Threads: the lane's, as all of these.
GT_API gt_error gt_step_begin(gt_program program, const gt_key* key, gt_stream stream,
                              const gt_step_options* options, gt_step* out) GT_NOEXCEPT;
// What a slot has in this step. Host rows are copied, and converted, before this returns.
GT_API gt_error gt_step_stage(gt_step step, uint32_t slot, const gt_rows* rows) GT_NOEXCEPT;
GT_API gt_error gt_step_stage_number(gt_step step, uint32_t slot, double number) GT_NOEXCEPT;
// A tensor of a tree's, such as what the last step returned; it is held until the step has run.
GT_API gt_error gt_step_stage_value(gt_step step, uint32_t slot, const gt_value* tensor)
    GT_NOEXCEPT;
// Memory for so many rows of the slot's own type, which the caller writes before the step runs.
GT_API gt_error gt_step_buffer(gt_step step, uint32_t slot, int64_t rows, void** out) GT_NOEXCEPT;
// Runs the step and closes it, also where it fails. Outputs as gt_call's. Cost: one launch; a
// replay takes nothing from the heap.
GT_API gt_error gt_step_run(gt_step step, gt_value* outputs, size_t capacity,
                            size_t* count) GT_NOEXCEPT;
// Closes the step without running it.
GT_API gt_error gt_step_cancel(gt_step step) GT_NOEXCEPT;
// How the step is going to run, and after gt_step_run how it ran.
GT_API gt_error gt_step_look(gt_step step, gt_choice* out) GT_NOEXCEPT;
// The same for people: "cover: tokens=5 padded to tokens=8".
GT_API gt_error gt_step_describe(gt_step step, gt_text* out) GT_NOEXCEPT;

// ---- Ranks -------------------------------------------------------------------------------------
//
// Several ranks agree on one graph: each votes, moves the votes of all with whatever it has, and
// begins the step with the key and modes of the agreement.

typedef struct gt_vote {
  uint8_t bytes[16];
} gt_vote;

typedef int32_t gt_vote_outcome;
enum {
  GT_AGREED = 0,
  GT_ONE_IS_EAGER = 1,
  GT_NO_COMMON_MODE = 2,
  GT_OTHER_PROGRAM = 3,
  GT_OTHER_CALL = 4,
  GT_NO_GRAPH = 5
};

typedef struct gt_agreement {
  size_t size;
  gt_vote_outcome outcome;
  uint32_t rank;   // the first that stands against a graph
  gt_modes modes;
  uint32_t reserved;
  gt_key key;
} gt_agreement;

// `round` is the caller's number of the step. Cost: no heap, where all is well.
GT_API gt_error gt_program_vote(gt_program program, const gt_key* key, gt_modes allowed,
                                uint32_t round, gt_vote* out) GT_NOEXCEPT;
GT_API gt_error gt_program_agree(gt_program program, const gt_key* key, gt_modes allowed,
                                 uint32_t round, const gt_vote* votes, size_t count,
                                 gt_agreement* out) GT_NOEXCEPT;
GT_API const char* gt_vote_outcome_sentence(gt_vote_outcome outcome) GT_NOEXCEPT;
// The steps of a lane that went well, and a digest of them in their order: ranks that differ here
// have parted.
GT_API gt_error gt_lane_history(gt_runtime runtime, uint32_t lane, uint32_t device, uint64_t* count,
                                uint64_t* digest) GT_NOEXCEPT;
// Cancels the step that was begun in a lane and whose handle is lost; `was_open` may be null.
GT_API gt_error gt_lane_cancel_step(gt_runtime runtime, uint32_t lane, uint32_t device,
                                    int32_t* was_open) GT_NOEXCEPT;

// A shape of a program.
typedef struct gt_shape {
  gt_program program;
  gt_key key;
  gt_mode mode;
  int32_t reserved;
} gt_shape;

// Recordings of programs that need commits belong to an epoch, and serve steps once that is
// committed.
GT_API gt_error gt_runtime_epoch(gt_runtime runtime, uint64_t* out) GT_NOEXCEPT;
// Those of this epoch, up to `capacity`; `count` is how many there are. The programs' handles are
// the caller's own.
GT_API gt_error gt_runtime_uncommitted(gt_runtime runtime, gt_shape* shapes, size_t capacity,
                                       size_t* count) GT_NOEXCEPT;
GT_API gt_error gt_runtime_commit(gt_runtime runtime, uint64_t epoch) GT_NOEXCEPT;

// ---- Plans -------------------------------------------------------------------------------------

// Which of these shapes are to be recorded within so many bytes of the device (0: no limit), and
// what they will take. No shapes: all of the runtime's.
GT_API gt_error gt_plan_new(gt_runtime runtime, const gt_shape* shapes, size_t count,
                            uint64_t budget, gt_plan* out) GT_NOEXCEPT;
// For people. Owner: the caller.
GT_API gt_error gt_plan_describe(gt_plan plan, gt_text* out) GT_NOEXCEPT;

typedef struct gt_plan_info {
  size_t size;
  uint64_t to_record;      // shapes
  uint64_t recorded;       // already
  uint64_t left_out;
  uint64_t budget;
  int32_t is_known;        // 0: of some program nothing is recorded yet, so nobody knows
  int32_t reserved;
  double device_bytes;     // what the device will have given
  double device_error;     // most likely no further off than this
  double workspace_bytes;
  double host_bytes;
} gt_plan_info;

typedef struct gt_plan_result {
  size_t size;
  uint64_t recorded;       // by this plan
  uint64_t left_out;
  uint64_t failed;         // of these, whose recording failed
  uint64_t device_bytes;   // that the device has given
  uint64_t pool_bytes;
  uint64_t executable_bytes;
  uint64_t bytes_left;     // of the budget, or of the device
  double error;            // how far off the estimate was, as a part of device_bytes
  int64_t nanoseconds;
  int32_t is_measured;
  int32_t reserved;
} gt_plan_result;

// The same in numbers.
GT_API gt_error gt_plan_look(gt_plan plan, gt_plan_info* out) GT_NOEXCEPT;
// Records what the plan says. A shape that fails is left out. `after`, which may be null, is called
// once, when no more is to be recorded. Cost: two runs of the body for each shape.
GT_API gt_error gt_plan_record(gt_plan plan, gt_stream stream,
                               void (*after)(void* context, const gt_plan_result* result),
                               void* context, gt_plan_result* out) GT_NOEXCEPT;

typedef struct gt_progress_options {
  size_t size;
  int64_t budget_ns;       // 0: one run
  const uint32_t* lanes;   // of the stream's device; none: all
  size_t lane_count;
  const gt_shape* only;    // none: all
  size_t only_count;
  int32_t ends_steps;      // 1: also in lanes where outputs of the last step are held
  int32_t reserved;        // 0
} gt_progress_options;

typedef struct gt_readiness {
  size_t size;
  uint64_t shapes;         // that are not excluded
  uint64_t ready;
  uint64_t not_committed;
  uint64_t failed;
} gt_readiness;

typedef struct gt_progress_report {
  size_t size;
  uint64_t runs;
  uint64_t recorded;
  uint64_t failed;
  int64_t spent_ns;
  uint64_t busy_lanes;
  uint64_t held_lanes;
  uint64_t shapes;         // of the lanes that were looked at
  uint64_t ready;
  int32_t is_done;         // 1: nothing is left to do in these lanes now
  int32_t reserved;
} gt_progress_report;

// Records in an idle slot what steps have wanted most. Threads: the lanes'.
GT_API gt_error gt_runtime_progress(gt_runtime runtime, gt_stream stream,
                                    const gt_progress_options* options,
                                    gt_progress_report* out) GT_NOEXCEPT;
GT_API gt_error gt_runtime_readiness(gt_runtime runtime, gt_readiness* out) GT_NOEXCEPT;

// ---- Memory of a runtime -----------------------------------------------------------------------

// Memory that leaves the device and comes back under the same addresses.
typedef struct gt_tagged_memory {
  size_t size;
  const char* tag;
  const char* name;
  uint64_t bytes;
  uint32_t device;
  int32_t has_contents;  // 1: `contents` holds whatever gt_runtime_park says
  gt_contents contents;
  int32_t reserved;      // 0
} gt_tagged_memory;

// Its bytes are at one address until it is removed or the runtime ends; what is in them first is
// anything.
GT_API gt_error gt_runtime_add_memory(gt_runtime runtime, const gt_tagged_memory* memory,
                                      gt_range* out) GT_NOEXCEPT;
// REQUIRES: no work uses it.
GT_API gt_error gt_runtime_remove_memory(gt_runtime runtime, const char* name) GT_NOEXCEPT;
// What has the tag leaves the device, and comes back: the lanes and slots of programs, and memory.
// Meanwhile steps that need it are errors that name it. Threads: any. Cost: copies of what is kept.
GT_API gt_error gt_runtime_park(gt_runtime runtime, const char* tag,
                                gt_contents contents) GT_NOEXCEPT;
GT_API gt_error gt_runtime_wake(gt_runtime runtime, const char* tag) GT_NOEXCEPT;

// Idle memory of a lane, for work of the caller's beside its steps. `until_given_back`: 1: it stays
// until it is released; 0: it ends when the lane's next step begins, at the latest. An error, that
// says how much is idle, if a recording needs it. Threads: the lane's.
GT_API gt_error gt_runtime_lend(gt_runtime runtime, uint32_t lane, uint32_t device, uint64_t bytes,
                                int32_t until_given_back, gt_stream stream,
                                gt_loan* out) GT_NOEXCEPT;
// Nothing once the loan is over.
GT_API gt_error gt_loan_range(gt_loan loan, gt_range* out) GT_NOEXCEPT;
// Work on this stream, too, uses the bytes.
GT_API gt_error gt_loan_use_on(gt_loan loan, gt_stream stream) GT_NOEXCEPT;

// ---- What a runtime tells ----------------------------------------------------------------------

typedef int32_t gt_runtime_text;
enum {
  GT_EXPLAIN = 0,             // why steps ran as they did, and what would make them replay
  GT_EXPLAIN_JSON = 1,
  GT_EXPLAIN_GRAPHVIZ = 2,
  GT_METRICS_PROMETHEUS = 3,
  GT_METRICS_JSON = 4,
  GT_LEDGER = 5,              // who holds the memory
  GT_LEDGER_JSON = 6,
  GT_LEDGER_PROMETHEUS = 7,
  GT_PLAN_JSON = 8,           // of the last plan that was recorded
  GT_SETTINGS = 9,            // what is in force, and where it came from
  GT_EVERYTHING_JSON = 10
};

typedef struct gt_describe_options {
  size_t size;
  const char* program;  // of explanations: only this one; null: all
  uint64_t steps;       // so many of the last, at most; 0: 1000
  int32_t no_trees;     // 1: nothing that waits for the calls that run
  int32_t reserved;     // 0
} gt_describe_options;

typedef struct gt_runtime_stats {
  size_t size;
  uint64_t steps;
  uint64_t staging_waits;
  uint64_t staging_told;
  uint64_t recordings;
  uint64_t failed_recordings;
  uint64_t workspace_moves;
  uint64_t stale_recordings;
  uint64_t slot_bytes;
  uint64_t staging_bytes;
  uint64_t touches;             // of dependencies
  uint64_t whys[GT_MOST_WHYS];  // by gt_why
} gt_runtime_stats;

// Threads: any; some of them wait for the calls that run. `options` may be null.
GT_API gt_error gt_runtime_describe(gt_runtime runtime, gt_runtime_text what,
                                    const gt_describe_options* options, gt_text* out) GT_NOEXCEPT;
// Threads: the one that steps, while no other does.
GT_API gt_error gt_runtime_look(gt_runtime runtime, gt_runtime_stats* out) GT_NOEXCEPT;
// A Unix socket at this path that speaks HTTP, for this process's user alone: `graphtree top PATH`
// looks in. It is closed with the runtime.
GT_API gt_error gt_runtime_open_door(gt_runtime runtime, const char* path) GT_NOEXCEPT;
GT_API gt_error gt_runtime_close_door(gt_runtime runtime) GT_NOEXCEPT;

// ---- Preparing ahead ---------------------------------------------------------------------------
//
// A program of its own, in a lane of its own, that keeps all of its outputs, prepares the next step
// of another one while that runs. What was prepared is used only if key, rows and values are the
// same, byte for byte, and no dependency was touched meanwhile; else it is prepared anew.

// What one slot of the preparing program is staged with.
typedef struct gt_ahead_rows {
  uint32_t slot;
  int32_t is_number;   // 1: `number`, in every element; 0: `rows`
  double number;
  gt_rows rows;
  uint64_t version;    // of rows on the device: the same version, the same bytes; 0: nobody knows
} gt_ahead_rows;

typedef struct gt_ahead_stats {
  size_t size;
  uint64_t prepared;
  uint64_t used;        // of these
  uint64_t other_key;   // not used, since the step came with another key
  uint64_t other_rows;
  uint64_t touched;
} gt_ahead_stats;

// Goes with its runtime. Threads: one at a time, as all of these.
GT_API gt_error gt_ahead_new(gt_program program, gt_ahead* out) GT_NOEXCEPT;
// Runs the program on `side`, and keeps its outputs for gt_ahead_take. Host rows are copied.
GT_API gt_error gt_ahead_prepare(gt_ahead ahead, const gt_key* key, const gt_ahead_rows* rows,
                                 size_t count, gt_stream side) GT_NOEXCEPT;
// The program's outputs for these rows: prepared, or made now on `stream`. Outputs as gt_call's.
// Cost: a compare of the rows' bytes, and a wait of one stream for an event.
GT_API gt_error gt_ahead_take(gt_ahead ahead, const gt_key* key, const gt_ahead_rows* rows,
                              size_t row_count, gt_stream stream, gt_value* outputs,
                              size_t capacity, size_t* count) GT_NOEXCEPT;
GT_API gt_error gt_ahead_look(gt_ahead ahead, gt_ahead_stats* out) GT_NOEXCEPT;

// ---- Pools -------------------------------------------------------------------------------------
//
// A pool of one's own, beside those that trees have. Threads: one at a time; a second one is an
// error. gt_pool_free may be called on any.

typedef struct gt_pool_options {
  size_t size;
  const char* name;        // null: "pool"
  uint64_t limit_bytes;    // of physical memory; 0: as much as there is
  uint64_t address_bytes;  // reserved for each region; 0: twice what the device has
  uint64_t initial_bytes;  // mapped when the pool is made
  uint64_t wished_base;    // taken if it is free; 0: no wish
  int32_t poison_on_free;  // 1: freed bytes are overwritten
  int32_t canaries;        // 1: gaps between blocks are guarded
  gt_shared_bytes shared_bytes;  // of which it takes what it maps; null: none
} gt_pool_options;

typedef struct gt_block {
  uint64_t id;       // names the block, and never another one
  uint64_t address;
  uint64_t bytes;
} gt_block;

typedef struct gt_checkpoint {
  uint64_t words[2];
} gt_checkpoint;

// gt_release closes it; while blocks are live that is an error that names them.
GT_API gt_error gt_pool_new(gt_device device, const gt_pool_options* options,
                            gt_pool* out) GT_NOEXCEPT;
// The bytes may be used on `stream` at once. `lasting`: 1: no restore of a checkpoint touches it.
// `alignment`: a power of two, or 0. Cost: some 50 ns with the free, while memory is mapped.
GT_API gt_error gt_pool_allocate(gt_pool pool, uint64_t bytes, uint64_t alignment, int32_t lasting,
                                 gt_stream stream, gt_block* out) GT_NOEXCEPT;
GT_API gt_error gt_pool_free(gt_pool pool, uint64_t block) GT_NOEXCEPT;
// Work of `stream` uses the block, too: whoever gets its bytes next waits for it.
GT_API gt_error gt_pool_use_on(gt_pool pool, uint64_t block, gt_stream stream) GT_NOEXCEPT;
// Which blocks are live now; going back to that; forgetting it. Cost: taking one copies nothing.
GT_API gt_error gt_pool_take_checkpoint(gt_pool pool, gt_checkpoint* out) GT_NOEXCEPT;
GT_API gt_error gt_pool_restore(gt_pool pool, gt_checkpoint checkpoint) GT_NOEXCEPT;
GT_API gt_error gt_pool_drop_checkpoint(gt_pool pool, gt_checkpoint checkpoint) GT_NOEXCEPT;
GT_API gt_error gt_pool_look(gt_pool pool, gt_pool_stats* out) GT_NOEXCEPT;
GT_API gt_error gt_pool_trim(gt_pool pool, uint64_t goal_bytes, uint64_t* released) GT_NOEXCEPT;
GT_API gt_error gt_pool_set_limit(gt_pool pool, uint64_t bytes) GT_NOEXCEPT;
// GT_DROP or GT_KEEP.
GT_API gt_error gt_pool_park(gt_pool pool, gt_contents contents) GT_NOEXCEPT;
GT_API gt_error gt_pool_wake(gt_pool pool) GT_NOEXCEPT;
// As gt_tree_write_snapshot.
GT_API gt_error gt_pool_write_snapshot(gt_pool pool, const char* path) GT_NOEXCEPT;

// ---- Graphs of one's own -----------------------------------------------------------------------

typedef int32_t gt_capture_mode;
enum {
  GT_CAPTURE_GLOBAL = 0,
  GT_CAPTURE_THREAD_LOCAL = 1,
  GT_CAPTURE_RELAXED = 2
};

typedef int32_t gt_update_result;
enum {
  GT_UPDATED = 0,
  GT_TOPOLOGY_DIFFERS = 1,  // other ops or edges: the executable is unchanged
  GT_OP_NOT_UPDATABLE = 2   // likewise
};

// What is put on the stream from here on is recorded, and does not run, until the capture ends.
// Threads: gt_stream_end_capture on the one that has begun, unless relaxed.
GT_API gt_error gt_stream_begin_capture(gt_stream stream, gt_capture_mode mode) GT_NOEXCEPT;
GT_API gt_error gt_stream_end_capture(gt_stream stream, gt_graph* out) GT_NOEXCEPT;
// As gt_stream_record; while a capture is open, an op that sets the event in every launch of the
// graph.
GT_API gt_error gt_stream_record_external(gt_stream stream, gt_event event) GT_NOEXCEPT;
// The graph's ops. `count` may be null, and so may `text`.
GT_API gt_error gt_graph_describe(gt_graph graph, gt_ops_text form, size_t* count,
                                  gt_text* text) GT_NOEXCEPT;
// The executable may outlive the graph. Cost: tens of microseconds, and device memory.
GT_API gt_error gt_graph_instantiate(gt_graph graph, gt_executable* out) GT_NOEXCEPT;
// Threads: one at a time for each executable, as all of these.
GT_API gt_error gt_executable_launch(gt_executable executable, gt_stream stream) GT_NOEXCEPT;
// Takes the first launch's set-up off it.
GT_API gt_error gt_executable_upload(gt_executable executable, gt_stream stream) GT_NOEXCEPT;
// The next launch runs the other graph.
GT_API gt_error gt_executable_update(gt_executable executable, gt_graph graph,
                                     gt_update_result* out) GT_NOEXCEPT;
// New arguments for one op, by its number in the graph; launches in flight do not see them.
GT_API gt_error gt_executable_patch_kernel(gt_executable executable, uint32_t op, gt_kernel kernel,
                                           const gt_launch_shape* shape, const gt_arg* args,
                                           size_t count) GT_NOEXCEPT;
GT_API gt_error gt_executable_patch_copy(gt_executable executable, uint32_t op, uint64_t target,
                                         uint64_t source, uint64_t bytes) GT_NOEXCEPT;
GT_API gt_error gt_executable_patch_fill(gt_executable executable, uint32_t op, uint64_t target,
                                         uint32_t value, uint32_t width,
                                         uint64_t count) GT_NOEXCEPT;

// ---- Profiles ----------------------------------------------------------------------------------
//
// What a running process does, as a trace in a file. A profile begins and ends at any time, beside
// threads that replay; one runs at a time in a process.
//
//   host    each launch and phase, on the host           takes nothing from anybody
//   light   one launch in so many, with its device time  events on the launch's stream
//   full    every op of every launch, by name            CUPTI, which somebody else may hold
//
// Where the full mode cannot begin, the profile is a light one, says why, and tries again each
// second. On the host device the full mode is always there.

typedef int32_t gt_profile_mode;
enum {
  GT_PROFILE_HOST = 0,
  GT_PROFILE_LIGHT = 1,
  GT_PROFILE_FULL = 2
};

typedef struct gt_profile_options {
  size_t size;
  // .json as PyTorch's profiler writes it; .pftrace for Perfetto; null with `figures`: no file.
  const char* path;
  gt_profile_mode mode;
  int32_t reserved;        // 0
  uint64_t light_in;       // a light profile times one replay in so many; 0: 64
  // The window is over after so many replays, or so many milliseconds; 0: no such end.
  int64_t most_replays;
  int64_t most_ms;
  gt_runtime runtime;      // whose pools' bytes are drawn as lines; null: none
  // Of the full mode on a GPU. Where libcupti is looked for first, the file or its folder; null:
  // where the loader looks, and then in CUDA's folder, if that is given.
  const char* cupti;
  const char* cuda_home;
  int32_t never_finalizes; // 1: CUPTI stays, and makes every launch of a graph slower
  int32_t attaches_once;   // 1: CUPTI that was finalized is not attached to again
  // 1: the end has CUPTI leave also beside launches of graphs by others, whose work that may break.
  int32_t forces_out;
  int32_t figures;         // 1: counted into rows, too (GT_PROFILE_TABLE)
} gt_profile_options;

typedef struct gt_profile_report {
  size_t size;
  gt_profile_mode mode;    // that is in force, and at the end was
  int32_t is_running;      // 1: the rest is not known yet
  uint64_t launches;       // that trees have told
  uint64_t ops;            // in the trace
  uint64_t dropped;        // of both that found no room
  uint64_t untimed;        // launches that a light profile could not time
  uint64_t unnamed;        // ops that have their launch, and were not recorded by name
  uint64_t without_launch; // ops of nobody's launch
  uint64_t mismatched;     // ops that are not in the graph of their launch
  uint64_t short_launches; // launches with less ops than their graph has
  uint64_t cut_launches;   // launches that the end has cut off
  double drift_ppm;        // of the device's clock
  int32_t lingers;         // 1: CUPTI could not leave yet (gt_cupti_leave)
  int32_t reserved;
} gt_profile_report;

typedef int32_t gt_profile_text;
enum {
  GT_PROFILE_WHY_NOT_FULL = 0,  // empty where full was not asked for, or is in force
  GT_PROFILE_REMARKS = 1,       // a line each
  // Of a profile with `figures`, also while it runs, then as of a second ago: for each function,
  // node and op how often it ran, how long (least, mean, p50, p99), gaps, the time from the launch
  // to the start, and bytes a second against what the card's memory moves at most.
  GT_PROFILE_TABLE = 2,         // for people
  GT_PROFILE_FIGURES_JSON = 3   // an object for each row, times in nanoseconds
};

// Begins a profile: an error while another one runs, for a path with another ending or in a folder
// that is not there, and for a window of less than nothing. The file is made, or emptied. Trees of
// all devices are in the trace; `device` is the one that is timed, and is not closed before the
// profile has ended: that is an error, as while trees of it are left. A runtime's handle may be
// released before; the runtime itself ends with the profile. Threads: one at a time for each
// profile, as all of these; within a call of an observer's all of them are errors. Inside of work
// of the device, for which the end waits, beginning, stopping and releasing are. So is stopping in
// a process that was forked from the profile's, where gt_release leaves it to that one. gt_release
// stops it. Cost: a thread; the full mode attaches to CUPTI, in some 15 ms.
GT_API gt_error gt_profile_start(gt_device device, const gt_profile_options* options,
                                 gt_profile* out) GT_NOEXCEPT;
// Waits up to `ms` milliseconds for the end of the window. `over`: 1: it has come, or the profile
// was stopped.
GT_API gt_error gt_profile_wait(gt_profile profile, uint64_t ms, int32_t* over) GT_NOEXCEPT;
// Ends the trace and its file; what that came to is in `out`, which may be null, as it is of
// gt_profile_look. Where the file could not be written whole, for a full disk, or was deleted
// meanwhile, that is the error, and gt_profile_look has the figures. Again it does nothing, and
// gives the same.
GT_API gt_error gt_profile_stop(gt_profile profile, gt_profile_report* out) GT_NOEXCEPT;
GT_API gt_error gt_profile_look(gt_profile profile, gt_profile_report* out) GT_NOEXCEPT;
// In words, once it is stopped; before, it is an error, but for figures.
GT_API gt_error gt_profile_describe(gt_profile profile, gt_profile_text what,
                                    gt_text* out) GT_NOEXCEPT;
// CUPTI that could not leave at the end of a profile, as others launched graphs, makes each launch
// of a graph some 20 us slower. It leaves by itself once they rest; with `force` it leaves now,
// also beside their launches, whose work that may break. `lingering`, which may be null: 1 where it
// is still there. Threads: any, but not within a call of an observer's.
GT_API gt_error gt_cupti_leave(int32_t force, uint64_t* lingering) GT_NOEXCEPT;

// What this thread of a server works on, until it is popped: a span around all that the thread
// does, in the trace of a profile (GT_PHASE_REQUEST for observers). Labels nest; each thread has
// its own. Cost: a lock.
GT_API gt_error gt_label_push(const char* label) GT_NOEXCEPT;
// GT_FAILED_PRECONDITION where this thread has pushed none.
GT_API gt_error gt_label_pop(void) GT_NOEXCEPT;

#if defined(__cplusplus)
}  // extern "C"
#endif

#endif  // GRAPHTREE_RUNTIME_C_GRAPHTREE_H_
