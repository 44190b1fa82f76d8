// What escapes in texts of JSON are made of.
#ifndef GRAPHTREE_TOOLS_SNAPSHOT_READ_JSON_ESCAPES_H_
#define GRAPHTREE_TOOLS_SNAPSHOT_READ_JSON_ESCAPES_H_

#include <cstdint>
#include <string>

namespace graphtree::snapshot {

// Of a hexadecimal digit; -1 of anything else.
int HexValue(char c);

// Half a surrogate pair is encoded like any other code point, as Python's pickles do.
void AppendUtf8(uint32_t code, std::string& text);

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_TOOLS_SNAPSHOT_READ_JSON_ESCAPES_H_
