// The most valuable first, until the places are gone.
#include "runtime/plan/places.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace graphtree {

std::vector<bool> GivePlaces(absl::Span<const PlaceWanted> items, Places places) {
  std::vector<size_t> order(items.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&items](size_t a, size_t b) {
    return std::tie(items[a].is_there, items[a].worth) >
           std::tie(items[b].is_there, items[b].worth);
  });
  std::vector<bool> has_place(items.size(), false);
  for (const size_t i : order) {
    uint64_t& of_lane = places.of_lane[items[i].lane];
    has_place[i] = items[i].is_there || (of_lane > 0 && places.of_all > 0);
    if (!has_place[i]) continue;
    of_lane -= of_lane > 0 ? 1 : 0;
    places.of_all -= places.of_all > 0 ? 1 : 0;
  }
  return has_place;
}

}  // namespace graphtree
