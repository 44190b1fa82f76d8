// Reading and writing entries.
#include "device/cuda/nvrtc/compile_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"

namespace graphtree {
namespace {

constexpr uint64_t kMagic = 0x31304e52454b5447;  // "GTKERN01"
constexpr uint64_t kLargestEntry = uint64_t{1} << 30;

struct Header {
  uint64_t magic = kMagic;
  uint64_t key_bytes = 0;
  uint64_t name_bytes = 0;
  uint64_t cubin_bytes = 0;
  uint64_t sum = 0;
};

// FNV-1a with a start of the caller's choice.
uint64_t Hash(absl::string_view bytes, uint64_t start) {
  uint64_t hash = start;
  for (unsigned char byte : bytes) hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}

constexpr uint64_t kFirstStart = 0xcbf29ce484222325;
constexpr uint64_t kSecondStart = 0x9e3779b97f4a7c15;

bool WriteAll(int file, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

std::optional<std::string> ReadAll(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  struct stat facts;
  std::string bytes;
  bool good = fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) &&
              static_cast<uint64_t>(facts.st_size) <= kLargestEntry;
  if (good) bytes.resize(static_cast<size_t>(facts.st_size));
  for (size_t at = 0; good && at < bytes.size();) {
    const ssize_t got = read(file, bytes.data() + at, bytes.size() - at);
    if (got < 0 && errno == EINTR) continue;
    good = got > 0;
    if (good) at += static_cast<size_t>(got);
  }
  close(file);
  if (!good) return std::nullopt;
  return bytes;
}

// Like mkdir -p, for this user only.
void MakeFolder(const std::string& folder) {
  for (size_t at = folder.find('/', 1); at != std::string::npos; at = folder.find('/', at + 1)) {
    mkdir(folder.substr(0, at).c_str(), 0700);
  }
  mkdir(folder.c_str(), 0700);
}

// A name that no other thread or process writes to.
std::string TemporaryBeside(const std::string& path) {
  static std::atomic<uint64_t> next{0};
  return absl::StrCat(path, ".", getpid(), ".", next.fetch_add(1), ".partial");
}

}  // namespace

std::string CompileKey(const std::string& text, const std::string& entry,
                       const std::vector<std::string>& options, const std::string& architecture,
                       const std::string& compiler_version) {
  std::string key;
  const auto add = [&key](absl::string_view part) {
    absl::StrAppend(&key, part.size(), ":", part, "\n");
  };
  add(compiler_version);
  add(architecture);
  add(entry);
  absl::StrAppend(&key, options.size(), "\n");
  for (const std::string& option : options) add(option);
  add(text);
  return key;
}

std::string CompileCache::PathOf(absl::string_view key) const {
  return absl::StrFormat("%s/%016x-%016x.kernel", folder_, Hash(key, kFirstStart),
                         Hash(key, kSecondStart));
}

std::optional<CompiledSource> CompileCache::Find(absl::string_view key) const {
  if (folder_.empty()) return std::nullopt;
  const std::optional<std::string> bytes = ReadAll(PathOf(key));
  Header header;
  if (!bytes.has_value() || bytes->size() < sizeof(header)) return std::nullopt;
  std::memcpy(&header, bytes->data(), sizeof(header));
  const absl::string_view body = absl::string_view(*bytes).substr(sizeof(header));
  if (header.magic != kMagic || header.key_bytes != key.size() || key.size() > body.size() ||
      header.name_bytes > body.size() - key.size() ||
      header.cubin_bytes != body.size() - key.size() - header.name_bytes ||
      header.sum != Hash(body, kFirstStart) || body.substr(0, key.size()) != key) {
    return std::nullopt;
  }
  CompiledSource compiled;
  compiled.lowered_name = std::string(body.substr(key.size(), header.name_bytes));
  compiled.cubin = std::string(body.substr(key.size() + header.name_bytes));
  return compiled;
}

bool CompileCache::Put(absl::string_view key, const CompiledSource& compiled) const {
  if (folder_.empty()) return false;
  MakeFolder(folder_);
  const std::string body = absl::StrCat(key, compiled.lowered_name, compiled.cubin);
  Header header;
  header.key_bytes = key.size();
  header.name_bytes = compiled.lowered_name.size();
  header.cubin_bytes = compiled.cubin.size();
  header.sum = Hash(body, kFirstStart);
  const std::string path = PathOf(key);
  const std::string partial = TemporaryBeside(path);
  const int file = open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return false;
  const absl::string_view head(reinterpret_cast<const char*>(&header), sizeof(header));
  bool good = WriteAll(file, head) && WriteAll(file, body);
  good = close(file) == 0 && good;
  good = good && rename(partial.c_str(), path.c_str()) == 0;
  if (!good) unlink(partial.c_str());
  return good;
}

}  // namespace graphtree
