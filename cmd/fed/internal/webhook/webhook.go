// Package webhook has the verbs of "fed webhook": addresses that the daemon posts events to.
package webhook

import (
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fsub/cmd/fed/internal/cli"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	"fsub/federation/plain"
)

// NewCommand returns the command.
func NewCommand() *cobra.Command {
	cmd := cli.AddVerbs(&cobra.Command{
		Use:   "webhook",
		Short: "Addresses that are told of what happens, by HTTP: add, list, test, replay",
		Long: `The daemon posts what fed events tells to an address of yours, as it happens: each event at least once, in order, signed as Standard Webhooks says.
You get the events of your jobs, a coordinator those of his accounts' jobs, an operator all. Where to it may post, an operator says (webhooks: allow in the configuration).`,
	}, &v1.Webhooks, &cobra.Command{
		Short:   "Add a webhook, and show its secret; one of the same name is replaced",
		Example: "  fed webhook add ci https://ci.example.org/fsub --where event=end --where name=train*\n  fed webhook add oncall https://hooks.example.org/fed --where event=health,drain,lost",
	})
	cmd.AddCommand(
		cli.Verb(&v1.Webhooks, "test", "Post a test event to a webhook now, and show what it answers", func(cmd *cobra.Command, c *client.Client, path string) error {
			t, err := client.Post[v1.WebhookTry](cmd.Context(), c, path, nil)
			if err == nil {
				show(cmd.OutOrStdout(), &t)
			}
			if err == nil && !t.Good {
				err = cli.ExitError(1)
			}
			return err
		}),
		cli.Verb(&v1.Webhooks, "deliveries", "Show the last tries to deliver to a webhook, the newest first", func(cmd *cobra.Command, c *client.Client, path string) error {
			var all []v1.WebhookTry
			err := c.Do(cmd.Context(), "GET", path, nil, &all)
			for i := range all {
				show(cmd.OutOrStdout(), &all[i])
			}
			return err
		}),
		cli.Verb(&v1.Webhooks, "rotate", "Give a webhook a new secret, and show it; the old one signs beside it for a day", func(cmd *cobra.Command, c *client.Client, path string) error {
			one, err := client.Post[v1.Webhook](cmd.Context(), c, path, nil)
			if err == nil {
				_, err = fmt.Fprintln(cmd.OutOrStdout(), one.Secret)
			}
			return err
		}),
		newReplayCommand(),
	)
	return cmd
}

func newReplayCommand() *cobra.Command {
	var since time.Duration
	cmd := cli.Verb(&v1.Webhooks, "replay", "Deliver what was not delivered, and with --since what has happened from then on, again; one that was off is on", func(cmd *cobra.Command, c *client.Client, path string) error {
		if since > 0 {
			sep := "?"
			if strings.Contains(path, "?") {
				sep = "&"
			}
			path += sep + url.Values{"since": {strconv.FormatInt(time.Now().Add(-since).Unix(), 10)}}.Encode()
		}
		_, err := client.Post[v1.Webhook](cmd.Context(), c, path, nil)
		return err
	})
	cmd.Flags().DurationVar(&since, "since", 0, "begin this long ago: 90m, 24h")
	return cmd
}

func show(w io.Writer, t *v1.WebhookTry) {
	word := "failed"
	if t.Good {
		word = "delivered"
	}
	fmt.Fprintf(w, "%s\t%s\t%s\ttry %d\t%s\t%.2fs\t%s\n", t.Time.Local().Format(time.RFC3339), t.ID, t.Type, t.Try, word, t.Took, plain.Line(t.Result))
}
