package sacct

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/cmd/fsub/internal/show"
	v1 "fsub/federation/api/v1"
	"fsub/sbatch/getopt"
)

// options are what the command line and the environment ask for.
type options struct {
	refs                                                      []ref
	users, names, partitions, accounts, qos, states, clusters []string
	nodes, format, delimiter, units                           string
	from, to                                                  time.Time
	allUsers, allocations, brief, json, long, noConvert       bool
	noHeader, parsable, parsable2, script                     bool
}

// ref is a job, a task or a step as --jobs names it.
type ref struct {
	id    int64
	tasks []int  // empty: the whole job
	text  string // of the tasks, as given
	step  string // "": all
}

// job is the ref without its step.
func (r ref) job() string {
	if len(r.tasks) == 0 {
		return strconv.FormatInt(r.id, 10)
	}
	return strconv.FormatInt(r.id, 10) + "_" + r.text
}

// has reports whether j is what r names. The tasks that have not started have one record, which no task's ID names.
func (r ref) has(j *v1.AccountingJob) bool {
	if len(r.tasks) > 0 {
		return j.Array.JobID == r.id && j.Array.TaskID.Set && slices.Contains(r.tasks, int(j.Array.TaskID.Number))
	}
	return j.Array.JobID == r.id || j.JobID == r.id && j.Array.JobID == 0
}

func parseRef(text string) (ref, bool) {
	base, step, _ := strings.Cut(text, ".")
	base, _, _ = strings.Cut(base, "+")
	idText, taskText, hasTask := strings.Cut(base, "_")
	id, err := strconv.ParseUint(idText, 10, 32)
	r := ref{id: int64(id), text: taskText, step: step}
	if hasTask {
		r.tasks = show.Ranges(taskText)
	}
	return r, err == nil && id > 0 && (!hasTask || len(r.tasks) > 0)
}

const (
	optAccount = iota
	optAllClusters
	optAllocations
	optAllUsers
	optBrief
	optClusters
	optDelimiter
	optEnd
	optFormat
	optHelp
	optHelpFormat
	optIgnore
	optJobs
	optJSON
	optLong
	optName
	optNoConvert
	optNodes
	optNoHeader
	optParsable
	optParsable2
	optPartition
	optQOS
	optScript
	optStart
	optState
	optUnits
	optUnsupported
	optUsage
	optUser
	optVersion
)

var optionSet = getopt.NewSet("sacct", []getopt.Option{
	{Name: "accounts", Short: 'A', Arg: getopt.RequiredArg, ID: optAccount},
	{Name: "allclusters", Short: 'L', ID: optAllClusters},
	{Name: "allocations", Short: 'X', ID: optAllocations},
	{Name: "allusers", Short: 'a', ID: optAllUsers},
	{Name: "array", ID: optIgnore},
	{Name: "associations", Short: 'x', Arg: getopt.RequiredArg, ID: optUnsupported},
	{Name: "batch-script", Short: 'B', ID: optScript},
	{Name: "brief", Short: 'b', ID: optBrief},
	{Name: "cluster", Arg: getopt.RequiredArg, ID: optClusters},
	{Name: "clusters", Short: 'M', Arg: getopt.RequiredArg, ID: optClusters},
	{Name: "completion", Short: 'c', ID: optUnsupported},
	{Name: "constraints", Short: 'C', Arg: getopt.RequiredArg, ID: optUnsupported},
	{Name: "delimiter", Arg: getopt.RequiredArg, ID: optDelimiter},
	{Name: "duplicates", Short: 'D', ID: optIgnore},
	{Name: "endtime", Short: 'E', Arg: getopt.RequiredArg, ID: optEnd},
	{Name: "env-vars", ID: optUnsupported},
	{Name: "expand-patterns", ID: optIgnore},
	{Name: "federation", ID: optIgnore},
	{Name: "file", Short: 'f', Arg: getopt.RequiredArg, ID: optUnsupported},
	{Name: "format", Short: 'o', Arg: getopt.RequiredArg, ID: optFormat},
	{Name: "help", Short: 'h', ID: optHelp},
	{Name: "helpformat", Short: 'e', ID: optHelpFormat},
	{Name: "jobs", Short: 'j', Arg: getopt.RequiredArg, ID: optJobs},
	{Name: "json", Arg: getopt.OptionalArg, ID: optJSON},
	{Name: "local", ID: optIgnore},
	{Name: "long", Short: 'l', ID: optLong},
	{Name: "name", Arg: getopt.RequiredArg, ID: optName},
	{Name: "ncpus", Short: 'I', Arg: getopt.RequiredArg, ID: optUnsupported},
	{Name: "nnodes", Short: 'i', Arg: getopt.RequiredArg, ID: optUnsupported},
	{Name: "noconvert", ID: optNoConvert},
	{Name: "nodelist", Short: 'N', Arg: getopt.RequiredArg, ID: optNodes},
	{Name: "noheader", Short: 'n', ID: optNoHeader},
	{Name: "parsable", Short: 'p', ID: optParsable},
	{Name: "parsable2", Short: 'P', ID: optParsable2},
	{Name: "partition", Short: 'r', Arg: getopt.RequiredArg, ID: optPartition},
	{Name: "qos", Short: 'q', Arg: getopt.RequiredArg, ID: optQOS},
	{Name: "starttime", Short: 'S', Arg: getopt.RequiredArg, ID: optStart},
	{Name: "state", Short: 's', Arg: getopt.RequiredArg, ID: optState},
	{Name: "timelimit-max", Short: 'K', Arg: getopt.RequiredArg, ID: optUnsupported},
	{Name: "timelimit-min", Short: 'k', Arg: getopt.RequiredArg, ID: optUnsupported},
	{Name: "truncate", Short: 'T', ID: optIgnore},
	{Name: "units", Arg: getopt.RequiredArg, ID: optUnits},
	{Name: "usage", ID: optUsage},
	{Name: "user", Short: 'u', Arg: getopt.RequiredArg, ID: optUser},
	{Name: "uid", Arg: getopt.RequiredArg, ID: optUser},
	{Name: "verbose", Short: 'v', ID: optIgnore},
	{Name: "version", Short: 'V', ID: optVersion},
	{Name: "wckeys", Short: 'W', Arg: getopt.RequiredArg, ID: optUnsupported},
	{Name: "yaml", Arg: getopt.OptionalArg, ID: optUnsupported},
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
	if v := show.Env(env, "SLURM_CLUSTERS"); v != "" && v != "all" {
		o.clusters = show.List(v)
	}
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
		case optHelpFormat:
			printFields(stdout)
			return o, 0, true
		case optUnsupported:
			err = fmt.Errorf("sacct: error: fsub's sacct does not have --%s yet", f.Name)
		}
		if err == nil {
			if f.ID == optJobs {
				f.Value = strings.Join(show.OwnTasks(env, show.SplitRefs(f.Value)), ",")
			}
			err = o.set(f, now)
		}
	}
	if err == nil && len(operands) > 0 {
		err = fmt.Errorf("sacct: error: Unknown arguments:\nsacct: error:  %s", strings.Join(operands, "\nsacct: error:  "))
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return o, 1, true
	}
	o.window(now)
	return o, 0, false
}

// window sets the times that are not given. With jobs it is all time; with states it is now; else it is today.
func (o *options) window(now time.Time) {
	switch {
	case !o.from.IsZero():
	case len(o.refs) > 0:
		return
	case len(o.states) > 0:
		o.from = now
		if !o.to.IsZero() {
			o.from = o.to
		}
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
	case optBrief:
		o.brief = true
	case optClusters:
		if o.clusters = show.List(f.Value); f.Value == "all" || f.Value == "-1" {
			o.clusters = nil
		}
	case optDelimiter:
		o.delimiter = f.Value
	case optFormat:
		o.format = f.Value
	case optJSON:
		o.json = true
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
	case optScript:
		o.script = true
	case optUser:
		o.users = show.List(f.Value)
	default:
		return o.setChecked(f, now)
	}
	return nil
}

// setChecked takes the options whose values may be wrong.
func (o *options) setChecked(f getopt.Found, now time.Time) error {
	switch f.ID {
	case optJobs:
		for _, text := range show.SplitRefs(f.Value) {
			r, ok := parseRef(text)
			if !ok {
				return fmt.Errorf("sacct: fatal: Bad job/step specified: %s", text)
			}
			o.refs = append(o.refs, r)
		}
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
			return fmt.Errorf("sacct: error: Invalid unit type")
		}
	}
	return nil
}

const usage = `Usage: sacct [-aBbDeLlnPpVX] [-A accounts] [-E end] [-j jobs] [-M clusters] [-N nodes] [-o fields] [-q qos] [-r partitions]
             [-S start] [-s states] [-u users] [--delimiter text] [--json] [--name names] [--noconvert] [--units K|M|G|T|P]
`

const help = `Usage: sacct [OPTIONS]
Shows what became of jobs of the federation.

  -A, --accounts=LIST       only jobs of these accounts
  -a, --allusers            jobs of all users
  -B, --batch-script        the scripts of --jobs
  -b, --brief               job, state and exit code
      --delimiter=TEXT      what stands between fields with --parsable
  -E, --endtime=TIME        jobs before this time
  -e, --helpformat          the names of all fields
  -j, --jobs=LIST           only these jobs: 17, 17_3, 17.batch
      --json                all that is known of the jobs, for programs
  -l, --long                many fields
  -M, --clusters=LIST       only jobs of these sites
  -N, --nodelist=LIST       only jobs on these nodes
      --name=LIST           only jobs of these names
      --noconvert           memory in MiB
  -n, --noheader            no lines above the rows
  -o, --format=LIST         fields, with %WIDTH: jobid,state%20
  -P, --parsable2           fields with | between them
  -p, --parsable            fields with | after them
  -q, --qos=LIST            only jobs of these QOS
  -r, --partition=LIST      only jobs of these partitions
  -S, --starttime=TIME      jobs after this time; today if not given
  -s, --state=LIST          only jobs in these states
      --units=UNIT          memory in this unit
  -u, --user=LIST           jobs of these users
  -X, --allocations         jobs without their steps
  -V, --version             the version
`
