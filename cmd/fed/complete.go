package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fsub/accounting/report"
	"fsub/cmd/fed/internal/cli"
	"fsub/cmd/internal/commands"
	shellscript "fsub/cmd/internal/complete"
	"fsub/federation/api/client"
)

// completeWithin is how long a shell waits for words: a daemon that is slower, or not there, has none.
const completeWithin = 200 * time.Millisecond

// words asks the daemon for the words that may stand somewhere.
type words func(ctx context.Context, c *client.Client) ([]string, error)

// Words for arguments, by what usage lines call them.
var argumentWords = map[string]words{
	"JOB": jobWords, "JOB[_TASK]": jobWords, "JOB[_TASKS][,...]": jobWords, "SITE": siteWords, "FILE|SITE": siteWords, "SITE/HOSTLIST": nodeWords, "SITE/NODE": nodeWords,
	"SITE[/HOSTLIST]": nodeWords, "ACCOUNT": treeAccountWords, "QOS": qosWords, "REPORT": fixed(report.Kinds...),
}

// Words for the values of flags, by their names. Where a command means something else by one it has no words for it.
var flagWords = map[string]words{
	"site": siteWords, "user": userWords, "account": treeAccountWords, "qos": qosWords, "format": fixed(report.Formats...), "every": fixed("day", "week", "month"), "drain": nodeWords, "resume": nodeWords, "lift": treeAccountWords,
}

// Keys of --where, by the command that they are for.
var whereKeys = map[string][]string{
	"fed job":    {"id", "state", "user", "account", "group", "name", "site", "partition", "node", "gpu", "reason"},
	"fed events": {"event", "job", "user", "who", "name", "group", "site", "node", "state", "from", "reason", "request"},
	"fed node":   {"site", "state", "partition", "gpu", "reason", "by"},
	"fed report": report.Dimensions,
}

// Words for the values of such keys.
var whereWords = map[string]words{
	"site": siteWords, "user": userWords, "who": userWords, "account": treeAccountWords, "qos": qosWords, "group": groupWords, "partition": partitionWords, "node": nodeWords, "id": jobWords, "job": jobWords,
	"state": fixed("pending", "running", "suspended", "completed", "failed", "cancelled", "timeout", "ended"),
}

// addCompletion has the shell complete what the arguments and flags of every command mean. cmd is the root, with all of its commands.
func addCompletion(cmd *cobra.Command) {
	complete(cmd)
	cmd.InitDefaultCompletionCmd()
	for _, c := range cmd.Commands() {
		if c.Name() == "completion" {
			c.Short = "Completion for your shell: bash, zsh or fish; and of fsub and Slurm's commands"
			c.Long = `Prints a script that has the shell complete commands, jobs, sites, accounts, users and nodes. For bash, in ~/.bashrc:

  source <(fed completion bash)
  source <(fed completion slurm)     # fsub, and Slurm's commands that fsub is

For zsh, in ~/.zshrc behind compinit:

  source <(fed completion zsh)
  source <(fed completion slurm zsh)

For fish, in ~/.config/fish/config.fish:

  fed completion fish | source
  fed completion slurm fish | source

Packages have them in place. Words come from the daemon. One that does not answer within a fifth of a second completes nothing.`
			for _, shell := range c.Commands() {
				shell.Short, shell.Long = "Of fed, for "+shell.Name(), ""
				shell.Hidden = shell.Name() == "powershell"
			}
			c.AddCommand(newSlurmCompletion())
		}
	}
}

func complete(cmd *cobra.Command) {
	if names := strings.Fields(cmd.Use)[1:]; cmd.Runnable() && len(names) > 0 && cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
			name := names[min(len(args), len(names)-1)]
			if len(args) >= len(names) && !strings.HasSuffix(name, "...") && !strings.HasSuffix(name, "...]") {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			if ask := argumentWords[argumentName(name)]; ask != nil {
				return asked(cmd, ask), cobra.ShellCompDirectiveNoFileComp
			}
			if strings.Contains(name, "FILE") || name == "TRACE" || name == "DIR" || strings.Contains(name, "ARGUMENTS") {
				return nil, cobra.ShellCompDirectiveDefault
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		var fill func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective)
		switch ask := flagWords[f.Name]; {
		case f.Name == "where":
			fill = completeWhere
		case f.Name == "by" && inReport(cmd):
			fill = completeList(report.Dimensions)
		case ask != nil:
			fill = func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
				return asked(cmd, ask), cobra.ShellCompDirectiveNoFileComp
			}
		default:
			return
		}
		_ = cmd.RegisterFlagCompletionFunc(f.Name, fill) // fails for one that has words already
	})
	for _, c := range cmd.Commands() {
		complete(c)
	}
}

func inReport(cmd *cobra.Command) bool { return cmd.HasParent() && cmd.Parent().Name() == "report" }

// argumentName is what a usage line calls an argument, without what says how many there may be: "SITE/HOSTLIST" of "[SITE/HOSTLIST...]".
func argumentName(word string) string {
	if strings.HasPrefix(word, "[") {
		word = strings.TrimSuffix(word[1:], "]")
	}
	return strings.TrimSuffix(word, "...")
}

// asked are words of the daemon; none if it does not have them in time.
func asked(cmd *cobra.Command, ask words) []string {
	ctx, cancel := context.WithTimeout(context.Background(), completeWithin)
	defer cancel()
	at := cli.Connection{Socket: cli.DefaultSocket()}
	if f := cmd.Flag("socket"); f != nil && f.Changed {
		at.Socket = f.Value.String()
	}
	c := at.Client()
	defer c.Close()
	told := make(chan []string, 1)
	go func() {
		all, err := ask(ctx, c)
		if err != nil {
			all = nil
		}
		told <- all
	}()
	select {
	case all := <-told:
		return all
	case <-ctx.Done():
		return nil
	}
}

// completeWhere completes a condition: its key, then its value.
func completeWhere(cmd *cobra.Command, _ []string, start string) (out []string, _ cobra.ShellCompDirective) {
	key, _, has := strings.Cut(start, "=")
	if !has {
		for group, keys := range whereKeys {
			if strings.HasPrefix(cmd.CommandPath()+" ", group+" ") {
				for _, k := range keys {
					out = append(out, k+"=")
				}
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	if ask := whereWords[strings.TrimSuffix(key, "!")]; ask != nil {
		for _, w := range asked(cmd, ask) {
			out = append(out, key+"="+w)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completeList completes the last of several words with commas between them.
func completeList(all []string) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return func(_ *cobra.Command, _ []string, start string) (out []string, _ cobra.ShellCompDirective) {
		before := start[:strings.LastIndexByte(start, ',')+1]
		for _, w := range all {
			if !slices.Contains(strings.Split(before, ","), w) {
				out = append(out, before+w)
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

func fixed(all ...string) words {
	return func(context.Context, *client.Client) ([]string, error) { return all, nil }
}

// each is the words that f has of each of the things that the daemon knows, once.
func each[T any](all []T, err error, f func(*T) []string) ([]string, error) {
	seen := map[string]bool{}
	for i := range all {
		for _, w := range f(&all[i]) {
			seen[w] = w != ""
		}
	}
	maps.DeleteFunc(seen, func(_ string, is bool) bool { return !is })
	return slices.Sorted(maps.Keys(seen)), err
}

func newSlurmCompletion() *cobra.Command {
	return &cobra.Command{Use: "slurm [SHELL]", Short: "Of fsub and Slurm's commands, for bash (the default), zsh or fish", Args: cobra.MaximumNArgs(1),
		ValidArgs: []string{"bash", "zsh", "fish"}, RunE: func(cmd *cobra.Command, args []string) error {
			shell := strings.Join(append(args, "bash")[:1], "")
			script := shellscript.Shells[shell]
			if script == nil {
				return fmt.Errorf("unknown shell %q: want bash, zsh or fish", shell)
			}
			_, err := io.WriteString(cmd.OutOrStdout(), script(append([]string{"fsub"}, commands.Shims()...)))
			return err
		}}
}
