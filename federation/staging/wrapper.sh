# fsub runs this in place of the user's script where the user's files are not to be seen. It fetches script and files into a
# directory of its own, runs the script there, and sends back what the script wrote. Names begin with _fsub; nothing of it
# reaches the script but SLURM_SUBMIT_DIR, which is that directory.

_fsub_say() { printf 'fsub: %s\n' "$*" >&2; }
_fsub_bin=/usr/local/bin:/usr/bin:/bin # the user's PATH may be made for another machine

# The three ways to fetch and send take address and file, "-" for the standard output. _fsub_stream takes address and length, and sends
# so many bytes of its standard input. An address lets anybody in, so it never stands in an argument, where other users of the node see it.
if PATH=$_fsub_bin command -v curl >/dev/null; then
	_fsub_get() { printf 'url = "%s"\n' "$1" | PATH=$_fsub_bin curl -q -fsSL --connect-timeout 20 --speed-limit 1 --speed-time 60 -K - -o "$2"; }
	_fsub_put() {
		{ printf 'url = "%s"\n' "$1"; printf 'header = "%s"\n' "$_fsub_header"; } |
			PATH=$_fsub_bin curl -q -fsS --connect-timeout 20 --speed-limit 1 --speed-time 60 -K - -T "$2" -o /dev/null
	}
	_fsub_stream() { # without that empty header curl sends chunks, which S3 does not take
		{ printf 'url = "%s"\n' "$1"; printf 'header = "%s"\n' "$_fsub_header" "Content-Length: $2" "Transfer-Encoding:"; } >"$_fsub_dir/keep.to"
		PATH=$_fsub_bin curl -q -fsS --connect-timeout 20 --speed-limit 1 --speed-time 60 -K "$_fsub_dir/keep.to" -T - -o /dev/null
	}
elif PATH=$_fsub_bin command -v python3 >/dev/null; then
	_fsub_python='
import os, shutil, sys, urllib.parse, http.client
def call(method, url, body, headers):
    for _ in range(5):
        u = urllib.parse.urlsplit(url)
        kind = http.client.HTTPSConnection if u.scheme == "https" else http.client.HTTPConnection
        c = kind(u.netloc, timeout=60, blocksize=1 << 18)
        c.request(method, u.path + ("?" + u.query if u.query else ""), body, headers)
        r = c.getresponse()
        if r.status // 100 != 3: break
        url = urllib.parse.urljoin(url, r.getheader("Location"))
    if r.status // 100 != 2: sys.exit("HTTP status %d" % r.status)
    return r
method, name, url = sys.argv[1], sys.argv[2], os.fdopen(3).readline().strip()
if method == "GET":
    with open(1 if name == "-" else name, "wb") as f: shutil.copyfileobj(call("GET", url, None, {}), f, 1 << 18)
else:
    h = dict([tuple(sys.argv[3].split(": ", 1))]); h["Content-Length"] = sys.argv[4] if name == "-" else str(os.path.getsize(name))
    with open(0 if name == "-" else name, "rb") as f: call("PUT", url, f, h)'
	_fsub_get() { printf '%s\n' "$1" | PATH=$_fsub_bin python3 -I -c "$_fsub_python" GET "$2" 3<&0; }
	_fsub_put() { printf '%s\n' "$1" | PATH=$_fsub_bin python3 -I -c "$_fsub_python" PUT "$2" "$_fsub_header" 3<&0; }
	_fsub_stream() {
		printf '%s\n' "$1" >"$_fsub_dir/keep.to"
		PATH=$_fsub_bin python3 -I -c "$_fsub_python" PUT - "$_fsub_header" "$2" 3<"$_fsub_dir/keep.to"
	}
elif PATH=$_fsub_bin command -v wget >/dev/null; then
	_fsub_get() { printf '%s\n' "$1" | PATH=$_fsub_bin wget --no-config -nv -T 60 -t 1 -O "$2" -i -; }
	_fsub_put() { printf '%s\n' "$1" | PATH=$_fsub_bin wget --no-config -nv -T 60 -t 1 --method=PUT --body-file="$2" --header="$_fsub_header" -O /dev/null -i -; }
	_fsub_stream() { PATH=$_fsub_bin cat >"$_fsub_dir/keep.piece" && _fsub_put "$1" "$_fsub_dir/keep.piece"; } # it must see the file's length
else
	_fsub_say "this node cannot fetch the job's files: it has none of curl, python3 and wget; its administrator can install one"
	exit 1
fi

# _fsub_try COMMAND... repeats a fetch or a send that failed, for two minutes or so.
_fsub_try() {
	for _fsub_pause in 1 2 4 8 16 30 60 0; do
		"$@" 2>"$_fsub_dir/trouble" && return 0
		[ "$_fsub_pause" = 0 ] || PATH=$_fsub_bin sleep $_fsub_pause
	done
	return 1
}
_fsub_trouble() { PATH=$_fsub_bin tail -n 1 "$_fsub_dir/trouble" 2>/dev/null; }

# _fsub_url NAME prints the address of an object of this task.
_fsub_url() {
	while read -r _fsub_t _fsub_n _fsub_u; do
		[ "$_fsub_t $_fsub_n" = "$_fsub_task $1" ] && printf '%s\n' "$_fsub_u" && return
	done <"$_fsub_dir/urls"
	return 1
}

_fsub_size() { PATH=$_fsub_bin wc -c <"$1" 2>/dev/null || echo 0; }
_fsub_sent() { PATH=$_fsub_bin cat "$_fsub_dir/sent.$1"; }

# _fsub_ship PUT STREAM FILE sends what is new of an output. A piece is sent again as it grows.
_fsub_ship() {
	_fsub_now=$(($(_fsub_size "$3"))) _fsub_old=$(_fsub_sent "$2") _fsub_k=0 _fsub_start=0 _fsub_len=$_fsub_first
	while [ $_fsub_k -lt $_fsub_pieces ] && [ $_fsub_now -gt $_fsub_start ]; do
		_fsub_end=$((_fsub_start + _fsub_len))
		if [ $_fsub_old -lt $_fsub_end ] && [ $_fsub_now -gt $_fsub_old ]; then
			[ $_fsub_end -lt $_fsub_now ] || _fsub_end=$_fsub_now
			PATH=$_fsub_bin tail -c +$((_fsub_start + 1)) "$3" 2>/dev/null | PATH=$_fsub_bin head -c $((_fsub_end - _fsub_start)) >"$_fsub_dir/piece"
			$1 "$(_fsub_url "$2.$_fsub_k")" "$_fsub_dir/piece" || return 1
		fi
		_fsub_start=$((_fsub_start + _fsub_len)) _fsub_len=$((_fsub_len * 4)) _fsub_k=$((_fsub_k + 1))
	done
	echo $_fsub_now >"$_fsub_dir/sent.$2"
}

# _fsub_report PUT [STATUS] sends both outputs and then says how much of them counts.
_fsub_report() {
	_fsub_ship "$1" out "$_fsub_out" || return 1
	[ -z "$_fsub_err" ] || _fsub_ship "$1" err "$_fsub_err" || return 1
	echo "out $(_fsub_sent out) err $(_fsub_sent err) run ${SLURM_RESTART_COUNT:-0} done ${2:--} keep ${_fsub_found:--}" >"$_fsub_dir/state"
	$1 "$(_fsub_url state)" "$_fsub_dir/state"
}

# What --keep names is copied to the store while the script runs, and is fetched before it runs again. A copy is a tar archive in pieces, none
# of which lies on the node: it goes from tar to the store and back. It counts once the mark names it: until then the one before does, under
# other names.

# _fsub_sight PATH... prints a word that changes with any of the files.
_fsub_sight() {
	cd "$_fsub_dir/work" && PATH=$_fsub_bin find "$@" -exec stat -c '%n %s %y %i %a' {} + 2>/dev/null | PATH=$_fsub_bin sha256sum
}

# _fsub_pack PATH... archives those that are there, as _fsub_how says. 9: none is.
_fsub_pack() {
	cd "$_fsub_dir/work" || return 2
	for _fsub_p; do
		shift
		[ ! -e "$_fsub_p" ] && [ ! -h "$_fsub_p" ] || set -- "$@" "$_fsub_p"
	done
	[ $# -gt 0 ] || return 9
	LC_ALL=C PATH=$_fsub_bin tar $_fsub_blocks $_fsub_how -- "$@" 2>"$_fsub_dir/keep.trouble"
}

# _fsub_measure sets _fsub_len to the length of the archive. GNU tar reads no file for that.
_fsub_measure() {
	(_fsub_how='--totals -cf /dev/null' && _fsub_kept _fsub_pack) || return
	_fsub_len=$(PATH=$_fsub_bin tail -n 1 "$_fsub_dir/keep.trouble")
	_fsub_len=${_fsub_len#Total bytes written: }
	_fsub_len=${_fsub_len%% *}
	case $_fsub_len in '' | *[!0-9]*) _fsub_len=$(($( (_fsub_how='-cf -' && _fsub_kept _fsub_pack) | PATH=$_fsub_bin wc -c))) ;; esac
}

# _fsub_hashed passes on what it reads. _fsub_hash_begin comes before it, and _fsub_hash_end, which sets _fsub_got to the SHA-256 of that, after.
_fsub_hash_begin() {
	: >"$_fsub_dir/keep.sum"
	[ -z "$_fsub_copier" ] || return 0
	[ -e "$_fsub_dir/keep.fifo" ] || PATH=$_fsub_bin mkfifo "$_fsub_dir/keep.fifo" || return 1
	_fsub_sum <"$_fsub_dir/keep.fifo" >"$_fsub_dir/keep.sum" &
	_fsub_hashing=$!
}
_fsub_hashed() { PATH=$_fsub_bin tee "$_fsub_dir/keep.fifo"; }
_fsub_hash_end() {
	[ -n "$_fsub_copier" ] || wait $_fsub_hashing
	read -r _fsub_got _fsub_x <"$_fsub_dir/keep.sum"
}

# _fsub_cut passes on so much as a piece has.
_fsub_cut() { PATH=$_fsub_bin dd bs=1048576 count=$((_fsub_piece / 1048576)) iflag=fullblock 2>/dev/null; }

# _fsub_pieces sends what it reads. What an earlier try has sent of the same files is not sent again.
_fsub_pieces() {
	_fsub_k=0 _fsub_left=$_fsub_len
	while [ $_fsub_left -gt $_fsub_piece ]; do
		if [ $_fsub_k -lt $_fsub_done ]; then
			_fsub_cut >/dev/null
		else
			_fsub_cut | _fsub_stream "$(_fsub_url copy$_fsub_slot.$_fsub_k.put)" $_fsub_piece || return 1
			echo $((_fsub_k + 1)) >"$_fsub_dir/keep.done"
		fi
		_fsub_left=$((_fsub_left - _fsub_piece)) _fsub_k=$((_fsub_k + 1))
	done
	_fsub_stream "$(_fsub_url copy$_fsub_slot.$_fsub_k.put)" $_fsub_left # all that is left
}

# _fsub_send_copy sends the archive that it reads, and _fsub_fetch_copy prints one that was saved. _fsub_hash_begin comes before either, and
# _fsub_hash_end after. Where our agent is, one program of its does it all.
_fsub_send_copy() {
	if [ -n "$_fsub_copier" ]; then
		"$_fsub_copier" put "$_fsub_dir/urls" "$_fsub_task" copy$_fsub_slot $_fsub_len $_fsub_piece "$_fsub_dir/keep.sum" "$_fsub_dir/keep.done" "$_fsub_header"
	else
		_fsub_hashed | _fsub_pieces
	fi
}
_fsub_fetch_copy() {
	if [ -n "$_fsub_copier" ]; then
		"$_fsub_copier" get "$_fsub_dir/urls" "$_fsub_task" $_fsub_copy $_fsub_len_of $_fsub_piece_of "$_fsub_dir/keep.sum" && : >"$_fsub_dir/keep.gathered"
	else
		_fsub_gather | _fsub_hashed
	fi
}

# _fsub_ask asks which copy counts. _fsub_slot is empty if none does. A save asks too: the word of the one before may have arrived although
# that was not told so, and the copy that counts must not be written over.
_fsub_ask() {
	_fsub_get "$(_fsub_url mark.get)" "$_fsub_dir/keep.mark" 2>"$_fsub_dir/keep.trouble" || return 1
	read -r _fsub_former <"$_fsub_dir/keep.mark"
	read -r _fsub_w _fsub_slot _fsub_x <"$_fsub_dir/keep.mark"
	[ "$_fsub_w" = slot ] || _fsub_slot=
}

# _fsub_save copies what is to be kept if it has changed. It fails if any of it is written to meanwhile.
_fsub_save() {
	_fsub_is=$(_fsub_kept _fsub_sight)
	[ "$_fsub_is" != "$(PATH=$_fsub_bin cat "$_fsub_dir/keep.sight" 2>/dev/null)" ] || return 0
	_fsub_measure
	case $? in 0) ;; 9) return 0 ;; *) return 1 ;; esac
	if [ $_fsub_len -gt $_fsub_max ]; then
		echo "it comes to $_fsub_len bytes, at most $_fsub_max are carried (blobs: max_mib)" >"$_fsub_dir/keep.trouble"
		return 1
	fi
	_fsub_ask || return 1
	_fsub_slot=$((1 - ${_fsub_slot:-1}))
	if [ "$(PATH=$_fsub_bin cat "$_fsub_dir/keep.begun" 2>/dev/null)" != "$_fsub_slot $_fsub_is" ]; then
		echo 0 >"$_fsub_dir/keep.done"
		echo "$_fsub_slot $_fsub_is" >"$_fsub_dir/keep.begun"
	fi
	_fsub_done=$(PATH=$_fsub_bin cat "$_fsub_dir/keep.done")
	_fsub_hash_begin || return 1
	{
		(_fsub_how='-cf -' && _fsub_kept _fsub_pack)
		echo $? >"$_fsub_dir/keep.packed"
	} | _fsub_send_copy 2>"$_fsub_dir/trouble"
	_fsub_bad=$?
	_fsub_hash_end
	if [ "$(_fsub_kept _fsub_sight)" != "$_fsub_is" ]; then
		echo "it was written to while it was copied" >"$_fsub_dir/keep.trouble"
		return 1
	fi
	if [ $_fsub_bad != 0 ]; then
		_fsub_trouble >"$_fsub_dir/keep.trouble"
		return 1
	fi
	[ "$(PATH=$_fsub_bin cat "$_fsub_dir/keep.packed")" = 0 ] || return 1
	{
		echo "slot $_fsub_slot bytes $_fsub_len at $(PATH=$_fsub_bin date +%s) run ${SLURM_RESTART_COUNT:-0} sum $_fsub_got piece $_fsub_piece"
		case $_fsub_former in slot*) echo "$_fsub_former" ;; esac # while it is not written over it stands in for the new one
	} >"$_fsub_dir/keep.mark"
	_fsub_put "$(_fsub_url mark.put)" "$_fsub_dir/keep.mark" 2>"$_fsub_dir/keep.trouble" || return 1
	printf '%s\n' "$_fsub_is" >"$_fsub_dir/keep.sight"
}

# _fsub_keeper saves what has changed and is at rest for a second, at most so often as it is to; at once when the job was told to end. It
# runs beside the script, deaf to the signals of the job, so that these do not end a copy.
_fsub_keeper() {
	trap '' $_fsub_signals
	_fsub_due=0 _fsub_before=
	while [ ! -e "$_fsub_dir/end" ]; do
		PATH=$_fsub_bin sleep 1
		_fsub_time=$(PATH=$_fsub_bin date +%s)
		[ -e "$_fsub_dir/told" ] || [ $_fsub_time -ge $_fsub_due ] || continue
		_fsub_sees=$(_fsub_kept _fsub_sight)
		if [ "$_fsub_sees" = "$(PATH=$_fsub_bin cat "$_fsub_dir/keep.sight" 2>/dev/null)" ]; then
			# Nothing is new. Of many files even a look is work.
			_fsub_due=$((_fsub_time + ($(PATH=$_fsub_bin date +%s) - _fsub_time) * 10))
		elif [ "$_fsub_sees" = "$_fsub_before" ]; then
			_fsub_save && _fsub_due=$((_fsub_time + _fsub_every))
		fi
		_fsub_before=$_fsub_sees
	done
}

# _fsub_keep_last STATUS saves for the last time what a script has left that was told to end, or that has failed.
_fsub_keep_last() {
	[ -n "$_fsub_keeping" ] || return 0
	: >"$_fsub_dir/end"
	wait "$_fsub_keeping" 2>/dev/null
	[ "$1" != 0 ] || [ -e "$_fsub_dir/told" ] || return 0
	for _fsub_rest in 1 1 2 4 8 16 30 60 0; do
		_fsub_save && return
		PATH=$_fsub_bin sleep $_fsub_rest
	done
	_fsub_say "keep: the last copy failed, the one before counts: $(PATH=$_fsub_bin tail -n 1 "$_fsub_dir/keep.trouble" 2>/dev/null)"
}

# _fsub_gather prints the archive: the pieces of a copy.
_fsub_gather() {
	_fsub_k=0 _fsub_left=$_fsub_len_of
	while [ $_fsub_left -gt 0 ]; do
		_fsub_get "$(_fsub_url $_fsub_copy.$_fsub_k.get)" - || return 1
		_fsub_left=$((_fsub_left - _fsub_piece_of)) _fsub_k=$((_fsub_k + 1))
	done
	: >"$_fsub_dir/keep.gathered"
}

# _fsub_unpack unpacks a copy beside the job's directory. 3: it is not what was saved.
_fsub_unpack() {
	PATH=$_fsub_bin rm -rf "$_fsub_dir/keep.gathered" "$_fsub_dir/keep.new"
	PATH=$_fsub_bin mkdir "$_fsub_dir/keep.new" && _fsub_hash_begin || return 1
	_fsub_fetch_copy | (
		PATH=$_fsub_bin tar -xf - -C "$_fsub_dir/keep.new" 2>"$_fsub_dir/keep.trouble"
		_fsub_bad=$?
		PATH=$_fsub_bin cat >/dev/null
		exit $_fsub_bad
	)
	_fsub_bad=$?
	_fsub_hash_end
	[ -e "$_fsub_dir/keep.gathered" ] || return 1
	[ "$_fsub_got" = "$_fsub_want" ] || return 3
	[ $_fsub_bad = 0 ] || PATH=$_fsub_bin tail -n 1 "$_fsub_dir/keep.trouble" >&2
	return $_fsub_bad
}

# _fsub_bring unpacks a copy so, and tries again for two minutes or so. 3: it is damaged, or some of it is missing, as two tries say.
_fsub_bring() {
	_fsub_times=0
	for _fsub_pause in 1 2 4 8 16 30 60 0; do
		_fsub_unpack 2>"$_fsub_dir/trouble" && return 0
		case $?$(_fsub_trouble) in 3* | *' 404'* | *'missing: EOF') _fsub_times=$((_fsub_times + 1)) ;; esac
		[ $_fsub_times -lt 2 ] || return 3
		[ "$_fsub_pause" = 0 ] || PATH=$_fsub_bin sleep $_fsub_pause
	done
	return 1
}

# _fsub_place PATH... moves what was unpacked to where the job finds it.
_fsub_place() {
	cd "$_fsub_dir/keep.new" || return
	for _fsub_p; do
		[ -e "$_fsub_p" ] || [ -h "$_fsub_p" ] || continue
		if [ -e "../work/$_fsub_p" ] || [ -h "../work/$_fsub_p" ]; then # the job's other files are there, too
			PATH=$_fsub_bin tar -cf - -- "$_fsub_p" | PATH=$_fsub_bin tar -xf - -C ../work || return
		else
			PATH=$_fsub_bin mkdir -p "$(PATH=$_fsub_bin dirname "../work/$_fsub_p")" && PATH=$_fsub_bin mv "$_fsub_p" "../work/$_fsub_p" || return
		fi
	done
}

# _fsub_copies prints what there is, the newest first: how the names of its pieces begin, its length, its sum, and the length of a piece.
_fsub_copies() {
	while read -r _fsub_w _fsub_slot _fsub_x _fsub_len_of _fsub_x _fsub_x _fsub_x _fsub_x _fsub_x _fsub_want _fsub_x _fsub_piece_of; do
		[ "$_fsub_w" != slot ] || echo "copy$_fsub_slot $_fsub_len_of $_fsub_want $_fsub_piece_of"
	done <"$_fsub_dir/keep.mark"
	for _fsub_copy in old older; do
		_fsub_want=$(_fsub_url $_fsub_copy.sum) || return 0
		echo "$_fsub_copy $(_fsub_url $_fsub_copy.bytes) $_fsub_want $(_fsub_url $_fsub_copy.piece)"
	done
}

# _fsub_restore puts the newest whole copy back: of an earlier run of this attempt, or of an earlier attempt. Nothing of it is in the job's
# directory before it was checked. If there are copies, but none is whole, the job does not start: the daemon holds it.
_fsub_restore() {
	[ $_fsub_every -gt 0 ] || return 0
	_fsub_try _fsub_ask || _fsub_fail "keep: what was saved could not be asked for: $(PATH=$_fsub_bin tail -n 1 "$_fsub_dir/keep.trouble")"
	_fsub_copies >"$_fsub_dir/keep.copies"
	[ -s "$_fsub_dir/keep.copies" ] || return 0
	while read -r _fsub_copy _fsub_len_of _fsub_want _fsub_piece_of <&4; do
		_fsub_bring
		case $? in
		0) break ;;
		3) _fsub_found=older ;;
		*) _fsub_fail "keep: what was saved could not be brought back: $(_fsub_trouble)" ;;
		esac
		_fsub_copy=
	done 4<"$_fsub_dir/keep.copies"
	if [ -z "$_fsub_copy" ]; then
		_fsub_found=lost
		_fsub_fail "keep: no copy of what was saved is whole: the script was not started"
	fi
	[ -z "$_fsub_found" ] || _fsub_say "keep: the newest copy is damaged: the one before is used"
	(_fsub_kept _fsub_place 2>"$_fsub_dir/trouble") || _fsub_fail "keep: what was saved could not be brought back: $(_fsub_trouble)"
	PATH=$_fsub_bin rm -rf "$_fsub_dir/keep.new"
	_fsub_sees=$(_fsub_kept _fsub_sight)
	printf '%s\n' "$_fsub_sees" >"$_fsub_dir/keep.sight"
}

_fsub_put_hard() { _fsub_try _fsub_put "$@"; }
_fsub_put_soft() { _fsub_put "$@" 2>/dev/null; }

# _fsub_follow sends the output while the script runs, the less often the more it is. It sees the signals that everybody in the
# job gets, and says so.
_fsub_follow() {
	for _fsub_sig in $_fsub_signals; do trap "echo >'$_fsub_dir/sig.$_fsub_sig'" $_fsub_sig; done
	_fsub_wait=2
	while [ ! -e "$_fsub_dir/end" ]; do
		PATH=$_fsub_bin sleep 1
		_fsub_wait=$((_fsub_wait - 1))
		[ $_fsub_wait -le 0 ] || continue
		_fsub_total=$(($(_fsub_size "$_fsub_out") + $([ -z "$_fsub_err" ] && echo 0 || _fsub_size "$_fsub_err")))
		_fsub_wait=$((2 + _fsub_total / 262144))
		[ $_fsub_wait -le 300 ] || _fsub_wait=300
		[ "$_fsub_total" = "$_fsub_last" ] && continue
		_fsub_report _fsub_put_soft && _fsub_last=$_fsub_total
	done
}

# _fsub_forward SIGNAL passes on what only this shell was sent (scancel --batch, --signal=B:). What everybody in the job is
# sent has reached the script already; that the follower has seen it tells the two apart.
_fsub_forward() {
	_fsub_got=1
	: >"$_fsub_dir/told"
	if [ -z "$_fsub_pid" ]; then # the script is just being started
		_fsub_pending="$_fsub_pending $1"
		return
	fi
	_fsub_seen=$1
	for _fsub_i in 1 2 3 4; do
		[ -e "$_fsub_dir/sig.$1" ] && PATH=$_fsub_bin rm -f "$_fsub_dir/sig.$1" && return
		PATH=$_fsub_bin sleep 0.05
	done 2>/dev/null # where some shells say that the sleep was ended by the signal
	kill -s "$1" "$_fsub_pid" 2>/dev/null
}

# _fsub_close STATUS sends the outputs for good and leaves the node as it was.
_fsub_close() {
	trap '' $_fsub_signals
	: >"$_fsub_dir/end"
	[ -z "$_fsub_follower" ] || wait "$_fsub_follower" 2>/dev/null
	if ! _fsub_report _fsub_put_hard "$1"; then
		_fsub_say "the output could not be sent back: $(_fsub_trouble)"
	fi
	cd / && PATH=$_fsub_bin rm -rf "$_fsub_dir"
	for _fsub_f in "$_fsub_out" "$_fsub_err"; do
		case $_fsub_f in "$_fsub_scratch"/fsub-*) PATH=$_fsub_bin rm -f "$_fsub_f" ;; esac
	done
}
_fsub_fail() {
	_fsub_say "$*"
	_fsub_close 1
	exit 1
}

# _fsub_collect I PATTERN sends what a stage-out directive names. IFS is empty: blanks in names do not part them.
_fsub_collect() {
	cd "$_fsub_dir/work" || return 1
	_fsub_i=$1 IFS=
	set -- $2
	unset IFS
	if [ ! -e "$1" ] && [ ! -h "$1" ]; then
		_fsub_say "stage-out: nothing matches $1"
		return 0
	fi
	if ! PATH=$_fsub_bin tar -cf "$_fsub_dir/files.tar" -- "$@" 2>"$_fsub_dir/trouble"; then
		_fsub_say "stage-out: $1: $(_fsub_trouble)"
		return 1
	fi
	if [ "$(($(_fsub_size "$_fsub_dir/files.tar")))" -gt $_fsub_one ]; then
		_fsub_say "stage-out: $1 comes to $(($(_fsub_size "$_fsub_dir/files.tar"))) bytes, at most $_fsub_one are carried (blobs: max_mib)"
		return 1
	fi
	if ! _fsub_try _fsub_put "$(_fsub_url "files.$_fsub_i.tar")" "$_fsub_dir/files.tar"; then
		_fsub_say "stage-out: $1 could not be sent: $(_fsub_trouble)"
		return 1
	fi
	PATH=$_fsub_bin rm -f "$_fsub_dir/files.tar"
}

# _fsub_send PATH ADDRESS sends a file to an address of the user's own.
_fsub_send() {
	_fsub_try _fsub_put "$2" "$_fsub_dir/work/$1" && return
	_fsub_say "stage-out: $1 could not be sent to its address: $(_fsub_trouble)"
	return 1
}

# _fsub_fetch PATH ADDRESS fetches a file from an address of the user's own.
_fsub_fetch() {
	PATH=$_fsub_bin mkdir -p "$(PATH=$_fsub_bin dirname "$_fsub_dir/work/$1")"
	_fsub_try _fsub_get "$2" "$_fsub_dir/work/$1" || _fsub_fail "stage-in: $1 could not be fetched: $(_fsub_trouble)"
}

_fsub_task=- # the variable may come from the job that submitted this one
[ $_fsub_array = 0 ] || _fsub_task=$SLURM_ARRAY_TASK_ID
_fsub_signals="HUP INT QUIT USR1 USR2 TERM ALRM"
_fsub_out=$(PATH=$_fsub_bin readlink /proc/$$/fd/1)
_fsub_err= _fsub_seen= _fsub_follower= _fsub_keeping= _fsub_found=
[ $_fsub_two = 0 ] || _fsub_err=$(PATH=$_fsub_bin readlink /proc/$$/fd/2)
_fsub_dir=$(PATH=$_fsub_bin mktemp -d "$_fsub_scratch/fsub-${SLURM_JOB_ID:-0}.XXXXXX") || {
	_fsub_say "no directory for the job can be made in $_fsub_scratch of $(PATH=$_fsub_bin uname -n)"
	exit 1
}
trap : $_fsub_signals
echo 0 >"$_fsub_dir/sent.out"
echo 0 >"$_fsub_dir/sent.err"
if ! _fsub_try _fsub_get "$(_fsub_block)" "$_fsub_dir/urls"; then
	_fsub_say "stage-in: the job's files could not be fetched: $(_fsub_trouble)"
	PATH=$_fsub_bin rm -rf "$_fsub_dir"
	exit 1
fi
_fsub_report _fsub_put_soft # an earlier run of this attempt counts no more
_fsub_try _fsub_get "$(_fsub_url in.tar)" "$_fsub_dir/in.tar" || _fsub_fail "stage-in: the job's files could not be fetched: $(_fsub_trouble)"
# What came may have come in clear text: it is what the daemon wrote, or nothing of it is run.
_fsub_got=$(PATH=$_fsub_bin sha256sum <"$_fsub_dir/in.tar" 2>"$_fsub_dir/trouble") || _fsub_fail "stage-in: the job's files could not be checked: $(_fsub_trouble)"
[ "${_fsub_got%% *}" = "$_fsub_sum" ] || _fsub_fail "stage-in: the job's files are not those that were sent: somebody has changed them on the way"
PATH=$_fsub_bin tar -xf "$_fsub_dir/in.tar" -C "$_fsub_dir" 2>"$_fsub_dir/trouble" || _fsub_fail "stage-in: the job's files could not be unpacked: $(_fsub_trouble)"
PATH=$_fsub_bin rm -f "$_fsub_dir/in.tar"
_fsub_in
case $(PATH=$_fsub_bin openssl dgst -sha256 -r </dev/null 2>/dev/null) in # several times as fast as coreutils', on most machines
e3b0c442*) _fsub_sum() { PATH=$_fsub_bin openssl dgst -sha256 -r; } ;;
*) _fsub_sum() { PATH=$_fsub_bin sha256sum; } ;;
esac
_fsub_blocks=
! PATH=$_fsub_bin tar -b 128 -cf - /dev/null >/dev/null 2>&1 || _fsub_blocks='-b 128' # a pipe takes so much at a time, and most tars write less
_fsub_copier=$(command -v fsub-copy)
_fsub_restore
cd "$_fsub_dir/work" || _fsub_fail "the job's directory $_fsub_dir/work is gone"
export SLURM_SUBMIT_DIR="$_fsub_dir/work"

_fsub_stdin=/dev/null
[ ! -e "$_fsub_dir/stdin" ] || _fsub_stdin=$_fsub_dir/stdin
_fsub_follow </dev/null 2>/dev/null &
_fsub_follower=$!
if [ $_fsub_every -gt 0 ]; then
	_fsub_keeper </dev/null 2>/dev/null &
	_fsub_keeping=$!
fi
# A command in the background is made deaf to INT and QUIT by the shell: env undoes that, where it is new enough.
_fsub_env=
_fsub_pid= _fsub_pending=
trap '_fsub_got=1; : >"$_fsub_dir/told"' URG # an agent's word that the machine goes, where the script itself is not told
for _fsub_sig in $_fsub_signals; do trap "_fsub_forward $_fsub_sig" $_fsub_sig; done
PATH=$_fsub_bin env --default-signal=INT true 2>/dev/null && _fsub_env="$(PATH=$_fsub_bin command -v env) --default-signal=INT,QUIT"
if [ -x "$_fsub_dir/slurm_script" ]; then
	$_fsub_env "$_fsub_dir/slurm_script" "$@" <"$_fsub_stdin" &
else # a file system from which nothing is executed: do what the kernel would
	read -r _fsub_line <"$_fsub_dir/slurm_script"
	_fsub_line=${_fsub_line#\#!}
	$_fsub_env $_fsub_line "$_fsub_dir/slurm_script" "$@" <"$_fsub_stdin" &
fi
_fsub_pid=$!
for _fsub_sig in $_fsub_pending; do _fsub_forward $_fsub_sig; done
while :; do
	_fsub_got=
	wait $_fsub_pid 2>/dev/null # where some shells say what it died of
	_fsub_status=$?
	[ -n "$_fsub_got" ] || break
	# A signal came. Wait again; 127 says that the status before was the script's own.
	_fsub_before=$_fsub_status
	kill -0 $_fsub_pid 2>/dev/null && continue
	wait $_fsub_pid 2>/dev/null
	_fsub_status=$?
	[ $_fsub_status != 127 ] || _fsub_status=$_fsub_before
	break
done
trap '' $_fsub_signals URG
_fsub_keep_last "$_fsub_status"
_fsub_results || [ $_fsub_status != 0 ] || _fsub_status=1
_fsub_close "$_fsub_status"
# A script that died of a signal that it was sent: so does the job, as far as Slurm can see.
if [ -n "$_fsub_seen" ] && [ "$_fsub_status" -gt 128 ] && [ "$(kill -l $((_fsub_status - 128)) 2>/dev/null)" = "$_fsub_seen" ]; then
	trap - "$_fsub_seen"
	kill -s "$_fsub_seen" $$
fi
exit "$_fsub_status"
