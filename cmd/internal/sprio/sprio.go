// Package sprio shows what the priority of each waiting job is made of, as Slurm's sprio does. What the federation weighs and Slurm has no column for (the work
// that is expected, soft limits that are passed, an operator's number) is in the column SITE, which Slurm keeps for a site's own factor.
package sprio

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"fsub/cmd/internal/conn"
	"fsub/cmd/internal/option"
	"fsub/cmd/internal/show"
	v1 "fsub/federation/api/v1"
)

// Main is the command sprio.
func Main(args, env []string, stdout, stderr io.Writer, c *conn.Conn) int {
	return run(args, env, stdout, stderr, c)
}

type options struct {
	jobs, users, partitions       []string
	clusters, format              string
	noHeader, long, norm, weights bool
}

var optionSet = option.NewSet(about, []option.Row[options]{
	{Name: "federation"}, {Name: "local"}, {Name: "sibling"},
	{Name: "noheader", Short: 'h', Help: "no line above the rows", Flag: func(o *options) *bool { return &o.noHeader }},
	{Name: "jobs", Short: 'j', Value: "LIST", Help: "only these jobs",
		List: func(o *options) *[]string { return &o.jobs }},
	{Name: "long", Short: 'l', Help: "all factors", Flag: func(o *options) *bool { return &o.long }},
	{Name: "cluster", As: "clusters"},
	{Name: "clusters", Short: 'M', Value: "LIST", Help: "only jobs that may run at these sites",
		Env: "SLURM_CLUSTERS", Text: func(o *options) *string { return &o.clusters }},
	{Name: "norm", Short: 'n', Help: "refused: the factors are points that add up",
		Flag: func(o *options) *bool { return &o.norm }},
	{Name: "format", Short: 'o', Value: "FORMAT", Help: `columns by letter, such as "%.15i %.10Y"; see --helpformat`,
		Text: func(o *options) *string { return &o.format }},
	{Name: "partition", Short: 'p', Value: "LIST", Help: "only jobs of these partitions",
		List: func(o *options) *[]string { return &o.partitions }},
	{Name: "sort", Short: 'S', Value: "FIELDS", Help: "taken without effect: the rows stand in the order of the job IDs",
		Text: func(*options) *string { return new(string) }},
	{Name: "user", Short: 'u', Value: "LIST", Help: "only jobs of these users",
		List: func(o *options) *[]string { return &o.users }},
	{Name: "verbose", Short: 'v'},
	{Name: "weights", Short: 'w', Help: "refused: the factors have no weights",
		Flag: func(o *options) *bool { return &o.weights }},
	{Name: "helpformat", Help: "show the letters of --format",
		Print: func(_ *options, _ option.Value, w io.Writer) bool { io.WriteString(w, letters); return true }},
	{Name: "version", Short: 'V', Help: "show the version of Slurm whose sprio this is", Say: show.Version + "\n"},
	{Name: "help", Help: "show this help", Tell: true},
	{Name: "usage", Help: "show how sprio is called",
		Say: "Usage: sprio [-j jid[s]] [-u user_name[s]] [-o format] [-p partitions] [-c cluster] [--federation] [--local] [--sibling] [--usage] [-hlnvVw]\n"},
})

func run(args, env []string, stdout, stderr io.Writer, c show.Caller) int {
	return optionSet.Run(args, env, stdout, stderr, func(o *options) error { return o.list(c, env, stdout, stderr) })
}

// list prints the waiting jobs. Its error is a whole line for stderr.
func (o *options) list(c show.Caller, env []string, stdout, stderr io.Writer) error {
	if o.norm || o.weights {
		return errors.New("sprio: error: the federation's factors are points that add up, without weights: leave out --norm and --weights; " +
			"what a point is worth stands in the daemon's configuration (priority)")
	}
	layout, unknown := show.Format(o.layout(), fields)
	for _, spec := range unknown {
		fmt.Fprintf(stderr, "sprio: error: Invalid job format specification: %s\n", spec)
	}
	clusters, complaint, err := show.Clusters(c, "sprio", o.clusters)
	switch {
	case errors.As(err, new(*show.Failure)):
		return fmt.Errorf("sprio: error: %w", err)
	case err != nil:
		return err
	}
	io.WriteString(stderr, complaint)
	q, err := o.query(env)
	if err != nil {
		return err
	}
	for _, one := range clusters {
		q.Add("cluster", one.Site)
	}
	var list v1.Priorities
	if err := show.Get(c, "/fed/v1/priorities"+q.String(), &list); err != nil {
		return fmt.Errorf("sprio: error: %w", err)
	}
	for _, u := range show.InvalidUsers(&list.Reply) {
		fmt.Fprintf(stderr, "sprio: error: Invalid user: %s\n\n", u)
	}
	slices.SortStableFunc(list.Jobs, func(a, b v1.Priority) int { return cmp.Compare(a.Job, b.Job) })
	var b strings.Builder
	if !o.noHeader {
		b.WriteString(layout.Header() + "\n")
	}
	for i := range list.Jobs {
		b.WriteString(layout.Row(&list.Jobs[i]) + "\n")
	}
	_, err = io.WriteString(stdout, b.String())
	return err
}

// query is what the daemon selects by.
func (o *options) query(env []string) (q show.Query, err error) {
	for _, j := range o.jobs {
		if _, err := strconv.ParseUint(j, 10, 32); err != nil {
			return q, fmt.Errorf("sprio: error: Invalid job id: %s", j)
		}
	}
	q.Add("job_id", strings.Join(show.OwnTasks(env, o.jobs), ","))
	q.Add("users", strings.Join(o.users, ","))
	q.Add("partition", strings.Join(o.partitions, ","))
	return q, nil
}

// layout is the columns: those of sprio 24.11.
func (o *options) layout() string {
	switch {
	case o.format != "":
		return o.format
	case o.long:
		return "%.15i %9r %.8u %.8o %.10Y %.10S %.10A %.10B %.10F %.10J %.10P %.10n %.10Q %.11N %.20T"
	case len(o.users) > 0:
		return "%.15i %9r %.8u %.10Y %.10S %.10A %.10F"
	}
	return "%.15i %9r %.10Y %.10S %.10A %.10F"
}

var about = option.About{
	Name:  "sprio",
	Does:  "show what the priority of waiting jobs is made of",
	Usage: []string{"sprio [OPTIONS]"},
	Text: "Shows the factors of the priority of each waiting job, as points that add up. The column SITE is what the federation weighs " +
		"beyond the factors of Slurm: expected work, soft limits that are passed, a number that an operator gave. fed explain JOB names each.",
}

// About describes sprio.
func About() option.About { return optionSet.About() }
