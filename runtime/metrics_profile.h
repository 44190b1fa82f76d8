// The families of what a profile has counted (profiler/stats/figures.h): of functions and their
// nodes all, of ops those with most time.
#ifndef GRAPHTREE_RUNTIME_METRICS_PROFILE_H_
#define GRAPHTREE_RUNTIME_METRICS_PROFILE_H_

#include "runtime/metrics.h"
#include "runtime/watch/prometheus_text.h"

namespace graphtree {

void AddProfile(const Metrics& metrics, PrometheusText* text);

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_METRICS_PROFILE_H_
