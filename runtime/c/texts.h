// Words that the library has made, as an object of the caller's.
#ifndef GRAPHTREE_RUNTIME_C_TEXTS_H_
#define GRAPHTREE_RUNTIME_C_TEXTS_H_

#include <string>
#include <utility>

#include "runtime/c/entry.h"

namespace graphtree::c {

class TextObject : public Object {
 public:
  static constexpr Kind kKind = kText;
  explicit TextObject(std::string words) : words_(std::move(words)) {}
  const std::string& words() const { return words_; }

 private:
  const std::string words_;
};

inline gt_error GiveText(Entry& entry, std::string words, gt_text* out) {
  return entry.Give(NewObject<TextObject>(std::move(words)), out);
}

}  // namespace graphtree::c

#endif  // GRAPHTREE_RUNTIME_C_TEXTS_H_
