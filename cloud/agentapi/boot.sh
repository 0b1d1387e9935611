#!/bin/sh
# Starts the node agent of a job. Made by fsub.
umask 077
dir=$(mktemp -d "${TMPDIR:-/var/tmp}/fsub-XXXXXX") || dir=
cd "${dir:-/nowhere}" && cat > boot <<'END-OF-BOOT-DATA'
@BOOT@
END-OF-BOOT-DATA

value() { sed -n "s/^$1=//p" boot; }

fetch() {
	if command -v curl > /dev/null; then
		curl -fsSk --connect-timeout 10 --max-time 300 -o "$2" "$1"
	elif command -v wget > /dev/null; then
		wget -q --no-check-certificate -T 30 -t 1 -O "$2" "$1"
	elif command -v python3 > /dev/null; then
		python3 -c 'import ssl, sys, urllib.request as u
open(sys.argv[2], "wb").write(u.urlopen(sys.argv[1], timeout=30, context=ssl._create_unverified_context()).read())' "$1" "$2"
	else
		echo 'fsub: neither curl nor wget nor python3: the agent cannot be fetched'
		tries=0
		return 1
	fi
}

hash() {
	if command -v sha256sum > /dev/null; then
		sha256sum "$1"
	else
		python3 -c 'import hashlib, sys; print(hashlib.sha256(open(sys.argv[1], "rb").read()).hexdigest())' "$1"
	fi
}

# obtain sets agent to the path of the agent's binary. A network that comes up late, or a daemon that is being started again, is waited for. Of several daemons one answers.
obtain() {
	agent=$(value path)
	[ -n "$agent" ] && [ -x "$agent" ] && return 0
	want=$(value agent) servers=$(value url | sed 's/,/ /g') tries=30
	agent=$dir/fed-agent
	while [ "$tries" -gt 0 ]; do
		tries=$((tries - 1))
		for server in $servers; do
			fetch "$server/agent/v1/binary/$want" fed-agent.new || continue
			got=$(hash fed-agent.new)
			if [ "${got%% *}" = "$want" ]; then
				chmod 700 fed-agent.new && mv fed-agent.new fed-agent
				return
			fi
			echo 'fsub: what was fetched is not the agent'
		done
		[ "$tries" -eq 0 ] || sleep "${FSUB_RETRY:-5}"
	done
	return 1
}

if [ -r boot ] && obtain; then
	"$agent" -boot boot
	echo "fsub: the agent ended: $?"
else
	echo 'fsub: the machine has no agent'
fi
cd / && [ -n "$dir" ] && rm -rf "$dir"
[ -z '@OFF@' ] || ${FSUB_POWEROFF:-shutdown -h now}
