// Turns what trees tell into values of the queue.
#include "profiler/live/host_watch.h"

#include <memory>
#include <utility>

namespace graphtree::live {
namespace {

uint64_t NumberOf(const Stream* stream) { return reinterpret_cast<uint64_t>(stream); }

}  // namespace

void HostWatch::Saw(const GraphEvent& event) {
  if (event.moment == GraphMoment::kReplayBegin) return Begin(event.launch, event.stream);
  if (event.moment == GraphMoment::kReplayEnd) return SawReplayEnd(event);
  HostEvent moment;
  moment.kind = HostEvent::Kind::kMoment;
  moment.moment = event.moment;
  moment.ok = event.ok;
  moment.time_ns = needs_.clock.Now();
  moment.recording = event.recording;
  moment.function = ShortText(event.function);
  Put(std::move(moment));
}

void HostWatch::SawReplayEnd(const GraphEvent& event) {
  HostEvent launch;
  launch.kind = HostEvent::Kind::kLaunch;
  launch.run = event.run;
  if (!End(event.launch, event.stream, event.ok, &launch)) return;
  launch.stream = NumberOf(event.stream);
  launch.recording = event.recording;
  launch.function = ShortText(event.function);
  if (event.identity != nullptr) launch.graph = *event.identity;
  if (needs_.source != nullptr && event.executable != nullptr && event.ok) {
    launch.correlation = needs_.source->CorrelationOf(*event.executable);
    launch.executable = needs_.source->IdOf(*event.executable);
  }
  replays_.fetch_add(1, std::memory_order_relaxed);
  Put(std::move(launch));
}

// What a capture is told of runs later, in a launch of its graph.
void HostWatch::SawOp(const OpEvent& event) {
  if (event.run == RunKind::kCapture) return;
  if (event.begins) return Begin(event.launch, event.stream);
  HostEvent op;
  op.kind = HostEvent::Kind::kOp;
  op.run = event.run;
  if (!End(event.launch, event.stream, event.ok, &op)) return;
  op.stream = NumberOf(event.stream);
  op.function = ShortText(event.function);
  op.op = std::make_unique<OpIdentity>(*event.identity);
  Put(std::move(op));
}

void HostWatch::SawPhase(const PhaseEvent& event) {
  HostEvent phase;
  phase.kind = event.begins ? HostEvent::Kind::kPhaseBegin : HostEvent::Kind::kPhaseEnd;
  phase.phase = event.phase;
  phase.ok = event.ok;
  phase.time_ns = needs_.clock.Now();
  phase.recording = event.recording;
  phase.function = ShortText(event.function);
  Put(std::move(phase));
}

void HostWatch::Begin(uint64_t launch, Stream* stream) {
  Begun& begun = begun_[launch % kUnderWay];
  LightTimer* const timer = timer_.load(std::memory_order_acquire);
  const bool is_timed = timer != nullptr && stream != nullptr && timer->Begin(launch, *stream);
  begun.is_timed.store(is_timed, std::memory_order_relaxed);
  begun.time_ns.store(needs_.clock.Now(), std::memory_order_relaxed);
  begun.launch.store(launch, std::memory_order_release);
}

bool HostWatch::End(uint64_t launch, Stream* stream, bool ok, HostEvent* event) {
  const int64_t now = needs_.clock.Now();
  Begun& begun = begun_[launch % kUnderWay];
  if (begun.launch.load(std::memory_order_acquire) != launch) {
    lost_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  LightTimer* const timer = timer_.load(std::memory_order_acquire);
  const bool is_timed = timer != nullptr && begun.is_timed.load(std::memory_order_relaxed);
  event->is_timed = is_timed && timer->End(launch, *stream, ok);
  event->launch = launch;
  event->ok = ok;
  event->time_ns = begun.time_ns.load(std::memory_order_relaxed);
  event->duration_ns = now - event->time_ns;
  return true;
}

void HostWatch::Put(HostEvent event) {
  event.thread = threads_.Mine();
  if (!needs_.queue.Put(std::move(event))) lost_.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace graphtree::live
