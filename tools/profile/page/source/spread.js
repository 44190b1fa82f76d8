// What a list of replays says about each op: quantiles, and how far one replay is off.

function quantile(sorted, share) {
  if (sorted.length === 0) return 0;
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))];
}

// [least, a tenth, half, nine tenths, 99 of a hundred, most]
function spreadOf(values) {
  const sorted = Float64Array.from(values).sort();
  return [0, 0.1, 0.5, 0.9, 0.99, 1].map((share) => quantile(sorted, share));
}

// Of a kind: the spread of each op's duration, of the wall time and of the latency.
function spreadsOf(kind) {
  return {
    ops: kind.ops.map((_, op) => spreadOf(kind.replays.map((replay) => replay.durations[op]))),
    wall: spreadOf(kind.replays.map((replay) => replay.wall)),
    latency: spreadOf(kind.replays.map((replay) => replay.latency ?? 0)),
  };
}

function slowestOf(kind) {
  let slowest = 0;
  kind.replays.forEach((replay, index) => {
    if (replay.wall > kind.replays[slowest].wall) slowest = index;
  });
  return slowest;
}

// The op that took most beyond its median in a replay: {op, extra}.
function culpritOf(replay, spreads) {
  let culprit = {op: 0, extra: -Infinity};
  spreads.ops.forEach((spread, op) => {
    const extra = replay.durations[op] - spread[2];
    if (extra > culprit.extra) culprit = {op, extra};
  });
  return culprit;
}
