// Package web has fed web: it signs its caller in at a browser, and lists and ends the sessions of browsers.
package web

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fsub/cmd/fed/internal/cli"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
)

func NewCommand() *cobra.Command {
	var c cli.Connection
	var operator, printOnly bool
	cmd := &cobra.Command{
		Use:   "web",
		Short: "Open the page in a browser, signed in as yourself",
		Long: `Open the page of the federation in a browser, signed in as yourself. The address that is printed has a ticket in it: it is good once, for a minute.
An operator's session is an ordinary user's; --operator gives it an operator's rights for 15 minutes.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			t, err := client.Post[v1.Ticket](cmd.Context(), c.Client(), "/fed/v1/web/tickets", v1.NewTicket{Operator: operator})
			switch {
			case err != nil:
				return err
			case c.JSON:
				return cli.PrintJSON(cmd.OutOrStdout(), t)
			}
			tell(cmd.OutOrStdout(), cmd.ErrOrStderr(), &t)
			if !printOnly {
				openBrowser(cmd.Context(), address(&t))
			}
			return nil
		},
	}
	c.Flags(cmd)
	cmd.Flags().BoolVar(&operator, "operator", false, "with an operator's rights for 15 minutes")
	cmd.Flags().BoolVar(&printOnly, "print", false, "print the address only; open no browser")
	cmd.AddCommand(cli.List(&v1.WebSessions, &cobra.Command{Use: "sessions", Short: "List the browsers at which you have signed in; operators: all"}), newLogoutCommand())
	return cmd
}

func address(t *v1.Ticket) string { return t.Address + "/login#" + t.Ticket }

// tell prints the address, and how to reach it from where the caller sits.
func tell(out, errOut io.Writer, t *v1.Ticket) {
	fmt.Fprintln(out, address(t))
	fmt.Fprintf(errOut, "Open this address within %s. It works once, and only for you: pass it on to nobody.\n", time.Until(t.Until).Round(time.Second))
	u, err := url.Parse(t.Address)
	if err != nil || os.Getenv("SSH_CONNECTION") == "" {
		return
	}
	if host := u.Hostname(); host == "127.0.0.1" || host == "::1" || host == "localhost" {
		name, _ := os.Hostname()
		fmt.Fprintf(errOut, "The page is on this machine alone. On yours, run first:\n  ssh -N -L %[1]s:%[2]s %[3]s\n", cmp.Or(u.Port(), "80"), u.Host, name)
	}
}

// openBrowser opens the address where there is a display. The address is in no argument list: others could read it there.
func openBrowser(ctx context.Context, to string) {
	if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" || os.Getenv("SSH_CONNECTION") != "" {
		return
	}
	program, err := exec.LookPath("xdg-open")
	if err != nil {
		return
	}
	f, err := os.CreateTemp("", "fed-web-*.html") // 0600
	if err != nil {
		return
	}
	fmt.Fprintf(f, "<!doctype html><meta charset=utf-8><meta name=referrer content=no-referrer><title>fed web</title><meta http-equiv=refresh content=\"0;url=%s\">\n",
		strings.NewReplacer(`"`, "%22", "<", "%3C", ">", "%3E").Replace(to))
	f.Close()
	if exec.CommandContext(ctx, program, f.Name()).Run() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Second): // the browser has read it
		}
	}
	os.Remove(f.Name())
}

func newLogoutCommand() *cobra.Command {
	var c cli.Connection
	var all bool
	var user string
	cmd := &cobra.Command{
		Use:   "logout [SESSION]",
		Short: "End a session of a browser, or all of yours; operators: of others too",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) == 1) {
				return fmt.Errorf("name one session, or --all; see: fed web sessions")
			}
			which := "all"
			if !all {
				which = args[0]
			}
			path := "/fed/v1/web/session/" + url.PathEscape(which)
			if user != "" {
				path += "?" + url.Values{"user": {user}}.Encode()
			}
			n, err := client.Delete[v1.Ended](cmd.Context(), c.Client(), path)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%d sessions ended\n", n.Sessions)
			return nil
		},
	}
	c.Flags(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "all sessions")
	cmd.Flags().StringVar(&user, "user", "", "whose session, for operators")
	return cmd
}
