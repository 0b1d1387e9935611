#!/bin/bash
# daemon.sh start|stop|restart: the daemon of the bed's federation, in the bed's login, with what stands in for Amazon.
set -euo pipefail
cd "$(dirname "$0")/../.."
programs=${FSUB_BIN:-bin}
bed=${FSUB_BED:-/var/lib/fsub-bed}
dir=$bed/fed
pidfile=$dir/fed.pid
cloud=$dir/aws # of the stand-in: its instances, its credentials and where it listens

# A pid alone may have been given to another process since: it is ours if it still runs our fed serve.
running() {
	[ -f "$pidfile" ] || return 1
	pid=$(cat "$pidfile")
	tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" | grep -q "serve --config $dir/fed.yaml"
}

stop() {
	if running; then
		kill -TERM "$pid"
		for _ in $(seq 100); do running || break; sleep 0.1; done
		running && { echo "demo: the daemon (pid $pid) does not stop" >&2; return 1; }
		rm -f "$pidfile"
	fi
	# The machines would go on until their lease is over.
	if [ -d "$cloud" ] && [ -f "$dir/fed.yaml" ] && [ -x "$bed/bin/fed" ] && grep -q "kind: local" "$dir/fed.yaml"; then
		"$programs/bed" exec login -- "$bed/bin/fed" pool clear --yes --config "$dir/fed.yaml" >>"$dir/fed.log" 2>&1 || echo "demo: not all machines were ended; see $dir/fed.log" >&2
	fi
	stop_cloud
}

cloud_runs() {
	[ -f "$cloud/pid" ] || return 1
	tr '\0' ' ' 2>/dev/null <"/proc/$(cat "$cloud/pid")/cmdline" | grep -q "ec2 .*--dir $cloud"
}

stop_cloud() {
	cloud_runs || return 0
	kill -TERM "$(cat "$cloud/pid")"
	for _ in $(seq 100); do cloud_runs || { rm -rf "$cloud"; return 0; }; sleep 0.1; done
	echo "demo: what stands in for Amazon does not stop" >&2
	return 1
}

# The stand-in's instances are processes of this machine that run their user data as real ones do.
start_cloud() {
	if cloud_runs; then return 0; fi
	mkdir -p "$cloud"
	"$(testbed/setup/go.sh --path)" build -trimpath -o "$bed/bin/ec2" ./testbed/ec2/cmd
	nohup "$programs/bed" exec login -- "$bed/bin/ec2" --listen 127.0.0.1:0 --dir "$cloud" --types g6.xlarge,g6.2xlarge >"$cloud/log" 2>&1 </dev/null &
	echo $! >"$cloud/pid"
	for _ in $(seq 300); do
		grep -q '^credentials: ' "$cloud/log" && return 0
		kill -0 "$!" 2>/dev/null || break
		sleep 0.1
	done
	echo "demo: what stands in for Amazon did not start; its log:" >&2
	tail -n 20 "$cloud/log" >&2
	return 1
}

# port_of NAME is a free port for something of the daemon: the same after a restart, or rented machines, which know it, end when their lease is over.
port_of() {
	if [ ! -s "$dir/$1.port" ]; then
		for _ in $(seq 20); do
			port=$(shuf -i 20000-32000 -n 1)
			(exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
		done
		echo "$port" >"$dir/$1.port"
	fi
	cat "$dir/$1.port"
}

# The federation: two Slurm clusters, this machine, and Amazon.
configure() {
	echo "agents: {listen: \"127.0.0.1:$(port_of agents)\"}"
	echo "web: {listen: \"127.0.0.1:$(port_of web)\"}"
	"$programs/bed" config alpha beta
	cat <<T
  - name: local
    kind: local
    local: {nodes: 4, cpus: 4, mem_mib: 8000, price: 0.01}
  - name: aws
    kind: aws
    aws: {region: us-east-2, endpoint: "$(sed -n 's/^endpoint: //p' "$cloud/log")", credentials_file: $cloud/credentials, types: [g6.xlarge, g6.2xlarge], boot: 5s}
    pools: [{name: main, max: 4, idle: 2m, near: true}]
    speed: {l4: 0.06}
T
}

start() {
	if running; then return 0; fi
	mkdir -p "$dir" "$bed/bin"
	# everybody's commands, where every user and every site can read them
	install -m 755 "$programs"/fsub "$programs"/fed "$programs"/fed-agent "$bed/bin/"
	"$bed/bin/fed" shims install "$bed/bin" >/dev/null
	start_cloud
	(umask 077; configure >"$dir/fed.yaml.new"; : >>"$dir/fed.log") && mv "$dir/fed.yaml.new" "$dir/fed.yaml"
	chmod 600 "$dir/fed.log"
	nohup "$programs/bed" exec login -- "$bed/bin/fed" serve --config "$dir/fed.yaml" >>"$dir/fed.log" 2>&1 </dev/null &
	echo $! >"$pidfile"
	for _ in $(seq 300); do
		if [ -S "$dir/fsub.sock" ] && "$bed/bin/fed" site list --json --socket "$dir/fsub.sock" 2>/dev/null | grep -q '"answering": true'; then
			! "$bed/bin/fed" site list --json --socket "$dir/fsub.sock" | grep -q '"answering": false' && return 0
		fi
		kill -0 "$!" 2>/dev/null || { echo "demo: the daemon did not start; its log:" >&2; tail -n 20 "$dir/fed.log" >&2; return 1; }
		sleep 0.1
	done
	echo "demo: not every site answers:" >&2
	"$bed/bin/fed" site list --socket "$dir/fsub.sock" >&2
	return 1
}

case ${1:-} in
start) start ;;
stop) stop ;;
restart) testbed/demo/several.sh stop && stop && start ;;
*) echo "usage: daemon.sh start|stop|restart" >&2; exit 2 ;;
esac
