// Package job has the commands about jobs: fed job, explain, logs and events.
package job

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fsub/cmd/fed/internal/cli"
	"fsub/federation"
	"fsub/federation/api/client"
	"fsub/federation/decision"
	"fsub/federation/place"
	"fsub/federation/plain"
	"fsub/federation/reasons"
)

func NewCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "job", Short: "Jobs of all sites: list and show them, and do one thing to many"}
	cmd.AddCommand(newAboutCommand("show", "Show a job with its attempts, its history and what it cost",
		func(ctx context.Context, c *client.Client, id federation.JobID) (any, func(io.Writer), error) {
			r, err := c.Job(ctx, id)
			if err != nil {
				return nil, nil, err
			}
			e := new(client.Explanation)
			if r.Job.State == federation.Pending {
				if e, err = c.Explain(ctx, id); err != nil {
					return nil, nil, err
				}
			}
			return r.Wire(), func(w io.Writer) { showJob(w, r, e.Waits) }, nil
		}))
	cmd.AddCommand(newTraceCommand(), newListCommand(), newOperationsCommand())
	cmd.AddCommand(newJobVerbCommands()...)
	return cmd
}

func NewExplainCommand() *cobra.Command {
	var all bool
	cmd := newAboutCommand("explain", "Say why a job is where it is: what the sites would have cost, why it could not run there, and what would start it sooner",
		func(ctx context.Context, c *client.Client, id federation.JobID) (any, func(io.Writer), error) {
			e, err := c.Explain(ctx, id)
			if err != nil {
				return nil, nil, err
			}
			text := ""
			if all {
				text = place.Detail(&e.Job, &e.Explained, time.Local)
			} else {
				text = place.Summarize(&e.Job, &e.Explained, time.Local)
			}
			if len(e.Priority) > 0 {
				text += "  priority " + decision.PriorityText(e.Priority) + "\n"
			}
			if on := onLossText(e.Job.Spec, &e.Decision); on != "" && !e.Job.State.Ended() {
				text += "  when it loses a node it " + on + "\n"
			}
			text += startText(e.Start)
			if e.Spending != nil {
				text += "  it has cost " + e.Spending.Text() + "\n"
			} else {
				text += mostText(&e.Job, &e.Decision)
			}
			if e.Idle != nil {
				text += "  idle: " + plain.Line(e.Idle.String()) + "\n"
			}
			for _, line := range e.Heartbeat.Lines() {
				text += "  heartbeat: " + plain.Line(line) + "\n"
			}
			if e.Moved != nil {
				text += "  " + movedText(e.Moved) + "\n"
			}
			if e.Stays != "" {
				text += "  " + plain.Line(e.Stays) + "\n"
			}
			if e.Job.Whole != nil || e.Job.State.Ended() {
				r, err := c.Job(ctx, id)
				if err != nil {
					return nil, nil, err
				}
				if text += endText(r); e.Job.Whole != nil {
					text += tasksText(r)
				}
			}
			return e.Wire(), func(w io.Writer) { io.WriteString(w, text) }, nil
		})
	cmd.Flags().BoolVar(&all, "all", false, "every pool by itself, not grouped by site and reason")
	return cmd
}

// mostText says what a job that has not ended can cost at most where it runs or is to run; "" where nothing bounds that.
func mostText(j *federation.Job, d *decision.Decision) string {
	if len(d.Offers) == 0 || j.State.Ended() || d.Offers[0].Most <= d.Offers[0].Price() {
		return ""
	}
	return fmt.Sprintf("  costs %s at most: as long as its time limit\n", cli.USD(d.Offers[0].Most))
}

// startText says when and where a job that waits is expected to start; "" where nothing says when.
func startText(s *decision.Start) string {
	if s == nil {
		return ""
	}
	text := fmt.Sprintf("  starts %s (p50)", cli.When(s.At))
	if !s.Within.IsZero() {
		text += fmt.Sprintf(", by %s (p90)", cli.When(s.Within))
	}
	text += fmt.Sprintf(" at %s for %s, %s", s.Site, cli.USD(s.Price), s.Of)
	if s.Unsure != "" {
		text += "; unsure: " + s.Unsure
	}
	return text + "\n"
}

// tasksText says what has become of the tasks of an array, and which of them have ended otherwise than they should.
func tasksText(r *client.JobRecord) string {
	count, bad := map[federation.State]int{}, map[federation.State]*federation.TaskSet{}
	var cost federation.Money
	known := 0
	add := func(state federation.State, tasks federation.TaskSet) {
		count[state] += tasks.Len()
		known += tasks.Len()
		if state.Ended() && state != federation.Completed {
			if bad[state] == nil {
				bad[state] = new(federation.TaskSet)
			}
			*bad[state] = bad[state].Or(&tasks)
		}
	}
	indices := map[federation.State][]int{}
	for _, t := range r.Tasks {
		indices[t.State] = append(indices[t.State], t.Index)
		cost += t.Cost
	}
	for state, list := range indices {
		add(state, federation.Tasks(list...))
	}
	for _, c := range r.Job.Whole.Cancelled {
		add(federation.Cancelled, c.Tasks)
	}
	all := max(r.Job.Whole.Count, known)
	if left := all - known; left > 0 && r.Job.State.Ended() {
		count[federation.Cancelled] += left // before they were sent
	} else if left > 0 {
		count[federation.Pending] += left
	}
	var texts []string
	for _, state := range slices.Sorted(maps.Keys(count)) {
		text := fmt.Sprintf("%d %s", count[state], state)
		if bad[state] != nil {
			const shown = 40
			which := bad[state].Format(0)
			if len(which) > shown {
				which = which[:strings.LastIndexByte(which[:shown], ',')+1] + "..."
			}
			text += " (" + which + ")"
		}
		texts = append(texts, text)
	}
	return fmt.Sprintf("  %d tasks: %s; %s paid\n  about one of them: fed explain %d_INDEX\n", all, strings.Join(texts, ", "), cost.USD(), r.Job.ID)
}

// newAboutCommand makes a command about the jobs that its argument names. ask reads what it prints of
// one: for --json, and as text.
func newAboutCommand(verb, short string, ask func(context.Context, *client.Client, federation.JobID) (any, func(io.Writer), error)) *cobra.Command {
	var c cli.Connection
	cmd := &cobra.Command{
		Use:   verb + " JOB[_TASKS][,...]",
		Short: short,
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			client := c.Client()
			ids, err := cli.FindJobs(cmd.Context(), client, args[0])
			if err != nil {
				return err
			}
			for _, id := range ids {
				data, text, err := ask(cmd.Context(), client, id)
				switch {
				case err != nil:
					return fmt.Errorf("job %d: %w", id, err)
				case !c.JSON:
					text(cmd.OutOrStdout())
				default:
					if err := cli.PrintJSON(cmd.OutOrStdout(), data); err != nil {
						return err
					}
				}
			}
			return nil
		},
	}
	c.Flags(cmd)
	return cmd
}

func showJob(w io.Writer, r *client.JobRecord, waits []decision.Wait) {
	j := &r.Job
	fmt.Fprintf(w, "Job %d  %s  user %s\n", j.ID, j.Spec.Name, j.User)
	fmt.Fprintf(w, "  state     %s%s\n", j.State, reasonText(j))
	for _, line := range decision.Lines(waits, time.Local) {
		fmt.Fprintf(w, "            %s\n", line)
	}
	if j.Site != "" {
		fmt.Fprintf(w, "  site      %s, partition %s, nodes %s\n", j.Site, orDash(j.Partition), orDash(j.Nodes))
	}
	if j.Account != "" {
		fmt.Fprintf(w, "  account   %s\n", j.Account)
	}
	if group := j.Spec.GroupName(); group != "" {
		fmt.Fprintf(w, "  group     %s\n", group)
	}
	fmt.Fprintf(w, "  submitted %s\n", cli.When(j.Submit))
	if !j.Start.IsZero() {
		fmt.Fprintf(w, "  started   %s (%s after it was submitted)\n", cli.When(j.Start), max(j.Start.Sub(j.Submit), 0).Round(time.Second))
	}
	if j.State.Ended() {
		fmt.Fprintf(w, "  ended     %s, exit code %d:%d\n", cli.When(j.End), j.ExitStatus>>8, j.ExitStatus&0x7f)
	}
	if r := j.Spec.Retries(); r != nil {
		fmt.Fprintf(w, "  retry     %s\n", r)
	}
	if keeps := j.Spec.Keeps(); keeps != nil {
		fmt.Fprintf(w, "  keep      %s: %s\n", strings.Join(keeps, ", "), keptText(r.Attempts, time.Now()))
	}
	if text := onLossText(j.Spec, lastDecision(r.Attempts)); text != "" {
		fmt.Fprintf(w, "  on loss   it %s\n", text)
	}
	if j.Restarts > 0 {
		fmt.Fprintf(w, "  restarts  %d\n", j.Restarts)
	}
	cost := j.Cost.USD()
	if r.Spending != nil {
		cost = fmt.Sprintf("%s (%s an hour)", r.Spending.Text(), r.Spending.PerHour.Rate())
	}
	fmt.Fprintf(w, "  cost      %s\n", cost)
	if j.Part != nil {
		fmt.Fprintf(w, "  task      %d of array %d\n", j.Part.Index, j.Part.Array)
	}
	for _, t := range r.Tasks {
		fmt.Fprintf(w, "  task %-4d %-10s %s %s to %s, exit code %d:%d, %s\n", t.Index, t.State, orDash(t.Nodes), clock(t.Start), clock(t.End), t.ExitStatus>>8, t.ExitStatus&0x7f, t.Cost.USD())
	}
	if j.Whole != nil {
		for _, c := range j.Whole.Cancelled {
			fmt.Fprintf(w, "  tasks     %s CANCELLED before they started, at %s\n", c.Tasks.Format(0), clock(c.End))
		}
	}
	for _, a := range r.Attempts {
		showAttempt(w, a)
	}
	if len(r.Events) > 0 {
		fmt.Fprintln(w, "History")
	}
	for _, e := range r.Events {
		fmt.Fprintf(w, "  %s  %s\n", cli.When(e.At), plain.Line(e.Text))
	}
}

// keptText says which copy of what a job keeps its next run starts with.
func keptText(attempts []federation.Attempt, now time.Time) string {
	for i := len(attempts) - 1; i >= 0; i-- {
		a := &attempts[i]
		if k := a.Kept; k != nil {
			where := "the federation's store"
			if k.Place != "" {
				where += " (" + k.Place + ")"
			}
			return fmt.Sprintf("%s in %s, saved %s ago by attempt %d at %s", bytesText(k.Bytes), where, max(now.Sub(k.At), 0).Round(time.Second), a.Number, a.Site)
		}
	}
	return "there is no copy: nothing was saved, or the site sees the files themselves"
}

// movedText is why the planner has moved a running job, and the sum of that.
func movedText(m *decision.Moved) string {
	return fmt.Sprintf("moved from %s at %s by the planner (move %d): %s", m.From, clock(m.At), m.Count, plain.Line(m.Text()))
}

func bytesText(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	if n < 1<<30 {
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}

func showAttempt(w io.Writer, a federation.Attempt) {
	fmt.Fprintf(w, "Attempt %d at %s: %s", a.Number, a.Site, a.State)
	if a.Final != "" {
		fmt.Fprintf(w, " %s", a.Final)
	}
	if a.Class != "" {
		fmt.Fprintf(w, ", failure of %s", a.Class)
		if a.Code != "" && string(a.Code) != string(a.Class) {
			fmt.Fprintf(w, " (%s)", a.Code)
		}
	}
	if a.Tries > 1 {
		fmt.Fprintf(w, ", sent %d times", a.Tries)
	}
	if a.Cost != 0 || a.State.Final() { // else nothing of it is booked yet, and the job's cost so far stands above
		fmt.Fprintf(w, ", %s", a.Cost.USD())
	}
	fmt.Fprintln(w)
	if k := a.Decision.Pack; k != nil {
		fmt.Fprintf(w, "  shares job %s there with %d other tasks (--pack)\n", k.Job, k.Tasks-1)
	}
	for _, r := range a.Runs {
		fmt.Fprintf(w, "  %s: %s %s to %s, %s\n", r.State, orDash(r.Nodes), clock(r.Started), clock(r.Ended), r.Cost.USD())
	}
	for _, l := range a.Losses {
		fmt.Fprintf(w, "  lost node %s at %s%s\n", l.Node, clock(l.At), lossText(l))
	}
	if a.Idle != nil {
		fmt.Fprintf(w, "  idle: %s\n", plain.Line(a.Idle.String()))
	}
	for _, line := range a.Heartbeat.Lines() {
		fmt.Fprintf(w, "  heartbeat: %s\n", plain.Line(line))
	}
	if m := a.Moved; m != nil && m.Run.Equal(a.Started) {
		fmt.Fprintf(w, "  %s\n", movedText(m))
	}
	if a.Stays != "" && !a.State.Final() {
		fmt.Fprintf(w, "  %s\n", plain.Line(a.Stays))
	}
	if at := a.Held.SiteAccount; at != "" {
		fmt.Fprintf(w, "  account %s pays; at %s it is under %s\n", orDash(a.Held.Account), a.Site, at)
	}
	if a.Note != "" {
		fmt.Fprintf(w, "  %s\n", a.Note)
	}
}

func reasonText(j *federation.Job) string {
	if j.Reason == "" || j.Reason == reasons.None {
		return ""
	}
	return " (" + string(j.Reason) + ")"
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func clock(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format("15:04:05")
}
