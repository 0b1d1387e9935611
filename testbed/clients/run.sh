#!/bin/bash
# run.sh [NAME...]: run client programs against real Slurm sites of their own, all by default, and say what each has shown. It needs root.
set -euo pipefail
cd "$(dirname "$0")/../.."
names=$(IFS='|' && echo "$*")
FSUB_FULL=1 "$(testbed/setup/go.sh --path)" test -count 1 -timeout 60m -v -run "TestClients/^(${names:-.*})\$" ./testbed/clients
