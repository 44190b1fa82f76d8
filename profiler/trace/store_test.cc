// A store gives back what it got, and counts what it had no room for.
#include "profiler/trace/store.h"

#include "gtest/gtest.h"
#include "profiler/trace/records.h"
#include "profiler/trace/tables.h"

namespace graphtree::trace {
namespace {

void PlaySome(TraceListener& listener) {
  listener.Begin({.base_ns = 5, .made_by = "a test"});
  listener.Op({.start_ns = 10, .correlation = 3, .extras = "\"gone\":1"});
  listener.Span({.start_ns = 8, .correlation = 3});
  listener.Counter({.time_ns = 9, .value = 2});
  listener.Instant({.time_ns = 11});
  listener.Lane({.process = 1});
  listener.End({.dropped_records = 4});
}

TEST(TraceStoreTest, ReplaysWhatItGot) {
  TraceStore first(100);
  PlaySome(first);
  TraceStore second(100);
  first.Replay(second);
  EXPECT_EQ(second.header().made_by, "a test");
  ASSERT_EQ(second.ops().size(), 1u);
  EXPECT_EQ(second.ops()[0].start_ns, 10);
  EXPECT_EQ(second.ops()[0].extras, "");
  EXPECT_EQ(second.spans().size(), 1u);
  EXPECT_EQ(second.counters().size(), 1u);
  EXPECT_EQ(second.marks().size(), 1u);
  EXPECT_EQ(second.lanes().size(), 1u);
  EXPECT_EQ(second.notes().dropped_records, 4u);
}

TEST(TraceStoreTest, WhatHasNoRoomIsCounted) {
  TraceStore store(2);
  PlaySome(store);
  EXPECT_EQ(store.ops().size() + store.spans().size(), 2u);
  EXPECT_EQ(store.dropped(), 3u);
  EXPECT_EQ(store.notes().dropped_records, 7u);
}

}  // namespace
}  // namespace graphtree::trace
