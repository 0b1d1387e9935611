# What the scripts tell the test: which program of which version, and what of it was seen to work.
version() { echo "client $*"; }
shown() { echo "shown $*"; }

# until_true WHAT COMMAND...: wait for something to become true
until_true() {
	what=$1
	shift
	for _ in $(seq 1000); do
		if "$@"; then return 0; fi
		sleep 0.3
	done
	echo "not within 300 s: $what"
	return 1
}

# interrupted PID: Ctrl-C for the program that the background shell PID runs; true when no job of the user's is left
interrupted() {
	pkill -INT -P "$1" || true
	sleep 1
	[ -z "$(squeue -h --me -o %i)" ]
}
