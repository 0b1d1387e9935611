#!/bin/bash
# alone.sh WHY: the demo where no Slurm can be had, for the reason WHY: the daemon without a configuration, which has this machine as its one site, and jobs of whoever calls.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
export HOME=$dir FSUB_SOCKET=$dir/.fsub/fsub.sock PATH=$PWD/bin:$PATH
daemon=
failures=()

cleanup() {
	code=$?
	if [ -n "$daemon" ]; then kill -TERM "$daemon" 2>/dev/null && wait "$daemon" || true; fi
	bin/fed pool clear --yes --config "$dir/fed.yaml" >/dev/null 2>&1 || true
	if [ "$code" != 0 ] || [ ${#failures[@]} != 0 ]; then
		printf '\nDEMO FAILED\n' >&2
		printf '  %s\n' "${failures[@]}" "the daemon's log: $dir/fed.log" >&2
		exit 1
	fi
	rm -rf "$dir"
}
trap cleanup EXIT
fail() { failures+=("$*"); echo "demo: failed: $*" >&2; }

echo "NO SLURM HERE: $1."
echo "What follows runs on this machine alone: no cluster, no cloud, no configuration."
mkdir -p "$dir/.fsub"
(umask 077; : >"$dir/fed.yaml"; : >"$dir/fed.log")
printf 'socket: %s\nstate_dir: %s\nsites: [{name: local, kind: local, local: {nodes: 2, cpus: 4, mem_mib: 2000}}]\n' "$FSUB_SOCKET" "$dir/.fsub/state" >"$dir/fed.yaml"
bin/fed serve --config "$dir/fed.yaml" >"$dir/fed.log" 2>&1 &
daemon=$!
for _ in $(seq 100); do
	bin/fed site list --json 2>/dev/null | grep -q '"answering": true' && break
	kill -0 "$daemon" 2>/dev/null || { tail -n 20 "$dir/fed.log" >&2; exit 1; }
	sleep 0.1
done
printf '\n$ sinfo\n'
sinfo
ids=()
for s in preprocess.sbatch; do
	printf '\n$ fsub %s\n' "$s"
	out=$(cd "$dir" && fsub "$OLDPWD/testbed/demo/$s")
	echo "$out"
	ids+=("${out##* }")
done
for id in "${ids[@]}"; do
	for _ in $(seq 300); do
		state=$(squeue -h -t all -j "$id" -o %T)
		case $state in PENDING|CONFIGURING|RUNNING|COMPLETING) sleep 0.1 ;; *) break ;; esac
	done
	[ "$state" = COMPLETED ] || { fail "job $id ended as $state"; bin/fed job show "$id"; }
	printf '\n$ fed explain %s\n' "$id"
	bin/fed explain "$id"
	printf '\n$ cat %s\n' "preprocess-$id.out"
	cat "$dir/preprocess-$id.out"
	grep -q "job $id on" "$dir/preprocess-$id.out" || fail "the output of job $id does not show its ID"
	printf '\n$ sacct -X -j %s\n' "$id"
	sacct -X -j "$id"
done
[ ${#failures[@]} = 0 ] && printf '\nDEMO OK on this machine alone: %d job ran\n' "${#ids[@]}"
