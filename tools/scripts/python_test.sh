#!/usr/bin/env bash
# Runs a Python script as a test: `python_test.sh SCRIPT [ARGUMENT...]`.
set -euo pipefail
exec python3 -B "$@"
