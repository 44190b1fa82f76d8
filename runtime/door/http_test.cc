// Requests whole, cut anywhere, broken anywhere; and random bytes, which must end in an answer.
#include "runtime/door/http.h"

#include <cstdint>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using ::testing::StartsWith;

struct Reading {
  HttpRead read;
  HttpRequest request;
  HttpResponse refusal;
};

Reading Read(const std::string& bytes) {
  Reading reading;
  reading.read = ReadHttpRequest(bytes, &reading.request, &reading.refusal);
  return reading;
}

// The code with which the bytes are refused; 0: they are not.
int CodeOf(const std::string& bytes) {
  const Reading reading = Read(bytes);
  return reading.read == HttpRead::kRefused ? reading.refusal.code : 0;
}

TEST(HttpTest, ARequestIsReadOnceItIsWhole) {
  const std::string bytes =
      "GET /debug/graphs?program=a%20b+c&steps=10&bare&=x HTTP/1.1\r\nHost: localhost\r\n"
      "Accept: */*\r\n\r\n";
  for (size_t cut = 0; cut < bytes.size(); ++cut) {
    EXPECT_EQ(Read(bytes.substr(0, cut)).read, HttpRead::kMore) << cut;
  }
  const Reading reading = Read(bytes);
  ASSERT_EQ(reading.read, HttpRead::kRequest);
  EXPECT_FALSE(reading.request.is_head);
  EXPECT_EQ(reading.request.path, "/debug/graphs");
  EXPECT_THAT(reading.request.query, ElementsAre(Pair("program", "a b c"), Pair("steps", "10"),
                                                 Pair("bare", ""), Pair("", "x")));
  EXPECT_EQ(reading.request.Find("steps"), "10");
  EXPECT_EQ(reading.request.Find("none", "7"), "7");
}

TEST(HttpTest, FormsThatClientsSend) {
  EXPECT_EQ(Read("GET /metrics HTTP/1.0\n\n").request.path, "/metrics");
  EXPECT_TRUE(Read("HEAD / HTTP/1.1\r\n\r\n").request.is_head);
  EXPECT_EQ(Read("\r\n\n\r\nGET /a HTTP/1.1\r\n\r\n").request.path, "/a");
  EXPECT_EQ(Read("GET http://localhost:80/b?c=d HTTP/1.1\r\n\r\n").request.path, "/b");
  EXPECT_EQ(Read("GET http://localhost HTTP/1.1\r\n\r\n").request.path, "/");
  EXPECT_EQ(Read("GET /a#b HTTP/1.1\r\n\r\n").request.path, "/a");
  EXPECT_EQ(Read("GET /a+b%2Bc HTTP/1.1\r\n\r\n").request.path, "/a+b+c");
  EXPECT_EQ(Read("GET /a HTTP/1.1\r\nContent-Length: 0\r\n\r\nmore").request.path, "/a");
}

TEST(HttpTest, WhatIsRefusedAndHow) {
  EXPECT_EQ(CodeOf("hello\r\n\r\n"), 400);
  EXPECT_EQ(CodeOf("GET  / HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(CodeOf("GET / HTTP/1.1 \r\n\r\n"), 400);
  EXPECT_EQ(CodeOf("GET / SMTP\r\n\r\n"), 400);
  EXPECT_EQ(CodeOf("GET / HTTP/2.0\r\n\r\n"), 505);
  EXPECT_EQ(CodeOf("POST /metrics HTTP/1.1\r\n\r\n"), 405);
  EXPECT_EQ(CodeOf("get /metrics HTTP/1.1\r\n\r\n"), 405);
  EXPECT_EQ(CodeOf("GET metrics HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(CodeOf("GET /%zz HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(CodeOf("GET /%0 HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(CodeOf("GET /%00 HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(CodeOf("GET /?a=%f HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(CodeOf("GET /\x01 HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(CodeOf("GET / HTTP/1.1\r\nno field\r\n\r\n"), 400);
  EXPECT_EQ(CodeOf("GET / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc"), 413);
  EXPECT_EQ(CodeOf("GET / HTTP/1.1\r\nContent-Length: -3\r\n\r\n"), 400);
  EXPECT_EQ(CodeOf("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"), 413);
  EXPECT_EQ(CodeOf(absl::StrCat("GET /", std::string(kMostHeadBytes, 'a'))), 431);
  EXPECT_EQ(CodeOf(std::string(kMostHeadBytes, '\n')), 431);
  EXPECT_EQ(CodeOf(absl::StrCat("GET / HTTP/1.1\r\n", std::string(kMostHeadBytes, 'a'),
                                ":\r\n\r\n")), 431);
}

TEST(HttpTest, AnswersHaveTheirLength) {
  const HttpResponse response = {.body = "four"};
  EXPECT_THAT(HttpBytes(response, false), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(HttpBytes(response, false), EndsWith("\r\n\r\nfour"));
  EXPECT_THAT(HttpBytes(response, false), HasSubstr("\r\nContent-Length: 4\r\n"));
  EXPECT_THAT(HttpBytes(response, true), EndsWith("\r\n\r\n"));
  EXPECT_THAT(HttpBytes(response, true), HasSubstr("\r\nContent-Length: 4\r\n"));
  EXPECT_THAT(HttpBytes(response, true), Not(HasSubstr("Allow")));
  EXPECT_THAT(HttpBytes(PlainResponse(405, "no"), false), HasSubstr("\r\nAllow: GET, HEAD\r\n"));
}

// Pieces of requests and bytes of any kind, glued together. What is read must be a path, what is
// refused must have a code, and whatever is behind a prefix that had its answer changes nothing.
TEST(HttpTest, RandomBytesHaveAnAnswer) {
  const uint64_t seed = 20171;
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937_64 random(seed);
  const std::string pieces[] = {"GET ", "HEAD ", "POST ", "/", "/metrics", "?", "&", "=", "%", "%2",
                                "%41", "+", "#", " HTTP/1.1", " HTTP/1.0", " ", "\r\n", "\n", "\r",
                                "\r\n\r\n", "Host: x", "Content-Length: ", "9", "0", ":",
                                "Transfer-Encoding: chunked", "http://", std::string(1, '\0')};
  int requests = 0, refusals = 0;
  for (int round = 0; round < 50000; ++round) {
    std::string bytes = round % 3 == 0 ? "GET /" : "";
    const uint64_t count = random() % 14;
    for (uint64_t i = 0; i < count; ++i) {
      if (random() % 8 == 0) {
        bytes.push_back(static_cast<char>(random() & 0xff));
      } else {
        bytes += pieces[random() % std::size(pieces)];
      }
    }
    if (random() % 3 == 0) bytes += " HTTP/1.1";
    if (random() % 2 == 0) bytes += "\r\n\r\n";
    if (random() % 200 == 0) bytes.insert(random() % (bytes.size() + 1), std::string(9000, 'y'));
    const Reading reading = Read(bytes);
    if (reading.read == HttpRead::kMore) {
      EXPECT_LT(bytes.size(), kMostHeadBytes);
      continue;
    }
    const Reading longer = Read(bytes + "x: y\r\n\r\n");
    EXPECT_EQ(longer.read, reading.read);
    if (reading.read == HttpRead::kRequest) {
      ++requests;
      EXPECT_THAT(reading.request.path, StartsWith("/"));
      EXPECT_EQ(longer.request.path, reading.request.path);
      EXPECT_EQ(longer.request.query, reading.request.query);
    } else {
      ++refusals;
      EXPECT_GE(reading.refusal.code, 400);
      EXPECT_FALSE(reading.refusal.body.empty());
      EXPECT_EQ(longer.refusal.code, reading.refusal.code);
    }
  }
  EXPECT_GT(requests, 300);
  EXPECT_GT(refusals, 5000);
}

}  // namespace
}  // namespace graphtree
