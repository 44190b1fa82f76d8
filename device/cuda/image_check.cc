// The bounds of cubins, fatbins and PTX.
#include "device/cuda/image_check.h"

#include <cstdint>
#include <cstring>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace graphtree {
namespace {

constexpr char kElfMagic[] = "\177ELF";
constexpr size_t kElfHeaderBytes = 64;
constexpr uint16_t kElfMachineCuda = 190;
constexpr uint32_t kElfNoBytes = 8;  // a section that takes no room in the file
constexpr uint32_t kFatbinMagic = 0xBA55ED50;
constexpr size_t kFatbinHeaderBytes = 16;

template <typename T>
T At(absl::string_view bytes, uint64_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

bool Inside(uint64_t offset, uint64_t length, uint64_t total) {
  return offset <= total && length <= total - offset;
}

std::string ElfFlaw(absl::string_view bytes) {
  if (bytes.size() < kElfHeaderBytes) return "the cubin is cut off in its header";
  if (bytes[4] != 2) return "it is not a 64-bit ELF file";
  if (At<uint16_t>(bytes, 18) != kElfMachineCuda) {
    return "it is an ELF file for another machine than a GPU";
  }
  const uint64_t table = At<uint64_t>(bytes, 40);
  const uint16_t entry_bytes = At<uint16_t>(bytes, 58);
  const uint16_t entries = At<uint16_t>(bytes, 60);
  if (entries == 0 || entry_bytes < 64) return "the cubin has no sections";
  if (!Inside(table, uint64_t{entry_bytes} * entries, bytes.size())) {
    return absl::StrCat("the cubin is cut off: its section table lies at ", table, " of ",
                        bytes.size(), " bytes");
  }
  for (uint16_t i = 0; i < entries; ++i) {
    const uint64_t at = table + uint64_t{i} * entry_bytes;
    const uint64_t offset = At<uint64_t>(bytes, at + 24);
    const uint64_t length = At<uint64_t>(bytes, at + 32);
    if (At<uint32_t>(bytes, at + 4) != kElfNoBytes && !Inside(offset, length, bytes.size())) {
      return absl::StrCat("the cubin is cut off: section ", i, " lies at ", offset, ", +", length,
                          " of ", bytes.size(), " bytes");
    }
  }
  return "";
}

std::string FatbinFlaw(absl::string_view bytes) {
  if (bytes.size() < kFatbinHeaderBytes) return "the fatbin is cut off in its header";
  const uint16_t header = At<uint16_t>(bytes, 6);
  const uint64_t payload = At<uint64_t>(bytes, 8);
  if (header < kFatbinHeaderBytes || !Inside(header, payload, bytes.size())) {
    return absl::StrCat("the fatbin is cut off: it should have ", header, " + ", payload,
                        " bytes, it has ", bytes.size());
  }
  return "";
}

}  // namespace

bool IsPtx(absl::string_view bytes) {
  return bytes.find('\0') == absl::string_view::npos && absl::StrContains(bytes, ".version");
}

std::string ImageFlaw(absl::string_view bytes) {
  if (bytes.empty()) return "it is empty";
  if (absl::StartsWith(bytes, kElfMagic)) return ElfFlaw(bytes);
  if (bytes.size() >= 4 && At<uint32_t>(bytes, 0) == kFatbinMagic) return FatbinFlaw(bytes);
  if (IsPtx(bytes)) return "";
  return "it is neither a cubin, a fatbin nor PTX text";
}

}  // namespace graphtree
