// Graphtree in C++17, over the C interface: header only, with no Abseil and no version of it to
// agree on.
//
//   gt::Device device = gt::Device::Open("host").value();
//   gt::Stream stream = device.NewStream().value();
//   gt::Tree tree = device.NewTree().value();
//   gt::Function twice = tree.Register("twice", [&](gt::Launcher& on) {
//     const gt::View x = on.Input(0), sum = on.Empty(x.layout);
//     on.Launch(add, shape, {gt::Out(sum), gt::In(x), gt::Val(by)});
//     return gt::Views{sum};
//   }).value();
//   tree.BeginStep();
//   std::vector<gt::Value> outputs = twice.Call({gt_tensor(address, layout)}, stream).value();
//
// Owners (Device, Tree, Value, ...) move, and release what they own; get() gives the handle, for
// all functions of graphtree.h that have no method here. A View is a gt_value: plain bytes, of
// somebody else's.
//
// Errors: what may fail returns a Result, which is a value or an Error. With GRAPHTREE_EXCEPTIONS
// defined before this header is included it returns the value itself, and throws gt::Failure. A
// program may have files of both kinds.
//
// Bodies are lambdas, and hold by value what outlives the call that gives them. One that throws has
// failed.
//
// Threads, costs and lifetimes are those of the C functions; what a lambda captures lives on the
// heap.
#ifndef GRAPHTREE_RUNTIME_C_GRAPHTREE_HPP_
#define GRAPHTREE_RUNTIME_C_GRAPHTREE_HPP_

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/c/graphtree.h"

namespace gt {

#if defined(GRAPHTREE_EXCEPTIONS)
inline namespace throwing {
#else
inline namespace returning {
#endif

// Owns a handle of any kind. What cannot be released (a device that is still used) stays.
template <typename Handle>
class Owned {
 public:
  Owned() = default;
  explicit Owned(Handle handle) : handle_(handle) {}
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    Owned taken(std::move(other));
    std::swap(handle_, taken.handle_);
    return *this;
  }
  ~Owned() { gt_release(gt_release(handle_)); }

  Handle get() const { return handle_; }
  explicit operator bool() const { return handle_ != nullptr; }
  // The handle is the caller's from here on.
  Handle Release() { return std::exchange(handle_, nullptr); }

 private:
  Handle handle_ = nullptr;
};

// What went wrong; false if nothing did.
class Error : public Owned<gt_error> {
 public:
  using Owned::Owned;
  gt_code code() const { return gt_error_look(get())->code; }
  int32_t cuda_code() const { return gt_error_look(get())->cuda_code; }
  const char* text() const { return gt_error_look(get())->text; }
  const gt_error_info& info() const { return *gt_error_look(get()); }
};

#if defined(GRAPHTREE_EXCEPTIONS)

class Failure : public std::exception {
 public:
  explicit Failure(gt_error error) : error_(std::make_shared<Error>(error)) {}
  const char* what() const noexcept override { return error_->text(); }
  const Error& error() const { return *error_; }

 private:
  std::shared_ptr<Error> error_;
};

template <typename T>
using Result = T;
using Status = void;

namespace detail {
inline void Check(gt_error error) {
  if (error != nullptr) throw Failure(error);
}
template <typename T>
T Give(gt_error error, T value) {
  Check(error);
  return value;
}
inline void Done(gt_error error) { Check(error); }
}  // namespace detail

#else

using Status = Error;

// A value, or an error. REQUIRES of value(): ok(); else the program ends, with the error's text.
template <typename T>
class Result {
 public:
  Result(T value) : value_(std::move(value)) {}                // NOLINT: functions return either
  Result(Error error) : error_(std::move(error)) {}            // NOLINT
  bool ok() const { return !error_; }
  explicit operator bool() const { return ok(); }
  const Error& error() const { return error_; }
  T& value() & { return Checked(); }
  T value() && { return std::move(Checked()); }
  T& operator*() & { return Checked(); }
  T* operator->() { return &Checked(); }

 private:
  T& Checked() {
    if (!ok()) {
      std::fprintf(stderr, "graphtree: %s\n", error_.text());
      std::abort();
    }
    return value_;
  }

  T value_ = T();
  Error error_;
};

namespace detail {
template <typename T>
Result<T> Give(gt_error error, T value) {
  if (error != nullptr) return Error(error);
  return Result<T>(std::move(value));  // nvcc would copy here
}
inline Error Done(gt_error error) { return Error(error); }
}  // namespace detail

#endif

// ---- Values ------------------------------------------------------------------------------------

using View = gt_value;
using Views = std::vector<View>;

// Owns the handle of a tensor's bytes.
class Value {
 public:
  Value() = default;
  explicit Value(const View& view) : view_(view) {}
  Value(Value&& other) noexcept : view_(std::exchange(other.view_, View{})) {}
  Value& operator=(Value&& other) noexcept {
    Value taken(std::move(other));
    std::swap(view_, taken.view_);
    return *this;
  }
  ~Value() { gt_release(gt_release(view_.storage)); }

  const View& view() const { return view_; }
  gt_layout layout() const { return view_.layout; }
  uint64_t address() const { return view_.word; }
  int64_t integer() const { return static_cast<int64_t>(view_.word); }
  // Another handle of the same bytes.
  Result<Value> Copy() const {
    View copy = {};
    const gt_error error = gt_value_copy(&view_, &copy);
    return detail::Give(error, Value(copy));
  }
  // Handed over: to a call that consumes it, for example.
  View Release() { return std::exchange(view_, View{}); }

 private:
  View view_ = {};
};

using Values = std::vector<Value>;

// An input of a call. A view is of somebody else's, who keeps it unless the call consumes it. A
// Value that is moved in is handed over, and ends with the call at the latest.
class Input {
 public:
  Input(const View& view) : view_(view) {}                                       // NOLINT
  Input(Value&& value) : owned_(std::move(value)), view_(owned_.view()) {}       // NOLINT
  const View& view() const { return view_; }
  // The handle is gone already: there is nothing to release.
  void WasConsumed() const { owned_.Release(); }

 private:
  mutable Value owned_;
  View view_;
};

inline Result<gt_layout> LayoutOf(gt_dtype dtype, std::initializer_list<int64_t> sizes) {
  gt_layout layout = nullptr;
  const gt_error error =
      gt_layout_new(dtype, static_cast<uint32_t>(sizes.size()), sizes.begin(), nullptr, &layout);
  return detail::Give(error, layout);
}

// Arguments of a launch; what they name lives until the launch call returns.
inline gt_arg In(const View& tensor) { return {GT_READ, 0, &tensor}; }
inline gt_arg Out(const View& tensor) { return {GT_WRITE, 0, &tensor}; }
inline gt_arg InOut(const View& tensor) { return {GT_READ_WRITE, 0, &tensor}; }
template <typename T>
gt_arg Val(const T& value) {
  return {std::is_arithmetic<T>::value ? GT_NUMBER : GT_BYTES, sizeof(T), &value};
}

struct Shape : gt_launch_shape {
  explicit Shape(uint32_t blocks = 1, uint32_t threads = 1, uint32_t shared = 0)
      : gt_launch_shape{{blocks, 1, 1}, {threads, 1, 1}, shared, 0} {}
};

namespace detail {

// A lambda that lives until C tells that nothing calls it any more.
template <typename Function>
void Destroy(void* function) {
  delete static_cast<Function*>(function);
}

// What a throwing body has thrown becomes an error that says so.
template <typename Body>
gt_error Guarded(const Body& body) {
#if defined(GRAPHTREE_EXCEPTIONS)
  try {
    return body();
  } catch (const Failure& failure) {
    return gt_error_new(failure.error().code(), failure.what());
  } catch (const std::exception& thrown) {
    return gt_error_new(GT_UNKNOWN, thrown.what());
  }
#else
  return body();
#endif
}

}  // namespace detail

// ---- Kernels -----------------------------------------------------------------------------------

// A kernel's body on a GPU: CUDA C++, a cubin, PTX or fatbin, or a __global__ function of the
// program. Without one the kernel runs on the host device alone.
struct CudaSource {
  const char* text = nullptr;
  const char* entry = nullptr;
};
struct CudaImage {
  const void* data = nullptr;
  size_t bytes = 0;
  const char* entry = nullptr;
};
struct CudaSymbol {
  const void* function = nullptr;
};

namespace detail {
inline void SetCuda(const CudaSource& cuda, gt_kernel_options* options) {
  if (cuda.text != nullptr) options->cuda_kind = GT_CUDA_SOURCE;
  options->cuda = cuda.text;
  options->entry = cuda.entry;
}
inline void SetCuda(const CudaImage& cuda, gt_kernel_options* options) {
  options->cuda_kind = GT_CUDA_IMAGE;
  options->cuda = cuda.data;
  options->cuda_bytes = cuda.bytes;
  options->entry = cuda.entry;
}
inline void SetCuda(const CudaSymbol& cuda, gt_kernel_options* options) {
  options->cuda_kind = GT_CUDA_SYMBOL;
  options->cuda = cuda.function;
}
}  // namespace detail

// What a host body sees.
class HostCall {
 public:
  explicit HostCall(const gt_host_call& call) : call_(call) {}
  const gt_launch_shape& shape() const { return call_.shape; }
  template <typename T>
  T Get(size_t index) const {
    T value;
    std::memcpy(&value, call_.arguments[index], sizeof(T));
    return value;
  }

 private:
  const gt_host_call& call_;
};

class Kernel : public Owned<gt_kernel> {
 public:
  using Owned::Owned;
  // From the types of the kernel's parameters:
  // Kernel::New<uint32_t*, const uint32_t*, uint32_t>("add", on_host, CudaSource{text, "add"}).
  // `host` is called as host(const HostCall&); nullptr: the host device cannot run the kernel.
  template <typename... Types, typename Host, typename Cuda = CudaSource>
  static Result<Kernel> New(const char* name, Host host, Cuda cuda = {}) {
    const uint32_t bytes[] = {static_cast<uint32_t>(sizeof(Types))..., 0};
    const uint8_t writable[] = {
        (std::is_pointer<Types>::value &&
         !std::is_const<typename std::remove_pointer<Types>::type>::value)...,
        false};
    gt_kernel_options options = GT_INIT(gt_kernel_options);
    options.name = name;
    options.parameter_count = sizeof...(Types);
    options.parameter_bytes = bytes;
    options.parameter_writable = writable;
    if constexpr (!std::is_same<Host, std::nullptr_t>::value) {
      options.host = [](void* context, const gt_host_call* call) {
        (*static_cast<Host*>(context))(HostCall(*call));
      };
      options.context = std::make_unique<Host>(std::move(host)).release();
      options.destroy = detail::Destroy<Host>;
    }
    detail::SetCuda(cuda, &options);
    gt_kernel kernel = nullptr;
    const gt_error error = gt_kernel_new(&options, &kernel);
    return detail::Give(error, Kernel(kernel));
  }
  // From a __global__ function, whose parameters' types are known: Kernel::Of("add", add, on_host).
  template <typename... Types, typename Host>
  static Result<Kernel> Of(const char* name, void (*function)(Types...), Host host) {
    return New<Types...>(name, std::move(host),
                         CudaSymbol{reinterpret_cast<const void*>(function)});
  }
};

// The arguments of a launch: a braced list, a vector, or any run of them.
class Args {
 public:
  // NOLINTNEXTLINE: what is written where arguments are wanted
  Args(std::initializer_list<gt_arg> args) : count_(args.size()) { data_ = args.begin(); }
  Args(const std::vector<gt_arg>& args) : Args(args.data(), args.size()) {}  // NOLINT
  Args(const gt_arg* data, size_t count) : data_(data), count_(count) {}
  const gt_arg* data() const { return data_; }
  size_t size() const { return count_; }

 private:
  const gt_arg* data_ = nullptr;
  size_t count_ = 0;
};

// ---- Bodies ------------------------------------------------------------------------------------

// What a body launches through. Errors stick, and the call fails with the first one: so nothing
// here fails by itself, and what a failed launcher gives has no bytes.
class Launcher {
 public:
  explicit Launcher(gt_launcher on) : on_(on) {}
  gt_launcher get() const { return on_; }

  View Input(size_t index) {
    View view = {};
    gt_launcher_input(on_, index, &view);
    return view;
  }
  int64_t Integer(size_t index) {
    int64_t number = 0;
    gt_launcher_integer(on_, index, &number);
    return number;
  }
  View Empty(gt_layout layout) {
    View view = {};
    gt_launcher_empty(on_, layout, &view);
    return view;
  }
  View Scratch(uint64_t bytes) {
    View view = {};
    gt_launcher_scratch(on_, bytes, &view);
    return view;
  }
  void Launch(const Kernel& kernel, const gt_launch_shape& shape, Args args) {
    gt_launcher_launch(on_, kernel.get(), &shape, args.data(), args.size());
  }
  void Copy(const View& target, const View& source) { gt_launcher_copy(on_, &target, &source); }
  void Fill(const View& target, uint8_t byte) { gt_launcher_fill(on_, &target, byte); }
  void Reads(const View& tensor) { gt_launcher_reads(on_, &tensor); }
  void Writes(const View& tensor) { gt_launcher_writes(on_, &tensor); }
  // A cudaStream_t; null on the host device, where the launcher has failed then.
  void* native_stream() {
    void* stream = nullptr;
    gt_launcher_native_stream(on_, &stream);
    return stream;
  }
  // `part` is called as part(Launcher&, const View* tensors, size_t count).
  template <typename Part>
  void Break(const char* why, Args args, Part part) {
    gt_launcher_break(
        on_, why, args.data(), args.size(),
        [](void* context, gt_launcher on, const gt_value* tensors, size_t count) {
          return detail::Guarded([&]() -> gt_error {
            Launcher launcher(on);
            (*static_cast<Part*>(context))(launcher, tensors, count);
            return nullptr;
          });
        },
        std::make_unique<Part>(std::move(part)).release(), detail::Destroy<Part>);
  }

  // In a program's body.
  gt_key key() {
    gt_key key = {};
    gt_launcher_key(on_, &key, nullptr);
    return key;
  }
  View Slot(uint32_t slot) {
    View view = {};
    gt_launcher_slot(on_, slot, &view);
    return view;
  }
  // What the program's prepare has handed out.
  View Prepared(size_t index) {
    View view = {};
    gt_launcher_prepared(on_, index, &view);
    return view;
  }

 private:
  gt_launcher on_;
};

namespace detail {

// Runs body(Launcher&), which returns what it hands out: a container of Views.
template <typename Body>
gt_error RunBody(void* context, gt_launcher on) {
  return Guarded([&]() -> gt_error {
    Launcher launcher(on);
    for (const View& output : (*static_cast<Body*>(context))(launcher)) {
      gt_launcher_output(on, &output);
    }
    return nullptr;
  });
}

// The two bodies of a program.
template <typename Prepare, typename Body>
struct Bodies {
  Prepare prepare;
  Body body;
  static gt_error RunPrepare(void* context, gt_launcher on) {
    return RunBody<Prepare>(&static_cast<Bodies*>(context)->prepare, on);
  }
  static gt_error RunItself(void* context, gt_launcher on) {
    return RunBody<Body>(&static_cast<Bodies*>(context)->body, on);
  }
};

inline Result<Values> Collect(gt_error error, const std::vector<View>& outputs, size_t count) {
  Values values;
  for (size_t i = 0; error == nullptr && i < count; ++i) values.emplace_back(outputs[i]);
  return Give(error, std::move(values));
}

}  // namespace detail

// ---- Streams, memory, trees --------------------------------------------------------------------

class Stream : public Owned<gt_stream> {
 public:
  using Owned::Owned;
  Status Synchronize() const { return detail::Done(gt_stream_synchronize(get())); }
  Status Copy(uint64_t target, uint64_t source, uint64_t bytes) const {
    return detail::Done(gt_stream_copy(get(), target, source, bytes));
  }
  Status CopyToHost(void* target, const Value& source, uint64_t bytes) const {
    return Copy(reinterpret_cast<uintptr_t>(target), source.address(), bytes);
  }
};

class Memory : public Owned<gt_memory> {
 public:
  using Owned::Owned;
  gt_range range() const {
    gt_range range = {};
    gt_release(gt_memory_range(get(), &range));
    return range;
  }
  // Of memory on the host.
  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(static_cast<uintptr_t>(range().address));
  }
  View Tensor(gt_layout layout) const { return gt_tensor(range().address, layout); }
};

class Function : public Owned<gt_function> {
 public:
  using Owned::Owned;
  // A call that goes well consumes tensors of trees that are no static inputs: the Value of one
  // that was given as a view holds nothing any more. Opaque values, and all inputs of a call that
  // fails, stay their owners'.
  Result<Values> Call(std::initializer_list<Input> inputs, const Stream& stream,
                      size_t most_outputs = 8) const {
    Views given;
    given.reserve(inputs.size());
    for (const Input& input : inputs) given.push_back(input.view());
    Result<Values> outputs = Call(given, stream, most_outputs);
    for (size_t i = 0; i < given.size(); ++i) {
      if (given[i].kind == GT_CONSUMED) inputs.begin()[i].WasConsumed();
    }
    return outputs;
  }
  // Any number of inputs. The view of one that was consumed says so (GT_CONSUMED).
  Result<Values> Call(Views& inputs, const Stream& stream, size_t most_outputs = 8) const {
    Views outputs(most_outputs);
    size_t count = 0;
    const gt_error error = gt_call(get(), inputs.data(), inputs.size(), stream.get(),
                                   outputs.data(), outputs.size(), &count);
    return detail::Collect(error, outputs, count < most_outputs ? count : most_outputs);
  }
};

class Tree : public Owned<gt_tree> {
 public:
  using Owned::Owned;
  // `body` is called as body(Launcher&) and returns a container of Views.
  template <typename Body>
  Result<Function> Register(const char* name, Body body,
                            const gt_function_options* options = nullptr) const {
    gt_function function = nullptr;
    const gt_error error = gt_tree_register(
        get(), name, options, detail::RunBody<Body>,
        std::make_unique<Body>(std::move(body)).release(), detail::Destroy<Body>, &function);
    return detail::Give(error, Function(function));
  }
  Status BeginStep() const { return detail::Done(gt_tree_begin_step(get())); }
  Status Park(gt_contents contents) const { return detail::Done(gt_tree_park(get(), contents)); }
  Status Wake() const { return detail::Done(gt_tree_wake(get())); }
  Result<gt_tree_stats> stats() const {
    gt_tree_stats stats = GT_INIT(gt_tree_stats);
    const gt_error error = gt_tree_look(get(), &stats);
    return detail::Give(error, stats);
  }
};

class Device : public Owned<gt_device> {
 public:
  using Owned::Owned;
  // An error, too, where the library has not what this header asks of it.
  static Result<Device> Open(const char* name, const gt_device_options* options = nullptr) {
    gt_device device = nullptr;
    gt_error error = gt_version_check(GT_VERSION_MAJOR, GT_VERSION_MINOR);
    if (error == nullptr) error = gt_device_open(name, options, &device);
    return detail::Give(error, Device(device));
  }
  Result<Stream> NewStream() const {
    gt_stream stream = nullptr;
    const gt_error error = gt_stream_new(get(), &stream);
    return detail::Give(error, Stream(stream));
  }
  // A view of a cudaStream_t, which stays its owner's and goes after the view. On the host device
  // null alone is one.
  Result<Stream> AdoptStream(void* native) const {
    gt_stream stream = nullptr;
    const gt_error error = gt_stream_adopt(get(), native, &stream);
    return detail::Give(error, Stream(stream));
  }
  Result<Memory> NewMemory(gt_place place, uint64_t bytes) const {
    gt_memory memory = nullptr;
    const gt_error error = gt_memory_new(get(), place, bytes, &memory);
    return detail::Give(error, Memory(memory));
  }
  Result<Tree> NewTree(const gt_tree_options* options = nullptr) const {
    gt_tree tree = nullptr;
    const gt_error error = gt_tree_new(get(), options, &tree);
    return detail::Give(error, Tree(tree));
  }
};

// Names the launches of a body, or of a tree's calls, until it ends. Scopes end in the reverse
// order of their beginnings.
//
//   const gt::Scope layer(on, "layer 3");
class Scope {
 public:
  // What goes wrong fails the launcher.
  Scope(Launcher& on, const char* name) : on_(on.get()) {
    is_open_ = gt_launcher_push_scope(on_, name) == nullptr;
  }
  // Without a scope nothing but a name is missing.
  Scope(const Tree& tree, const char* name) : tree_(tree.get()) {
    const gt_error error = gt_tree_push_scope(tree_, name);
    is_open_ = error == nullptr;
    gt_release(error);
  }
  ~Scope() {
    if (!is_open_) return;
    if (on_ != nullptr) {
      gt_launcher_pop_scope(on_);
    } else {
      gt_release(gt_tree_pop_scope(tree_));
    }
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  gt_launcher on_ = nullptr;
  gt_tree tree_ = nullptr;
  bool is_open_ = false;
};

// What this thread works on, for whoever looks at a trace.
class Label {
 public:
  explicit Label(const char* label) {
    const gt_error error = gt_label_push(label);
    is_pushed_ = error == nullptr;
    gt_release(error);
  }
  ~Label() {
    if (is_pushed_) gt_release(gt_label_pop());
  }
  Label(const Label&) = delete;
  Label& operator=(const Label&) = delete;

 private:
  bool is_pushed_ = false;
};

// Runs until Stop, or its own end.
class Profile : public Owned<gt_profile> {
 public:
  using Owned::Owned;
  static Result<Profile> Start(const Device& device, const char* path,
                               gt_profile_mode mode = GT_PROFILE_FULL) {
    gt_profile_options options = GT_INIT(gt_profile_options);
    options.path = path;
    options.mode = mode;
    return Start(device, options);
  }
  static Result<Profile> Start(const Device& device, const gt_profile_options& options) {
    gt_profile profile = nullptr;
    const gt_error error = gt_profile_start(device.get(), &options, &profile);
    return detail::Give(error, Profile(profile));
  }
  // Whether the window is over by then.
  Result<bool> Wait(uint64_t ms) const {
    int32_t over = 0;
    const gt_error error = gt_profile_wait(get(), ms, &over);
    return detail::Give(error, over != 0);
  }
  Result<gt_profile_report> Stop() const {
    gt_profile_report report = GT_INIT(gt_profile_report);
    const gt_error error = gt_profile_stop(get(), &report);
    return detail::Give(error, report);
  }
  // Empty where the full mode was not asked for, or is in force. REQUIRES: it was stopped.
  std::string why_not_full() const { return Described(GT_PROFILE_WHY_NOT_FULL); }
  // Its figures, with which it was begun: for people.
  std::string table() const { return Described(GT_PROFILE_TABLE); }

 private:
  std::string Described(gt_profile_text what) const {
    gt_text text = nullptr;
    gt_release(gt_profile_describe(get(), what, &text));
    const Owned<gt_text> owned(text);
    return gt_text_chars(text, nullptr);
  }
};

// ---- Runtimes ----------------------------------------------------------------------------------

class Step : public Owned<gt_step> {
 public:
  using Owned::Owned;
  Status Stage(uint32_t slot, const gt_rows& rows) const {
    return detail::Done(gt_step_stage(get(), slot, &rows));
  }
  template <typename T>
  Status StageHost(uint32_t slot, gt_dtype dtype, const T* data, int64_t rows) const {
    return Stage(slot, {dtype, 0, reinterpret_cast<uintptr_t>(data), rows, 0, 0});
  }
  Result<Values> Run(size_t most_outputs = 8) const {
    std::vector<View> outputs(most_outputs);
    size_t count = 0;
    const gt_error error = gt_step_run(get(), outputs.data(), outputs.size(), &count);
    return detail::Collect(error, outputs, count < most_outputs ? count : most_outputs);
  }
  Result<gt_choice> choice() const {
    gt_choice choice = GT_INIT(gt_choice);
    const gt_error error = gt_step_look(get(), &choice);
    return detail::Give(error, choice);
  }
};

class Program : public Owned<gt_program> {
 public:
  using Owned::Owned;
  Status AddShapes(std::initializer_list<gt_key> keys, gt_mode mode = GT_FULL) const {
    return detail::Done(gt_program_add_shapes(get(), keys.begin(), keys.size(), mode));
  }
  Status AddShapes(const std::vector<gt_key>& keys, gt_mode mode = GT_FULL) const {
    return detail::Done(gt_program_add_shapes(get(), keys.data(), keys.size(), mode));
  }
  Status Record(const Stream& stream) const {
    return detail::Done(gt_program_record(get(), stream.get()));
  }
  Result<Step> Begin(const gt_key& key, const Stream& stream,
                     const gt_step_options* options = nullptr) const {
    gt_step step = nullptr;
    const gt_error error = gt_step_begin(get(), &key, stream.get(), options, &step);
    return detail::Give(error, Step(step));
  }
};

// Prepares a program's next step on a side stream, while another program runs.
class Ahead : public Owned<gt_ahead> {
 public:
  using Owned::Owned;
  static Result<Ahead> New(const Program& program) {
    gt_ahead ahead = nullptr;
    const gt_error error = gt_ahead_new(program.get(), &ahead);
    return detail::Give(error, Ahead(ahead));
  }
  Status Prepare(const gt_key& key, const std::vector<gt_ahead_rows>& rows,
                 const Stream& side) const {
    return detail::Done(gt_ahead_prepare(get(), &key, rows.data(), rows.size(), side.get()));
  }
  Result<Values> Take(const gt_key& key, const std::vector<gt_ahead_rows>& rows,
                      const Stream& stream, size_t most_outputs = 8) const {
    std::vector<View> outputs(most_outputs);
    size_t count = 0;
    const gt_error error = gt_ahead_take(get(), &key, rows.data(), rows.size(), stream.get(),
                                         outputs.data(), outputs.size(), &count);
    return detail::Collect(error, outputs, count < most_outputs ? count : most_outputs);
  }
  Result<gt_ahead_stats> stats() const {
    gt_ahead_stats stats = GT_INIT(gt_ahead_stats);
    const gt_error error = gt_ahead_look(get(), &stats);
    return detail::Give(error, stats);
  }
};

// Rows on the host, for Ahead.
template <typename T>
gt_ahead_rows HostRows(uint32_t slot, gt_dtype dtype, const T* data, int64_t rows) {
  gt_ahead_rows made = {};
  made.slot = slot;
  made.rows = {dtype, 0, reinterpret_cast<uintptr_t>(data), rows, 0, 0};
  return made;
}

// What is to be recorded, and what that takes.
class Plan : public Owned<gt_plan> {
 public:
  using Owned::Owned;
  Result<gt_plan_info> info() const {
    gt_plan_info info = GT_INIT(gt_plan_info);
    const gt_error error = gt_plan_look(get(), &info);
    return detail::Give(error, info);
  }
  Result<gt_plan_result> Record(const Stream& stream) const {
    gt_plan_result result = GT_INIT(gt_plan_result);
    const gt_error error = gt_plan_record(get(), stream.get(), nullptr, nullptr, &result);
    return detail::Give(error, result);
  }
};

class Runtime : public Owned<gt_runtime> {
 public:
  using Owned::Owned;
  static Result<Runtime> New(const Device& device, const gt_runtime_options* options = nullptr) {
    const gt_device over = device.get();
    gt_runtime runtime = nullptr;
    const gt_error error = gt_runtime_new(&over, 1, options, &runtime);
    return detail::Give(error, Runtime(runtime));
  }
  // Over several devices; a program's options say in which of them it lies.
  static Result<Runtime> New(const std::vector<const Device*>& devices,
                             const gt_runtime_options* options = nullptr) {
    std::vector<gt_device> over;
    for (const Device* device : devices) over.push_back(device->get());
    gt_runtime runtime = nullptr;
    const gt_error error = gt_runtime_new(over.data(), over.size(), options, &runtime);
    return detail::Give(error, Runtime(runtime));
  }
  // With a body that computes on the device what `body` needs, and hands it out
  // (Launcher::Prepared).
  template <typename Prepare, typename Body>
  Result<Program> NewProgram(gt_program_options options, Prepare prepare, Body body) const {
    using Both = detail::Bodies<Prepare, Body>;
    options.prepare = Both::RunPrepare;
    options.body = Both::RunItself;
    options.context =
        std::unique_ptr<Both>(new Both{std::move(prepare), std::move(body)}).release();
    options.destroy = detail::Destroy<Both>;
    gt_program program = nullptr;
    const gt_error error = gt_program_new(get(), &options, &program);
    return detail::Give(error, Program(program));
  }
  // Of all shapes, within so many bytes of the device; 0: no limit.
  Result<Plan> MakePlan(uint64_t budget = 0) const {
    gt_plan plan = nullptr;
    const gt_error error = gt_plan_new(get(), nullptr, 0, budget, &plan);
    return detail::Give(error, Plan(plan));
  }
  // What has the tag leaves the device, and comes back.
  Status Park(const char* tag, gt_contents contents) const {
    return detail::Done(gt_runtime_park(get(), tag, contents));
  }
  Status Wake(const char* tag) const { return detail::Done(gt_runtime_wake(get(), tag)); }
  Result<gt_range> AddMemory(const gt_tagged_memory& memory) const {
    gt_range range = {};
    const gt_error error = gt_runtime_add_memory(get(), &memory, &range);
    return detail::Give(error, range);
  }
  // The body and what it captures are set over what the options say of these.
  template <typename Body>
  Result<Program> NewProgram(gt_program_options options, Body body) const {
    options.body = detail::RunBody<Body>;
    options.context = std::make_unique<Body>(std::move(body)).release();
    options.destroy = detail::Destroy<Body>;
    gt_program program = nullptr;
    const gt_error error = gt_program_new(get(), &options, &program);
    return detail::Give(error, Program(program));
  }
};

inline gt_key Tokens(int32_t tokens) {
  gt_key key = {};
  key.tokens = tokens;
  return key;
}

}  // inline namespace

}  // namespace gt

#endif  // GRAPHTREE_RUNTIME_C_GRAPHTREE_HPP_
