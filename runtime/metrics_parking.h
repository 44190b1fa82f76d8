// The families of parking and lending, in the metrics' text and JSON.
#ifndef GRAPHTREE_RUNTIME_METRICS_PARKING_H_
#define GRAPHTREE_RUNTIME_METRICS_PARKING_H_

#include "device/base/json_writer.h"
#include "runtime/metrics.h"
#include "runtime/watch/prometheus_text.h"

namespace graphtree {

void AddParking(const Metrics& metrics, PrometheusText* text);
void WriteTags(const Metrics& metrics, JsonWriter& json);

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_METRICS_PARKING_H_
