// The families of what was estimated before it was there: what replaying would bring (mode shadow),
// and what recordings would take (the last plan), beside what they took.
#ifndef GRAPHTREE_RUNTIME_METRICS_ESTIMATES_H_
#define GRAPHTREE_RUNTIME_METRICS_ESTIMATES_H_

#include "runtime/metrics.h"
#include "runtime/watch/prometheus_text.h"

namespace graphtree {

void AddEstimates(const Metrics& metrics, PrometheusText* text);

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_METRICS_ESTIMATES_H_
