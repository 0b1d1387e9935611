#!/bin/bash
# demo.sh: two real Slurm clusters, a pool of this machine and one of Amazon's (a stand-in), the daemon, and unchanged sbatch scripts of an ordinary user; shows where each
# went and why. Where no Slurm can be had the pool of this machine is shown alone.
set -euo pipefail
cd "$(dirname "$0")/../.."
programs=${FSUB_BIN:-bin}
if [ "$(id -u)" != 0 ]; then exec testbed/demo/alone.sh "you are not root, and real Slurm clusters need that"; fi
if ! testbed/setup/setup.sh testbed || ! "$programs/bed" up --install-only alpha; then exec testbed/demo/alone.sh "Slurm cannot be installed here (why, is said above)"; fi
bed=${FSUB_BED:-/var/lib/fsub-bed}
export FSUB_BED=$bed FSUB_SOCKET=$bed/fed/fsub.sock
[ "$bed" = /var/lib/fsub-bed ] && dir= make= || { dir=" --dir $bed" make=" BED=$bed"; } # for commands to type
bin=$bed/bin home=$bed/home/alice
failures=()
patience=120 # seconds, with a job

bold= plain=
if [ -t 1 ]; then bold=$'\033[1m' plain=$'\033[0m'; fi
say() { printf '\n%s== %s%s\n' "$bold" "$*" "$plain"; }
fed() { "$bin/fed" "$@"; }
show() { printf '\n$ %s\n' "$*"; "$@" | align || fail "$*"; }
# Programs get tables with tabs, and people aligned ones: also those who send all of this to a file.
align() {
	awk -F '\t' '
		{ fields[NR] = NF; for (i = 1; i <= NF; i++) { cell[NR, i] = $i; if (NF > 1 && length($i) > width[i]) width[i] = length($i) } }
		END {
			for (r = 1; r <= NR; r++) {
				line = ""
				for (i = 1; i < fields[r]; i++) line = line sprintf("%-" width[i] + 2 "s", cell[r, i])
				print line cell[r, fields[r]]
			}
		}'
}
alice() { "$programs/bed" exec login --user alice -- "$@"; }
fail() { failures+=("$*"); echo "demo: failed: $*" >&2; }

# The last words, whatever has happened.
verdict() {
	code=$?
	if [ "$code" != 0 ] && [ ${#failures[@]} = 0 ]; then failures=("it stopped with exit code $code: see above"); fi
	[ ${#failures[@]} = 0 ] && return
	printf '\n%sDEMO FAILED%s\n' "$bold" "$plain" >&2
	printf '  %s\n' "${failures[@]}" "The daemon's log: $bed/fed/fed.log" >&2
	exit 1
}
trap verdict EXIT

# Waits for the end of a job and prints its states: one, or those of its tasks. What a job still waits for after ten seconds is told.
await_job() {
	local state begun=$SECONDS told=$SECONDS
	while state=$(alice squeue -h -t all -j "$1" -o %T | sort -u | tr '\n' ' ') || return 1; do
		case $state in *PENDING*|*RUNNING*|*COMPLETING*|*CONFIGURING*) ;; *) break ;; esac
		if ((SECONDS - told >= 10)); then
			told=$SECONDS
			echo "demo: job $1 after $((SECONDS - begun)) s: $(alice squeue -h -j "$1" -o '%T (%r)' | sort | uniq -c | sed 's/^ *1 //; s/^ *//' | paste -sd,)" >&2
		fi
		((SECONDS - begun < patience)) || break
		sleep 0.2
	done
	echo "${state% }"
}

# Says what the sites do already: the jobs of the demo have to wait for it.
show_others() {
	local site n
	for site in alpha beta; do
		n=$("$programs/bed" exec "$site" -- squeue -h -r -o %i | wc -l)
		((n == 0)) && continue
		printf '\n%s\n' "The queue of $site is not empty (jobs: $n). The demo's jobs may have to wait for it; each has $patience s."
		echo "To see it: bin/bed exec$dir $site -- squeue. To start with empty clusters: make testbed-down$make && make demo$make"
	done
}

# Shows what the site itself has in its books, which must be the same as in fsub's. A site's slurmdbd may lag behind its slurmctld a little.
show_books() { # show_books SITE ID
	local rows ours
	ours=$(alice sacct -n -X -j "$2" | grep -c COMPLETED) || { fail "sacct -j $2 shows nothing that is completed"; return; }
	local columns=jobid%14,jobname%16,state,elapsed,nodelist,alloctres%60
	# only ended ones: slurmctld 24.11 leaves a second, waiting row of an array's last task there
	local sacct=(sacct -X -j "$2" -s CD,F,CA,TO,NF -S now-1days -E now)
	printf '\n%s$ %s        (Slurm'"'"'s own, at the site)\n' "$1" "${sacct[*]}"
	for _ in $(seq 20); do
		rows=$("$programs/bed" exec "$1" --user alice -- "${sacct[@]}" --format="$columns") || break
		[ "$(grep -c COMPLETED <<<"$rows")" -ge "$ours" ] && break
		sleep 0.5
	done
	sed 's/ *$//' <<<"$rows"
	[ "$(grep -c COMPLETED <<<"$rows")" = "$ours" ] || fail "the books of $1 do not show job $2 as completed ($ours times)"
}

# Shows the job's output files, which must name its ID.
show_output() { # show_output ID
	local f outs
	outs=$(compgen -G "$home/*-$1.out" || compgen -G "$home/slurm-$1_*.out" | sort) || { fail "job $1 has no output file in $home"; return; }
	for f in $outs; do
		printf '\nalice$ cat %s\n' "${f##*/}"
		cat "$f"
		grep -q "$1" "$f" || fail "$f does not show the job's ID"
	done
}

say "Starting two real Slurm clusters, what stands in for Amazon, and the daemon"
echo "alpha: 4 nodes x 4 H100, dear; beta: 6 nodes x 2 A100 under two leaf switches, cheap"
echo "local: 4 nodes that are processes of this machine; aws: nothing yet: machines with an L4 can be rented"
"$programs/bed" up
testbed/demo/daemon.sh restart
show fed site list
show_others
for s in testbed/demo/*.sbatch; do
	install -m 644 "$s" "$home/${s##*/}"
done

say "alice submits five unchanged sbatch scripts with fsub"
ids=() sites=()
for s in train-one-node.sbatch train-two-nodes.sbatch sweep.sbatch preprocess.sbatch serve-two-nodes.sbatch; do
	printf '\nalice$ fsub %s\n' "$s"
	out=$(alice fsub "$s") || { fail "fsub $s"; continue; }
	echo "$out"
	id=${out##* }
	if [[ $id =~ ^[0-9]+$ ]]; then ids+=("$id"); else fail "no job ID in: $out"; fi
done

say "While they run: the same IDs in fsub's squeue and in the sites' own"
sleep 2
printf '\nalice$ squeue\n'
alice squeue || fail "squeue"
for site in alpha beta; do
	printf '\n%s$ squeue        (Slurm'"'"'s own, at the site)\n' "$site"
	"$programs/bed" exec "$site" --user alice -- squeue || fail "squeue at $site"
done

shown= # a job that has ended well
for id in "${ids[@]}"; do
	say "Job $id: where it went, and why"
	state=$(await_job "$id") || { fail "squeue -j $id"; continue; }
	case $state in
	COMPLETED) shown=${shown:-$id} ;;
	*PENDING*|*RUNNING*|*CONFIGURING*|*COMPLETING*)
		fail "job $id has not ended after $patience s: it is $state; what it waits for:"
		show fed explain "$id"
		continue ;;
	*) fail "job $id ended as ${state:-nothing that squeue knows}" ;;
	esac
	show fed explain "$id"
	show fed job show "$id"
	site=$(fed job show "$id" --json | sed -n 's/.*"site": *"\([a-z]*\)".*/\1/p' | head -n 1)
	case $site in
	alpha|beta) show_books "$site" "$id" ;;
	local|aws) ;; # no Slurm has books there
	"") # an array whose tasks went their own ways
		site=$(fed job show "$id" | sed -n 's/^  task [0-9]* *COMPLETED *\([a-z]*\).*/\1/p' | sort -u | tr '\n' ' ') ;;
	esac
	[ -n "$site" ] || fail "job $id went to no site"
	sites+=("$site")
	show_output "$id"
done

for site in alpha beta local aws; do
	[[ " ${sites[*]} " == *" $site "* ]] || fail "no job went to $site"
done

say "The machines that were rented, and what they cost so far"
show fed pool list
show fed pool machines aws

say "What it cost"
printf '\nalice$ sacct\n'
alice sacct -X -j "$(IFS=,; echo "${ids[*]}")" || fail "sacct"
echo
for id in "${ids[@]}"; do
	printf 'job %s  ' "$id"
	fed job show "$id" | sed -n 's/^  cost *//p'
done

say "Go on by hand: the clusters and the daemon are still up"
ticket=$(alice fed web --print 2>/dev/null) || fail "fed web"
cat <<T
In a browser of this machine, the page as alice sees it (the ticket is good once, for a minute):
    $ticket
    bin/bed exec login$dir --user alice -- fed web --print     # prints another
As alice, in her home, with sbatch, squeue, scancel, sinfo and sacct that mean the federation:
    bin/bed exec login$dir --user alice -- bash
    fsub train-one-node.sbatch
As the operator:
    export FSUB_SOCKET=$FSUB_SOCKET
    bin/fed site list
    bin/fed explain ${shown:-JOB}
    bin/fed site drain beta --reason cooling
    tail -f $bed/fed/fed.log
Stop everything:
    make testbed-down${make}
T
[ ${#failures[@]} = 0 ] && printf '\n%sDEMO OK: %d jobs ran on two Slurm clusters, this machine and rented ones, each under one ID everywhere%s\n' "$bold" "${#ids[@]}" "$plain"
