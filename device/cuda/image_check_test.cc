// Images that are whole, cut short and overwritten.
#include "device/cuda/image_check.h"

#include <cstdint>
#include <cstring>
#include <random>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

using testing::HasSubstr;

template <typename T>
void Put(std::string* bytes, size_t at, T value) {
  std::memcpy(bytes->data() + at, &value, sizeof(value));
}

// Header, one section of 32 bytes, and the table of two sections: one of bytes, one of none.
std::string SmallCubin() {
  std::string bytes(64 + 32 + 2 * 64, '\0');
  bytes.replace(0, 5, "\177ELF\2");
  Put<uint16_t>(&bytes, 18, 190);
  Put<uint64_t>(&bytes, 40, 96);
  Put<uint16_t>(&bytes, 58, 64);
  Put<uint16_t>(&bytes, 60, 2);
  Put<uint32_t>(&bytes, 96 + 4, 1);
  Put<uint64_t>(&bytes, 96 + 24, 64);
  Put<uint64_t>(&bytes, 96 + 32, 32);
  Put<uint32_t>(&bytes, 160 + 4, 8);
  Put<uint64_t>(&bytes, 160 + 32, uint64_t{1} << 40);
  return bytes;
}

std::string SmallFatbin() {
  std::string bytes(16 + 100, '\0');
  Put<uint32_t>(&bytes, 0, 0xBA55ED50);
  Put<uint16_t>(&bytes, 4, 1);
  Put<uint16_t>(&bytes, 6, 16);
  Put<uint64_t>(&bytes, 8, 100);
  return bytes;
}

TEST(ImageCheckTest, WholeImagesPass) {
  EXPECT_EQ(ImageFlaw(SmallCubin()), "");
  EXPECT_EQ(ImageFlaw(SmallFatbin()), "");
  EXPECT_EQ(ImageFlaw(".version 8.0\n.target sm_80\n"), "");
}

TEST(ImageCheckTest, EveryShorterPieceIsRefused) {
  for (const std::string& whole : {SmallCubin(), SmallFatbin()}) {
    for (size_t length = 0; length < whole.size(); ++length) {
      EXPECT_NE(ImageFlaw(whole.substr(0, length)), "") << length << " of " << whole.size();
    }
  }
}

TEST(ImageCheckTest, TheSentenceSaysWhatIsWrong) {
  EXPECT_THAT(ImageFlaw(""), HasSubstr("empty"));
  EXPECT_THAT(ImageFlaw("hello"), HasSubstr("neither"));
  EXPECT_THAT(ImageFlaw(std::string(".version 8.0\0", 13)), HasSubstr("neither"));
  std::string other = SmallCubin();
  Put<uint16_t>(&other, 18, 62);
  EXPECT_THAT(ImageFlaw(other), HasSubstr("another machine"));
  other = SmallCubin();
  Put<uint64_t>(&other, 96 + 24, 200);
  EXPECT_THAT(ImageFlaw(other), HasSubstr("section 0 lies at 200, +32 of 224"));
}

// Whatever the bytes say, the check itself reads nothing outside (run it under asan).
TEST(ImageCheckTest, RandomDamageIsSurvived) {
  const uint32_t seed = 20261121;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = round % 2 == 0 ? SmallCubin() : SmallFatbin();
    for (int i = 0; i < 4; ++i)
      bytes[4 + random() % (bytes.size() - 4)] = static_cast<char>(random());
    bytes.resize(random() % (bytes.size() + 1));
    bytes.shrink_to_fit();
    (void)ImageFlaw(bytes);
  }
}

}  // namespace
}  // namespace graphtree
