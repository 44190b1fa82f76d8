#!/usr/bin/env bash
# The example runs, says what it did, and refuses a device that is not there.
set -euo pipefail
said=$("$1")
[[ $said == "on host: 5 calls, 1 eager to warm up, 1 recorded, 3 replayed, all right" ]]
! "$1" nowhere 2>/dev/null
