#!/bin/bash
# Runs a Python test with the command line's binary: run_python.sh TEST.py GRAPHTREE
exec python3 -B "$1" "$2"
