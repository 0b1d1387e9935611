package squeue

//lint:file-ignore ST1005 Slurm's own sentences begin and end as Slurm has them.

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/cmd/internal/option"
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
	notMe                                                              bool // all but those of the user me
	me                                                                 int
	clusters, format, format2, sort                                    string
	iterate                                                            time.Duration // 0: once
	array, long, noConvert, noHeader, start, steps                     bool
	onlyState                                                          bool
	document                                                           string // json or yaml: all that is known of the jobs, for programs
	parser                                                             string // version of the document's shape
	jobsNext, stepsNext                                                bool   // -j or -s came without its value
	formatOfEnv                                                        bool   // format and format2 are the environment's
}

var optionSet = option.NewSet(about, []option.Row[options]{
	{Name: "accounts", Short: 'A', Value: "LIST", Help: "only jobs of these accounts",
		Env: "SQUEUE_ACCOUNT", List: func(o *options) *[]string { return &o.accounts }},
	{Name: "all", Short: 'a'},
	{Name: "array", Short: 'r', Help: "one row for each task of an array",
		Env: "SQUEUE_ARRAY", Flag: func(o *options) *bool { return &o.array }},
	{Name: "array-unique"},
	{Name: "cluster", As: "clusters"},
	{Name: "clusters", Short: 'M', Value: "LIST|all", Help: "the jobs of these sites, site by site",
		Env: "SLURM_CLUSTERS", Text: func(o *options) *string { return &o.clusters }},
	{Name: "expand-patterns"},
	{Name: "federation"},
	{Name: "format", Short: 'o', Value: "FORMAT", Help: `columns by letter, such as "%.18i %j"; see --helpformat`,
		Arg: getopt.RequiredArg, Do: (*options).setFormat},
	{Name: "Format", Short: 'O', Value: "FORMAT", Help: `columns by name, such as "JobID:10,State"; see --helpFormat`,
		Arg: getopt.RequiredArg, Do: (*options).setFormat2},
	{Name: "help", Help: "show this help", Tell: true},
	{Name: "helpformat", Help: "show the letters of --format", Print: printLetters},
	{Name: "helpFormat", Help: "show the names of --Format", Print: printNames},
	{Name: "helpstate", Help: "show the states of --states", Print: printStates},
	{Name: "hide"},
	{Name: "iterate", Short: 'i', Value: "SECONDS", Help: "repeat every SECONDS, until interrupted",
		Arg: getopt.RequiredArg, Do: (*options).setIterate},
	{Name: "jobs", Short: 'j', Value: "LIST", Help: "only these jobs: 17, 17_3, 17+1",
		Arg: getopt.OptionalArg, Do: (*options).setJobs},
	{Name: "json", Value: "VERSION", Help: "all that is known of the jobs as JSON, for programs; --json=list shows the versions",
		Arg: getopt.OptionalArg, Print: printParsers, Do: func(o *options, v option.Value) error { return o.setDocument("json", v) }},
	{Name: "licenses", Short: 'L', Value: "LIST", Help: "only jobs that ask for one of these licenses",
		Env: "SQUEUE_LICENSES", List: func(o *options) *[]string { return &o.licenses }},
	{Name: "local"},
	{Name: "long", Short: 'l', Help: "longer lines", Do: (*options).setLong},
	{Name: "me", Help: "only your own jobs",
		Do: func(o *options, _ option.Value) error { o.users = []string{show.Me()}; return nil }},
	{Name: "name", Short: 'n', Value: "LIST", Help: "only jobs of these names",
		Env: "SQUEUE_NAMES", List: func(o *options) *[]string { return &o.names }},
	{Name: "noconvert", Help: "memory in MiB", Flag: func(o *options) *bool { return &o.noConvert }},
	{Name: "nodelist", Short: 'w', Value: "NODES", Help: "only jobs on these nodes",
		Arg: getopt.RequiredArg, Do: func(o *options, v option.Value) error { o.nodes = append(o.nodes, v.Text); return nil }},
	{Name: "nodes", As: "nodelist"},
	{Name: "noheader", Short: 'h', Help: "no line above the rows", Flag: func(o *options) *bool { return &o.noHeader }},
	{Name: "notme", Help: "only jobs of others",
		Do: func(o *options, _ option.Value) error { o.notMe, o.me = true, show.UID(); return nil }},
	{Name: "only-job-state", Help: "ID and state, and nothing else",
		Flag: func(o *options) *bool { return &o.onlyState }},
	{Name: "partitions", Short: 'p', Value: "LIST", Help: "only jobs of these partitions",
		Env: "SQUEUE_PARTITION", List: func(o *options) *[]string { return &o.partitions }},
	{Name: "priority", Short: 'P'},
	{Name: "qos", Short: 'q', Value: "LIST", Help: "only jobs of these QOS",
		Env: "SQUEUE_QOS", List: func(o *options) *[]string { return &o.qos }},
	{Name: "reservation", Short: 'R', Value: "LIST", Help: "only jobs of these reservations",
		List: func(o *options) *[]string { return &o.reservations }},
	{Name: "sibling"},
	{Name: "sort", Short: 'S', Value: "FIELDS", Help: "order of the rows: letters of --format, - in front of one for descending",
		Env: "SQUEUE_SORT", Text: func(o *options) *string { return &o.sort }},
	{Name: "start", Help: "when pending jobs are expected to start, at which site and for how much",
		Flag: func(o *options) *bool { return &o.start }},
	{Name: "states", Short: 't', Value: "LIST", Help: "only jobs in these states, or all; see --helpstate",
		Env: "SQUEUE_STATES", List: func(o *options) *[]string { return &o.states }},
	{Name: "steps", Short: 's', Value: "LIST", Help: "the steps of running jobs",
		Arg: getopt.OptionalArg, Do: (*options).setSteps},
	{Name: "usage", Help: "show how squeue is called", Say: usage},
	{Name: "user", Short: 'u', Value: "LIST", Help: "only jobs of these users",
		Env: "SQUEUE_USERS", List: func(o *options) *[]string { return &o.users }},
	{Name: "users", As: "user"},
	{Name: "verbose", Short: 'v'},
	{Name: "version", Short: 'V', Help: "show the version of Slurm whose squeue this is", Say: show.Version + "\n"},
	{Name: "yaml", Value: "VERSION", Help: "the same as --json, in YAML",
		Arg: getopt.OptionalArg, Print: printParsers, Do: func(o *options, v option.Value) error { return o.setDocument("yaml", v) }},
}).Strict()

// parse reads the environment, then the command line over it. done means that the command ends here with exit.
func parse(args, env []string, stdout, stderr io.Writer) (o options, exit int, done bool) {
	refuse := func(err error) (options, int, bool) {
		fmt.Fprintln(stderr, err)
		return o, 1, true
	}
	o.fromEnv(env)
	operands, done, err := optionSet.Parse(&o, args, stdout)
	switch {
	case err != nil:
		return refuse(err)
	case done:
		return o, 0, true
	}
	// The value of -j and -s is optional to getopt, yet may be the next word.
	if len(operands) > 0 && o.jobsNext {
		o.jobs, operands = hostlist.Split(operands[0]), operands[1:]
	} else if len(operands) > 0 && o.stepsNext {
		o.stepIDs, operands = hostlist.Split(operands[0]), operands[1:]
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

// fromEnv takes what the environment asks for. Its two formats do not exclude each other as those
// of the command line do.
func (o *options) fromEnv(env []string) {
	_ = optionSet.Environment(o, env) // no option that it sets refuses a value
	o.format, o.format2, o.formatOfEnv = show.Env(env, "SQUEUE_FORMAT"), show.Env(env, "SQUEUE_FORMAT2"), true
}

func printStates(_ *options, _ option.Value, w io.Writer) bool {
	io.WriteString(w, strings.ReplaceAll(show.StateNames(), ",", "\n")+"\n")
	return true
}

// printParsers answers --json=list and --yaml=list.
func printParsers(_ *options, v option.Value, w io.Writer) bool {
	if v.Text != "list" {
		return false
	}
	io.WriteString(w, "Possible data_parser plugins:\n")
	for _, p := range parsers {
		io.WriteString(w, "data_parser/"+p+"\n")
	}
	return true
}

func printLetters(o *options, _ option.Value, w io.Writer) bool {
	printFields(w, true, o.steps)
	return true
}

func printNames(o *options, _ option.Value, w io.Writer) bool {
	printFields(w, false, o.steps)
	return true
}

func (o *options) setFormat(v option.Value) error {
	o.forgetFormatOfEnv()
	if o.format2 != "" {
		return errors.New("squeue: error: -o (--format) is incompatible with -O (--Format)")
	}
	o.format = v.Text
	return nil
}

func (o *options) setFormat2(v option.Value) error {
	o.forgetFormatOfEnv()
	if o.format != "" {
		return errors.New("squeue: error: -O (--Format) is incompatible with -o (--format)")
	}
	o.format2 = v.Text
	return nil
}

func (o *options) setLong(option.Value) error {
	o.forgetFormatOfEnv()
	o.long = true
	return nil
}

// forgetFormatOfEnv: a format of the command line beats either one of the environment, and so does --long.
func (o *options) forgetFormatOfEnv() {
	if o.formatOfEnv {
		o.format, o.format2, o.formatOfEnv = "", "", false
	}
}

func (o *options) setIterate(v option.Value) error {
	n, err := strconv.Atoi(v.Text)
	if err != nil || n <= 0 {
		return fmt.Errorf("squeue: error: --iterate=%s\n", v.Text)
	}
	o.iterate = time.Duration(n) * time.Second
	return nil
}

func (o *options) setJobs(v option.Value) error {
	if o.jobsNext = !v.Given; v.Given {
		o.jobs = hostlist.Split(v.Text)
	}
	return nil
}

func (o *options) setSteps(v option.Value) error {
	o.steps, o.stepsNext = true, !v.Given
	if v.Given {
		o.stepIDs = hostlist.Split(v.Text)
	}
	return nil
}

func (o *options) setDocument(as string, v option.Value) error {
	o.document, o.parser = as, wire.Base
	if v.Text != "" {
		o.parser = strings.TrimPrefix(v.Text, "data_parser/")
	}
	if !slices.Contains(parsers, o.parser) {
		return fmt.Errorf("squeue: error: application/%s output not supported by data_parser/%s; it is by %s", o.document, o.parser, strings.Join(parsers, ", "))
	}
	return nil
}

// parsers are the shapes of --json and --yaml that the daemon writes.
var parsers = []string{"v0.0.42", "v0.0.43", "v0.0.44", "v0.0.45"}

// check puts states in their long form, and refuses what is not a state or not a job ID.
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

// checkSort puts --sort into letters with commas. Commas may be missing: each letter is a field of
// its own, and squeue reads them from the last to the first.
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
