package job

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fsub/cmd/fed/internal/cli"
	"fsub/federation"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
)

// jobWhere explains the conditions that choose jobs.
const jobWhere = `Conditions are KEY=VALUE[,VALUE...], KEY!=VALUE[,VALUE...], age>TIME and age<TIME; of several --where all must be met. Keys: id; state (running,
pending, R, PD ..., ended for all that are final); user, account, group (which has those within it, too; none: no group) and name, in which * stands for anything; site (none: in the federation's queue);
partition; node (SITE/HOSTLIST or HOSTLIST); gpu (a kind, or any); reason (a part of it); age, since the submission: 90m, 2h, 3d.
Jobs that have ended are meant only where a state says so.`

func jobWhereFlag(cmd *cobra.Command, where *[]string) {
	cmd.Flags().StringArrayVar(where, "where", nil, "choose jobs: site=alpha, node=alpha/n[1-4], state=running, 'age>2h' ...; may be repeated")
}

func newListCommand() *cobra.Command {
	var by string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the jobs of all sites that conditions choose",
		Long:  "List the jobs of all sites that conditions choose; all that have not ended if there are none.\n\n" + jobWhere,
		Args:  cobra.NoArgs,
	}
	cli.ListWith(&v1.Jobs, cmd, cli.Lister[v1.JobLine, v1.JobQuery]{Table: func(w io.Writer, jobs []v1.JobLine, v cli.View) error {
		if by != "" {
			return countJobs(w, jobs, by)
		}
		return cli.PrintRows(w, &v1.Jobs, jobs, v)
	}, Instead: func(cmd *cobra.Command, c *client.Client, q *v1.JobQuery) (bool, error) {
		if by == "" || by == "partition" || slices.ContainsFunc(q.Where, notCounted) {
			return false, nil
		}
		return true, countBy(cmd, c, q, by)
	}})
	cmd.Flags().StringVar(&by, "by", "", "count jobs, each task of an array as one: by user, account, group, state, site or partition")
	return cmd
}

// notCounted reports whether the daemon has no counts of the jobs that a condition chooses.
func notCounted(where string) bool {
	key, _, _ := strings.Cut(where, "=")
	return !slices.Contains([]string{"user", "account", "group", "site", "reason", "state"}, strings.TrimSuffix(key, "!"))
}

// mostCounts is how many counts the daemon gives at most.
const mostCounts = 10_000

// countBy prints the counts that the daemon keeps.
func countBy(cmd *cobra.Command, c *client.Client, q *v1.JobQuery, by string) error {
	cell := countedBy[by]
	if cell == nil {
		return invalidBy(by)
	}
	all, err := client.List(cmd.Context(), c, &v1.Summary, v1.SummaryQuery{By: by + map[bool]string{true: ",state"}[by != "state"], Where: q.Where, All: true, Limit: mostCounts})
	if err != nil {
		return err
	}
	sums := counts{}
	for i := range all {
		sums.add(cell(&all[i]), all[i].State, int(all[i].Tasks))
	}
	return sums.print(cmd.OutOrStdout(), by)
}

// counted are the columns that jobs can be counted by, and countedBy those of them of which the daemon has counts.
var (
	counted = map[string]func(*v1.JobLine) string{
		"user": func(j *v1.JobLine) string { return j.User }, "account": func(j *v1.JobLine) string { return j.Account }, "group": func(j *v1.JobLine) string { return j.Group },
		"state": func(j *v1.JobLine) string { return string(j.State) }, "site": func(j *v1.JobLine) string { return string(j.Site) }, "partition": func(j *v1.JobLine) string { return j.Partition },
	}
	countedBy = map[string]func(*v1.JobCount) string{
		"user": func(n *v1.JobCount) string { return n.User }, "account": func(n *v1.JobCount) string { return n.Account }, "group": func(n *v1.JobCount) string { return n.Group },
		"state": func(n *v1.JobCount) string { return string(n.State) }, "site": func(n *v1.JobCount) string { return string(n.Site) },
	}
)

func invalidBy(by string) error {
	return fmt.Errorf("invalid --by %q: want user, account, group, state, site or partition", by)
}

// counts are the jobs of each value of a column.
type counts map[string]*struct{ pending, running, other int }

// add counts n jobs of a state.
func (c counts) add(value string, state federation.State, n int) {
	k := c[value]
	if k == nil {
		k = new(struct{ pending, running, other int })
		c[value] = k
	}
	switch {
	case state == federation.Pending:
		k.pending += n
	case state.Ended():
		k.other += n
	default:
		k.running += n
	}
}

// print prints how many jobs there are of each value, the most first: who floods the queue.
func (c counts) print(out io.Writer, by string) error {
	total := func(v string) int { return c[v].pending + c[v].running + c[v].other }
	t, flush := cli.NewWideTable(out)
	t.Row(strings.ToUpper(by), "JOBS", "PENDING", "RUNNING", "ENDED")
	for _, v := range slices.SortedFunc(maps.Keys(c), func(a, b string) int { return cmp.Or(cmp.Compare(total(b), total(a)), cmp.Compare(a, b)) }) {
		k := c[v]
		t.Row(v, fmt.Sprint(total(v)), fmt.Sprint(k.pending), fmt.Sprint(k.running), fmt.Sprint(k.other))
	}
	return flush()
}

// countJobs prints how many of the jobs there are of each value of a column.
func countJobs(out io.Writer, jobs []v1.JobLine, by string) error {
	cell := counted[by]
	if cell == nil {
		return invalidBy(by)
	}
	c := counts{}
	for i := range jobs {
		j, n, state := &jobs[i], 1, jobs[i].State
		if j.Array == j.ID && j.Tasks != "" { // those of its tasks that wait
			state = federation.Pending
			if a, err := federation.ReadArray(j.Tasks); err == nil {
				n = a.Len()
			}
		}
		c.add(cell(j), state, n)
	}
	return c.print(out, by)
}
