package squeue

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/cmd/internal/show"
	"fsub/sbatch/getopt"
	"fsub/slurm/hostlist"
	"fsub/slurm/wire"
)

// options are what the command line and the environment ask for. Lists that are empty select everything.
type options struct {
	accounts, jobs, names, nodes, partitions, qos, reservations, users []string
	licenses, stepIDs                                                  []string
	states                                                             []string // long names; empty with allStates unset: those not ended
	allStates                                                          bool
	notMe                                                              bool
	clusters, format, format2, sort                                    string
	iterate                                                            time.Duration // 0: once
	array, long, noConvert, noHeader, start, steps                     bool
	onlyState                                                          bool
	document                                                           string // json or yaml: all that is known of the jobs, for programs
	parser                                                             string // version of the document's shape
	jobsNext, stepsNext                                                bool   // -j or -s came without its value
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
	optHelpState
	optIgnore
	optIterate
	optJobs
	optJSON
	optLicenses
	optLong
	optMe
	optName
	optNoConvert
	optNodes
	optNoHeader
	optNotMe
	optOnlyState
	optPartition
	optQOS
	optReservation
	optSort
	optStart
	optStates
	optSteps
	optUsage
	optUser
	optVersion
	optYAML
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
	{Name: "helpstate", ID: optHelpState},
	{Name: "hide", ID: optIgnore},
	{Name: "iterate", Short: 'i', Arg: getopt.RequiredArg, ID: optIterate},
	{Name: "jobs", Short: 'j', Arg: getopt.OptionalArg, ID: optJobs},
	{Name: "json", Arg: getopt.OptionalArg, ID: optJSON},
	{Name: "licenses", Short: 'L', Arg: getopt.RequiredArg, ID: optLicenses},
	{Name: "local", ID: optIgnore},
	{Name: "long", Short: 'l', ID: optLong},
	{Name: "me", ID: optMe},
	{Name: "name", Short: 'n', Arg: getopt.RequiredArg, ID: optName},
	{Name: "noconvert", ID: optNoConvert},
	{Name: "nodelist", Short: 'w', Arg: getopt.RequiredArg, ID: optNodes},
	{Name: "nodes", Arg: getopt.RequiredArg, ID: optNodes},
	{Name: "noheader", Short: 'h', ID: optNoHeader},
	{Name: "notme", ID: optNotMe},
	{Name: "only-job-state", ID: optOnlyState},
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
	{Name: "yaml", Arg: getopt.OptionalArg, ID: optYAML},
})

// parse reads the environment, then the command line over it. done means that the command ends here with exit.
func parse(args, env []string, stdout, stderr io.Writer) (o options, exit int, done bool) {
	found, operands, err := optionSet.Parse(args, getopt.Permute)
	if err != nil {
		fmt.Fprintf(stderr, "%s\nTry \"squeue --help\" for more information\n", err)
		return o, 1, true
	}
	refuse := func(err error) (options, int, bool) {
		fmt.Fprintln(stderr, err)
		return o, 1, true
	}
	o.fromEnv(env)
	fromEnv := o
	for _, f := range found {
		if o.print(f, stdout) {
			return o, 0, true
		}
		// A format of the command line beats either one of the environment, and so does --long.
		if f.ID == optFormat || f.ID == optFormat2 || f.ID == optLong {
			if o.format == fromEnv.format && o.format2 == fromEnv.format2 {
				o.format, o.format2, fromEnv.format, fromEnv.format2 = "", "", "", ""
			}
		}
		switch {
		case f.ID == optFormat && o.format2 != "":
			return refuse(errors.New("squeue: error: -o (--format) is incompatible with -O (--Format)"))
		case f.ID == optFormat2 && o.format != "":
			return refuse(errors.New("squeue: error: -O (--Format) is incompatible with -o (--format)"))
		}
		if err := o.set(f); err != nil {
			return refuse(err)
		}
	}
	// The value of -j and -s is optional to getopt, yet may be the next word.
	if len(operands) > 0 && o.jobsNext {
		o.jobs, operands = show.SplitRefs(operands[0]), operands[1:]
	} else if len(operands) > 0 && o.stepsNext {
		o.stepIDs, operands = show.SplitRefs(operands[0]), operands[1:]
	}
	if len(operands) > 0 {
		fmt.Fprintf(stderr, "squeue: error: Unrecognized option: %s\n", operands[0])
		io.WriteString(stdout, usage)
		return o, 1, true
	}
	o.jobs, o.stepIDs = show.OwnTasks(env, o.jobs), show.OwnTasks(env, o.stepIDs)
	if err := o.check(); err != nil {
		return refuse(err)
	}
	return o, 0, false
}

// print answers the options that only ask for text; false if f is none of them.
func (o *options) print(f getopt.Found, stdout io.Writer) bool {
	switch f.ID {
	case optVersion:
		fmt.Fprintln(stdout, show.Version)
	case optHelp:
		io.WriteString(stdout, help)
	case optUsage:
		io.WriteString(stdout, usage)
	case optHelpState:
		io.WriteString(stdout, strings.ReplaceAll(show.StateNames(), ",", "\n")+"\n")
	case optHelpFormat, optHelpFormat2:
		printFields(stdout, f.ID == optHelpFormat, o.steps)
	case optJSON, optYAML:
		if f.Value != "list" {
			return false
		}
		io.WriteString(stdout, "Possible data_parser plugins:\n"+"data_parser/v0.0.42\n"+"data_parser/v0.0.43\n"+"data_parser/v0.0.44\n"+"data_parser/v0.0.45\n")
	default:
		return false
	}
	return true
}

func (o *options) fromEnv(env []string) {
	for name, id := range map[string]int{
		"SQUEUE_ACCOUNT": optAccount, "SQUEUE_LICENSES": optLicenses, "SQUEUE_FORMAT": optFormat, "SQUEUE_FORMAT2": optFormat2, "SQUEUE_NAMES": optName,
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
func (o *options) set(f getopt.Found) error {
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
	case optJSON, optYAML:
		o.document, o.parser = "json", wire.Base
		if f.ID == optYAML {
			o.document = "yaml"
		}
		if f.Value != "" {
			o.parser = strings.TrimPrefix(f.Value, "data_parser/")
		}
		if !slices.Contains(parsers, o.parser) {
			return fmt.Errorf("squeue: error: application/%s output not supported by data_parser/%s; it is by %s", o.document, o.parser, strings.Join(parsers, ", "))
		}
	case optIterate:
		n, err := strconv.Atoi(f.Value)
		if err != nil || n <= 0 {
			return fmt.Errorf("squeue: error: --iterate=%s\n", f.Value)
		}
		o.iterate = time.Duration(n) * time.Second
	case optLicenses:
		o.licenses = show.List(f.Value)
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
	case optOnlyState:
		o.onlyState = true
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
			o.stepIDs = show.SplitRefs(f.Value)
		}
	case optUser:
		o.users = show.List(f.Value)
	}
	return nil
}

// parsers are the shapes of --json and --yaml that the daemon writes.
var parsers = []string{"v0.0.42", "v0.0.43", "v0.0.44", "v0.0.45"}

// check puts states in their long form and refuses what is none, and IDs that are none.
func (o *options) check() error {
	if len(o.states) == 1 && strings.EqualFold(o.states[0], "all") {
		o.states, o.allStates = nil, true
	}
	for i, s := range o.states {
		if o.states[i] = show.LongState(s); o.states[i] == "" {
			return fmt.Errorf("squeue: error: Invalid job state specified: %s\nsqueue: error: Valid job states include: %s\n", s, show.StateNames())
		}
	}
	for i, j := range o.jobs {
		base, _, _ := strings.Cut(j, ".")
		id, _, _ := strings.Cut(strings.Replace(base, "+", "_", 1), "_")
		if n, err := strconv.ParseUint(id, 10, 32); err != nil || n == 0 {
			return fmt.Errorf("squeue: error: Invalid job id: %s", j)
		}
		o.jobs[i] = base
	}
	for _, s := range o.stepIDs {
		if _, _, ok := strings.Cut(s, "."); !ok {
			return fmt.Errorf("squeue: error: Invalid job_step id: %s.??", s)
		}
	}
	for _, list := range o.nodes {
		if _, err := hostlist.Expand(list); err != nil {
			return fmt.Errorf("squeue: error: '%s' invalid entry for --nodelist", list)
		}
	}
	return o.checkSort()
}

// checkSort puts --sort into letters with commas. Commas may be missing: each letter is a field of its own, and squeue reads
// them from the last to the first.
func (o *options) checkSort() error {
	var fields []string
	for i := 0; i < len(o.sort); i++ {
		sign := ""
		if c := o.sort[i]; (c == '-' || c == '+') && i+1 < len(o.sort) {
			sign = string(c)
			i++
		}
		if c := o.sort[i]; c != ',' {
			fields = append(fields, sign+string(c))
		}
	}
	for _, f := range slices.Backward(fields) {
		if c := f[len(f)-1]; !strings.ContainsRune("cdefghijlmnptuvzBCDGHIJLMNOPQSTUV", rune(c)) {
			return fmt.Errorf("squeue: error: Invalid sort specification: %c", c)
		}
	}
	o.sort = strings.Join(fields, ",")
	return nil
}
