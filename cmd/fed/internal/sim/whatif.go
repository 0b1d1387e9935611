package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"fsub/cmd/fed/internal/cli"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	"fsub/federation/replay"
)

func NewWhatIfCommand() *cobra.Command {
	var q v1.WhatIf
	var script string
	var lines int
	cmd := cli.Ask(&cobra.Command{
		Use:   "what-if",
		Short: "Predict the waiting jobs' starts and costs if a site were drained, nodes added, or a price, limit or policy changed; or a job's, if it were submitted",
		Long: `Plays the queue forward in virtual time twice, as things are and with the difference, by the daemon's own planner, and prints which jobs would start sooner, later or
elsewhere, and what that costs. You are told of your own jobs, operators of all. Nothing is changed. Jobs are reckoned to run as long as half of those like them; jobs that are submitted later are not known.
What a limit or a budget of an account keeps back now stays back, and what starts passes none, unless --lift names the account. With --limit or --qos-limit all are
played within their limits, as things are and with the other value: a job that one keeps back starts when others have ended.

With --submit SCRIPT it tells instead when and where that job would start if it were submitted now, in its turn behind those that wait, and what it would cost: the best eight places, each with the time before
which it starts half of the time and nine times in ten, and why it cannot run elsewhere. Words after -- are sbatch's options. It says what sbatch --test-only says, and submits nothing.`,
		Example: "  fed what-if --drain rhein\n  fed what-if --submit train.sbatch -- --gres=gpu:4 --time=2:00:00",
		Args: func(_ *cobra.Command, args []string) error {
			if script == "" && len(args) > 0 {
				return fmt.Errorf("%q is for a job: give --submit SCRIPT too", args[0])
			}
			return nil
		},
	}, func(ctx context.Context, c *client.Client, args []string) (any, error) {
		if script != "" {
			return try(ctx, c, script, args)
		}
		if len(q.Drain)+len(q.Resume)+len(q.Add)+len(q.Site)+len(q.Price)+len(q.Policy)+len(q.Lift)+len(q.Limit)+len(q.QOSLimit) == 0 {
			return nil, errors.New("say what would be different: --drain, --resume, --add, --site, --price, --policy, --limit, --qos-limit, --lift or --submit")
		}
		return c.WhatIf(ctx, q)
	}, func(w io.Writer, a any) error {
		if tried, is := a.(v1.SubmitResponse); is {
			return showTried(w, &tried)
		}
		whatIf := a.(v1.WhatIfAnswer)
		return showWhatIf(w, &whatIf, lines)
	})
	f := cmd.Flags()
	f.StringVar(&script, "submit", "", "a script of a job, or - for standard input: when and where it would start")
	f.StringArrayVar(&q.Drain, "drain", nil, "SITE, or SITE/HOSTLIST: takes no more jobs; may be repeated, as all of these")
	f.StringArrayVar(&q.Resume, "resume", nil, "SITE, or SITE/HOSTLIST: takes jobs again")
	f.StringArrayVar(&q.Add, "add", nil, "SITE=N, or SITE/PARTITION=N: N more nodes, like the first there")
	f.StringArrayVar(&q.Site, "site", nil, "a site more: "+replay.SiteSyntax)
	f.StringArrayVar(&q.Price, "price", nil, "SITE:TRES=DOLLARS by the hour, as rhein:gres/gpu:h100=1.80")
	f.StringArrayVar(&q.Policy, "policy", nil, "KEY=VALUE of the configuration's section policy, as wait_gpu_hour=3")
	f.StringArrayVar(&q.Lift, "lift", nil, "an account whose limits and budget would not count, for jobs in it and below it")
	f.StringArrayVar(&q.Limit, "limit", nil, "ACCOUNT:OPTION=VALUE, or ACCOUNT/USER:OPTION=VALUE: another limit or budget, in the words of fed account modify, as physics:GrpTRES=gres/gpu=64; -1: none")
	f.StringArrayVar(&q.QOSLimit, "qos-limit", nil, "QOS:OPTION=VALUE: another limit of a QOS, as high:MaxJobsPerUser=4")
	for _, other := range []string{"drain", "resume", "add", "site", "price", "policy", "lift", "limit", "qos-limit"} {
		cmd.MarkFlagsMutuallyExclusive("submit", other)
	}
	f.IntVar(&q.Jobs, "jobs", 0, "number of jobs to simulate, from the head of the queue; 0: 2000")
	f.IntVar(&q.Hours, "hours", 0, "hours to look ahead; 0: 720")
	f.IntVarP(&lines, "lines", "n", 30, "maximum number of jobs to print; 0: all")
	return cmd
}

func showWhatIf(w io.Writer, a *v1.WhatIfAnswer, lines int) error {
	sooner, later, elsewhere := 0, 0, 0
	for i := range a.Changes {
		switch d := moved(&a.Changes[i], a.Until); {
		case d < 0:
			sooner++
		case d > 0:
			later++
		default:
			elsewhere++
		}
	}
	wait := "jobs that wait"
	if a.Jobs == 1 {
		wait = "job that waits"
	}
	fmt.Fprintf(w, "%d %s: %d would start sooner, %d later, %d at the same time elsewhere, %d as they do now, to the minute\n", a.Jobs, wait, sooner, later, elsewhere, a.Jobs-len(a.Changes))
	if a.More > 0 {
		fmt.Fprintf(w, "%d more wait behind these; see --jobs\n", a.More)
	}
	span := func(s float64) string { return time.Duration(s * float64(time.Second)).Round(time.Second).String() }
	if a.StartBefore > 0 && a.StartAfter > 0 {
		fmt.Fprintf(w, "mean wait from now: %s -> %s\n", span(a.MeanWaitBefore), span(a.MeanWaitAfter))
		fmt.Fprintf(w, "cost of these jobs: %s -> %s\n", cli.USD(a.CostBefore), cli.USD(a.CostAfter))
	}
	if a.StartBefore != a.StartAfter {
		fmt.Fprintf(w, "jobs that start by %s: %d -> %d\n", a.Until.Format("2006-01-02"), a.StartBefore, a.StartAfter)
	}
	if len(a.Changes) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	t := cli.NewTable(w)
	t.Row("JOB", "NAME", "USER", "ACCOUNT", "NOW AT", "STARTS IN", "THEN AT", "STARTS IN", "COST NOW", "THEN")
	shown := a.Changes
	if lines > 0 && len(shown) > lines {
		shown = shown[:lines]
	}
	for i := range shown {
		c := &shown[i]
		t.Row(c.Job.String(), c.Name, c.User, c.Account, string(c.Before.Site), startsIn(&c.Before, a.Now), string(c.After.Site), startsIn(&c.After, a.Now), costText(&c.Before), costText(&c.After))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if n := len(a.Changes) - len(shown); n > 0 {
		fmt.Fprintf(w, "and %s more; see -n\n", strconv.Itoa(n))
	}
	return nil
}

// moved is by how much a job starts later.
func moved(c *v1.WhatIfChange, until time.Time) time.Duration {
	at := func(f *v1.WhatIfFate) time.Time {
		if f.Start == nil {
			return until
		}
		return *f.Start
	}
	return at(&c.After).Sub(at(&c.Before))
}

func startsIn(f *v1.WhatIfFate, now time.Time) string {
	switch {
	case f.Start == nil && f.Limited:
		return "kept back (" + string(f.Reason) + ")"
	case f.Start == nil:
		return "never (" + string(f.Reason) + ")"
	}
	return f.Start.Sub(now).Round(time.Second).String()
}

func costText(f *v1.WhatIfFate) string {
	if f.Start == nil {
		return ""
	}
	return cli.USD(f.Cost)
}
