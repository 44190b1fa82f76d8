// What recordings point to and the runtime does not own, by number. Each has a generation, which
// goes up when it is touched; a recording keeps the generations that it was made with.
//
//   weights        generation 3    shape tokens=8 was recorded with 3: good
//   workspace      generation 2    ... and with 1: made again at its next step
//
// The trees compare generations at each replay, all with one compare (graphs/workspaces.h). Here
// they are kept to say in words which one was touched. A workspace is a dependency with memory: a
// new generation comes with the memory that it has then.
//
// Thread rule: like a container.
#ifndef GRAPHTREE_RUNTIME_CORE_DEPENDENCY_TABLE_H_
#define GRAPHTREE_RUNTIME_CORE_DEPENDENCY_TABLE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "device/address.h"

namespace graphtree {

class DependencyTable {
 public:
  bool Has(absl::string_view name) const {
    for (const Row& row : rows_) {
      if (row.name == name) return true;
    }
    return false;
  }
  // With memory if it is a workspace. REQUIRES: there is none of this name.
  uint32_t Declare(std::string name, std::optional<AddressRange> memory) {
    rows_.push_back({std::move(name), 1, memory.has_value(), memory.value_or(AddressRange())});
    return static_cast<uint32_t>(rows_.size() - 1);
  }
  // REQUIRES: index < size(), here and below.
  void Touch(uint32_t index) { ++rows_[index].generation; }
  void Move(uint32_t index, AddressRange memory) {
    rows_[index].memory = memory;
    Touch(index);
  }

  size_t size() const { return rows_.size(); }
  const std::string& name(uint32_t index) const { return rows_[index].name; }
  bool is_workspace(uint32_t index) const { return rows_[index].is_workspace; }
  AddressRange memory(uint32_t index) const { return rows_[index].memory; }
  uint64_t generation(uint32_t index) const { return rows_[index].generation; }

  uint64_t MemoryBytesOf(const std::vector<uint32_t>& deps) const {
    uint64_t bytes = 0;
    for (uint32_t dep : deps) bytes += rows_[dep].memory.bytes;
    return bytes;
  }

  std::vector<uint64_t> GenerationsOf(const std::vector<uint32_t>& deps) const {
    std::vector<uint64_t> generations;
    for (uint32_t dep : deps) generations.push_back(rows_[dep].generation);
    return generations;
  }

 private:
  struct Row {
    std::string name;
    uint64_t generation = 1;
    bool is_workspace = false;
    AddressRange memory;
  };
  std::vector<Row> rows_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_CORE_DEPENDENCY_TABLE_H_
