// Splits a head into words.
#include "runtime/door/http.h"

#include <cstdint>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace graphtree {
namespace {

constexpr int kBadRequest = 400;

// Where the head ends: behind an empty line. Line ends without a return are taken, too.
std::optional<size_t> EndOfHead(absl::string_view bytes) {
  for (size_t at = bytes.find('\n'); at != bytes.npos; at = bytes.find('\n', at + 1)) {
    const absl::string_view rest = bytes.substr(at + 1);
    if (absl::StartsWith(rest, "\n") || absl::StartsWith(rest, "\r\n")) return at + 1;
  }
  return std::nullopt;
}

absl::string_view WithoutReturn(absl::string_view line) {
  absl::ConsumeSuffix(&line, "\r");
  return line;
}

bool IsToken(absl::string_view text) {
  for (const char c : text) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) &&
        !absl::StrContains("!#$%&'*+-.^_`|~", c)) {
      return false;
    }
  }
  return !text.empty();
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// "%20" is a blank, and so is "+" in a query. False if an escape is none, or is a zero byte.
bool Decode(absl::string_view text, bool is_query, std::string* decoded) {
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '+' && is_query) c = ' ';
    if (c == '%') {
      const int high = i + 1 < text.size() ? HexDigit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? HexDigit(text[i + 2]) : -1;
      if (high < 0 || low < 0) return false;
      c = static_cast<char>(high * 16 + low);
      if (c == '\0') return false;
      i += 2;
    }
    decoded->push_back(c);
  }
  return true;
}

bool ReadQuery(absl::string_view text, HttpRequest* request) {
  for (const absl::string_view pair : absl::StrSplit(text, '&', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(pair, absl::MaxSplits('=', 1));
    std::string name, value;
    if (!Decode(parts.first, true, &name) || !Decode(parts.second, true, &value)) return false;
    request->query.emplace_back(std::move(name), std::move(value));
  }
  return true;
}

bool ReadTarget(absl::string_view target, HttpRequest* request) {
  // A proxy's form, which a server has to take: http://localhost/metrics.
  if (absl::StartsWithIgnoreCase(target, "http://")) {
    target.remove_prefix(7);
    const size_t slash = target.find('/');
    target = slash == target.npos ? absl::string_view("/") : target.substr(slash);
  }
  for (const char c : target) {
    if (!absl::ascii_isgraph(static_cast<unsigned char>(c))) return false;
  }
  if (!absl::StartsWith(target, "/")) return false;
  target = target.substr(0, target.find('#'));
  const size_t mark = target.find('?');
  if (!Decode(target.substr(0, mark), false, &request->path)) return false;
  return mark == target.npos || ReadQuery(target.substr(mark + 1), request);
}

// Of the request's fields only those count that announce a body. An empty answer: all is well.
std::optional<HttpResponse> CheckField(absl::string_view line) {
  const size_t colon = line.find(':');
  if (colon == line.npos || !IsToken(line.substr(0, colon))) {
    return PlainResponse(kBadRequest, "a line of the request's head is no field");
  }
  const absl::string_view name = line.substr(0, colon);
  const absl::string_view value = absl::StripAsciiWhitespace(line.substr(colon + 1));
  if (absl::EqualsIgnoreCase(name, "Transfer-Encoding")) {
    return PlainResponse(413, "this door takes no bodies");
  }
  if (!absl::EqualsIgnoreCase(name, "Content-Length")) return std::nullopt;
  uint64_t length = 0;
  if (!absl::SimpleAtoi(value, &length)) {
    return PlainResponse(kBadRequest, "the request's Content-Length is no number");
  }
  if (length > 0) return PlainResponse(413, "this door takes no bodies");
  return std::nullopt;
}

std::optional<HttpResponse> CheckVersion(absl::string_view version) {
  if (version == "HTTP/1.1" || version == "HTTP/1.0") return std::nullopt;
  if (absl::StartsWith(version, "HTTP/")) {
    return PlainResponse(505, "this door speaks HTTP/1.1");
  }
  return PlainResponse(kBadRequest, "this is no HTTP request, such as \"GET /metrics HTTP/1.1\"");
}

std::optional<HttpResponse> ReadHead(absl::string_view head, HttpRequest* request) {
  std::vector<absl::string_view> lines = absl::StrSplit(head, '\n');
  const std::vector<absl::string_view> words = absl::StrSplit(WithoutReturn(lines[0]), ' ');
  if (words.size() != 3 || !IsToken(words[0])) {
    return PlainResponse(kBadRequest,
                         "this is no HTTP request, such as \"GET /metrics HTTP/1.1\"");
  }
  if (std::optional<HttpResponse> refusal = CheckVersion(words[2])) return refusal;
  if (words[0] != "GET" && words[0] != "HEAD") {
    return PlainResponse(405, absl::StrCat("this door answers GET and HEAD, and not ", words[0]));
  }
  request->is_head = words[0] == "HEAD";
  if (!ReadTarget(words[1], request)) {
    return PlainResponse(kBadRequest, "the request's target is no path, such as /metrics");
  }
  for (size_t i = 1; i < lines.size(); ++i) {
    const absl::string_view line = WithoutReturn(lines[i]);
    if (line.empty()) continue;  // the last one
    if (std::optional<HttpResponse> refusal = CheckField(line)) return refusal;
  }
  return std::nullopt;
}

const char* ReasonPhrase(int code) {
  switch (code) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 413:
      return "Content Too Large";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
  }
  return "Other";
}

}  // namespace

absl::string_view HttpRequest::Find(absl::string_view name, absl::string_view fallback) const {
  for (const auto& [one, value] : query) {
    if (one == name) return value;
  }
  return fallback;
}

HttpResponse PlainResponse(int code, absl::string_view sentence) {
  return {.code = code, .body = absl::StrCat(sentence, "\n")};
}

HttpRead ReadHttpRequest(absl::string_view bytes, HttpRequest* request, HttpResponse* refusal) {
  const absl::string_view whole = bytes;
  // Empty lines ahead of a request are to be passed over.
  while (absl::StartsWith(bytes, "\n") || absl::StartsWith(bytes, "\r\n")) {
    bytes.remove_prefix(bytes.front() == '\n' ? 1 : 2);
  }
  const absl::string_view within = bytes.substr(0, kMostHeadBytes);
  const std::optional<size_t> end = EndOfHead(within);
  if (!end.has_value()) {
    if (whole.size() < kMostHeadBytes) return HttpRead::kMore;
    *refusal = PlainResponse(
        431, absl::StrCat("the request's head has more than ", kMostHeadBytes, " bytes"));
    return HttpRead::kRefused;
  }
  *request = {};
  std::optional<HttpResponse> refused = ReadHead(within.substr(0, *end), request);
  if (!refused.has_value()) return HttpRead::kRequest;
  *refusal = *std::move(refused);
  return HttpRead::kRefused;
}

std::string HttpBytes(const HttpResponse& response, bool is_head) {
  std::string bytes =
      absl::StrCat("HTTP/1.1 ", response.code, " ", ReasonPhrase(response.code),
                   "\r\nContent-Type: ", response.type,
                   "\r\nContent-Length: ", response.body.size(),
                   response.code == 405 ? "\r\nAllow: GET, HEAD" : "",
                   "\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n");
  if (!is_head) bytes.append(response.body);
  return bytes;
}

}  // namespace graphtree
