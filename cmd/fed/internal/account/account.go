// Package account has the commands about the account tree: fed account and qos.
package account

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fsub/cmd/fed/internal/cli"
	"fsub/federation/accounts"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	"fsub/federation/plain"
)

func NewCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "account", Short: "The account tree of the federation: accounts, users, shares, limits"}
	cmd.AddCommand(newListCommand(), newShowCommand(), newEditCommand(accounts.Add), newEditCommand(accounts.Modify), newEditCommand(accounts.Remove),
		newImportCommand(), newSyncCommand(), newDriftCommand())
	return cmd
}

func newListCommand() *cobra.Command {
	return cli.ListWith(&v1.Accounts, &cobra.Command{
		Use:   "list [ACCOUNT...]",
		Short: "List the accounts, each with its users and what is below it",
		Long: `List the accounts, each with its users and what is below it. Of users, you see yourself and those of the accounts that you coordinate;
operators see all.`,
	}, cli.Lister[v1.Account, v1.None]{Choose: below})
}

// below are the named accounts with all that stands below them; without names, the whole tree. QOS are no part of it.
func below(all []v1.Account, names []string) (out []v1.Account, err error) {
	found := map[string]bool{}
	keep := map[string]bool{}
	for _, a := range all {
		switch {
		case a.Kind == accounts.QOS:
			continue
		case a.Kind == accounts.User:
			if keep[a.Account] {
				out = append(out, a)
			}
			continue
		case slices.Contains(names, a.Name):
			found[a.Name], keep[a.Name] = true, true
		case len(names) == 0 || keep[a.Parent]:
			keep[a.Name] = true
		default:
			continue
		}
		out = append(out, a)
	}
	for _, name := range names {
		if !found[name] {
			return nil, fmt.Errorf("there is no account %q; see: fed account list", name)
		}
	}
	return out, nil
}

func newShowCommand() *cobra.Command {
	var user string
	cmd := showCommand("show ACCOUNT [--user USER]", "Show what is set for an account, or for a user in it", func(name string) accounts.Key {
		if user != "" {
			return accounts.UserKey(name, user)
		}
		return accounts.AccountKey(name)
	})
	cmd.Flags().StringVar(&user, "user", "", "a user of the account")
	return cmd
}

// showCommand shows the record that an argument names, whose key is that of key.
func showCommand(use, short string, key func(name string) accounts.Key) *cobra.Command {
	return cli.Ask(&cobra.Command{Use: use, Short: short, Args: cobra.ExactArgs(1)}, func(ctx context.Context, c *client.Client, args []string) (*v1.Account, error) {
		all, err := client.List(ctx, c, &v1.Accounts, v1.None{})
		if err != nil {
			return nil, err
		}
		k := key(args[0])
		i := slices.IndexFunc(all, func(a v1.Account) bool { return keyOf(&a) == k })
		if i < 0 {
			return nil, fmt.Errorf("there is no %s, or you may not see it", k)
		}
		return &all[i], nil
	}, showAccount)
}

func keyOf(a *v1.Account) accounts.Key {
	return accounts.Key{Kind: a.Kind, Account: a.Account, Name: a.Name}
}

func showAccount(out io.Writer, a *v1.Account) error {
	fmt.Fprintln(out, keyOf(a))
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(out, "  %s=%s\n", name, plain.Line(value))
		}
	}
	line("Parent", a.Parent)
	if a.Default {
		line("DefaultAccount", a.Account)
	}
	line("Coordinators", strings.Join(a.Coordinators, ","))
	for _, o := range accounts.Options {
		line(o.Name, a.Set[o.Name])
	}
	line("From", a.From)
	return nil
}

const accountWords = `OPTION=VALUE are sacctmgr's: Fairshare=10 (or parent), GrpTRES=gres/gpu=64, GrpTRESMins=gres/gpu=60000, MaxJobs=100, QOS=normal,high.
The value -1 unsets an option; of TRES, gres/gpu=-1 unsets one. Operators may change all; coordinators of an account may add and
remove users and accounts below it, and change their shares.`

func newEditCommand(op accounts.Op) *cobra.Command {
	var user string
	e := v1.AccountEdit{Op: op, Kind: accounts.Account}
	cmd := editCommand(&cobra.Command{
		Use:   string(op) + " ACCOUNT [--user USER] [OPTION=VALUE...]",
		Short: map[accounts.Op]string{accounts.Add: "Add an account, or a user to one", accounts.Modify: "Change an account, or a user's association with it", accounts.Remove: "Remove an account, or a user from it"}[op],
		Long:  accountWords,
	}, func(name string) v1.AccountEdit {
		if e.Name = name; user != "" {
			e.Kind, e.Account, e.Name = accounts.User, name, user
		}
		return e
	})
	f := cmd.Flags()
	f.StringVar(&user, "user", "", "user of the account")
	if op != accounts.Remove {
		f.BoolVar(&e.Default, "default", false, "with --user: jobs that name no account are charged to this one")
		f.StringArrayVar(&e.AddCoordinators, "coordinator", nil, "make this user a coordinator of the account; may be repeated")
	}
	if op == accounts.Modify {
		f.StringArrayVar(&e.RemoveCoordinators, "no-coordinator", nil, "this user is not a coordinator of it any more; may be repeated")
	}
	return cmd
}

// editCommand makes cmd the command that edits the record that its first argument names, by words OPTION=VALUE, and prints what was changed.
func editCommand(cmd *cobra.Command, edit func(name string) v1.AccountEdit) *cobra.Command {
	var q v1.EditAccounts
	cmd.Args = cobra.MinimumNArgs(1)
	cli.Ask(cmd, func(ctx context.Context, c *client.Client, args []string) (r v1.EditAccountsResponse, err error) {
		e := edit(args[0])
		if err := setOptions(&e, args[1:]); err != nil {
			return r, err
		}
		q.Edits = []v1.AccountEdit{e}
		return client.Post[v1.EditAccountsResponse](ctx, c, "/fed/v1/accounts", q)
	}, func(w io.Writer, r v1.EditAccountsResponse) error {
		err := printChanges(w, r.Changes)
		for _, n := range r.Notices {
			fmt.Fprintln(cmd.ErrOrStderr(), "note: "+n)
		}
		return err
	})
	cmd.Flags().BoolVarP(&q.DryRun, "dry-run", "n", false, "only tell what would change")
	cmd.Flags().StringVar(&q.Why, "reason", "", "why, for the audit log")
	return cmd
}

func setOptions(e *v1.AccountEdit, words []string) error {
	e.Set = map[string]string{}
	for _, w := range words {
		name, value, ok := strings.Cut(w, "=")
		switch {
		case !ok || name == "":
			return fmt.Errorf("%q is not OPTION=VALUE, as in Fairshare=10", w)
		case e.Op == accounts.Remove:
			return fmt.Errorf("%q: remove takes no options; to unset one: fed account modify ... %s=-1", w, name)
		case strings.EqualFold(name, "parent") && e.Kind == accounts.Account:
			e.Parent = value
		default:
			e.Set[name] = value
		}
	}
	return nil
}

func printChanges(out io.Writer, all []v1.AccountChange) error {
	if len(all) == 0 {
		fmt.Fprintln(out, "nothing to change")
	}
	for _, c := range all {
		k := accounts.Key{Kind: c.Kind, Account: c.Account, Name: c.Name}
		switch c.Verb {
		case "modify":
			fmt.Fprintf(out, "modify %s: %s -> %s\n", k, orNothing(c.Before), orNothing(c.After))
		default:
			fmt.Fprintf(out, "%s %s: %s\n", c.Verb, k, orNothing(c.Before+c.After))
		}
	}
	return nil
}

func orNothing(text string) string {
	if text == "" {
		return "(nothing set)"
	}
	return plain.Line(text)
}

func newImportCommand() *cobra.Command {
	var q v1.ImportAccounts
	cmd := cli.Ask(&cobra.Command{
		Use:   "import SITE",
		Short: "Bring what a site's accounting has into the tree",
		Long: `Bring what a site's accounting has into the tree: accounts, users and shares, and with account_command in the configuration limits, QOS and
coordinators too. What is in the tree already stays as it is, and is listed where the site has it otherwise; with --replace the site's word
counts. Associations of single partitions have no place in the tree, and are listed.`,
		Args: cobra.ExactArgs(1),
	}, func(ctx context.Context, c *client.Client, args []string) (v1.EditAccountsResponse, error) {
		q.Site = args[0]
		return client.Post[v1.EditAccountsResponse](ctx, c, "/fed/v1/accounts/import", q)
	}, printImport)
	cmd.Flags().BoolVarP(&q.DryRun, "dry-run", "n", false, "only tell what would change")
	cmd.Flags().BoolVar(&q.Replace, "replace", false, "where both have something, take the site's word")
	return cmd
}

func printImport(out io.Writer, r v1.EditAccountsResponse) error {
	if err := printChanges(out, r.Changes); err != nil {
		return err
	}
	for _, s := range r.Skipped {
		fmt.Fprintln(out, "left out: "+s)
	}
	if len(r.Left) == 0 {
		return nil
	}
	fmt.Fprintln(out, "left as it is (--replace takes the site's word):")
	return printDifferences(out, r.Left)
}

func newSyncCommand() *cobra.Command {
	var c cli.Connection
	var q v1.SyncAccounts
	cmd := &cobra.Command{
		Use:   "sync SITE",
		Short: "Make a site's accounting agree with the tree",
		Long: `Make a site's accounting agree with the tree, with the site's account_command, and look whether it does. What the site has beyond the tree stays:
--remove removes what the federation itself has made there, --remove-all whatever is not in the tree. The exit code is 1 if something
could not be done.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Site = args[0]
			resp, err := client.Post[v1.AccountDrift](cmd.Context(), c.Client(), "/fed/v1/accounts/sync", q)
			if err != nil {
				return err
			}
			if q.DryRun {
				return printDrift(cmd, &c, resp, true)
			}
			return printSynced(cmd, &c, resp)
		},
	}
	c.Flags(cmd)
	f := cmd.Flags()
	f.BoolVarP(&q.DryRun, "dry-run", "n", false, "only print the differences, and the commands of sacctmgr that would be given")
	f.BoolVar(&q.Remove, "remove", false, "remove what the federation has made there and does not have any more")
	f.BoolVar(&q.RemoveAll, "remove-all", false, "remove whatever the federation does not have")
	return cmd
}

func newDriftCommand() *cobra.Command {
	var c cli.Connection
	cmd := &cobra.Command{
		Use:   "drift [SITE...]",
		Short: "Show where the sites' accounting differs from the tree",
		Long:  "Show where the sites' accounting differs from the tree. The exit code is 1 if it does, or if a site could not be asked.",
		RunE: func(cmd *cobra.Command, args []string) error {
			resp, err := c.Client().AccountDrift(cmd.Context(), args)
			if err != nil {
				return err
			}
			err = printDrift(cmd, &c, resp, false)
			if err == nil && len(resp.Differences) > 0 {
				err = cli.ExitError(1)
			}
			return err
		},
	}
	c.Flags(cmd)
	return cmd
}

func printDrift(cmd *cobra.Command, c *cli.Connection, d v1.AccountDrift, commands bool) error {
	out := cmd.OutOrStdout()
	failed := len(d.Errors) > 0
	for _, e := range d.Errors {
		fmt.Fprintln(cmd.ErrOrStderr(), e)
	}
	if c.JSON {
		if err := cli.PrintJSON(out, d); err != nil {
			return err
		}
	} else {
		if !failed || len(d.Differences) > 0 { // of a site that cannot be asked nobody knows
			if err := printDifferences(out, d.Differences); err != nil {
				return err
			}
		}
		for _, n := range d.Notices {
			fmt.Fprintln(out, "note: "+n)
		}
		for _, x := range d.Differences {
			for _, words := range x.Commands {
				if commands {
					fmt.Fprintln(out, "sacctmgr -i "+strings.Join(words, " "))
				}
			}
		}
	}
	for _, x := range d.Differences {
		failed = failed || x.Error != ""
	}
	if failed {
		return cli.ExitError(1)
	}
	return nil
}

// printSynced tells what was changed at a site, and what was not.
func printSynced(cmd *cobra.Command, c *cli.Connection, d v1.AccountDrift) error {
	made := 0
	for i := range d.Differences {
		if x := &d.Differences[i]; x.Error == "" && len(x.Commands) > 0 {
			made++
			if !c.JSON {
				x.What = madeWord(x.What)
			}
		}
	}
	err := printDrift(cmd, c, d, false)
	switch {
	case c.JSON || len(d.Differences) == 0: // which is said
	case made == 1:
		fmt.Fprintln(cmd.OutOrStdout(), "1 change made")
	default:
		fmt.Fprintf(cmd.OutOrStdout(), "%d changes made\n", made)
	}
	return err
}

// madeWord is what a difference was that is none any more.
func madeWord(w accounts.What) accounts.What {
	switch w {
	case accounts.Missing:
		return "added"
	case accounts.Extra:
		return "removed"
	}
	return "changed"
}

func printDifferences(out io.Writer, all []v1.AccountDifference) error {
	if len(all) == 0 {
		fmt.Fprintln(out, "no differences")
		return nil
	}
	t := cli.NewTable(out)
	t.Row("SITE", "WHAT", "NAME", "OPTION", "HERE", "THERE", "ERROR")
	for _, d := range all {
		t.Row(d.Site, string(d.What), accounts.Key{Kind: d.Kind, Account: d.Account, Name: d.Name}.String(), d.Option, d.Ours, d.Theirs, d.Error)
	}
	return t.Flush()
}
