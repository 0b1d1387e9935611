// Package node has the commands about the nodes of all sites: fed node.
package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"fsub/cmd/fed/internal/cli"
	"fsub/federation"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
)

// nodeNames is what the commands below say of their arguments.
const nodeNames = `Nodes are named as SITE/HOSTLIST ("rhein/gpu[01-16]"), as SITE/* for all of a site, or as HOSTLIST where only one
site has nodes of these names. --where narrows the choice, or makes it alone; it may be repeated, and all must hold:
site=, gpu= (a type, or any), partition= (or pool=), state=, feature=, reason= (a part of it) and owner=, each with one value or
several, separated by commas.`

func NewCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "node", Short: "The nodes of all sites: list, drain, resume"}
	cmd.AddCommand(newListCommand(), newShowCommand(), newDrainCommand(), newResumeCommand())
	return cmd
}

func newListCommand() *cobra.Command {
	var each, reasons bool
	cmd := cli.ListWith(&v1.Nodes, &cobra.Command{
		Use:   "list [SITE/HOSTLIST...]",
		Short: "List nodes: state, reason, and what operators want of them",
		Long:  "List nodes. Those that are alike share a line.\n\n" + nodeNames,
	}, cli.Lister[v1.Node, v1.NodeQuery]{
		Ask:   func(q *v1.NodeQuery, args []string) error { q.Nodes = args; return nil },
		Heads: cli.Heads(&nodeLines),
		Table: func(w io.Writer, nodes []v1.Node, v cli.View) error {
			if reasons {
				return cli.PrintRows(w, &reasonLines, byReason(nodes), v)
			}
			return cli.PrintRows(w, &nodeLines, alike(nodes, each), v)
		},
	})
	cmd.Flags().BoolVarP(&each, "each", "N", false, "one line for each node")
	cmd.Flags().BoolVarP(&reasons, "reasons", "R", false, "only nodes that have a reason, by reason, as sinfo -R does")
	return cmd
}

func whereFlag(cmd *cobra.Command, where *[]string) {
	cmd.Flags().StringArrayVar(where, "where", nil, "KEY=VALUE[,VALUE...] or KEY!=VALUE: only nodes that meet this; * stands for anything")
}

func newShowCommand() *cobra.Command {
	return cli.Ask(&cobra.Command{
		Use:   "show SITE/NODE",
		Short: "Show a node, its desired state and its history",
		Args:  cobra.ExactArgs(1),
	}, func(ctx context.Context, c *client.Client, args []string) (*v1.Node, error) {
		found, err := c.Nodes(ctx, args, nil)
		if err != nil {
			return nil, err
		}
		if len(found) != 1 {
			return nil, fmt.Errorf("%s names %d nodes; name one", args[0], len(found))
		}
		return c.Node(ctx, federation.NodeID{Site: found[0].Site, Name: found[0].Name})
	}, showNode)
}

func newDrainCommand() *cobra.Command {
	q := v1.SetNodes{State: federation.WishDrain}
	var until string
	var finish bool
	cmd := setCommand(&cobra.Command{
		Use:   "drain SITE/HOSTLIST... --reason TEXT",
		Short: "Start no new jobs on nodes; running jobs continue",
		Long: `Let no new job start on nodes. What runs there ends by itself (--finish, which is the default), is requeued with --requeue: the
federation's own jobs, under their IDs, but for those of sbatch --no-requeue; or is moved with --move: those of them that keep something (--keep) write
a checkpoint at their --signal, and go on elsewhere from the copy of what they keep. The others run on, and fed explain says why. Nothing is placed
there from now on; the site is told until it shows the drain. A node that is drained already keeps the --until and --ticket that it has, unless others are given. One that others have drained keeps their reason, and yours follows when that is gone.

--wait returns when the sites show the drain. With --finish, --requeue or --move it returns when the nodes are DRAINED: nothing runs there any more.

` + nodeNames,
	}, "return when the sites show it; with --finish, --requeue or --move, when nothing runs there any more", &q, func() (idle bool, err error) {
		if finish && (q.Requeue || q.Move) || q.Requeue && q.Move {
			return false, errors.New("--finish, --requeue and --move exclude each other")
		}
		if q.NoEnd = until == "none"; q.NoEnd {
			until = ""
		}
		q.Until, err = ReadUntil(until, time.Now())
		return finish || q.Jobs() != "", err
	})
	f := cmd.Flags()
	f.StringVar(&q.Reason, "reason", "", "why, for the others; the site's admin reads it too")
	f.StringVar(&q.Ticket, "ticket", "", "number of a ticket; the site's admin reads it too")
	f.StringVar(&until, "until", "", `resume by itself then: "4h", "18:00", "2026-12-01T08:00"; none: no earlier drain's end counts any more`)
	f.BoolVar(&finish, "finish", false, "let running jobs end by themselves (default)")
	f.BoolVar(&q.Requeue, "requeue", false, "requeue the jobs that run there")
	f.BoolVar(&q.Move, "move", false, "move the jobs that run there and keep something (--keep), with a checkpoint")
	return cmd
}

func newResumeCommand() *cobra.Command {
	q := v1.SetNodes{State: federation.WishResume}
	cmd := setCommand(&cobra.Command{
		Use:   "resume SITE/HOSTLIST...",
		Short: "End drains of nodes that were made here",
		Long: `End drains of nodes that were made here. What a site's admin, slurmctld or a provider has drained stays as it is: that is said, and the
exit code is 1 then.

` + nodeNames,
	}, "return when the sites show it", &q, func() (bool, error) { return false, nil })
	cmd.Flags().StringVar(&q.Reason, "reason", "", "why, for the history")
	cmd.Flags().StringVar(&q.Ticket, "ticket", "", "number of a ticket, for the history")
	return cmd
}

// setCommand makes cmd the command that gives the order q about the nodes that are named, once prepare has completed it, and prints what was made of it;
// with --wait once the sites show it, and if prepare says so once the nodes are idle.
func setCommand(cmd *cobra.Command, waits string, q *v1.SetNodes, prepare func() (idle bool, err error)) *cobra.Command {
	var wait bool
	cli.Ask(cmd, func(ctx context.Context, c *client.Client, args []string) ([]v1.NodeSet, error) {
		q.Nodes = args
		idle, err := prepare()
		if err != nil {
			return nil, err
		}
		said, err := c.SetNodes(ctx, *q)
		if err == nil && wait {
			w := nodesWait{client: c, errOut: cmd.ErrOrStderr(), wish: q.State, idle: idle}
			err = w.run(ctx, said)
		}
		if err == nil && q.State == federation.WishResume && slices.ContainsFunc(said, func(s v1.NodeSet) bool { return s.Left }) {
			err = cli.ExitError(1)
		}
		return said, err
	}, func(w io.Writer, said []v1.NodeSet) error { return printSaid(w, said, q.State) })
	whereFlag(cmd, &q.Where)
	cmd.Flags().BoolVar(&wait, "wait", false, waits)
	return cmd
}

// nodesWait waits until nodes are as they are wanted. That may take until a site answers again.
type nodesWait struct {
	client *client.Client
	errOut io.Writer
	wish   federation.NodeWish
	idle   bool // until no job runs there, too
}

// shown reports whether a node's site shows what is wanted of it, or others' word that keeps it so.
func (w *nodesWait) shown(n *v1.Node, left bool) bool {
	drained := hasState(n, "DRAIN")
	return left || !n.Unconfirmed && (w.wish == federation.WishDrain && drained || w.wish == federation.WishResume && !(drained && n.ReasonOurs))
}

// done reports whether to wait for a node no longer. What a site said before it went silent says nothing of the jobs that run there now.
func (w *nodesWait) done(n *v1.Node, left bool) bool {
	return w.shown(n, left) && !(w.idle && (nodeBusy(n) || n.Stale))
}

func (w *nodesWait) run(ctx context.Context, said []v1.NodeSet) error {
	var names []string
	left := map[string]bool{}
	for _, s := range said {
		name := string(s.Site) + "/" + s.Name
		if left[name] = s.Left; !s.Left || w.idle {
			names = append(names, name)
		}
	}
	told := ""
	for len(names) > 0 {
		nodes, err := w.client.Nodes(ctx, cli.CompressNames(names), nil)
		if err != nil {
			return err
		}
		names = names[:0]
		note := ""
		for i := range nodes {
			n := &nodes[i]
			name := string(n.Site) + "/" + n.Name
			if w.done(n, left[name]) {
				continue
			}
			names = append(names, name)
			switch {
			case n.Stale:
				note = "the site does not answer"
			case n.Note != "":
				note = n.Note
			case w.shown(n, left[name]):
				note = "jobs run there"
			}
		}
		if note != "" && note != told {
			fmt.Fprintf(w.errOut, "fed: waiting for %d nodes: %s\n", len(names), note)
			told = note
		}
		if len(names) == 0 {
			return nil
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// ReadUntil reads the time at which a drain ends: a span from now on, or a time of this machine's zone.
func ReadUntil(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil {
		return now.Add(d), nil
	}
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(form, text, now.Location()); err == nil {
			return t, nil
		}
	}
	if t, err := time.ParseInLocation("15:04", text, now.Location()); err == nil {
		t = time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), 0, 0, now.Location())
		if !t.After(now) {
			t = t.AddDate(0, 0, 1)
		}
		return t, nil
	}
	return time.Time{}, fmt.Errorf(`invalid time %q: want a span such as "4h", "HH:MM" or "YYYY-MM-DDTHH:MM"`, text)
}
