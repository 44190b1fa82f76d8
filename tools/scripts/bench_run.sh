# Runs bench binaries one after the other and sums up their rows; sourced by tools/bench and by the
# GPU bundle's run.
# shellcheck shell=bash

# run_benches FOLDER BENCH... -- NAME...: writes FOLDER/rows.json and prints a table for each bench,
# then one line that counts the rows. Returns 1 where a goal is missed, a row failed, or a bench
# crashed, and 2 where no row has such a name.
run_benches() {
  local folder=$1 benches=() code bench names
  shift
  while [ "$1" != -- ]; do
    benches+=("$1")
    shift
  done
  shift
  : >"$folder/rows"
  : >"$folder/crashed"
  for bench in "${benches[@]}"; do
    code=0
    names=$("$bench" --list "$@") || code=$?
    if [ "$code" = 0 ]; then
      [ -n "$names" ] || continue
      echo
      "$bench" "$@" --json "$folder/one.json" || code=$?
    fi
    # 0 and 1 are the bench's own verdicts; anything else is a crash.
    [ "$code" -le 1 ] || echo "$bench: exit code $code" >>"$folder/crashed"
    # One row on each line: see Json() in tools/benching/report.h.
    grep -s '^{"name"' "$folder/one.json" | sed 's/,$//' >>"$folder/rows" || true
    rm -f "$folder/one.json"
  done
  { echo '{"rows":['; sed '$!s/$/,/' "$folder/rows"; echo ']}'; } >"$folder/rows.json"
  count_rows "$folder"
}

count_rows() {
  local folder=$1 met missed skipped failed total crashed plain
  total=$(wc -l <"$folder/rows")
  met=$(grep -c '"met":true' "$folder/rows" || true)
  missed=$(grep -c '"met":false' "$folder/rows" || true)
  skipped=$(grep -vc '"skipped":null' "$folder/rows" || true)
  failed=$(grep -vc '"failed":null}' "$folder/rows" || true)
  crashed=$(wc -l <"$folder/crashed")
  echo
  if [ "$total$crashed" = 00 ]; then
    echo "no row has such a name" >&2
    return 2
  fi
  cat "$folder/crashed"
  plain=$((total - met - missed - skipped - failed))
  echo "rows: $met met, $missed missed, $plain without goal, $skipped skipped, $failed failed," \
    "$crashed benches crashed"
  [ "$missed$failed$crashed" = 000 ]
}
