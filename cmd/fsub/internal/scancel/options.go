package scancel

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"fsub/cmd/fsub/internal/show"
	"fsub/sbatch/getopt"
)

// options are what the command line and the environment ask for.
type options struct {
	refs                                               []ref
	users, names, states                               []string
	account, partition, qos, nodes, reservation, wckey string
	signal                                             string // without SIG; "": the usual end
	batch, full, quiet, verbose                        bool
}

// filtered reports whether jobs are selected by something but their IDs.
func (o *options) filtered() bool {
	return len(o.users)+len(o.names)+len(o.states) > 0 ||
		o.account+o.partition+o.qos+o.nodes+o.reservation+o.wckey != ""
}

// kills reports whether jobs are to be ended, not signalled. KILL to a whole job is the same as no signal.
func (o *options) kills() bool {
	return !o.batch && (o.signal == "" || o.signal == "KILL" || o.signal == "9")
}

const (
	optAccount = iota
	optBatch
	optFull
	optHelp
	optIgnore
	optMe
	optName
	optNodes
	optPartition
	optQOS
	optQuiet
	optReservation
	optSignal
	optState
	optUnsupported
	optUsage
	optUser
	optVerbose
	optVersion
	optWCKey
)

var optionSet = getopt.NewSet("scancel", []getopt.Option{
	{Name: "account", Short: 'A', Arg: getopt.RequiredArg, ID: optAccount},
	{Name: "admin-comment", Arg: getopt.RequiredArg, ID: optUnsupported},
	{Name: "batch", Short: 'b', ID: optBatch},
	{Name: "cluster", Arg: getopt.RequiredArg, ID: optIgnore},
	{Name: "clusters", Short: 'M', Arg: getopt.RequiredArg, ID: optIgnore},
	{Name: "cron", Short: 'c', ID: optUnsupported},
	{Name: "ctld", ID: optIgnore},
	{Name: "full", Short: 'f', ID: optFull},
	{Name: "help", ID: optHelp},
	{Name: "hurry", Short: 'H', ID: optIgnore},
	{Name: "interactive", Short: 'i', ID: optUnsupported},
	{Name: "jobname", Arg: getopt.RequiredArg, ID: optName},
	{Name: "me", ID: optMe},
	{Name: "name", Short: 'n', Arg: getopt.RequiredArg, ID: optName},
	{Name: "nodelist", Short: 'w', Arg: getopt.RequiredArg, ID: optNodes},
	{Name: "partition", Short: 'p', Arg: getopt.RequiredArg, ID: optPartition},
	{Name: "qos", Short: 'q', Arg: getopt.RequiredArg, ID: optQOS},
	{Name: "quiet", Short: 'Q', ID: optQuiet},
	{Name: "reservation", Short: 'R', Arg: getopt.RequiredArg, ID: optReservation},
	{Name: "sibling", Arg: getopt.RequiredArg, ID: optUnsupported},
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
	err = o.fromEnv(env)
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
		case optUnsupported:
			err = fmt.Errorf("scancel: error: fsub's scancel does not have --%s yet", f.Name)
		}
		if err == nil {
			err = o.set(f)
		}
	}
	if err == nil {
		err = o.jobs(operands, env)
	}
	if err == nil && len(o.refs) == 0 && !o.filtered() && len(operands) == 0 {
		err = fmt.Errorf("scancel: error: No job identification provided")
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return o, exitOf(err), true
	}
	return o, 0, false
}

// exitOf is 1, but for a step that is not there: then, as in Slurm, the number of "Invalid job id specified".
func exitOf(err error) int {
	if _, ok := err.(stepError); ok {
		return 225
	}
	return 1
}

// stepError is a step that the federation does not know.
type stepError string

func (e stepError) Error() string {
	return "scancel: error: Kill job error on job step id " + string(e) + ": Invalid job id specified"
}

func (o *options) fromEnv(env []string) error {
	for name, id := range map[string]int{
		"SCANCEL_ACCOUNT": optAccount, "SCANCEL_BATCH": optBatch, "SCANCEL_FULL": optFull, "SCANCEL_NAME": optName, "SCANCEL_PARTITION": optPartition,
		"SCANCEL_QOS": optQOS, "SCANCEL_STATE": optState, "SCANCEL_USER": optUser, "SCANCEL_VERBOSE": optVerbose, "SCANCEL_WCKEY": optWCKey,
	} {
		v := show.Env(env, name)
		if v == "" || (id == optBatch || id == optFull || id == optVerbose) && (strings.EqualFold(v, "f") || strings.EqualFold(v, "false")) {
			continue
		}
		if err := o.set(getopt.Found{Option: &getopt.Option{ID: id}, Value: v, Given: true}); err != nil {
			return err
		}
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
	case optFull:
		o.full = true
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
	case optSignal:
		o.signal = strings.TrimPrefix(strings.ToUpper(f.Value), "SIG")
		if !validSignal(o.signal) {
			return fmt.Errorf("Unknown job signal: %s", f.Value)
		}
	case optState:
		for _, s := range show.List(f.Value) {
			long := show.LongState(s)
			if long != "PENDING" && long != "RUNNING" && long != "SUSPENDED" {
				return fmt.Errorf("Invalid job state specified: %s\nValid job states are PENDING, RUNNING, and SUSPENDED", s)
			}
			o.states = append(o.states, long)
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

// jobs reads the operands: IDs, several of them in one word with commas, but not with blanks.
func (o *options) jobs(operands, env []string) error {
	for _, word := range operands {
		for _, text := range show.OwnTasks(env, show.SplitRefs(word)) {
			r, ok := parseRef(text)
			if !ok && isStep(text) {
				base, _, _ := strings.Cut(text, ".")
				return stepError(base)
			}
			if !ok {
				return fmt.Errorf("scancel: error: Invalid job id %s", word)
			}
			o.refs = append(o.refs, r)
		}
	}
	return nil
}

// signals are the names that --signal takes, without SIG.
var signals = "HUP INT QUIT ABRT KILL ALRM TERM USR1 USR2 URG CONT STOP TSTP TTIN TTOU XCPU BUS SEGV PIPE CHLD ILL TRAP FPE WINCH"

func validSignal(name string) bool {
	if n, err := strconv.Atoi(name); err == nil {
		return n >= 1 && n <= 64
	}
	for s := range strings.SplitSeq(signals, " ") {
		if s == name {
			return true
		}
	}
	return false
}

const usage = `Usage: scancel [-bfQv] [-A account] [-n name] [-p partition] [-q qos] [-R reservation] [-s signal] [-t state] [-u user] [-w nodes]
               [--me] [--usage] [job_id[_task_id]...]
`

const help = `Usage: scancel [OPTIONS] [job_id[_task_id]...]
Cancels jobs of the federation, or sends them a signal.

  -A, --account=NAME        only jobs of this account
  -b, --batch               signal the batch script alone
  -f, --full                signal the batch script and all steps
      --me                  only your own jobs
  -n, --name=LIST           only jobs of these names
  -p, --partition=NAME      only jobs of this partition
  -q, --qos=NAME            only jobs of this QOS
  -Q, --quiet               say nothing of jobs that have ended
  -R, --reservation=NAME    only jobs of this reservation
  -s, --signal=NAME|NUMBER  send this signal
  -t, --state=LIST          only jobs that are PENDING, RUNNING or SUSPENDED
  -u, --user=LIST           only jobs of these users
  -v, --verbose             say what is done
  -w, --nodelist=LIST       only jobs on these nodes
  -V, --version             the version
`
