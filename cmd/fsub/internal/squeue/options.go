package squeue

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"fsub/cmd/fsub/internal/show"
	"fsub/sbatch/getopt"
)

// options are what the command line and the environment ask for. Lists that are empty select everything.
type options struct {
	accounts, jobs, names, nodes, partitions, qos, reservations, users []string
	states                                                             []string // long names; empty with allStates unset: those not ended
	allStates                                                          bool
	notMe                                                              bool
	clusters, format, format2, sort                                    string
	array, json, long, noConvert, noHeader, start, steps               bool
	jobsNext, stepsNext                                                bool // -j or -s came without its value
}

const (
	optAccount = iota
	optAll
	optArray
	optClusters
	optFormat
	optFormat2
	optHelp
	optHelpFormat
	optHelpFormat2
	optIgnore
	optJobs
	optJSON
	optLong
	optMe
	optName
	optNoConvert
	optNodes
	optNoHeader
	optNotMe
	optPartition
	optQOS
	optReservation
	optSort
	optStart
	optStates
	optSteps
	optUnsupported
	optUsage
	optUser
	optVersion
)

var optionSet = getopt.NewSet("squeue", []getopt.Option{
	{Name: "accounts", Short: 'A', Arg: getopt.RequiredArg, ID: optAccount},
	{Name: "all", Short: 'a', ID: optAll},
	{Name: "array", Short: 'r', ID: optArray},
	{Name: "array-unique", ID: optIgnore},
	{Name: "cluster", Arg: getopt.RequiredArg, ID: optClusters},
	{Name: "clusters", Short: 'M', Arg: getopt.RequiredArg, ID: optClusters},
	{Name: "expand-patterns", ID: optIgnore},
	{Name: "federation", ID: optIgnore},
	{Name: "format", Short: 'o', Arg: getopt.RequiredArg, ID: optFormat},
	{Name: "Format", Short: 'O', Arg: getopt.RequiredArg, ID: optFormat2},
	{Name: "help", ID: optHelp},
	{Name: "helpformat", ID: optHelpFormat},
	{Name: "helpFormat", ID: optHelpFormat2},
	{Name: "hide", ID: optIgnore},
	{Name: "iterate", Short: 'i', Arg: getopt.RequiredArg, ID: optUnsupported},
	{Name: "jobs", Short: 'j', Arg: getopt.OptionalArg, ID: optJobs},
	{Name: "json", Arg: getopt.OptionalArg, ID: optJSON},
	{Name: "licenses", Short: 'L', Arg: getopt.RequiredArg, ID: optUnsupported},
	{Name: "local", ID: optIgnore},
	{Name: "long", Short: 'l', ID: optLong},
	{Name: "me", ID: optMe},
	{Name: "name", Short: 'n', Arg: getopt.RequiredArg, ID: optName},
	{Name: "noconvert", ID: optNoConvert},
	{Name: "nodelist", Short: 'w', Arg: getopt.RequiredArg, ID: optNodes},
	{Name: "nodes", Arg: getopt.RequiredArg, ID: optNodes},
	{Name: "noheader", Short: 'h', ID: optNoHeader},
	{Name: "notme", ID: optNotMe},
	{Name: "only-job-state", ID: optIgnore},
	{Name: "partitions", Short: 'p', Arg: getopt.RequiredArg, ID: optPartition},
	{Name: "priority", Short: 'P', ID: optIgnore},
	{Name: "qos", Short: 'q', Arg: getopt.RequiredArg, ID: optQOS},
	{Name: "reservation", Short: 'R', Arg: getopt.RequiredArg, ID: optReservation},
	{Name: "sibling", ID: optIgnore},
	{Name: "sort", Short: 'S', Arg: getopt.RequiredArg, ID: optSort},
	{Name: "start", ID: optStart},
	{Name: "states", Short: 't', Arg: getopt.RequiredArg, ID: optStates},
	{Name: "steps", Short: 's', Arg: getopt.OptionalArg, ID: optSteps},
	{Name: "usage", ID: optUsage},
	{Name: "user", Short: 'u', Arg: getopt.RequiredArg, ID: optUser},
	{Name: "users", Arg: getopt.RequiredArg, ID: optUser},
	{Name: "verbose", Short: 'v', ID: optIgnore},
	{Name: "version", Short: 'V', ID: optVersion},
	{Name: "yaml", Arg: getopt.OptionalArg, ID: optUnsupported},
})

// parse reads the environment, then the command line over it. done means that the command ends here with exit.
func parse(args, env []string, stdout, stderr io.Writer) (o options, exit int, done bool) {
	found, operands, err := optionSet.Parse(args, getopt.Permute)
	if err != nil {
		fmt.Fprintf(stderr, "%s\nTry \"squeue --help\" for more information\n", err)
		return o, 1, true
	}
	o.fromEnv(env)
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
		case optHelpFormat, optHelpFormat2:
			printFields(stdout, f.ID == optHelpFormat)
			return o, 0, true
		case optUnsupported:
			fmt.Fprintf(stderr, "squeue: error: fsub's squeue does not have --%s yet\n", f.Name)
			return o, 1, true
		}
		// A format of the command line beats either one of the environment.
		if f.ID == optFormat || f.ID == optFormat2 {
			o.format, o.format2 = "", ""
		}
		o.set(f)
	}
	// The value of -j and -s is optional to getopt, yet may be the next word.
	if len(operands) > 0 && (o.jobsNext || o.stepsNext) {
		o.jobs, operands = show.SplitRefs(operands[0]), operands[1:]
	}
	if len(operands) > 0 {
		fmt.Fprintf(stderr, "squeue: error: Unrecognized option: %s\n", operands[0])
		io.WriteString(stdout, usage)
		return o, 1, true
	}
	o.jobs = show.OwnTasks(env, o.jobs)
	if err := o.check(); err != nil {
		fmt.Fprintln(stderr, err)
		return o, 1, true
	}
	return o, 0, false
}

func (o *options) fromEnv(env []string) {
	for name, id := range map[string]int{
		"SQUEUE_ACCOUNT": optAccount, "SQUEUE_FORMAT": optFormat, "SQUEUE_FORMAT2": optFormat2, "SQUEUE_NAMES": optName,
		"SQUEUE_PARTITION": optPartition, "SQUEUE_QOS": optQOS, "SQUEUE_SORT": optSort, "SQUEUE_STATES": optStates, "SQUEUE_USERS": optUser,
		"SLURM_CLUSTERS": optClusters,
	} {
		if v := show.Env(env, name); v != "" {
			o.set(getopt.Found{Option: &getopt.Option{ID: id}, Value: v, Given: true})
		}
	}
	o.array = show.Env(env, "SQUEUE_ARRAY") != ""
}

// set takes one option.
func (o *options) set(f getopt.Found) {
	switch f.ID {
	case optAccount:
		o.accounts = show.List(f.Value)
	case optArray:
		o.array = true
	case optClusters:
		o.clusters = f.Value
	case optFormat:
		o.format = f.Value
	case optFormat2:
		o.format2 = f.Value
	case optJobs:
		o.jobsNext = !f.Given
		if f.Given {
			o.jobs = show.SplitRefs(f.Value)
		}
	case optJSON:
		o.json = true
	case optLong:
		o.long = true
	case optMe:
		o.users = []string{strconv.Itoa(uid())}
	case optName:
		o.names = show.List(f.Value)
	case optNoConvert:
		o.noConvert = true
	case optNodes:
		o.nodes = append(o.nodes, f.Value)
	case optNoHeader:
		o.noHeader = true
	case optNotMe:
		o.notMe = true
	case optPartition:
		o.partitions = show.List(f.Value)
	case optQOS:
		o.qos = show.List(f.Value)
	case optReservation:
		o.reservations = show.List(f.Value)
	case optSort:
		o.sort = f.Value
	case optStart:
		o.start = true
	case optStates:
		o.states = show.List(f.Value)
	case optSteps:
		o.steps, o.stepsNext = true, !f.Given
		if f.Given {
			o.jobs = show.List(f.Value)
		}
	case optUser:
		o.users = show.List(f.Value)
	}
}

// check puts states in their long form and refuses what is none, and IDs that are none.
func (o *options) check() error {
	for i, s := range o.states {
		if strings.EqualFold(s, "all") {
			o.states, o.allStates = nil, true
			break
		}
		if o.states[i] = show.LongState(s); o.states[i] == "" {
			return fmt.Errorf("squeue: error: Invalid job state specified: %s\nsqueue: error: Valid job states include: %s\n", s, show.StateNames())
		}
	}
	for i, j := range o.jobs {
		base, _, _ := strings.Cut(j, ".")
		id, _, _ := strings.Cut(strings.Replace(base, "+", "_", 1), "_")
		if _, err := strconv.ParseUint(id, 10, 32); err != nil {
			return fmt.Errorf("squeue: error: Invalid job id: %s", j)
		}
		o.jobs[i] = base
	}
	return nil
}

const usage = `Usage: squeue [-ahlrs] [-A account] [-j job] [-M clusters] [-n name] [-o format] [-O format] [-p partitions] [-q qos]
              [-R reservation] [-S fields] [-t states] [-u user] [-w nodes] [--json] [--me] [--noconvert] [--start] [--usage]
`

const help = `Usage: squeue [OPTIONS]
Lists the jobs of the federation that have not ended.

  -A, --accounts=LIST       only jobs of these accounts
  -a, --all                 taken as in Slurm
  -h, --noheader            no line above the rows
  -j, --jobs=LIST           only these jobs: 17, 17_3
      --json                all that is known of the jobs, for programs
  -l, --long                longer lines
  -M, --clusters=LIST       only jobs of these sites
      --me                  only your own jobs
  -n, --name=LIST           only jobs of these names
      --noconvert           memory in MiB
  -o, --format=FORMAT       columns by letter: "%.18i %j"; see --helpformat
  -O, --Format=FORMAT       columns by name: "JobID:10,State"; see --helpFormat
  -p, --partitions=LIST     only jobs of these partitions
  -q, --qos=LIST            only jobs of these QOS
  -R, --reservation=NAME    only jobs of this reservation
  -r, --array               one row for each task of an array
  -S, --sort=FIELDS         order of the rows: letters of --format, - for descending
  -s, --steps               the steps of running jobs
      --start               when pending jobs are expected to start
  -t, --states=LIST         only jobs in these states, or all
  -u, --user=LIST           only jobs of these users
  -w, --nodelist=LIST       only jobs on these nodes
  -V, --version             the version
`
