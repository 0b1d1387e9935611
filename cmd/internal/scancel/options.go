package scancel

//lint:file-ignore ST1005 Slurm's own sentences begin and end as Slurm has them.

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"fsub/cmd/internal/option"
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

var optionSet = option.NewSet(about, []option.Row[options]{
	{Name: "account", Short: 'A', Value: "NAME", Help: "only jobs of this account",
		Env: "SCANCEL_ACCOUNT", Text: func(o *options) *string { return &o.account }},
	{Name: "batch", Short: 'b', Help: "signal the batch script alone",
		Flag: func(o *options) *bool { return &o.batch }},
	{Name: "cluster", As: "clusters"},
	{Name: "clusters", Short: 'M', Value: "LIST|all", Help: "only jobs at these sites",
		Env: "SLURM_CLUSTERS", Text: func(o *options) *string { return &o.clusters }},
	{Name: "cron", Short: 'c'},
	{Name: "ctld"},
	{Name: "full", Short: 'f', Help: "signal the batch script and all steps",
		Flag: func(o *options) *bool { return &o.full }},
	{Name: "help", Help: "show this help", Tell: true},
	{Name: "hurry", Short: 'H'},
	{Name: "interactive", Short: 'i', Help: "ask about each job",
		Flag: func(o *options) *bool { return &o.interactive }},
	{Name: "jobname", As: "name"},
	{Name: "me", Help: "only your own jobs",
		Do: func(o *options, _ option.Value) error { o.users = []string{strconv.Itoa(show.UID())}; return nil }},
	{Name: "name", Short: 'n', Value: "LIST", Help: "only jobs of these names",
		Env: "SCANCEL_NAME", List: func(o *options) *[]string { return &o.names }},
	{Name: "nodelist", Short: 'w', Value: "NODES", Help: "only jobs on these nodes",
		Text: func(o *options) *string { return &o.nodes }},
	{Name: "partition", Short: 'p', Value: "NAME", Help: "only jobs of this partition",
		Env: "SCANCEL_PARTITION", Text: func(o *options) *string { return &o.partition }},
	{Name: "qos", Short: 'q', Value: "NAME", Help: "only jobs of this QOS",
		Env: "SCANCEL_QOS", Text: func(o *options) *string { return &o.qos }},
	{Name: "quiet", Short: 'Q', Help: "say nothing of jobs that have ended",
		Flag: func(o *options) *bool { return &o.quiet }},
	{Name: "reservation", Short: 'R', Value: "NAME", Help: "only jobs of this reservation",
		Text: func(o *options) *string { return &o.reservation }},
	{Name: "sibling", Value: "SITE", Help: "only jobs at this site",
		Text: func(o *options) *string { return &o.sibling }},
	{Name: "signal", Short: 's', Value: "NAME|NUMBER", Help: "send this signal; without it jobs are ended",
		Arg: getopt.RequiredArg, Do: (*options).setSignal},
	{Name: "state", Short: 't', Value: "STATE", Help: "only jobs that are PENDING, RUNNING or SUSPENDED",
		Arg: getopt.RequiredArg, Do: (*options).setState},
	{Name: "usage", Help: "show how scancel is called", Say: usage},
	{Name: "user", Short: 'u', Value: "LIST", Help: "only jobs of these users",
		Env: "SCANCEL_USER", List: func(o *options) *[]string { return &o.users }},
	{Name: "verbose", Short: 'v', Help: "say what is done", Flag: func(o *options) *bool { return &o.verbose }},
	{Name: "version", Short: 'V', Help: "show the version of Slurm whose scancel this is", Say: show.Version + "\n"},
	{Name: "wckey", Value: "KEY", Help: "only jobs with this workload characterization key",
		Env: "SCANCEL_WCKEY", Text: func(o *options) *string { return &o.wckey }},
}).Note((*options).pass)

// parse reads the environment, then the command line over it. done means that the command ends here with exit.
func parse(args, env []string, stdout, stderr io.Writer) (o options, exit int, done bool) {
	err := o.fromEnv(env, stderr)
	operands, done, parseErr := optionSet.Parse(&o, args, stdout)
	if done {
		return o, 0, true
	}
	if err == nil {
		err = parseErr
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
	for name, flag := range map[string]*bool{"SCANCEL_BATCH": &o.batch, "SCANCEL_FULL": &o.full, "SCANCEL_HURRY": new(bool), "SCANCEL_CTLD": new(bool),
		"SCANCEL_INTERACTIVE": &o.interactive, "SCANCEL_VERBOSE": &o.verbose} {
		switch v := show.Env(env, name); strings.ToLower(v) {
		case "", "f", "false":
		case "t", "true":
			*flag = true
		default:
			fmt.Fprintf(stderr, "scancel: error: Unrecognized %s value: %s\n", name, v)
		}
	}
	if v := show.Env(env, "SCANCEL_STATE"); v != "" {
		if o.states = stateList(v); o.states == nil {
			return fmt.Errorf("Unrecognized SCANCEL_STATE value: %s\n%s", v, validStates)
		}
	}
	return optionSet.Environment(o, env)
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

func (o *options) setSignal(v option.Value) error {
	o.signal = strings.TrimPrefix(strings.ToUpper(v.Text), "SIG")
	if !validSignal(o.signal) {
		return fmt.Errorf("Unknown job signal: %s", v.Text)
	}
	return nil
}

func (o *options) setState(v option.Value) error {
	if o.states = stateList(v.Text); o.states == nil {
		return fmt.Errorf("Invalid job state specified: %s\n%s", v.Text, validStates)
	}
	return nil
}

// pass keeps an option for a site's own scancel, which knows only its own cluster.
func (o *options) pass(name string, v option.Value) {
	switch {
	case name == "cluster", name == "clusters":
	case v.Given:
		o.passed = append(o.passed, "--"+name+"="+v.Text)
	default:
		o.passed = append(o.passed, "--"+name)
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

var about = option.About{
	Name:  "scancel",
	Does:  "cancel jobs of the federation, or send them a signal",
	Usage: []string{"scancel [OPTIONS] [job_id[_task_id][.step_id]...]"},
	Text:  "Cancels jobs, tasks of arrays and steps, wherever they wait or run, or sends them a signal. Without numbers the options say which jobs.",
}

// About describes scancel.
func About() option.About { return optionSet.About() }
