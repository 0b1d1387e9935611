#!/bin/bash
# daemon.sh start|stop|restart: the daemon of the bed's federation, in the bed's login.
set -euo pipefail
cd "$(dirname "$0")/../.."
bed=${FSUB_BED:-/var/lib/fsub-bed}
dir=$bed/fed
pidfile=$dir/fed.pid

# A pid alone may have been given to another process since: it is ours if it still runs our fed serve.
running() {
	[ -f "$pidfile" ] || return 1
	pid=$(cat "$pidfile")
	tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" | grep -q "serve --config $dir/fed.yaml"
}

stop() {
	running || return 0
	kill -TERM "$pid"
	for _ in $(seq 100); do running || { rm -f "$pidfile"; return 0; }; sleep 0.1; done
	echo "demo: the daemon (pid $pid) does not stop" >&2
	return 1
}

start() {
	if running; then return 0; fi
	mkdir -p "$dir" "$bed/bin"
	# everybody's commands, where every user and every site can read them
	install -m 755 bin/fsub bin/fed "$bed/bin/"
	for l in sbatch squeue scancel sinfo sacct scontrol sacctmgr sshare; do ln -sf fsub "$bed/bin/$l"; done
	bin/fed bed config alpha beta >"$dir/fed.yaml.new" && mv "$dir/fed.yaml.new" "$dir/fed.yaml"
	nohup bin/fed bed exec login -- "$bed/bin/fed" serve --config "$dir/fed.yaml" >>"$dir/fed.log" 2>&1 </dev/null &
	echo $! >"$pidfile"
	for _ in $(seq 150); do
		if [ -S "$dir/fsub.sock" ] && "$bed/bin/fed" site list --json --socket "$dir/fsub.sock" 2>/dev/null | grep -q '"answering": true'; then
			! "$bed/bin/fed" site list --json --socket "$dir/fsub.sock" | grep -q '"answering": false' && return 0
		fi
		running || sleep 0.3
		running || { echo "demo: the daemon did not start; its log:" >&2; tail -n 20 "$dir/fed.log" >&2; return 1; }
		sleep 0.1
	done
	echo "demo: not every site answers:" >&2
	"$bed/bin/fed" site list --socket "$dir/fsub.sock" >&2
	return 1
}

case ${1:-} in
start) start ;;
stop) stop ;;
restart) stop && start ;;
*) echo "usage: daemon.sh start|stop|restart" >&2; exit 2 ;;
esac
