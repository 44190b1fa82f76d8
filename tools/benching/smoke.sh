#!/usr/bin/env bash
# Runs a bench only to see that it runs: `smoke.sh BENCH` (the test that cc_bench makes).
set -euo pipefail
exec "$1" --smoke
