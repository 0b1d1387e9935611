// Command bed runs real Slurm sites on this machine, for tests and for the demo: bin/bed up, status, exec, link, svc, down.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"fsub/testbed/bed"
)

func main() {
	cmd := newCommand()
	err := cmd.Execute()
	var exit exitError
	switch {
	case err == nil:
	case errors.As(err, &exit):
		os.Exit(int(exit))
	default:
		fmt.Fprintf(os.Stderr, "bed: error: %v\n", err)
		os.Exit(1)
	}
}

// exitError ends the process with the status of a command that ran inside a site.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// bedCommand does a command with the bed open. Its context ends on SIGINT and SIGTERM.
type bedCommand func(ctx context.Context, b *bed.Bed, cmd *cobra.Command, args []string) error

// opener makes of a bedCommand what cobra runs.
type opener func(bedCommand) func(*cobra.Command, []string) error

func newCommand() *cobra.Command {
	var o bed.Options
	cmd := &cobra.Command{
		Use:   "bed",
		Short: "Run real Slurm sites on this machine, for tests and the demo",
		Long: `Run real Slurm sites on this machine, for tests and the demo.

Each site is a whole cluster with namespaces of its own: MariaDB, slurmdbd, slurmctld, some slurmds with fake GPUs, slurmrestd.
The pseudo-site "login" is this machine with the bed's users (alice, bob, carol, dave): fsub's commands and the daemon run there.
It needs root. The first up of a Slurm version installs it from this machine's Debian mirror, which takes a minute or two.`,
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	cmd.CompletionOptions.HiddenDefaultCmd = true
	flags := cmd.PersistentFlags()
	flags.StringVar(&o.Dir, "dir", envOr("FSUB_BED", bed.DefaultDir), "directory of the bed (env FSUB_BED)")
	flags.StringVar(&o.Cache, "cache", envOr("FSUB_BED_CACHE", bed.DefaultCache), "packed root filesystems (env FSUB_BED_CACHE)")
	open := func(do bedCommand) func(*cobra.Command, []string) error {
		return func(cmd *cobra.Command, args []string) error {
			b, err := bed.New(o)
			if err != nil {
				return err
			}
			ctx, stop := bedContext(cmd)
			defer stop()
			return do(ctx, b, cmd, args)
		}
	}
	cmd.AddCommand(newUp(&o, open), newDown(&o), newStatus(open), newExec(&o), newService(open), newLink(open), newCommands(open), newHold(open), newConfig(open))
	return cmd
}

func envOr(name, value string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return value
}

// bedContext ends on SIGINT and SIGTERM.
func bedContext(cmd *cobra.Command) (context.Context, context.CancelFunc) {
	parent := cmd.Context()
	if parent == nil {
		parent = context.Background()
	}
	return signal.NotifyContext(parent, os.Interrupt, syscall.SIGTERM)
}

func newUp(o *bed.Options, open opener) *cobra.Command {
	var all, installOnly bool
	cmd := &cobra.Command{
		Use:   "up [SITE...]",
		Short: "Start sites (alpha and beta by default), or repair them",
		RunE: open(func(ctx context.Context, b *bed.Bed, cmd *cobra.Command, sites []string) error {
			if all {
				sites = bed.AllSites()
			}
			if installOnly {
				return b.Install(ctx, sites, cmd.ErrOrStderr())
			}
			return b.Up(ctx, sites, cmd.ErrOrStderr())
		}),
	}
	flags := cmd.Flags()
	flags.BoolVar(&all, "all", false, "start every site")
	flags.BoolVar(&installOnly, "install-only", false, "make everything ready, but start nothing")
	flags.StringVar(&o.Mirror, "mirror", os.Getenv("FSUB_BED_MIRROR"), "Debian mirror (default: from this machine's apt configuration; env FSUB_BED_MIRROR)")
	flags.StringVar(&o.Subnet, "subnet", "", "unused IPv4 /24 for the sites (default: derived from the directory)")
	flags.DurationVar(&o.MinJobAge, "min-job-age", 2*time.Minute, "how long slurmctld remembers an ended job, for sites that start now")
	return cmd
}

func newDown(o *bed.Options) *cobra.Command {
	var wipe, abandoned bool
	cmd := &cobra.Command{
		Use:   "down [SITE...]",
		Short: "Stop sites, all of them by default",
		RunE: func(cmd *cobra.Command, sites []string) error {
			ctx, stop := bedContext(cmd)
			defer stop()
			if abandoned {
				return bed.DownAbandoned(ctx, cmd.ErrOrStderr())
			}
			b, err := bed.New(*o)
			if err != nil {
				return err
			}
			return b.Down(ctx, sites, wipe, cmd.ErrOrStderr())
		},
	}
	cmd.Flags().BoolVar(&abandoned, "abandoned", false, "not this bed, but those of tests that were killed: stop and remove them")
	cmd.Flags().BoolVar(&wipe, "wipe", false, "remove the sites' state as well, and the homes when all sites go")
	return cmd
}

func newStatus(open opener) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show sites, services and nodes",
		Args:  cobra.NoArgs,
		RunE: open(func(ctx context.Context, b *bed.Bed, cmd *cobra.Command, _ []string) error {
			infos, err := b.Status(ctx)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), infos)
			}
			return printStatus(cmd.OutOrStdout(), infos)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "for programs")
	return cmd
}

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func printStatus(w io.Writer, infos []bed.Info) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SITE\tSLURM\tUP\tNODES\tNOT RUNNING\tREST\tKEY FILE")
	for _, i := range infos {
		if !i.Up {
			fmt.Fprintf(t, "%s\t-\tdown\t-\t-\t-\t-\n", i.Name)
			continue
		}
		var nodes, missing []string
		for _, state := range slices.Sorted(maps.Keys(i.Nodes)) {
			nodes = append(nodes, fmt.Sprintf("%d %s", i.Nodes[state], state))
		}
		for _, name := range slices.Sorted(maps.Keys(i.Services)) {
			if i.Services[name] == 0 {
				missing = append(missing, name)
			}
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", i.Name, i.Version, time.Since(i.Since).Round(time.Second),
			cmp.Or(strings.Join(nodes, ","), "-"), cmp.Or(strings.Join(missing, ","), "-"), i.RestURL, i.KeyFile)
	}
	return t.Flush()
}

func newConfig(open opener) *cobra.Command {
	return &cobra.Command{
		Use:   "config [SITE...]",
		Short: "Print a configuration for the daemon (fed serve) of the bed's sites that are up, or of those named",
		RunE: open(func(ctx context.Context, b *bed.Bed, cmd *cobra.Command, names []string) error {
			c, err := b.FedConfig(ctx, names)
			if err != nil {
				return err
			}
			return yaml.NewEncoder(cmd.OutOrStdout(), yaml.IndentSequence(true)).Encode(c)
		}),
	}
}

func newExec(o *bed.Options) *cobra.Command {
	c := bed.Cmd{}
	cmd := &cobra.Command{
		Use:   "exec SITE [--user USER] [--chdir DIR] -- COMMAND [ARG...]",
		Short: `Run a command inside a site, or in the login ("exec login")`,
		Args:  cobra.MinimumNArgs(2),
		RunE: func(_ *cobra.Command, args []string) error { // no signal is caught: the command is to find them as they were
			b, err := bed.New(*o)
			if err != nil {
				return err
			}
			c.Site, c.Args = args[0], args[1:]
			if c.Site == bed.Login {
				return b.Replace(c) // signals and exit code are then the command's own
			}
			c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
			return runInSite(b, c)
		},
	}
	cmd.Flags().StringVarP(&c.User, "user", "u", "", "run as this user (default root)")
	cmd.Flags().StringVar(&c.Dir, "chdir", "", "working directory (default: the user's home)")
	return cmd
}

// runInSite runs the command, passes signals on, and returns the command's exit code.
func runInSite(b *bed.Bed, c bed.Cmd) error {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2)
	running, err := b.Start(context.Background(), c)
	if err != nil {
		return err
	}
	go func() {
		for s := range signals {
			running.Process.Signal(s)
		}
	}()
	err = running.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return exitError(128 + int(status.Signal()))
		}
		return exitError(exit.ExitCode())
	}
	return err
}

func newCommands(open opener) *cobra.Command {
	return &cobra.Command{
		Use:   "install-commands FSUB",
		Short: "Give the bed's users and jobs our commands: copy the fsub binary into the bed, with Slurm's names as links",
		Args:  cobra.ExactArgs(1),
		RunE: open(func(_ context.Context, b *bed.Bed, _ *cobra.Command, args []string) error {
			return b.InstallCommands(args[0])
		}),
	}
}

func newHold(open opener) *cobra.Command {
	var user string
	var n int
	cmd := &cobra.Command{
		Use:   "hold SITE",
		Short: "Give a site many held jobs, as a queue to measure commands against; scancel -u USER removes them",
		Args:  cobra.ExactArgs(1),
		RunE: open(func(ctx context.Context, b *bed.Bed, _ *cobra.Command, args []string) error {
			return b.Hold(ctx, args[0], user, n)
		}),
	}
	cmd.Flags().StringVarP(&user, "user", "u", "alice", "whose jobs they are")
	cmd.Flags().IntVarP(&n, "jobs", "n", 100000, "how many")
	return cmd
}

func newService(open opener) *cobra.Command {
	return &cobra.Command{
		Use:       "svc SITE start|stop|kill|pid SERVICE",
		Short:     "Start, stop (SIGTERM) or kill (SIGKILL) one daemon: slurmctld, slurmdbd, slurmrestd, mariadb, slurmd:NODE, munged at a site that has it",
		Args:      cobra.ExactArgs(3),
		ValidArgs: []string{"start", "stop", "kill", "pid"},
		RunE: open(func(ctx context.Context, b *bed.Bed, cmd *cobra.Command, args []string) error {
			site, service := args[0], args[2]
			switch args[1] {
			case "start":
				return b.StartService(ctx, site, service)
			case "stop":
				return b.StopService(site, service)
			case "kill":
				return b.KillService(site, service)
			case "pid":
				pid, err := b.ServicePID(site, service)
				if err == nil && pid == 0 {
					err = fmt.Errorf("%s does not run at %s", service, site)
				}
				if err == nil {
					fmt.Fprintln(cmd.OutOrStdout(), pid)
				}
				return err
			}
			return fmt.Errorf("unknown action %q: choose from start, stop, kill, pid", args[1])
		}),
	}
}

func newLink(open opener) *cobra.Command {
	return &cobra.Command{
		Use:   "link SITE cut|heal|slow",
		Short: "Cut, heal or slow the network link between this machine and a site",
		Args:  cobra.ExactArgs(2),
		RunE: open(func(ctx context.Context, b *bed.Bed, _ *cobra.Command, args []string) error {
			return b.Link(ctx, args[0], bed.LinkState(args[1]))
		}),
	}
}
