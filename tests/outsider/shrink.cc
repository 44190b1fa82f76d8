// One kind of thing after the other, round by round, until nothing more can go.
#include "tests/outsider/shrink.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace graphtree::outsider {
namespace {

class Shrinker {
 public:
  Shrinker(Program program, const std::function<bool(const Program&)>& goes_wrong, int most)
      : best_(std::move(program)), goes_wrong_(goes_wrong), left_(most) {}

  Program Run() {
    for (bool smaller = true; smaller && left_ > 0;) {
      smaller = false;
      smaller |= List([](Program& p) { return &p.actions; });
      for (size_t f = 0; f < best_.functions.size(); ++f) {
        smaller |= List([f](Program& p) { return &p.functions[f].body; });
        smaller |= Parts(f);
        smaller |= List([f](Program& p) { return &p.functions[f].returns; });
        smaller |= Zeros([f](Program& p) { return &p.functions[f].traits; });
      }
      smaller |= Zeros([](Program& p) { return &p.options; });
      for (size_t a = 0; a < best_.actions.size(); ++a) {
        smaller |= List([a](Program& p) { return &p.actions[a].inputs; });
        smaller |= Zeros([a](Program& p) { return &p.actions[a].n; });
      }
    }
    return best_;
  }

 private:
  bool Try(const Program& program) {
    if (left_-- <= 0 || !goes_wrong_(program)) return false;
    best_ = program;
    return true;
  }

  // Takes out runs of half the list, a quarter, ... one.
  template <typename Of>
  bool List(Of of) {
    bool smaller = false;
    for (size_t chunk = std::max<size_t>(1, of(best_)->size() / 2);; chunk /= 2) {
      for (size_t at = 0; at < of(best_)->size() && left_ > 0;) {
        Program next = best_;
        auto& list = *of(next);
        list.erase(list.begin() + at, list.begin() + std::min(at + chunk, list.size()));
        if (Try(next)) {
          smaller = true;
        } else {
          at += chunk;
        }
      }
      if (chunk <= 1) return smaller;
    }
  }

  template <typename Of>
  bool Zeros(Of of) {
    bool smaller = false;
    for (size_t i = 0; i < of(best_)->size() && left_ > 0; ++i) {
      if ((*of(best_))[i] == 0) continue;
      Program next = best_;
      (*of(next))[i] = 0;
      smaller |= Try(next);
    }
    return smaller;
  }

  // Lines of the parts of one function, at any depth, one by one.
  bool Parts(size_t function) {
    bool smaller = false;
    for (int at = 0; left_ > 0; ++at) {
      Program next = best_;
      int left = at;
      if (!TakeOut(&next.functions[function].body, 0, &left)) return smaller;
      if (Try(next)) {
        smaller = true;
        --at;
      }
    }
    return smaller;
  }
  static bool TakeOut(std::vector<Statement>* body, int depth, int* left) {
    for (size_t i = 0; i < body->size(); ++i) {
      if (depth > 0 && (*left)-- == 0) {
        body->erase(body->begin() + i);
        return true;
      }
      if (TakeOut(&(*body)[i].part, depth + 1, left)) return true;
    }
    return false;
  }

  Program best_;
  const std::function<bool(const Program&)>& goes_wrong_;
  int left_;
};

}  // namespace

Program Shrink(Program program, const std::function<bool(const Program&)>& goes_wrong, int most) {
  return Shrinker(std::move(program), goes_wrong, most).Run();
}

}  // namespace graphtree::outsider
