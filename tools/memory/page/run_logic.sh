#!/bin/bash
# Runs what the page computes without a screen: run_logic.sh NODE TEST.mjs. NODE is "" where the
# machine has no Node.js.
if [ -z "$1" ]; then
  echo "skipped: no Node.js on this machine (tools/setup fetches it)"
  cat >"$XML_OUTPUT_FILE" <<XML
<testsuite><testcase name="$(basename "$2" .mjs)" classname="page">
<skipped message="no Node.js on this machine (tools/setup fetches it)"/></testcase></testsuite>
XML
  exit 0
fi
exec "$1" --test-reporter=tap --test "$2"
