package sacct

//lint:file-ignore ST1005 Slurm's own sentences begin and end as Slurm has them.

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/cmd/internal/option"
	"fsub/cmd/internal/show"
	"fsub/sbatch"
	"fsub/sbatch/getopt"
)

// options are what the command line and the environment ask for.
type options struct {
	args, env []string // the words of the call, and what it finds around it
	now       time.Time

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

var optionSet = option.NewSet("sacct", []option.Row[options]{
	{Name: "accounts", Short: 'A', List: func(o *options) *[]string { return &o.accounts }},
	{Name: "allclusters", Short: 'L', Do: func(o *options, _ option.Value) error { o.clusters = nil; return nil }},
	{Name: "allocations", Short: 'X', Flag: func(o *options) *bool { return &o.allocations }},
	{Name: "allusers", Short: 'a', Do: func(o *options, _ option.Value) error { o.allUsers, o.users = true, nil; return nil }},
	{Name: "array"},
	{Name: "associations", Short: 'x', List: func(o *options) *[]string { return &o.assocs }},
	{Name: "batch-script", Short: 'B', Flag: func(o *options) *bool { return &o.script }},
	{Name: "brief", Short: 'b', Flag: func(o *options) *bool { return &o.brief }},
	{Name: "cluster", As: "clusters"},
	{Name: "clusters", Short: 'M', Arg: getopt.RequiredArg, Do: (*options).setClusters},
	{Name: "completion", Short: 'c', Do: func(*options, option.Value) error { return errNoCompletion }},
	{Name: "constraints", Short: 'C', List: func(o *options) *[]string { return &o.constraints }},
	{Name: "delimiter", Text: func(o *options) *string { return &o.delimiter }},
	{Name: "duplicates", Short: 'D', Flag: func(o *options) *bool { return &o.duplicates }},
	{Name: "endtime", Short: 'E', Arg: getopt.RequiredArg, Do: func(o *options, v option.Value) error { return o.setTime(&o.to, v) }},
	{Name: "env-vars", Flag: func(o *options) *bool { return &o.envVars }},
	{Name: "expand-patterns", Flag: func(o *options) *bool { return &o.expand }},
	{Name: "federation"},
	{Name: "fields", As: "format"},
	{Name: "file", Short: 'f', Arg: getopt.RequiredArg, Do: setFile},
	{Name: "flags", Short: 'F', Arg: getopt.RequiredArg, Do: (*options).setFlags},
	{Name: "format", Short: 'o', Env: "SACCT_FORMAT", Text: func(o *options) *string { return &o.format }},
	{Name: "gid", Short: 'g', List: func(o *options) *[]string { return &o.groups }},
	{Name: "group", As: "gid"},
	{Name: "help", Short: 'h', Say: help},
	{Name: "help-fields", As: "helpformat"},
	{Name: "helpformat", Short: 'e', Print: printFields},
	{Name: "helpreason", Say: reasons},
	{Name: "helpstate", Print: printStates},
	{Name: "jobs", Short: 'j', Arg: getopt.RequiredArg, Do: (*options).setJobs},
	{Name: "json", Arg: getopt.OptionalArg, Do: func(o *options, _ option.Value) error { o.json = true; return nil }},
	{Name: "local"},
	{Name: "long", Short: 'l', Flag: func(o *options) *bool { return &o.long }},
	{Name: "name", List: func(o *options) *[]string { return &o.names }},
	{Name: "ncpus", Short: 'I', Arg: getopt.RequiredArg, Do: func(o *options, v option.Value) error { return o.cpuCount.set(v, "requested cpu range") }},
	{Name: "nnodes", Short: 'i', Arg: getopt.RequiredArg, Do: func(o *options, v option.Value) error { return o.nodeCount.set(v, "requested node range") }},
	{Name: "noconvert", Flag: func(o *options) *bool { return &o.noConvert }},
	{Name: "nodelist", Short: 'N', Text: func(o *options) *string { return &o.nodes }},
	{Name: "noheader", Short: 'n', Flag: func(o *options) *bool { return &o.noHeader }},
	{Name: "parsable", Short: 'p', Do: func(o *options, _ option.Value) error { o.parsable, o.parsable2 = true, false; return nil }},
	{Name: "parsable2", Short: 'P', Do: func(o *options, _ option.Value) error { o.parsable, o.parsable2 = false, true; return nil }},
	{Name: "partition", Short: 'r', List: func(o *options) *[]string { return &o.partitions }},
	{Name: "qos", Short: 'q', List: func(o *options) *[]string { return &o.qos }},
	{Name: "reason", List: func(o *options) *[]string { return &o.reasons }},
	{Name: "starttime", Short: 'S', Arg: getopt.RequiredArg, Do: func(o *options, v option.Value) error { return o.setTime(&o.from, v) }},
	{Name: "state", Short: 's', Arg: getopt.RequiredArg, Do: (*options).setStates},
	{Name: "timelimit-max", Short: 'K', Arg: getopt.RequiredArg, Do: func(o *options, v option.Value) error { return setLimit(&o.limitMax, v) }},
	{Name: "timelimit-min", Short: 'k', Arg: getopt.RequiredArg, Do: func(o *options, v option.Value) error { return setLimit(&o.limitMin, v) }},
	{Short: 't', As: "allocations"}, // its old letter
	{Name: "truncate", Short: 'T', Flag: func(o *options) *bool { return &o.truncate }},
	{Name: "units", Arg: getopt.RequiredArg, Do: (*options).setUnits},
	{Name: "usage", Say: shortHelp},
	{Name: "use-local-uid"},
	{Name: "user", Short: 'u', List: func(o *options) *[]string { return &o.users }},
	{Name: "uid", As: "user"},
	{Name: "verbose", Short: 'v'},
	{Name: "version", Short: 'V', Say: show.Version + "\n"},
	{Name: "wckeys", Short: 'W', List: func(o *options) *[]string { return &o.wckeys }},
	{Name: "whole-hetjob", Arg: getopt.OptionalArg, Do: func(o *options, v option.Value) error { o.wholeHet = v.Text != "no"; return nil }},
	{Name: "yaml", Arg: getopt.OptionalArg, Do: func(o *options, _ option.Value) error { o.yaml = true; return nil }},
})

// parse reads the environment, then the command line over it. done means that the command ends here with exit.
func parse(args, env []string, stdout, stderr io.Writer, now time.Time) (o options, exit int, done bool) {
	o = options{args: args, env: env, now: now, delimiter: "|"}
	err := optionSet.Environment(&o, env)
	if err == nil {
		var operands []string
		operands, done, err = optionSet.Parse(&o, args, stdout)
		switch e := (*getopt.Error)(nil); {
		case done:
			return o, 0, true
		case errors.As(err, &e):
			err = e // sacct says no more than this
		case err == nil && len(operands) > 0:
			err = fmt.Errorf("sacct: error: Unknown arguments:\nsacct: error:  %s", strings.Join(operands, "\nsacct: error:  "))
		}
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

func printStates(_ *options, _ option.Value, w io.Writer) bool {
	io.WriteString(w, strings.ReplaceAll(show.StateNames(), ",", "\n")+"\n")
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

// window sets the times that are not given. With jobs it is all time; with states it is now, or the
// moment of --starttime; else it is today.
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

func (o *options) setClusters(v option.Value) error {
	if o.clusters = show.List(v.Text); v.Text == "all" || v.Text == "-1" {
		o.clusters = nil
	}
	return nil
}

func (o *options) setStates(v option.Value) error {
	for _, s := range show.List(v.Text) {
		long := show.LongState(s)
		if long == "" {
			return fmt.Errorf("sacct: fatal: unrecognized job state value '%s'", s)
		}
		o.states = append(o.states, long)
	}
	return nil
}

func (o *options) setTime(into *time.Time, v option.Value) error {
	t, ok := show.When(v.Text, o.now)
	if !ok {
		return fmt.Errorf("Invalid time specification (pos=0): %s", v.Text)
	}
	*into = t
	return nil
}

func (o *options) setUnits(v option.Value) error {
	o.units = strings.ToUpper(v.Text)
	if len(o.units) != 1 || !strings.Contains("KMGTP", o.units) {
		return fmt.Errorf("sacct: error: Invalid unit type '%s'. Possible options are 'KMGTP'\nsacct: fatal: Invalid unit type", v.Text)
	}
	return nil
}

func setLimit(into *time.Duration, v option.Value) error {
	limit, ok := sbatch.TimeLimit(v.Text)
	if !ok {
		return errors.New("sacct: fatal: Invalid time limit specification")
	}
	*into = limit
	return nil
}

var errNoCompletion = errors.New("Slurm job completion is disabled")

func setFile(_ *options, v option.Value) error {
	if info, err := os.Stat(v.Text); err != nil || !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a valid file", v.Text)
	}
	return errNoCompletion
}

// set reads "2" or "2-4".
func (b *bounds) set(v option.Value, what string) error {
	least, most, ranged := strings.Cut(v.Text, "-")
	if !ranged {
		most = least
	}
	low, err := strconv.ParseInt(least, 10, 64)
	high, err2 := strconv.ParseInt(most, 10, 64)
	if err != nil || err2 != nil || low < 0 || high < low {
		return fmt.Errorf("sacct: error: Invalid numeric value \"%s\" for %s.", v.Text, what)
	}
	*b = bounds{low, high, true}
	return nil
}

// jobFlags are the flags that slurmdbd gives jobs.
var jobFlags = []string{"None", "SchedSubmit", "SchedMain", "SchedBackfill", "StartReceived"}

func (o *options) setFlags(v option.Value) error {
	for _, word := range show.List(v.Text) {
		i := slices.IndexFunc(jobFlags, func(f string) bool { return strings.EqualFold(f, word) })
		if i < 0 {
			return fmt.Errorf("sacct: error: str_2_job_flags: Invalid job flag %s", word)
		}
		o.flags = append(o.flags, jobFlags[i])
	}
	return nil
}
