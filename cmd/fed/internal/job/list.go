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
	}})
	cmd.Flags().StringVar(&by, "by", "", "count jobs, each task of an array as one: by user, account, state, site or partition")
	return cmd
}

// counted are the columns that jobs can be counted by.
var counted = map[string]func(*v1.JobLine) string{
	"user": func(j *v1.JobLine) string { return j.User }, "account": func(j *v1.JobLine) string { return j.Account }, "state": func(j *v1.JobLine) string { return string(j.State) },
	"site": func(j *v1.JobLine) string { return string(j.Site) }, "partition": func(j *v1.JobLine) string { return j.Partition },
}

// countJobs prints how many jobs there are of each value of a column, the most first: who floods the queue.
func countJobs(out io.Writer, jobs []v1.JobLine, by string) error {
	cell := counted[by]
	if cell == nil {
		return fmt.Errorf("invalid --by %q: want user, account, state, site or partition", by)
	}
	type count struct{ pending, running, other int }
	counts := map[string]*count{}
	for i := range jobs {
		j, n := &jobs[i], 1
		if j.Array == j.ID && j.Tasks != "" {
			if a, err := federation.ReadArray(j.Tasks); err == nil {
				n = a.Len()
			}
		}
		k := counts[cell(j)]
		if k == nil {
			k = new(count)
			counts[cell(j)] = k
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
