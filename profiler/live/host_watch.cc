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
    launch.device_stream = DeviceStreamOf(event.stream);
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
  op.device_stream = DeviceStreamOf(event.stream);
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

void HostWatch::set_wishes(const Wishes& wishes) {
  wishes_ = wishes;
  // Ends that were not told, as it had left by then, left their begins behind.
  for (Begun& begun : begun_) begun.launch.store(0, std::memory_order_relaxed);
}

void HostWatch::Begin(uint64_t launch, Stream* stream) {
  size_t place = PlaceOf(launch);
  for (size_t tried = 0; tried < kTried; ++tried, place = (place + 1) % kUnderWay) {
    Begun& begun = begun_[place];
    uint64_t nobody = 0;
    if (begun.launch.load(std::memory_order_relaxed) != 0) continue;
    if (!begun.launch.compare_exchange_strong(nobody, launch, std::memory_order_acquire)) continue;
    LightTimer* const timer = timer_.load(std::memory_order_acquire);
    begun.is_timed = timer != nullptr && stream != nullptr && timer->Begin(launch, *stream);
    begun.time_ns = needs_.clock.Now();
    return;
  }
  lost_.fetch_add(1, std::memory_order_relaxed);
}

bool HostWatch::End(uint64_t launch, Stream* stream, bool ok, HostEvent* event) {
  const int64_t now = needs_.clock.Now();
  size_t place = PlaceOf(launch);
  for (size_t tried = 0; tried < kTried; ++tried, place = (place + 1) % kUnderWay) {
    Begun& begun = begun_[place];
    if (begun.launch.load(std::memory_order_relaxed) != launch) continue;
    LightTimer* const timer = timer_.load(std::memory_order_acquire);
    event->is_timed = begun.is_timed && timer != nullptr && timer->End(launch, *stream, ok);
    event->launch = launch;
    event->ok = ok;
    event->time_ns = begun.time_ns;
    event->duration_ns = now - begun.time_ns;
    begun.launch.store(0, std::memory_order_release);
    return true;
  }
  return false;
}

int64_t HostWatch::DeviceStreamOf(const Stream* stream) const {
  return needs_.source != nullptr && stream != nullptr ? needs_.source->IdOf(*stream) : -1;
}

void HostWatch::Put(HostEvent event) {
  event.thread = threads_.Mine();
  if (!needs_.queue.Put(std::move(event))) lost_.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace graphtree::live
