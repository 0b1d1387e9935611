# fsub runs this in place of the user's script where several tasks of an array share a job. It runs the script once for each task, _fsub_side of
# them at a time, and writes to the file $_fsub_to.status when each begins and ends. The daemon appends to $_fsub_to.control what is asked for:
# "kill INDEX", "signal NAME INDEX". Names begin with _fsub; nothing of it reaches the script.

_fsub_now() { printf -v _fsub_t '%(%s)T' -1; }
_fsub_say() { printf '%s\n' "$*" >>"$_fsub_to.status"; }

# The daemon has made the file. If it is not here, this node does not see the directory of the job, and nothing is run.
[ -f "$_fsub_to.status" ] || { echo "fsub: $(uname -n) does not see $_fsub_to.status" >&2; exit 75; }
_fsub_tmp=$(PATH=/usr/bin:/bin mktemp -d "${TMPDIR:-/tmp}/fsub-pack.XXXXXX" || PATH=/usr/bin:/bin mktemp -d /tmp/fsub-pack.XXXXXX) || exit 75
PATH=/usr/bin:/bin tail -n +"$_fsub_line" "$0" >"$_fsub_tmp/slurm_script" && PATH=/usr/bin:/bin chmod 700 "$_fsub_tmp/slurm_script" || exit 75
_fsub_setsid=$(PATH=/usr/bin:/bin command -v setsid) || exit 75
_fsub_run=("$_fsub_setsid" "$_fsub_tmp/slurm_script" "$@")
if [ ! -x "$_fsub_tmp/slurm_script" ]; then # a file system from which nothing is executed: do what the kernel would
	read -r _fsub_first <"$_fsub_tmp/slurm_script"
	_fsub_run=("$_fsub_setsid" ${_fsub_first#\#!} "$_fsub_tmp/slurm_script" "$@")
fi
_fsub_node=${SLURMD_NODENAME:-$HOSTNAME}
_fsub_node=${_fsub_node%%.*}
# FILES
export SLURM_ARRAY_JOB_ID=$_fsub_array SLURM_ARRAY_TASK_COUNT=$_fsub_count SLURM_ARRAY_TASK_MIN=$_fsub_min SLURM_ARRAY_TASK_MAX=$_fsub_max SLURM_ARRAY_TASK_STEP=$_fsub_step
[ "$_fsub_side" = 1 ] || export SLURM_OVERLAP=1 # a step of one task does not wait for those of the others

# _fsub_obey reads what was added to the control file.
_fsub_seen=0
_fsub_obey() {
	local lines word a b
	[ -e "$_fsub_to.control" ] || return
	mapfile -t -s "$_fsub_seen" lines <"$_fsub_to.control"
	_fsub_seen=$((_fsub_seen + ${#lines[@]}))
	for word in "${lines[@]}"; do
		read -r word a b <<<"$word"
		case $word in
		kill) : >|"$_fsub_tmp/k.$a" ;;
		signal) _fsub_each _fsub_signal "$a" "$b" ;;
		esac
	done
}

# _fsub_each COMMAND... calls it for each task that runs, with its index, process and start behind.
_fsub_each() {
	local n index pid start
	for ((n = 0; n < _fsub_side; n++)); do
		[ -s "$_fsub_tmp/lane.$n" ] && read -r index pid start <"$_fsub_tmp/lane.$n" && [ -n "$start" ] && "$@" "$index" "$pid" "$start"
	done
}
_fsub_signal() { [ "$2" != "$3" ] || kill -s "$1" -- "-$4"; } 2>/dev/null

# _fsub_end MARK INDEX PID asks a task to end, and ends it when that takes too long.
declare -A _fsub_asked
_fsub_end() {
	if [ -z "${_fsub_asked[$2]}" ]; then
		echo "$1" >|"$_fsub_tmp/m.$2"
		kill -s CONT -- "-$3"
		kill -s TERM -- "-$3" && _fsub_asked[$2]=$_fsub_t # there is no such group before setsid
	elif [ $((_fsub_t - ${_fsub_asked[$2]})) -ge 30 ]; then
		kill -s KILL -- "-$3"
	fi
} 2>/dev/null

# _fsub_due INDEX PID START ends a task that is to end, or whose time is over.
_fsub_due() {
	if [ -e "$_fsub_tmp/k.$1" ]; then
		_fsub_end C "$1" "$2"
	elif [ "$_fsub_limit" -gt 0 ] && [ $((_fsub_t - $3)) -ge "$_fsub_limit" ]; then
		_fsub_end T "$1" "$2"
	elif [ -e "$_fsub_tmp/stop" ]; then
		_fsub_end - "$1" "$2"
	fi
}

_fsub_watch() {
	trap : TERM
	exec {_fsub_never}<> <(:) # from which nothing comes: a sleep without a process
	while :; do
		read -r -t 1 -u "$_fsub_never"
		_fsub_now
		_fsub_obey
		_fsub_each _fsub_due
	done
}

# _fsub_wait PID waits for a process, whatever signals come, and sets _fsub_status.
_fsub_wait() {
	local before
	while :; do
		_fsub_got=
		wait "$1"
		_fsub_status=$?
		[ -n "$_fsub_got" ] || return
		before=$_fsub_status
		kill -0 "$1" 2>/dev/null && continue
		wait "$1"
		_fsub_status=$?
		[ $_fsub_status != 127 ] || _fsub_status=$before
		return
	done
}

# _fsub_lane N runs tasks one after the other: those that no other lane has taken.
_fsub_lane() {
	local n=$1 i index pid mark code signal
	trap '_fsub_got=1' TERM USR1 USR2 HUP
	set -C # > makes a file that is not there, or fails
	for ((i = 0; i < ${#_fsub_index[@]}; i++)); do
		[ ! -e "$_fsub_tmp/stop" ] || return
		{ : >"$_fsub_tmp/c.$i"; } 2>/dev/null || continue
		index=${_fsub_index[i]}
		_fsub_now
		if [ -e "$_fsub_tmp/k.$index" ]; then
			_fsub_say "$index x $_fsub_t"
			continue
		fi
		_fsub_say "$index s $_fsub_t"
		(
			trap - TERM USR1 USR2 HUP INT QUIT
			set +C
			export SLURM_ARRAY_TASK_ID=$index FSUB_JOB_ID=${_fsub_job[i]}
			exec <"${_fsub_in[i]}" || exit 1
			if [ "$_fsub_append" = 1 ]; then
				exec >>"${_fsub_out[i]}" || exit 1
				exec 2>&1
				[ -z "${_fsub_err[i]}" ] || exec 2>>"${_fsub_err[i]}" || exit 1
			else
				exec >"${_fsub_out[i]}" || exit 1
				exec 2>&1
				[ -z "${_fsub_err[i]}" ] || exec 2>"${_fsub_err[i]}" || exit 1
			fi
			exec "${_fsub_run[@]}"
		) &
		pid=$!
		echo "$index $pid $_fsub_t" >|"$_fsub_tmp/lane.$n"
		# bash says what a process died of, but of INT, PIPE, and what is trapped here: that tells a signal from an exit code above 128.
		{ _fsub_wait "$pid"; } 2>|"$_fsub_tmp/w.$n"
		: >|"$_fsub_tmp/lane.$n"
		kill -s KILL -- "-$pid" 2>/dev/null # what the script has left behind
		mark=- code=$_fsub_status signal=0
		case $code in
		129 | 130 | 138 | 140 | 141 | 143) signal=$((code - 128)) code=0 ;;
		*) [ "$code" -le 128 ] || [ ! -s "$_fsub_tmp/w.$n" ] || { signal=$((code - 128)) code=0; } ;;
		esac
		[ ! -e "$_fsub_tmp/m.$index" ] || read -r mark <"$_fsub_tmp/m.$index"
		_fsub_now
		_fsub_say "$index e $_fsub_t $code $signal $mark"
	done
}

# _fsub_stop has the job end. No task begins any more, and the watcher ends those that run, unless they have heard of it themselves.
_fsub_stop() {
	_fsub_got=1
	: >|"$_fsub_tmp/stop"
}
_fsub_all() { kill -s "$1" -- "-$3"; } 2>/dev/null
_fsub_pass() {
	_fsub_got=1
	_fsub_each _fsub_all "$1"
}

trap _fsub_stop TERM
for _fsub_n in USR1 USR2 HUP; do trap "_fsub_pass $_fsub_n" $_fsub_n; done
_fsub_obey
_fsub_now
_fsub_say "up $_fsub_t"
_fsub_lanes=()
for ((_fsub_n = 0; _fsub_n < _fsub_side; _fsub_n++)); do
	_fsub_lane $_fsub_n &
	_fsub_lanes+=($!)
done
_fsub_watch &
_fsub_watcher=$!
for _fsub_n in "${_fsub_lanes[@]}"; do _fsub_wait "$_fsub_n"; done
{
	kill -s KILL "$_fsub_watcher"
	wait "$_fsub_watcher"
} 2>/dev/null
_fsub_now
_fsub_say "end $_fsub_t"
PATH=/usr/bin:/bin rm -rf "$_fsub_tmp"
exit 0
