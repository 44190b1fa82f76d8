// A snapshot is hard to take again: no verb writes over what it reads.
#ifndef GRAPHTREE_TOOLS_MEMORY_SAME_FILE_H_
#define GRAPHTREE_TOOLS_MEMORY_SAME_FILE_H_

#include <string>

namespace graphtree::memory {

// True where both names lead to one file, through whatever links. "-" is no file.
bool SameFile(const std::string& in, const std::string& out);

// What to tell somebody who asked for that.
std::string SameFileText(const std::string& in, const std::string& out);

}  // namespace graphtree::memory

#endif  // GRAPHTREE_TOOLS_MEMORY_SAME_FILE_H_
