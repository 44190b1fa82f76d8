// What writing JSON costs beside the plainest way to write the same bytes.
#include <cstdint>
#include <cstdio>

#include "device/base/json_writer.h"
#include "tools/benching/row.h"
#include "tools/benching/timing.h"

namespace graphtree::bench {
namespace {

GRAPHTREE_ROW(JsonObject, {.name = "base.json.object",
                           .ours = "an object with three members by JsonWriter",
                           .against = "the same bytes by snprintf"}) {
  int64_t bytes = 0;
  return ComparePair(
      [&] {
        JsonWriter json;
        json.BeginObject().Key("name").String("gemm_bf16").Key("bytes").Integer(++bytes);
        json.Key("live").Bool(true).EndObject();
        DoNotOptimize(json);
      },
      [&] {
        char text[128];
        std::snprintf(text, sizeof(text), "{\"name\":\"%s\",\"bytes\":%lld,\"live\":%s}",
                      "gemm_bf16", static_cast<long long>(++bytes), "true");
        DoNotOptimize(text);
      });
}

}  // namespace
}  // namespace graphtree::bench
