#!/bin/bash
# several.sh show N|stop: two real Slurm clusters and N daemons that share a PostgreSQL; an ordinary user submits while the one that leads is killed.
set -euo pipefail
cd "$(dirname "$0")/../.."
programs=${FSUB_BIN:-bin}
export FSUB_BED=${FSUB_BED:-/var/lib/fsub-bed}
bed=$FSUB_BED dir=$FSUB_BED/fed/several
pg=$dir/pg port_file=$dir/pg.port

table() { printf '\n$ fed %s\n' "$*"; "$bed/bin/fed" "$@" | expand -t 10,22,28,46,90; }
say() { printf '\n== %s\n' "$*"; }
pid_of() { # pid_of NAME: of a daemon that runs
	local pid
	pid=$(cat "$dir/$1.pid" 2>/dev/null) || return 1
	tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" | grep -q "serve --config $dir/$1.yaml" && echo "$pid"
}
names() { for f in "$dir"/login*.yaml; do [ -e "$f" ] && basename "$f" .yaml; done; true; }
sockets() { names | sed "s|.*|$dir/&.sock|" | paste -sd,; }
pg_ctl() { (cd / && setpriv --reuid=postgres --regid=postgres --clear-groups "$(dirname "$(ls -d /usr/lib/postgresql/*/bin/initdb | tail -n 1)")/pg_ctl" -D "$pg/data" "$@"); }
free_port() {
	local port
	for _ in $(seq 50); do
		port=$(shuf -i 20000-32000 -n 1)
		(exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
	done
}

stop() {
	local name pid
	for name in $(names); do
		if pid=$(pid_of "$name"); then
			kill -TERM "$pid"
			for _ in $(seq 100); do pid_of "$name" >/dev/null || break; sleep 0.1; done
		fi
	done
	if [ -d "$pg/data" ]; then pg_ctl stop -m fast >/dev/null 2>&1 || true; fi
	rm -rf "$dir"
}

start_database() {
	install -d -m 711 "$dir"
	install -d -o postgres -g postgres -m 700 "$pg"
	free_port >"$port_file"
	pg_ctl init -s -o "-A trust -U postgres -E UTF8 --locale=C.UTF-8 --no-sync" >/dev/null
	pg_ctl start -s -w -l "$pg/log" -o "-c listen_addresses=127.0.0.1 -c port=$(cat "$port_file") -c unix_socket_directories=$pg"
	psql -q -h 127.0.0.1 -p "$(cat "$port_file")" -U postgres -c 'CREATE ROLE fed LOGIN' -c 'CREATE DATABASE fed OWNER fed' postgres
}

configure() { # configure NAME
	cat <<T
store: postgres://fed@127.0.0.1:$(cat "$port_file")/fed?sslmode=disable
daemons: {name: $1, listen: "127.0.0.1:$(free_port)", secret_file: $dir/secret}
T
	"$programs/bed" config alpha beta | sed "s|^socket:.*|socket: $dir/$1.sock|; s|^state_dir:.*|state_dir: $dir/$1|"
}

start_daemon() { # start_daemon NAME
	nohup "$programs/bed" exec login -- "$bed/bin/fed" serve --config "$dir/$1.yaml" >>"$dir/$1.log" 2>&1 </dev/null &
	echo $! >"$dir/$1.pid"
	disown # or bash would tell of its end
	for _ in $(seq 150); do
		"$bed/bin/fed" daemon list --socket "$dir/$1.sock" >/dev/null 2>&1 && return
		pid_of "$1" >/dev/null || { echo "demo: $1 did not start; its log:" >&2; tail -n 20 "$dir/$1.log" >&2; return 1; }
		sleep 0.1
	done
	echo "demo: $1 does not answer; see $dir/$1.log" >&2
	return 1
}

# leads is the name of the daemon that leads.
leads() { "$bed/bin/fed" daemon list --socket "$(sockets)" --json | grep -B4 '"leads": true' | sed -n 's/.*"name": "\(.*\)".*/\1/p'; }
alice() { "$programs/bed" exec login --user alice -- env FSUB_SOCKET="$FSUB_SOCKET" "$@"; }

show() {
	local count=$1 n leader began ids=() bad=0 slow=0 took id left
	testbed/setup/setup.sh testbed
	testbed/setup/setup.sh database
	say "Starting two real Slurm clusters, a PostgreSQL, and $count daemons"
	"$programs/bed" up alpha beta
	testbed/demo/daemon.sh stop
	stop
	mkdir -p "$bed/bin"
	install -m 755 "$programs"/fsub "$programs"/fed "$bed/bin/"
	"$bed/bin/fed" shims install "$bed/bin" >/dev/null
	start_database
	(umask 077; head -c 32 /dev/urandom >"$dir/secret")
	for n in $(seq "$count"); do (umask 077; configure "login$n" >"$dir/login$n.yaml"); done
	for n in $(seq "$count"); do start_daemon "login$n"; done
	export FSUB_SOCKET
	FSUB_SOCKET=$(sockets)
	for _ in $(seq 150); do ! "$bed/bin/fed" site list --json | grep -q '"answering": false' && break; sleep 0.1; done
	table daemon list
	leader=$(leads)

	say "alice submits 60 jobs, one after another; meanwhile $leader, which leads, is killed"
	echo '#!/bin/sh
#SBATCH --time=5 --output=/dev/null
sleep 1' >"$bed/home/alice/short.sbatch"
	for n in $(seq 60); do
		if [ "$n" = 20 ]; then kill -KILL "$(pid_of "$leader")" && echo "kill -9 $leader, after 20 jobs"; fi
		began=$(date +%s%N)
		if id=$(alice fsub --parsable short.sbatch); then ids+=("$id"); else bad=$((bad + 1)); fi
		took=$((($(date +%s%N) - began) / 1000000))
		((took <= slow)) || slow=$took
	done
	echo "${#ids[@]} jobs were submitted, $bad commands failed; the slowest took $slow ms"
	table daemon list
	for _ in $(seq 600); do
		left=$(alice squeue -h -t PD,CF,R,CG -o %i | wc -l)
		((left == 0)) && break
		sleep 0.2
	done
	printf '\nalice$ sacct -X -n -o state,cluster | sort | uniq -c\n'
	alice sacct -X -n -j "$(IFS=,; echo "${ids[*]}")" -o state,cluster | sort | uniq -c
	n=$(alice sacct -X -n -j "$(IFS=,; echo "${ids[*]}")" -o state | grep -c COMPLETED || true)

	say "Go on by hand: the clusters and the daemons are still up"
	cat <<T
    export FSUB_SOCKET=$FSUB_SOCKET
    bin/fed daemon list
    bin/fed daemon step-down
    tail -f $dir/login*.log
Stop everything:
    make testbed-down$([ "$bed" = /var/lib/fsub-bed ] || echo " BED=$bed")
T
	if ((bad > 0 || n != 60)); then
		printf '\nDEMO FAILED: %d commands failed, %d of 60 jobs ended well\n' "$bad" "$n" >&2
		exit 1
	fi
	printf '\nDEMO OK: 60 jobs ran on two Slurm clusters, though the daemon that led was killed: no command failed\n'
}

case "${1:-} ${2:-}" in
"show "[2-9]) show "$2" ;;
"stop ") stop ;;
*) echo "usage: several.sh show N|stop (N from 2 to 9, for instance: make demo DAEMONS=3)" >&2; exit 2 ;;
esac
