package job

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fsub/cmd/fed/internal/cli"
	"fsub/federation"
	v1 "fsub/federation/api/v1"
)

// jobWhere explains the conditions that choose jobs.
const jobWhere = `Conditions are KEY=VALUE[,VALUE...], KEY!=VALUE[,VALUE...], age>TIME and age<TIME; of several --where all must be met. Keys: id; state (running,
pending, R, PD ..., ended for all that are final); user, account and name, in which * stands for anything; site (none: in the federation's queue);
partition; node (SITE/HOSTLIST or HOSTLIST); gpu (a kind, or any); reason (a part of it); age, since the submission: 90m, 2h, 3d.
Jobs that have ended are meant only where a state says so.`

func jobWhereFlag(cmd *cobra.Command, where *[]string) {
	cmd.Flags().StringArrayVar(where, "where", nil, "choose jobs: site=alpha, node=alpha/n[1-4], state=running, 'age>2h' ...; may be repeated")
}

func newListCommand() *cobra.Command {
	var c cli.Connection
	var where, columns []string
	var by, order string
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the jobs of all sites that conditions choose",
		Long:  "List the jobs of all sites that conditions choose; all that have not ended if there are none.\n\n" + jobWhere,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			jobs, err := c.Client().Jobs(cmd.Context(), where)
			if err != nil {
				return err
			}
			if c.JSON {
				return cli.PrintJSON(cmd.OutOrStdout(), jobs)
			}
			if by != "" {
				return countJobs(cmd.OutOrStdout(), jobs, by)
			}
			return listJobs(cmd.OutOrStdout(), jobs, columns, order, limit)
		},
	}
	c.Flags(cmd)
	jobWhereFlag(cmd, &where)
	f := cmd.Flags()
	f.StringVar(&by, "by", "", "count jobs, each task of an array as one: by user, account, state, site or partition")
	f.StringSliceVar(&columns, "columns", nil, "print these: "+strings.Join(jobColumnNames(), ","))
	f.StringVar(&order, "sort", "", "sort by this column; -COLUMN: descending")
	f.IntVar(&limit, "limit", 0, "maximum number of lines; 0: all")
	return cmd
}

// jobColumn is one of fed job list.
type jobColumn struct {
	name  string
	cell  func(*v1.JobLine) string
	asked bool // only where it is asked for
}

var jobColumns = []jobColumn{
	{name: "jobid", cell: jobName},
	{name: "user", cell: func(j *v1.JobLine) string { return j.User }},
	{name: "account", cell: func(j *v1.JobLine) string { return j.Account }},
	{name: "name", cell: func(j *v1.JobLine) string { return strings.ReplaceAll(j.Name, "\t", " ") }},
	{name: "state", cell: func(j *v1.JobLine) string { return string(j.State) }},
	{name: "reason", cell: func(j *v1.JobLine) string { return strings.TrimPrefix(string(j.Reason), "None") }},
	{name: "site", cell: func(j *v1.JobLine) string { return string(j.Site) }},
	{name: "partition", cell: func(j *v1.JobLine) string { return j.Partition }},
	{name: "nodes", cell: func(j *v1.JobLine) string { return j.Nodes }},
	{name: "age", cell: func(j *v1.JobLine) string { return cli.AgeText(time.Since(j.Submit)) }},
	{name: "restarts", cell: func(j *v1.JobLine) string { return fmt.Sprint(j.Restarts) }},
	{name: "cost", cell: costCell},
	{name: "most", cell: mostCell, asked: true},
}

// costOf is what a job has come to so far.
func costOf(j *v1.JobLine) federation.Money {
	if j.Spending != nil {
		return j.Spending.SoFar
	}
	return j.Cost
}

// costCell is that; nothing of a job that has not run yet.
func costCell(j *v1.JobLine) string {
	if j.Cost == 0 && j.Spending == nil && !j.State.Ended() {
		return ""
	}
	return costOf(j).USD()
}

// mostOf is what a job may come to by its time limit; 0: nothing bounds it, or it does not run.
func mostOf(j *v1.JobLine) federation.Money {
	if j.Spending != nil {
		return j.Spending.AtMost
	}
	return 0
}

func mostCell(j *v1.JobLine) string {
	if m := mostOf(j); m != 0 {
		return m.USD()
	}
	return ""
}

func jobColumnNames() (all []string) {
	for _, c := range jobColumns {
		all = append(all, c.name)
	}
	return all
}

func jobColumnOf(name string) (jobColumn, error) {
	i := slices.IndexFunc(jobColumns, func(c jobColumn) bool { return c.name == strings.ToLower(name) })
	if i < 0 {
		return jobColumn{}, fmt.Errorf("unknown column %q: want %s", name, strings.Join(jobColumnNames(), ", "))
	}
	return jobColumns[i], nil
}

func jobName(j *v1.JobLine) string {
	switch {
	case j.Array == j.ID:
		return fmt.Sprintf("%d_[%s]", j.ID, j.Tasks)
	case j.Array != 0:
		return fmt.Sprintf("%d_%s", j.Array, j.Tasks)
	}
	return j.ID.String()
}

// JobRow is all columns of a job.
func JobRow(j *v1.JobLine) (cells []string) {
	for _, c := range jobColumns {
		cells = append(cells, c.cell(j))
	}
	return cells
}

// listJobs prints jobs, in the order of a column if one is named.
func listJobs(out io.Writer, jobs []v1.JobLine, columns []string, order string, limit int) error {
	shown := slices.DeleteFunc(slices.Clone(jobColumns), func(c jobColumn) bool { return c.asked })
	if len(columns) > 0 {
		shown = nil
		for _, name := range columns {
			c, err := jobColumnOf(name)
			if err != nil {
				return err
			}
			shown = append(shown, c)
		}
	}
	if order != "" {
		c, err := jobColumnOf(strings.TrimPrefix(order, "-"))
		if err != nil {
			return err
		}
		sortJobs(jobs, c)
		if strings.HasPrefix(order, "-") {
			slices.Reverse(jobs)
		}
	}
	left := 0
	if limit > 0 && len(jobs) > limit {
		left, jobs = len(jobs)-limit, jobs[:limit]
	}
	t, flush := cli.NewWideTable(out)
	row := make([]string, len(shown))
	for i, c := range shown {
		row[i] = strings.ToUpper(c.name)
	}
	t.Row(row...)
	for i := range jobs {
		for k, c := range shown {
			row[k] = c.cell(&jobs[i])
		}
		t.Row(row...)
	}
	if err := flush(); err != nil || left == 0 || !t.Aligned() {
		return err
	}
	_, err := fmt.Fprintf(out, "and %d more\n", left)
	return err
}

// sortJobs sorts by what a column shows, ages and counts by their size.
func sortJobs(jobs []v1.JobLine, c jobColumn) {
	slices.SortStableFunc(jobs, func(a, b v1.JobLine) int {
		switch c.name {
		case "age":
			return b.Submit.Compare(a.Submit)
		case "restarts":
			return cmp.Compare(a.Restarts, b.Restarts)
		case "cost":
			return cmp.Compare(costOf(&a), costOf(&b))
		case "most":
			return cmp.Compare(mostOf(&a), mostOf(&b))
		case "jobid":
			return cmp.Compare(a.ID, b.ID)
		}
		return cmp.Compare(c.cell(&a), c.cell(&b))
	})
}

// countJobs prints how many jobs there are of each value of a column, the most first: who floods the queue.
func countJobs(out io.Writer, jobs []v1.JobLine, by string) error {
	if !slices.Contains([]string{"user", "account", "state", "site", "partition"}, by) {
		return fmt.Errorf("invalid --by %q: want user, account, state, site or partition", by)
	}
	column, _ := jobColumnOf(by)
	type count struct{ pending, running, other int }
	counts := map[string]*count{}
	for i := range jobs {
		j, n := &jobs[i], 1
		if j.Array == j.ID && j.Tasks != "" {
			if a, err := federation.ReadArray(j.Tasks); err == nil {
				n = a.Len()
			}
		}
		k := counts[column.cell(j)]
		if k == nil {
			k = new(count)
			counts[column.cell(j)] = k
		}
		switch {
		case j.State == federation.Pending || j.Array == j.ID && j.Tasks != "":
			k.pending += n
		case j.State.Ended():
			k.other += n
		default:
			k.running += n
		}
	}
	total := func(v string) int { return counts[v].pending + counts[v].running + counts[v].other }
	t, flush := cli.NewWideTable(out)
	t.Row(strings.ToUpper(by), "JOBS", "PENDING", "RUNNING", "ENDED")
	for _, v := range slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Or(cmp.Compare(total(b), total(a)), cmp.Compare(a, b)) }) {
		k := counts[v]
		t.Row(v, fmt.Sprint(total(v)), fmt.Sprint(k.pending), fmt.Sprint(k.running), fmt.Sprint(k.other))
	}
	return flush()
}
