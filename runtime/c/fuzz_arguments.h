// Random arguments for a function of the C interface, made from the types that the function takes.
//
//   Arguments arguments(&world, seed);
//   gt_error error = arguments.Call(gt_stream_wait);  // any function: its type says what it takes
//
//   a handle                     one that is good, null, dangling, made up, or of another kind
//   a pointer to a handle        where a new one comes; what comes is kept
//   a pointer to a struct        a few of them, with their size right or wrong; or null
//   a number                     small, or at an edge
//   a function                   one that does nothing, or null
//
// What an address or a count says is there is there: anything else is the caller's own fault.
#ifndef GRAPHTREE_RUNTIME_C_FUZZ_ARGUMENTS_H_
#define GRAPHTREE_RUNTIME_C_FUZZ_ARGUMENTS_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <tuple>
#include <type_traits>
#include <typeindex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/c/graphtree.h"

namespace graphtree::c {

template <typename T, typename = void>
inline constexpr bool kIsComplete = false;
template <typename T>
inline constexpr bool kIsComplete<T, std::void_t<decltype(sizeof(T))>> = true;

// A handle's type points to a struct that nobody has seen.
template <typename T>
inline constexpr bool kIsHandle =
    std::is_pointer_v<T> && !kIsComplete<std::remove_pointer_t<T>> &&
    !std::is_void_v<std::remove_pointer_t<T>> && !std::is_function_v<std::remove_pointer_t<T>>;

template <typename T, typename = void>
inline constexpr bool kHasSize = false;
template <typename T>
inline constexpr bool kHasSize<T, std::void_t<decltype(std::declval<T&>().size)>> = true;

// What calls have made so far, by type.
class FuzzWorld {
 public:
  template <typename Handle>
  std::vector<void*>& Of() {
    return handles_[std::type_index(typeid(Handle))];
  }
  template <typename Handle>
  void Keep(Handle handle) {
    if (handle == nullptr) return;
    all_.push_back(handle);
    Of<Handle>().push_back(handle);
  }
  void KeepValue(const gt_value& value) {
    if (value.storage == nullptr) return;
    Keep(value.storage);
    values_.push_back(value);
  }
  const std::vector<void*>& all() const { return all_; }
  const std::vector<gt_value>& values() const { return values_; }
  void Forget() {
    handles_.clear();
    all_.clear();
    values_.clear();
  }

 private:
  std::unordered_map<std::type_index, std::vector<void*>> handles_;
  std::vector<void*> all_;
  std::vector<gt_value> values_;
};

class Arguments {
 public:
  // `body` and `context` are what functions and programs get.
  Arguments(FuzzWorld* world, uint32_t seed, gt_body body, void* context)
      : world_(*world), random_(seed), body_(body), context_(context) {}

  template <typename Result, typename... Types>
  Result Call(Result (*function)(Types...)) {
    constexpr bool kHasArrays = (kIsArray<Types> || ...);
    std::tuple<Given<Types>...> given;
    std::apply([&](auto&... one) { (Fill(kHasArrays, &one), ...); }, given);
    const auto call = [&](auto&... one) { return function(one.Get()...); };
    if constexpr (std::is_void_v<Result>) {
      std::apply(call, given);
      std::apply([&](auto&... one) { (Take(one), ...); }, given);
    } else {
      const Result result = std::apply(call, given);
      std::apply([&](auto&... one) { (Take(one), ...); }, given);
      return result;
    }
  }

  uint32_t Roll(uint32_t sides) { return static_cast<uint32_t>(random_() % sides); }
  template <typename Handle>
  Handle AnyHandle() {
    const uint32_t roll = Roll(24);
    if (roll == 0) return nullptr;
    if (roll == 1) return reinterpret_cast<Handle>(uint64_t{random_()} << 32 | random_());
    if (roll == 2 && !world_.all().empty()) return reinterpret_cast<Handle>(Of(world_.all()));
    std::vector<void*>& good = world_.Of<Handle>();
    return good.empty() ? nullptr : reinterpret_cast<Handle>(Of(good));
  }
  uint64_t Address() { return reinterpret_cast<uint64_t>(memory_) + Roll(8) * 64; }
  static constexpr uint64_t kBytesAtAddress = 512;
  gt_value AnyValue();
  gt_key AnyKey();
  const char* AnyWord();

 private:
  static constexpr size_t kMost = 64;  // of an array's elements

  template <typename T>
  static constexpr bool kIsArray = std::is_pointer_v<T> && !kIsHandle<T> &&
                                   !std::is_void_v<std::remove_pointer_t<T>> &&
                                   !std::is_function_v<std::remove_pointer_t<T>>;
  template <typename T>
  const T& Of(const std::vector<T>& all) {
    return all[random_() % all.size()];
  }

  // An argument, and what it points to.
  template <typename T>
  struct Given {
    T Get() { return value; }
    T value = {};
  };
  template <typename T>
  struct Given<T*> {
    static constexpr bool kPointsToMany = kIsArray<T*>;
    using Element = std::conditional_t<kPointsToMany, std::remove_const_t<T>, char>;
    T* Get() { return value; }
    T* value = nullptr;
    std::vector<Element> many;
  };

  template <typename T>
  void Fill(bool has_arrays, Given<T>* given) {
    if constexpr (std::is_floating_point_v<T>) {
      given->value = Roll(4) == 0 ? std::numeric_limits<T>::quiet_NaN() : Roll(3) * 1e300;
    } else if constexpr (std::is_integral_v<T>) {
      // Beside an array a number may be its count.
      given->value = static_cast<T>(has_arrays && sizeof(T) >= 4 ? Roll(4) : AnyNumber());
    } else {
      FillStruct(&given->value);
    }
  }
  template <typename T>
  void Fill(bool, Given<T*>* given) {
    if constexpr (std::is_same_v<T*, gt_body>) {
      given->value = Roll(16) == 0 ? nullptr : body_;
    } else if constexpr (std::is_function_v<T>) {
      given->value = Roll(8) == 0 ? nullptr : DoesNothing(static_cast<T*>(nullptr));
    } else if constexpr (kIsHandle<T*>) {
      given->value = AnyHandle<T*>();
    } else if constexpr (std::is_void_v<std::remove_const_t<T>>) {
      given->value = Roll(2) == 0 ? nullptr : context_;
    } else if constexpr (std::is_same_v<T, const char>) {
      given->value = AnyWord();
    } else {
      using Element = typename Given<T*>::Element;
      if (Roll(16) == 0) return;
      given->many.resize(kMost);
      if constexpr (std::is_const_v<T> || !kIsHandle<Element>) {
        for (size_t i = 0; i < kMost; ++i) FillElement(std::is_const_v<T>, &given->many[i]);
      }
      given->value = given->many.data();
    }
  }
  // What is read may say any size; of what is written the size says how much room there is.
  template <typename Element>
  void FillElement(bool is_read, Element* element) {
    if constexpr (kIsHandle<Element>) {
      *element = AnyHandle<Element>();
    } else if constexpr (std::is_integral_v<Element>) {
      *element = static_cast<Element>(Roll(5));
    } else if constexpr (std::is_class_v<Element>) {
      if constexpr (kHasSize<Element>) {
        static const std::vector<size_t> wrong = {0, 4, 8, 12, 1 << 20, SIZE_MAX};
        element->size = Roll(12) == 0 ? wrong[Roll(is_read ? 6 : 4)] : sizeof(Element);
      }
      FillStruct(element);
    }
  }

  // Of what comes back: handles, and values that hold memory.
  template <typename T>
  void Take(Given<T>&) {}
  template <typename T>
  void Take(Given<T*>& given) {
    if constexpr (Given<T*>::kPointsToMany && !std::is_const_v<T>) {
      if (given.many.empty()) return;
      if constexpr (kIsHandle<T>) world_.Keep(given.many[0]);
      if constexpr (std::is_same_v<T, gt_value>) {
        for (const gt_value& value : given.many) KeepIfNew(value);
      }
    }
  }
  void KeepIfNew(const gt_value& value);

  template <typename Result, typename... Types>
  static auto DoesNothing(Result (*)(Types...)) {
    return +[](Types...) -> Result { return Result(); };
  }

  int64_t AnyNumber();
  void FillStruct(gt_value* out) { *out = AnyValue(); }
  void FillStruct(gt_key* out) { *out = AnyKey(); }
  void FillStruct(gt_range* out) { *out = {Address(), Roll(2) * kBytesAtAddress}; }
  void FillStruct(gt_arg* out);
  void FillStruct(gt_launch_shape* out);
  void FillStruct(gt_rows* out);
  void FillStruct(gt_ahead_rows* out);
  void FillStruct(gt_shape* out);
  void FillStruct(gt_device_options* out);
  void FillStruct(gt_tree_options* out);
  void FillStruct(gt_function_options* out);
  void FillStruct(gt_program_options* out);
  void FillStruct(gt_slot* out);
  void FillStruct(gt_tagged_memory* out);
  void FillStruct(gt_serving_mode* out);
  void FillStruct(gt_observe_options* out);
  void FillStruct(gt_step_options* out);
  // All others stay empty, but for their size.
  template <typename Struct>
  void FillStruct(Struct*) {}

  FuzzWorld& world_;
  std::mt19937 random_;
  gt_body body_;
  void* context_;
  alignas(64) uint8_t memory_[2 * kBytesAtAddress] = {};
  int64_t sizes_[2] = {8, 4};
  uint32_t places_[2] = {0, 1};
  gt_slot slot_ = {};
  gt_value tensor_ = {};
};

}  // namespace graphtree::c

#endif  // GRAPHTREE_RUNTIME_C_FUZZ_ARGUMENTS_H_
