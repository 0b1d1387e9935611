#!/bin/bash
# run.sh [NAME...]: run client programs against real Slurm sites, with our commands and with a site's own, and say what each has shown; all by default. It needs root.
set -euo pipefail
cd "$(dirname "$0")/../.."
names=$(IFS='|' && echo "$*")
FSUB_FULL=1 "$(testbed/setup/go.sh --path)" test -count 1 -timeout 60m -v -run "Test(Clients|AtSite)/^(${names:-.*})\$" ./testbed/clients
