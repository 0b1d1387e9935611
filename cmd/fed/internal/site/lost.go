package site

import (
	"cmp"
	"context"
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

// shortSilence is how long a site may be silent for reasons that pass by themselves: a link, a restart.
const shortSilence = 10 * time.Minute

func newLostCommand() *cobra.Command {
	var yes bool
	r := v1.SetSiteState{Lost: true}
	cmd := &cobra.Command{
		Use:   "lost SITE --reason TEXT",
		Short: "Say that a site is gone and nothing runs there any more: its jobs go elsewhere",
		Long: `Say that a site is gone and that nothing runs there any more: power, building or machines are lost. Your word proves the end of its jobs.
Those that waited there go elsewhere; those that ran do by their requeue rules, and those of sbatch --no-requeue end as NODE_FAIL.

If the site's nodes run on and only the link is cut, jobs run twice from now on: you are shown what runs there and for how long the site has been silent, and
asked (--yes: not asked). A site that answers cannot be lost. When it is back, what it still has of these jobs is ended at the first poll; it gets new ones
after: fed site resume SITE`,
		Args: cobra.ExactArgs(1),
	}
	cli.Ask(cmd, func(ctx context.Context, c *client.Client, args []string) (set v1.SiteSet, err error) {
		if strings.TrimSpace(r.Reason) == "" {
			return set, errors.New("--reason is missing: say why the site is gone, for those whose jobs run again")
		}
		name := federation.SiteName(args[0])
		s, err := c.Site(ctx, name)
		if err != nil {
			return set, err
		}
		if !s.Answering { // else the daemon refuses it
			fmt.Fprintln(cmd.ErrOrStderr(), lostText(s, time.Now()))
			if !yes {
				if err := cli.Confirm(cmd, "a lost site's jobs run again elsewhere"); err != nil {
					return set, err
				}
			}
		}
		return c.SetSiteState(ctx, name, r)
	}, printSiteSet)
	cmd.Flags().StringVar(&r.Reason, "reason", "", "why, for its history and those whose jobs run again")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

// lostText tells what is lost with a site that does not answer, and since when it does not.
func lostText(s *v1.SiteDetail, now time.Time) string {
	since := s.ErrorSince
	for _, c := range s.Conditions {
		if c.Name == federation.CondNoAnswer {
			since = c.Since
		}
	}
	text := fmt.Sprintf("%s: %d jobs run there, %d wait", s.Name, s.Running, max(s.Bound-s.Running, 0))
	if since.IsZero() {
		return text + "; it was never seen by this daemon"
	}
	silent := max(now.Sub(since), 0)
	text += fmt.Sprintf("; silent for %s, since %s", silent.Round(time.Second), cli.When(since))
	if silent < shortSilence {
		text += fmt.Sprintf("\nwarning: a cut link or a restart of slurmctld can last that long: if its nodes run on, the %d jobs run twice", s.Running)
	}
	return text
}

// printSiteSet says what has become of a site.
func printSiteSet(out io.Writer, s v1.SiteSet) error {
	text := fmt.Sprintf("%s: %s, was %s", s.Name, s.State, cmp.Or(s.Was, string(federation.FedActive)))
	switch federation.FedState(s.State) {
	case federation.FedActive:
	case federation.FedInactive:
		text += fmt.Sprintf("; %d jobs run there and go on, %d that wait there go elsewhere", s.Running, s.Bound)
	case federation.FedDrain:
		text += fmt.Sprintf("; %d jobs run there and go on, %d wait there and stay", s.Running, s.Bound)
	case federation.FedDrainRemove:
		text += fmt.Sprintf("; it leaves with the last of %d jobs that run and %d that wait there", s.Running, s.Bound)
	default: // lost
		text += fmt.Sprintf("; %d jobs that ran there are requeued by their rules, %d that waited go elsewhere", s.Running, s.Bound)
	}
	_, err := fmt.Fprintln(out, text)
	return err
}
