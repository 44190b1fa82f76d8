// Tables by stack text, one for each snapshot.
#include "tools/snapshot/analysis/compare.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/container/flat_hash_map.h"
#include "device/base/check.h"
#include "tools/snapshot/analysis/top.h"

namespace graphtree::snapshot {
namespace {

struct Group {
  StackId stack = 0;
  Amount all;
  std::map<uint64_t, uint64_t> count_by_size;
  std::set<std::string> notes;
};

using Groups = std::map<std::string, Group>;

Groups GroupsOf(const Moment& moment) {
  absl::flat_hash_map<StackId, std::string> keys;
  Groups groups;
  for (const Holding& holding : *moment.holdings) {
    std::string& key = keys[holding.stack];
    if (key.empty()) key = StackKey(*moment.snapshot, holding.stack);
    Group& group = groups[key];
    group.stack = holding.stack;
    group.all.bytes += holding.bytes;
    ++group.all.count;
    ++group.count_by_size[holding.bytes];
    for (StringId note : holding.notes) group.notes.emplace(moment.snapshot->Text(note));
  }
  return groups;
}

void AddSize(uint64_t size, uint64_t before, uint64_t after, StackDifference& difference) {
  const uint64_t kept = std::min(before, after);
  const auto add = [&](uint64_t count, Amount& to) {
    to.bytes += size * count;
    to.count += count;
  };
  add(kept, difference.kept);
  add(after - kept, difference.added);
  add(before - kept, difference.gone);
}

}  // namespace

std::vector<StackDifference> Difference(const Moment& before, const Moment& after) {
  const Groups old_groups = GroupsOf(before);
  const Groups new_groups = GroupsOf(after);
  std::map<std::string, StackDifference> found;
  const Group none;
  const auto add = [&](const std::string& key, const Group& was, const Group& is,
                       const Moment& at, StackId stack) {
    StackDifference difference;
    difference.key = key;
    difference.at = at;
    difference.stack = stack;
    difference.notes.assign(is.notes.begin(), is.notes.end());
    std::set<uint64_t> sizes;
    for (const auto& [size, count] : was.count_by_size) sizes.insert(size);
    for (const auto& [size, count] : is.count_by_size) sizes.insert(size);
    for (uint64_t size : sizes) {
      const auto count_in = [&](const Group& group) {
        const auto entry = group.count_by_size.find(size);
        return entry == group.count_by_size.end() ? uint64_t{0} : entry->second;
      };
      AddSize(size, count_in(was), count_in(is), difference);
    }
    found[key] = std::move(difference);
  };
  for (const auto& [key, is] : new_groups) {
    const auto was = old_groups.find(key);
    add(key, was == old_groups.end() ? none : was->second, is, after, is.stack);
  }
  for (const auto& [key, was] : old_groups) {
    if (new_groups.find(key) == new_groups.end()) add(key, was, none, before, was.stack);
  }
  std::vector<StackDifference> sorted;
  for (auto& [key, difference] : found) sorted.push_back(std::move(difference));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const StackDifference& a, const StackDifference& b) {
                     const auto change = [](const StackDifference& d) {
                       return d.added.bytes + d.gone.bytes;
                     };
                     return change(a) > change(b);
                   });
  return sorted;
}

std::vector<Leak> FindLeaks(const std::vector<Moment>& moments, uint64_t least) {
  GRAPHTREE_CHECK(moments.size() >= 2) << "a leak needs two moments";
  std::vector<Groups> groups;
  for (const Moment& moment : moments) groups.push_back(GroupsOf(moment));
  std::vector<Leak> leaks;
  for (const auto& group : groups.back()) {
    const auto& key = group.first;
    const auto& last = group.second;
    Leak leak;
    bool grows = true;
    for (size_t i = 0; i + 1 < groups.size() && grows; ++i) {
      const auto amount = [&](const Groups& in) {
        const auto found = in.find(key);
        return found == in.end() ? Amount() : found->second.all;
      };
      const Amount was = amount(groups[i]);
      const Amount is = amount(groups[i + 1]);
      leak.intervals.push_back({static_cast<int64_t>(is.bytes) - static_cast<int64_t>(was.bytes),
                                static_cast<int64_t>(is.count) - static_cast<int64_t>(was.count)});
      grows = is.bytes > was.bytes;
      leak.bytes += leak.intervals.back().bytes;
      leak.count += leak.intervals.back().count;
    }
    if (!grows || leak.bytes < static_cast<int64_t>(least)) continue;
    leak.key = key;
    leak.at = moments.back();
    leak.stack = last.stack;
    leak.notes.assign(last.notes.begin(), last.notes.end());
    leaks.push_back(std::move(leak));
  }
  std::stable_sort(leaks.begin(), leaks.end(),
                   [](const Leak& a, const Leak& b) { return a.bytes > b.bytes; });
  return leaks;
}

}  // namespace graphtree::snapshot
