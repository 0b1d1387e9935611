package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fsub/cmd/fed/internal/cli"
	"fsub/federation"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
)

func NewEventsCommand() *cobra.Command {
	var c cli.Connection
	var follow bool
	since := cli.PastTime(time.Now().Add(-time.Hour))
	var where []string
	cmd := &cobra.Command{
		Use:   "events",
		Short: "What has happened: jobs submitted, bound, started, requeued and ended, requests, sites drained; one line each",
		Long: `Each line tells one thing that happened, in the order in which it was written down: submit, bind (to a site), start, suspend,
resume, requeue and end of a job; invalid-depend, that what it depends on can never be met, and group-invalid-depend, how many of a group that is so of; request,
what a user asked to be done with it; active, inactive, drain, drain+remove, removed and lost,
what an operator said of a site; maintenance and maintenance-removed, what is planned there; site, that a condition of it has begun or ended
(see: fed site show); node-drain and node-resume, what an operator wants of a node; node-reboot, and node-lift, the end of a drain that slurmctld has left behind;
node, that its site shows it in another state; health, what a rule of health has said of a node or a job.

WHO is who asked for it or said it, where somebody did; a job's own history (fed job show) says more. Conditions are KEY=VALUE[,VALUE...] and
KEY!=VALUE[,VALUE...] with the keys event, job, user, who, name, group, site, node, state, from, reason and request; * stands for anything, and of several --where
all must be met. The daemon keeps the last million changes, for a week at most unless keep_events of the configuration says otherwise.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			e := events{client: c.Client(), out: cmd.OutOrStdout(), errOut: cmd.ErrOrStderr(), json: c.JSON}
			e.from = client.EventsFrom{Follow: follow, Where: where}
			if !follow || cmd.Flags().Changed("since") {
				e.from.Since = time.Time(since)
			}
			return e.run(cmd.Context())
		},
	}
	c.Flags(cmd)
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what happens from now on")
	cmd.Flags().Var(&since, "since", "start this long ago, or at this time: 90m, 3d, 2026-11-22T18:00")
	cmd.Flags().Lookup("since").DefValue = "1h" // the help and the manual page are the same at any time
	cmd.Flags().StringArrayVar(&where, "where", nil, "only these: event=end, job=30000001, user=alice, who=olga, site=alpha, node=alpha/n*, state=failed ...; may be repeated")
	return cmd
}

// eventsPause is the time until a daemon that has gone away is asked again.
const eventsPause = time.Second

// events copies what happens to out.
type events struct {
	client      *client.Client
	from        client.EventsFrom
	json        bool
	out, errOut io.Writer
	said        bool // the daemon has answered once
}

// run returns when all has been told. A follower does not mind a daemon that is away for a while.
func (e *events) run(ctx context.Context) error {
	t := cli.NewTable(e.out)
	if !e.json {
		t.Row("TIME", "EVENT", "JOB", "USER", "SITE", "FROM", "STATE", "WHO", "DETAIL")
	}
	for {
		mark, err := e.client.Events(ctx, e.from, func(v *v1.Event) error {
			if e.json {
				return json.NewEncoder(e.out).Encode(v)
			}
			owner := v.User
			if v.Job == 0 && v.Group == "" {
				owner = ""
			}
			t.Row(cli.When(v.Time), v.Event, eventJob(v), owner, string(v.Site), string(v.From), string(v.State), v.Who, eventDetail(v))
			if e.from.Follow {
				return t.Flush()
			}
			return nil
		})
		e.said = e.said || mark != e.from.After
		e.from.After = mark
		switch {
		case ctx.Err() != nil && e.from.Follow:
			return nil
		case errors.Is(err, federation.ErrTrimmed) && e.from.Follow && e.said:
			fmt.Fprintln(e.errOut, "fed: the daemon no longer has all events of that time")
			e.from.After, e.from.Since = 0, time.Time{}
		case errors.Is(err, federation.ErrUnavailable) && e.from.Follow && e.said:
		default:
			return errors.Join(err, t.Flush())
		}
		select {
		case <-time.After(eventsPause):
		case <-ctx.Done():
		}
	}
}

// eventJob is what an event is about: a job, a task of an array, or a group.
func eventJob(v *v1.Event) string {
	if v.Job == 0 && v.Group != "" {
		return v.Group
	}
	return v1.TaskName(v.Job, v.Array, v.Task)
}

func eventDetail(v *v1.Event) string {
	switch {
	case v.Request != "":
		return v.Request
	case v.Event == "health" && v.Node == "":
		return v.Detail
	case v.Node != "":
		return strings.TrimSpace(v.Node + " " + v.Detail)
	case v.Detail != "":
		return v.Detail
	case v.Exit != nil && v.Reason != "":
		return fmt.Sprintf("exit code %d:%d, %s", *v.Exit>>8, *v.Exit&0x7f, v.Reason)
	case v.Exit != nil:
		return fmt.Sprintf("exit code %d:%d", *v.Exit>>8, *v.Exit&0x7f)
	case v.Event == "submit":
		return v.Name
	}
	return string(v.Reason)
}
