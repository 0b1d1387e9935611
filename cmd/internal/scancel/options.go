package scancel

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"fsub/cmd/internal/show"
	"fsub/sbatch/getopt"
	"fsub/slurm/hostlist"
)

// options are what the command line and the environment ask for.
type options struct {
	refs                                               []ref
	users, names, states                               []string
	account, partition, qos, nodes, reservation, wckey string
	clusters, sibling                                  string
	signal                                             string // without SIG; "": the usual end
	batch, full, interactive, quiet, verbose           bool
	passed                                             []string // the command line's options, for a site's own scancel
}

// filtered reports whether jobs are selected by something but their IDs.
func (o *options) filtered() bool {
	return len(o.users)+len(o.names)+len(o.states) > 0 ||
		o.account+o.partition+o.qos+o.nodes+o.reservation+o.wckey != ""
}

// kills reports whether jobs are ended, not signalled. KILL to a whole job is the same as no signal.
func (o *options) kills() bool {
	return !o.batch && (o.signal == "" || o.signal == "KILL" || o.signal == "9")
}

// plain reports whether jobs are ended by ID without further conditions: then a job that has ended
// already is not a failure.
func (o *options) plain() bool { return o.signal == "" && !o.batch && !o.filtered() && !o.interactive }

const (
	optAccount = iota
	optBatch
	optClusters
	optFull
	optHelp
	optIgnore
	optInteractive
	optMe
	optName
	optNodes
	optPartition
	optQOS
	optQuiet
	optReservation
	optSibling
	optSignal
	optState
	optUsage
	optUser
	optVerbose
	optVersion
	optWCKey
)

var optionSet = getopt.NewSet("scancel", []getopt.Option{
	{Name: "account", Short: 'A', Arg: getopt.RequiredArg, ID: optAccount},
	{Name: "batch", Short: 'b', ID: optBatch},
	{Name: "cluster", Arg: getopt.RequiredArg, ID: optClusters},
	{Name: "clusters", Short: 'M', Arg: getopt.RequiredArg, ID: optClusters},
	{Name: "cron", Short: 'c', ID: optIgnore},
	{Name: "ctld", ID: optIgnore},
	{Name: "full", Short: 'f', ID: optFull},
	{Name: "help", ID: optHelp},
	{Name: "hurry", Short: 'H', ID: optIgnore},
	{Name: "interactive", Short: 'i', ID: optInteractive},
	{Name: "jobname", Arg: getopt.RequiredArg, ID: optName},
	{Name: "me", ID: optMe},
	{Name: "name", Short: 'n', Arg: getopt.RequiredArg, ID: optName},
	{Name: "nodelist", Short: 'w', Arg: getopt.RequiredArg, ID: optNodes},
	{Name: "partition", Short: 'p', Arg: getopt.RequiredArg, ID: optPartition},
	{Name: "qos", Short: 'q', Arg: getopt.RequiredArg, ID: optQOS},
	{Name: "quiet", Short: 'Q', ID: optQuiet},
	{Name: "reservation", Short: 'R', Arg: getopt.RequiredArg, ID: optReservation},
	{Name: "sibling", Arg: getopt.RequiredArg, ID: optSibling},
	{Name: "signal", Short: 's', Arg: getopt.RequiredArg, ID: optSignal},
	{Name: "state", Short: 't', Arg: getopt.RequiredArg, ID: optState},
	{Name: "usage", ID: optUsage},
	{Name: "user", Short: 'u', Arg: getopt.RequiredArg, ID: optUser},
	{Name: "verbose", Short: 'v', ID: optVerbose},
	{Name: "version", Short: 'V', ID: optVersion},
	{Name: "wckey", Arg: getopt.RequiredArg, ID: optWCKey},
})

// parse reads the environment, then the command line over it. done means that the command ends here with exit.
func parse(args, env []string, stdout, stderr io.Writer) (o options, exit int, done bool) {
	found, operands, err := optionSet.Parse(args, getopt.Permute)
	if err != nil {
		fmt.Fprintf(stderr, "%s\nTry \"scancel --help\" for more information\n", err)
		return o, 1, true
	}
	err = o.fromEnv(env, stderr)
	for _, f := range found {
		switch f.ID {
		case optVersion:
			fmt.Fprintln(stdout, show.Version)
			return o, 0, true
		case optHelp:
			io.WriteString(stdout, help)
			return o, 0, true
		case optUsage:
			io.WriteString(stdout, usage)
			return o, 0, true
		}
		if err == nil {
			err = o.set(f)
		}
		o.pass(f)
	}
	if err == nil {
		err = o.jobs(operands, env)
	}
	if err == nil && len(o.refs) == 0 && !o.filtered() && len(operands) == 0 {
		err = fmt.Errorf("scancel: error: No job identification provided")
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return o, 1, true
	}
	return o, 0, false
}

// fromEnv reads the environment. A switch that is neither true nor false is reported and ignored,
// as scancel does.
func (o *options) fromEnv(env []string, stderr io.Writer) error {
	for name, id := range map[string]int{"SCANCEL_BATCH": optBatch, "SCANCEL_FULL": optFull, "SCANCEL_HURRY": optIgnore, "SCANCEL_CTLD": optIgnore,
		"SCANCEL_INTERACTIVE": optInteractive, "SCANCEL_VERBOSE": optVerbose} {
		switch v := strings.ToLower(show.Env(env, name)); v {
		case "", "f", "false":
		case "t", "true":
			o.set(getopt.Found{Option: &getopt.Option{ID: id}})
		default:
			fmt.Fprintf(stderr, "scancel: error: Unrecognized %s value: %s\n", name, show.Env(env, name))
		}
	}
	if v := show.Env(env, "SCANCEL_STATE"); v != "" {
		if o.states = stateList(v); o.states == nil {
			return fmt.Errorf("Unrecognized SCANCEL_STATE value: %s\n%s", v, validStates)
		}
	}
	for name, id := range map[string]int{"SCANCEL_ACCOUNT": optAccount, "SCANCEL_NAME": optName, "SCANCEL_PARTITION": optPartition,
		"SCANCEL_QOS": optQOS, "SCANCEL_USER": optUser, "SCANCEL_WCKEY": optWCKey, "SLURM_CLUSTERS": optClusters} {
		if v := show.Env(env, name); v != "" {
			o.set(getopt.Found{Option: &getopt.Option{ID: id}, Value: v, Given: true})
		}
	}
	return nil
}

const validStates = "Valid job states are PENDING, RUNNING, and SUSPENDED"

// stateList returns the one state that --state takes, in its long form; nil if it is not one of them.
func stateList(text string) []string {
	switch long := show.LongState(text); long {
	case "PENDING", "RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING":
		return []string{long}
	}
	return nil
}

// set takes one option. Its error is a whole line for stderr.
func (o *options) set(f getopt.Found) error {
	switch f.ID {
	case optAccount:
		o.account = f.Value
	case optBatch:
		o.batch = true
	case optClusters:
		o.clusters = f.Value
	case optFull:
		o.full = true
	case optInteractive:
		o.interactive = true
	case optMe:
		o.users = []string{strconv.Itoa(os.Getuid())}
	case optName:
		o.names = show.List(f.Value)
	case optNodes:
		o.nodes = f.Value
	case optPartition:
		o.partition = f.Value
	case optQOS:
		o.qos = f.Value
	case optQuiet:
		o.quiet = true
	case optReservation:
		o.reservation = f.Value
	case optSibling:
		o.sibling = f.Value
	case optSignal:
		o.signal = strings.TrimPrefix(strings.ToUpper(f.Value), "SIG")
		if !validSignal(o.signal) {
			return fmt.Errorf("Unknown job signal: %s", f.Value)
		}
	case optState:
		if o.states = stateList(f.Value); o.states == nil {
			return fmt.Errorf("Invalid job state specified: %s\n%s", f.Value, validStates)
		}
	case optUser:
		o.users = show.List(f.Value)
	case optVerbose:
		o.verbose = true
	case optWCKey:
		o.wckey = f.Value
	}
	return nil
}

// pass keeps an option for a site's own scancel, which knows but its own cluster.
func (o *options) pass(f getopt.Found) {
	switch {
	case f.ID == optClusters:
	case f.Given:
		o.passed = append(o.passed, "--"+f.Name+"="+f.Value)
	default:
		o.passed = append(o.passed, "--"+f.Name)
	}
}

// jobs reads the operands: IDs, several of them in one word with commas, but not with blanks.
func (o *options) jobs(operands, env []string) error {
	for _, word := range operands {
		for _, given := range hostlist.Split(word) {
			text := show.OwnTask(env, given)
			r, ok := parseRef(text)
			if !ok {
				return fmt.Errorf("scancel: error: Invalid job id %s", text)
			}
			r.given = given
			o.refs = append(o.refs, r)
		}
	}
	return nil
}

// signals are the names that --signal takes, without SIG, and their numbers.
var signals = [...]struct {
	name   string
	number string
}{
	{"HUP", "1"}, {"INT", "2"}, {"QUIT", "3"}, {"ILL", "4"}, {"TRAP", "5"}, {"ABRT", "6"}, {"BUS", "7"}, {"FPE", "8"}, {"KILL", "9"}, {"USR1", "10"},
	{"SEGV", "11"}, {"USR2", "12"}, {"PIPE", "13"}, {"ALRM", "14"}, {"TERM", "15"}, {"CHLD", "17"}, {"CONT", "18"}, {"STOP", "19"}, {"TSTP", "20"},
	{"TTIN", "21"}, {"TTOU", "22"}, {"URG", "23"}, {"XCPU", "24"}, {"WINCH", "28"},
}

// validSignal reports whether name is one of signals, or a number.
func validSignal(name string) bool {
	n, err := strconv.Atoi(signalNumber(name))
	return err == nil && n >= 1 && n <= 64
}

// signalNumber returns the number of a signal, or name itself if it is unknown.
func signalNumber(name string) string {
	for _, s := range signals {
		if s.name == name {
			return s.number
		}
	}
	return name
}

const usage = `Usage: scancel [-A account] [--batch] [--ctld] [--full] [--interactive] [-n job_name]
               [-p partition] [-Q] [-q qos] [-R reservation] [-s signal | integer]
               [-t PENDING | RUNNING | SUSPENDED] [--usage] [-u user_name]
               [--hurry] [-V] [-v] [-w hosts...] [--wckey=wckey]
               [job_id[_array_id][.step_id]]
`

const help = `Usage: scancel [OPTIONS] [job_id[_task_id]...]
Cancels jobs of the federation, or sends them a signal.

  -A, --account=NAME        only jobs of this account
  -b, --batch               signal the batch script alone
  -f, --full                signal the batch script and all steps
  -i, --interactive         ask about each job
  -M, --clusters=LIST|all   only jobs at these sites
      --me                  only your own jobs
  -n, --name=LIST           only jobs of these names
  -p, --partition=NAME      only jobs of this partition
  -q, --qos=NAME            only jobs of this QOS
  -Q, --quiet               say nothing of jobs that have ended
  -R, --reservation=NAME    only jobs of this reservation
  -s, --signal=NAME|NUMBER  send this signal
  -t, --state=STATE         only jobs that are PENDING, RUNNING or SUSPENDED
  -u, --user=LIST           only jobs of these users
  -v, --verbose             say what is done
  -w, --nodelist=LIST       only jobs on these nodes
      --wckey=KEY           only jobs with this workload characterization key
  -V, --version             the version

Taken without effect: --cron --ctld --hurry
`
