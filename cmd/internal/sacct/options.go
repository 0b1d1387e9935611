package sacct

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/cmd/internal/show"
	"fsub/sbatch"
	"fsub/sbatch/getopt"
)

// options are what the command line and the environment ask for.
type options struct {
	args []string // the words of the call

	refs                                                      []ref
	users, names, partitions, accounts, qos, states, clusters []string
	assocs, constraints, flags, groups, reasons, wckeys       []string
	nodes, format, delimiter, units                           string
	nodeCount, cpuCount                                       bounds
	limitMin, limitMax                                        time.Duration // 0: not given
	from, to                                                  time.Time
	allUsers, allocations, brief, json, yaml, long, noConvert bool
	noHeader, parsable, parsable2, script, envVars            bool
	expand, truncate, wholeHet, duplicates                    bool
}

// bounds are a least and a greatest number; the zero value means any.
type bounds struct {
	low, high int64
	given     bool
}

func (b bounds) has(n int64) bool { return !b.given || n >= b.low && n <= b.high }

const (
	optAccount = iota
	optAllClusters
	optAllocations
	optAllUsers
	optAssociations
	optBrief
	optClusters
	optCompletion
	optDuplicates
	optConstraints
	optDelimiter
	optEnd
	optEnvVars
	optExpand
	optFile
	optFlags
	optFormat
	optGroup
	optHelp
	optHelpFormat
	optHelpReason
	optHelpState
	optIgnore
	optJobs
	optJSON
	optLimitMax
	optLimitMin
	optLong
	optName
	optNCPUs
	optNNodes
	optNoConvert
	optNodes
	optNoHeader
	optParsable
	optParsable2
	optPartition
	optQOS
	optReason
	optScript
	optStart
	optState
	optTruncate
	optUnits
	optUsage
	optUser
	optVersion
	optWCKeys
	optWholeHet
	optYAML
)

var optionSet = getopt.NewSet("sacct", []getopt.Option{
	{Name: "accounts", Short: 'A', Arg: getopt.RequiredArg, ID: optAccount},
	{Name: "allclusters", Short: 'L', ID: optAllClusters},
	{Name: "allocations", Short: 'X', ID: optAllocations},
	{Name: "allusers", Short: 'a', ID: optAllUsers},
	{Name: "array", ID: optIgnore},
	{Name: "associations", Short: 'x', Arg: getopt.RequiredArg, ID: optAssociations},
	{Name: "batch-script", Short: 'B', ID: optScript},
	{Name: "brief", Short: 'b', ID: optBrief},
	{Name: "cluster", Arg: getopt.RequiredArg, ID: optClusters},
	{Name: "clusters", Short: 'M', Arg: getopt.RequiredArg, ID: optClusters},
	{Name: "completion", Short: 'c', ID: optCompletion},
	{Name: "constraints", Short: 'C', Arg: getopt.RequiredArg, ID: optConstraints},
	{Name: "delimiter", Arg: getopt.RequiredArg, ID: optDelimiter},
	{Name: "duplicates", Short: 'D', ID: optDuplicates},
	{Name: "endtime", Short: 'E', Arg: getopt.RequiredArg, ID: optEnd},
	{Name: "env-vars", ID: optEnvVars},
	{Name: "expand-patterns", ID: optExpand},
	{Name: "federation", ID: optIgnore},
	{Name: "fields", Arg: getopt.RequiredArg, ID: optFormat},
	{Name: "file", Short: 'f', Arg: getopt.RequiredArg, ID: optFile},
	{Name: "flags", Short: 'F', Arg: getopt.RequiredArg, ID: optFlags},
	{Name: "format", Short: 'o', Arg: getopt.RequiredArg, ID: optFormat},
	{Name: "gid", Short: 'g', Arg: getopt.RequiredArg, ID: optGroup},
	{Name: "group", Arg: getopt.RequiredArg, ID: optGroup},
	{Name: "help", Short: 'h', ID: optHelp},
	{Name: "help-fields", ID: optHelpFormat},
	{Name: "helpformat", Short: 'e', ID: optHelpFormat},
	{Name: "helpreason", ID: optHelpReason},
	{Name: "helpstate", ID: optHelpState},
	{Name: "jobs", Short: 'j', Arg: getopt.RequiredArg, ID: optJobs},
	{Name: "json", Arg: getopt.OptionalArg, ID: optJSON},
	{Name: "local", ID: optIgnore},
	{Name: "long", Short: 'l', ID: optLong},
	{Name: "name", Arg: getopt.RequiredArg, ID: optName},
	{Name: "ncpus", Short: 'I', Arg: getopt.RequiredArg, ID: optNCPUs},
	{Name: "nnodes", Short: 'i', Arg: getopt.RequiredArg, ID: optNNodes},
	{Name: "noconvert", ID: optNoConvert},
	{Name: "nodelist", Short: 'N', Arg: getopt.RequiredArg, ID: optNodes},
	{Name: "noheader", Short: 'n', ID: optNoHeader},
	{Name: "parsable", Short: 'p', ID: optParsable},
	{Name: "parsable2", Short: 'P', ID: optParsable2},
	{Name: "partition", Short: 'r', Arg: getopt.RequiredArg, ID: optPartition},
	{Name: "qos", Short: 'q', Arg: getopt.RequiredArg, ID: optQOS},
	{Name: "reason", Arg: getopt.RequiredArg, ID: optReason},
	{Name: "starttime", Short: 'S', Arg: getopt.RequiredArg, ID: optStart},
	{Name: "state", Short: 's', Arg: getopt.RequiredArg, ID: optState},
	{Name: "timelimit-max", Short: 'K', Arg: getopt.RequiredArg, ID: optLimitMax},
	{Name: "timelimit-min", Short: 'k', Arg: getopt.RequiredArg, ID: optLimitMin},
	{Short: 't', ID: optAllocations}, // its old letter
	{Name: "truncate", Short: 'T', ID: optTruncate},
	{Name: "units", Arg: getopt.RequiredArg, ID: optUnits},
	{Name: "usage", ID: optUsage},
	{Name: "use-local-uid", ID: optIgnore},
	{Name: "user", Short: 'u', Arg: getopt.RequiredArg, ID: optUser},
	{Name: "uid", Arg: getopt.RequiredArg, ID: optUser},
	{Name: "verbose", Short: 'v', ID: optIgnore},
	{Name: "version", Short: 'V', ID: optVersion},
	{Name: "wckeys", Short: 'W', Arg: getopt.RequiredArg, ID: optWCKeys},
	{Name: "whole-hetjob", Arg: getopt.OptionalArg, ID: optWholeHet},
	{Name: "yaml", Arg: getopt.OptionalArg, ID: optYAML},
})

// parse reads the environment, then the command line over it. done means that the command ends here with exit.
func parse(args, env []string, stdout, stderr io.Writer, now time.Time) (o options, exit int, done bool) {
	found, operands, err := optionSet.Parse(args, getopt.Permute)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return o, 1, true
	}
	o.delimiter = "|"
	o.format = show.Env(env, "SACCT_FORMAT")
	o.args = args
	for _, f := range found {
		if printHelp(f.ID, stdout) {
			return o, 0, true
		}
		if f.ID == optJobs {
			f.Value = strings.Join(show.OwnTasks(env, show.SplitRefs(f.Value)), ",")
		}
		if err == nil {
			err = o.set(f, now)
		}
	}
	if err == nil && len(operands) > 0 {
		err = fmt.Errorf("sacct: error: Unknown arguments:\nsacct: error:  %s", strings.Join(operands, "\nsacct: error:  "))
	}
	if err == nil {
		err = o.check(show.NewTimes(env, now), now)
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return o, 1, true
	}
	return o, 0, false
}

// printHelp answers the options that only print a text.
func printHelp(id int, stdout io.Writer) bool {
	switch id {
	case optVersion:
		fmt.Fprintln(stdout, show.Version)
	case optHelp:
		io.WriteString(stdout, help)
	case optUsage:
		io.WriteString(stdout, shortHelp)
	case optHelpFormat:
		printFields(stdout)
	case optHelpState:
		io.WriteString(stdout, strings.ReplaceAll(show.StateNames(), ",", "\n")+"\n")
	case optHelpReason:
		io.WriteString(stdout, reasons)
	default:
		return false
	}
	return true
}

// check looks at the options together, and sets the times that are not given.
func (o *options) check(times show.Times, now time.Time) error {
	switch {
	case o.script && o.envVars:
		return errors.New("sacct: fatal: Options --batch-script and --env-vars are mutually exclusive")
	case o.script && len(o.refs) == 0:
		return errors.New("sacct: fatal: When requesting job scripts you must also request specific jobs with the '-j' option.")
	case o.envVars && len(o.refs) == 0:
		return errors.New("sacct: fatal: When requesting job environment you must also request specific jobs with the '-j' option.")
	}
	o.window(now)
	if !o.from.IsZero() && o.from.After(o.to) {
		return fmt.Errorf("sacct: error: Start time (%s) requested is after end time (%s).", times.Unix(o.from.Unix()), times.Unix(o.to.Unix()))
	}
	return nil
}

// window sets the times that are not given. With jobs it is all time; with states it is now, or the moment of --starttime; else it is
// today.
func (o *options) window(now time.Time) {
	switch {
	case !o.from.IsZero():
		if o.to.IsZero() && len(o.states) > 0 {
			o.to = o.from
		}
	case len(o.refs) > 0:
		return
	case len(o.states) > 0:
		o.from = now
	default:
		o.from = time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	}
	if o.to.IsZero() {
		o.to = now
	}
}

// set takes one option. Its error is a whole line for stderr.
func (o *options) set(f getopt.Found, now time.Time) error {
	switch f.ID {
	case optAccount:
		o.accounts = show.List(f.Value)
	case optAllClusters:
		o.clusters = nil
	case optAllocations:
		o.allocations = true
	case optAllUsers:
		o.allUsers, o.users = true, nil
	case optAssociations:
		o.assocs = show.List(f.Value)
	case optBrief:
		o.brief = true
	case optClusters:
		if o.clusters = show.List(f.Value); f.Value == "all" || f.Value == "-1" {
			o.clusters = nil
		}
	case optConstraints:
		o.constraints = show.List(f.Value)
	case optDelimiter:
		o.delimiter = f.Value
	case optEnvVars:
		o.envVars = true
	case optExpand:
		o.expand = true
	case optFormat:
		o.format = f.Value
	case optGroup:
		o.groups = show.List(f.Value)
	case optJSON:
		o.json = true
	case optYAML:
		o.yaml = true
	case optLong:
		o.long = true
	case optName:
		o.names = show.List(f.Value)
	case optNoConvert:
		o.noConvert = true
	case optNodes:
		o.nodes = f.Value
	case optNoHeader:
		o.noHeader = true
	case optParsable:
		o.parsable, o.parsable2 = true, false
	case optParsable2:
		o.parsable, o.parsable2 = false, true
	case optPartition:
		o.partitions = show.List(f.Value)
	case optQOS:
		o.qos = show.List(f.Value)
	case optReason:
		o.reasons = show.List(f.Value)
	case optScript:
		o.script = true
	case optTruncate:
		o.truncate = true
	case optUser:
		o.users = show.List(f.Value)
	case optWCKeys:
		o.wckeys = show.List(f.Value)
	case optWholeHet:
		o.wholeHet = f.Value != "no"
	default:
		return o.setChecked(f, now)
	}
	return nil
}

// setChecked takes the options whose values may be wrong.
func (o *options) setChecked(f getopt.Found, now time.Time) error {
	switch f.ID {
	case optJobs:
		return o.setJobs(f.Value)
	case optState:
		for _, s := range show.List(f.Value) {
			long := show.LongState(s)
			if long == "" {
				return fmt.Errorf("sacct: fatal: unrecognized job state value '%s'", s)
			}
			o.states = append(o.states, long)
		}
	case optStart, optEnd:
		t, ok := show.When(f.Value, now)
		if !ok {
			return fmt.Errorf("Invalid time specification (pos=0): %s", f.Value)
		}
		if f.ID == optStart {
			o.from = t
		} else {
			o.to = t
		}
	case optUnits:
		o.units = strings.ToUpper(f.Value)
		if len(o.units) != 1 || !strings.Contains("KMGTP", o.units) {
			return fmt.Errorf("sacct: error: Invalid unit type '%s'. Possible options are 'KMGTP'\nsacct: fatal: Invalid unit type", f.Value)
		}
	case optLimitMin, optLimitMax:
		limit, ok := sbatch.TimeLimit(f.Value)
		if !ok {
			return errors.New("sacct: fatal: Invalid time limit specification")
		}
		if f.ID == optLimitMin {
			o.limitMin = limit
		} else {
			o.limitMax = limit
		}
	case optNNodes, optNCPUs:
		return o.setBounds(f)
	case optFlags:
		return o.setFlags(f.Value)
	case optDuplicates:
		o.duplicates = true
	case optCompletion:
		return errors.New("Slurm job completion is disabled")
	case optFile:
		if info, err := os.Stat(f.Value); err != nil || !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a valid file", f.Value)
		}
		return errors.New("Slurm job completion is disabled")
	}
	return nil
}

// setBounds reads "2" or "2-4".
func (o *options) setBounds(f getopt.Found) error {
	into, what := &o.nodeCount, "requested node range"
	if f.ID == optNCPUs {
		into, what = &o.cpuCount, "requested cpu range"
	}
	least, most, ranged := strings.Cut(f.Value, "-")
	if !ranged {
		most = least
	}
	low, err := strconv.ParseInt(least, 10, 64)
	high, err2 := strconv.ParseInt(most, 10, 64)
	if err != nil || err2 != nil || low < 0 || high < low {
		return fmt.Errorf("sacct: error: Invalid numeric value \"%s\" for %s.", f.Value, what)
	}
	*into = bounds{low, high, true}
	return nil
}

// jobFlags are the flags that slurmdbd gives jobs.
var jobFlags = []string{"None", "SchedSubmit", "SchedMain", "SchedBackfill", "StartReceived"}

func (o *options) setFlags(list string) error {
	for _, word := range show.List(list) {
		i := slices.IndexFunc(jobFlags, func(f string) bool { return strings.EqualFold(f, word) })
		if i < 0 {
			return fmt.Errorf("sacct: error: str_2_job_flags: Invalid job flag %s", word)
		}
		o.flags = append(o.flags, jobFlags[i])
	}
	return nil
}
