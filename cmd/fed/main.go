// Command fed is the daemon of a federation ("fed serve") and the tool of its operators and team leads:
// fed <noun> <verb>. Researchers use fsub and Slurm's own command names instead (cmd/fsub).
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/spf13/cobra"

	"fsub/cmd/fed/internal/account"
	"fsub/cmd/fed/internal/admin"
	"fsub/cmd/fed/internal/books"
	"fsub/cmd/fed/internal/cli"
	"fsub/cmd/fed/internal/daemon"
	"fsub/cmd/fed/internal/health"
	"fsub/cmd/fed/internal/job"
	"fsub/cmd/fed/internal/manual"
	"fsub/cmd/fed/internal/node"
	"fsub/cmd/fed/internal/pool"
	"fsub/cmd/fed/internal/sim"
	"fsub/cmd/fed/internal/site"
	"fsub/cmd/fed/internal/top"
	"fsub/cmd/fed/internal/web"
	"fsub/cmd/fed/internal/webhook"
	"fsub/cmd/internal/crash"
	"fsub/federation/plain"
)

// spareProcs are how many threads more than there are processors the daemon's goroutines may run on. With all of them at work the runtime looks at connections every ten
// milliseconds only, and a request that comes waits for that several times; with some idle the kernel has it served at once.
const spareProcs = 2

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	code := 0
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		if n := runtime.GOMAXPROCS(0); n == runtime.NumCPU() { // what an operator or a container allows stays
			runtime.GOMAXPROCS(n + spareProcs)
		}
		code = run(ctx, os.Args[1:]) // the daemon's log is to have the stack of a panic
	} else {
		code = crash.Guard("fed", os.Stderr, func() int { return run(ctx, os.Args[1:]) })
	}
	stop()
	os.Exit(code)
}

// run is main without the process: it turns errors into messages and exit codes, here and nowhere else.
func run(ctx context.Context, args []string) int {
	cmd := newCommand()
	cmd.SetArgs(args)
	cmd.SetOut(&plain.Writer{To: os.Stdout})
	err := checkVerb(cmd, args)
	if err == nil {
		err = cmd.ExecuteContext(ctx)
	}
	var exit cli.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return int(exit)
	}
	fmt.Fprintf(&plain.Writer{To: os.Stderr}, "fed: error: %v\n", err)
	return 1
}

func newCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fed",
		Short: "One sbatch for every cluster you own: your jobs, what they cost, and the federation itself",
		Long: `Submit with fsub, or with sbatch, squeue, scancel, sinfo and sacct by those names. fed says the rest: why a job waits or went where it went,
what it has written and what it cost; what a team may use and has used; and it runs the federation. What is your own you may do, what is others'
needs a coordinator or an operator.`,
		Version:       daemon.Version(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	cmd.AddCommand(
		daemon.NewServeCommand(), daemon.NewConfigCommand(), daemon.NewAsUserCommand(), daemon.NewVersionCommand(),
		site.NewCommand(),
		node.NewCommand(),
		webhook.NewCommand(), health.NewMaintenanceCommand(), health.NewCommand(), health.NewCheckCommand(),
		pool.NewCommand(), pool.NewOffersCommand(),
		account.NewCommand(), account.NewQOSCommand(),
		job.NewCommand(), job.NewExplainCommand(), job.NewWaitCommand(), job.NewEventsCommand(), job.NewLogsCommand(), job.NewAttachCommand(), job.NewForwardCommand(),
		sim.NewCommand(), sim.NewWhatIfCommand(),
		books.NewCommand(), books.NewReportCommand(),
		top.NewCommand(), web.NewCommand(),
		admin.NewTokenCommand(), admin.NewAuditCommand(), admin.NewDaemonCommand(), admin.NewShimsCommand(), admin.NewStoreCommand(), admin.NewDebugCommand(), admin.NewSupportCommand(),
	)
	cmd.AddCommand(manual.NewCommand(cmd))
	group(cmd)
	addCompletion(cmd)
	explainArguments(cmd)
	return cmd
}

// groups are the headings of fed --help, in their order, each with its commands. All others are the operators'.
var groups = []struct {
	title    string
	commands []string
}{
	{"Your jobs:", []string{"job", "wait", "explain", "logs", "attach", "forward", "top", "web", "events", "webhook", "what-if", "offers", "token", "completion", "version", "help"}},
	{"Your team:", []string{"account", "qos", "report", "books"}},
	{"The operators':", nil},
}

func group(cmd *cobra.Command) {
	of := map[string]string{}
	for _, g := range groups {
		cmd.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for _, name := range g.commands {
			of[name] = g.title
		}
	}
	for _, c := range cmd.Commands() {
		c.GroupID = cmp.Or(of[c.Name()], groups[len(groups)-1].title)
	}
	cmd.SetHelpCommandGroupID(of["help"])
	cmd.SetCompletionCommandGroupID(of["completion"])
}
