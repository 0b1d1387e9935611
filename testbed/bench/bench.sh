#!/bin/bash
# bench.sh: what fsub promises about speed, as ratios, each pair measured in one run. It starts Slurm sites in a bed of its own and
# removes them at the end.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ "$(id -u)" = 0 ] || { echo "bench: run as root: it starts real Slurm clusters in namespaces of their own" >&2; exit 1; }
go=$(testbed/setup/go.sh --path)
mkdir -p bin/tools
"$go" build -trimpath -o bin/tools/bench ./testbed/bench
exec bin/tools/bench --fsub bin/fsub --fed bin/fed --bed "${FSUB_BED:-/var/lib/fsub-bed}-bench" "$@"
