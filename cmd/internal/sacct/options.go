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

var optionSet = option.NewSet(about, []option.Row[options]{
	{Name: "accounts", Short: 'A', Value: "LIST", Help: "only jobs of these accounts",
		List: func(o *options) *[]string { return &o.accounts }},
	{Name: "allclusters", Short: 'L', Help: "jobs of all sites, which is the default",
		Do: func(o *options, _ option.Value) error { o.clusters = nil; return nil }},
	{Name: "allocations", Short: 'X', Help: "jobs without their steps",
		Flag: func(o *options) *bool { return &o.allocations }},
	{Name: "allusers", Short: 'a', Help: "jobs of all users",
		Do: func(o *options, _ option.Value) error { o.allUsers, o.users = true, nil; return nil }},
	{Name: "array"},
	{Name: "associations", Short: 'x', Value: "LIST", Help: "only jobs of these associations, by number",
		List: func(o *options) *[]string { return &o.assocs }},
	{Name: "batch-script", Short: 'B', Help: "the scripts of --jobs",
		Flag: func(o *options) *bool { return &o.script }},
	{Name: "brief", Short: 'b', Help: "job, state and exit code", Flag: func(o *options) *bool { return &o.brief }},
	{Name: "cluster", As: "clusters"},
	{Name: "clusters", Short: 'M', Value: "LIST", Help: "only jobs of these sites",
		Arg: getopt.RequiredArg, Do: (*options).setClusters},
	{Name: "completion", Short: 'c', Help: "refused: the federation has no job completion plugin",
		Do: func(*options, option.Value) error { return errNoCompletion }},
	{Name: "constraints", Short: 'C', Value: "LIST", Help: "only jobs that ask for these features",
		List: func(o *options) *[]string { return &o.constraints }},
	{Name: "delimiter", Value: "TEXT", Help: "what stands between fields with --parsable and --parsable2",
		Text: func(o *options) *string { return &o.delimiter }},
	{Name: "duplicates", Short: 'D', Help: "each run of a job that was requeued, not only the last",
		Flag: func(o *options) *bool { return &o.duplicates }},
	{Name: "endtime", Short: 'E', Value: "TIME", Help: "jobs before this time",
		Arg: getopt.RequiredArg, Do: func(o *options, v option.Value) error { return o.setTime(&o.to, v) }},
	{Name: "env-vars", Help: "the environments of --jobs", Flag: func(o *options) *bool { return &o.envVars }},
	{Name: "expand-patterns", Help: "file names with their patterns replaced",
		Flag: func(o *options) *bool { return &o.expand }},
	{Name: "federation"},
	{Name: "fields", As: "format"},
	{Name: "file", Short: 'f', Value: "FILE", Help: "refused: jobs are not read from a file of job completions",
		Arg: getopt.RequiredArg, Do: setFile},
	{Name: "flags", Short: 'F', Value: "LIST", Help: "only jobs with these flags: SchedMain, SchedBackfill, StartReceived and others",
		Arg: getopt.RequiredArg, Do: (*options).setFlags},
	{Name: "format", Short: 'o', Value: "LIST", Help: "fields, with %WIDTH: jobid,state%20; all is every field of Slurm; cost is ours, in dollars",
		Env: "SACCT_FORMAT", Text: func(o *options) *string { return &o.format }},
	{Name: "gid", Short: 'g', Value: "LIST", Help: "only jobs of these groups",
		List: func(o *options) *[]string { return &o.groups }},
	{Name: "group", As: "gid"},
	{Name: "help", Short: 'h', Help: "show this help", Tell: true},
	{Name: "help-fields", As: "helpformat"},
	{Name: "helpformat", Short: 'e', Help: "show the names of all fields", Print: printFields},
	{Name: "helpreason", Help: "show the reasons of --reason", Say: reasons},
	{Name: "helpstate", Help: "show the states of --state", Print: printStates},
	{Name: "jobs", Short: 'j', Value: "LIST", Help: "only these jobs: 17, 17_3, 17+1, 17.batch",
		Arg: getopt.RequiredArg, Do: (*options).setJobs},
	{Name: "json", Value: "VERSION", Help: "all that is known of the jobs as JSON, for programs",
		Arg: getopt.OptionalArg, Do: func(o *options, _ option.Value) error { o.json = true; return nil }},
	{Name: "local"},
	{Name: "long", Short: 'l', Help: "many fields", Flag: func(o *options) *bool { return &o.long }},
	{Name: "name", Value: "LIST", Help: "only jobs of these names",
		List: func(o *options) *[]string { return &o.names }},
	{Name: "ncpus", Short: 'I', Value: "N[-M]", Help: "only jobs with this many CPUs",
		Arg: getopt.RequiredArg, Do: func(o *options, v option.Value) error { return o.cpuCount.set(v, "requested cpu range") }},
	{Name: "nnodes", Short: 'i', Value: "N[-M]", Help: "only jobs on this many nodes",
		Arg: getopt.RequiredArg, Do: func(o *options, v option.Value) error { return o.nodeCount.set(v, "requested node range") }},
	{Name: "noconvert", Help: "memory as it was counted", Flag: func(o *options) *bool { return &o.noConvert }},
	{Name: "nodelist", Short: 'N', Value: "NODES", Help: "only jobs on these nodes",
		Text: func(o *options) *string { return &o.nodes }},
	{Name: "noheader", Short: 'n', Help: "no lines above the rows",
		Flag: func(o *options) *bool { return &o.noHeader }},
	{Name: "parsable", Short: 'p', Help: "fields with | behind each",
		Do: func(o *options, _ option.Value) error { o.parsable, o.parsable2 = true, false; return nil }},
	{Name: "parsable2", Short: 'P', Help: "fields with | between them",
		Do: func(o *options, _ option.Value) error { o.parsable, o.parsable2 = false, true; return nil }},
	{Name: "partition", Short: 'r', Value: "LIST", Help: "only jobs of these partitions",
		List: func(o *options) *[]string { return &o.partitions }},
	{Name: "qos", Short: 'q', Value: "LIST", Help: "only jobs of these QOS",
		List: func(o *options) *[]string { return &o.qos }},
	{Name: "reason", Value: "LIST", Help: "only jobs with these reasons; see --helpreason",
		List: func(o *options) *[]string { return &o.reasons }},
	{Name: "starttime", Short: 'S', Value: "TIME", Help: "jobs after this time; today if nothing says which jobs",
		Arg: getopt.RequiredArg, Do: func(o *options, v option.Value) error { return o.setTime(&o.from, v) }},
	{Name: "state", Short: 's', Value: "LIST", Help: "only jobs in these states; see --helpstate",
		Arg: getopt.RequiredArg, Do: (*options).setStates},
	{Name: "timelimit-max", Short: 'K', Value: "TIME", Help: "with --timelimit-min: only jobs with a time limit between the two",
		Arg: getopt.RequiredArg, Do: func(o *options, v option.Value) error { return setLimit(&o.limitMax, v) }},
	{Name: "timelimit-min", Short: 'k', Value: "TIME", Help: "only jobs with this time limit",
		Arg: getopt.RequiredArg, Do: func(o *options, v option.Value) error { return setLimit(&o.limitMin, v) }},
	{Short: 't', As: "allocations"}, // its old letter
	{Name: "truncate", Short: 'T', Help: "times outside of the window become its ends",
		Flag: func(o *options) *bool { return &o.truncate }},
	{Name: "units", Value: "UNIT", Help: "memory in this unit: K, M, G, T or P",
		Arg: getopt.RequiredArg, Do: (*options).setUnits},
	{Name: "usage", Help: "show how sacct is called", Say: shortHelp},
	{Name: "use-local-uid"},
	{Name: "user", Short: 'u', Value: "LIST", Help: "jobs of these users",
		List: func(o *options) *[]string { return &o.users }},
	{Name: "uid", As: "user"},
	{Name: "verbose", Short: 'v'},
	{Name: "version", Short: 'V', Help: "show the version of Slurm whose sacct this is", Say: show.Version + "\n"},
	{Name: "wckeys", Short: 'W', Value: "LIST", Help: "only jobs with these workload characterization keys",
		List: func(o *options) *[]string { return &o.wckeys }},
	{Name: "whole-hetjob", Value: "yes|no", Help: "all components of a job of which one is asked for",
		Arg: getopt.OptionalArg, Do: func(o *options, v option.Value) error { o.wholeHet = v.Text != "no"; return nil }},
	{Name: "yaml", Value: "VERSION", Help: "the same as --json, in YAML",
		Arg: getopt.OptionalArg, Do: func(o *options, _ option.Value) error { o.yaml = true; return nil }},
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
