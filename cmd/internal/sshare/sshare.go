// Package sshare shows the accounts and users of all sites with their shares, as Slurm's sshare
// does. What has been used, and the fair share that follows from it, the federation does not
// compute: those columns are empty.
package sshare

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"fsub/cmd/internal/assoc"
	"fsub/cmd/internal/conn"
	"fsub/cmd/internal/show"
	"fsub/sbatch/getopt"
)

// Main is the command sshare.
func Main(args, env []string, stdout, stderr io.Writer, c *conn.Conn) int {
	return run(args, env, stdout, stderr, c, uint32(os.Getuid()))
}

// options are what the command line asks for.
type options struct {
	accounts, users            []string
	clusters, format           string
	all, long, onlyUsers, part bool
	style                      assoc.Style
}

const (
	optAccounts = iota
	optAll
	optClusters
	optFormat
	optHelp
	optHelpFormat
	optIgnore
	optLong
	optNoHeader
	optOnlyUsers
	optParsable
	optParsable2
	optPartition
	optUsers
	optVersion
)

var optionSet = getopt.NewSet("sshare", []getopt.Option{
	{Name: "accounts", Short: 'A', Arg: getopt.RequiredArg, ID: optAccounts},
	{Name: "all", Short: 'a', ID: optAll},
	{Name: "helpformat", Short: 'e', ID: optHelpFormat},
	{Name: "long", Short: 'l', ID: optLong},
	{Name: "partition", Short: 'm', ID: optPartition},
	{Name: "cluster", Arg: getopt.RequiredArg, ID: optClusters},
	{Name: "clusters", Short: 'M', Arg: getopt.RequiredArg, ID: optClusters},
	{Name: "noheader", Short: 'n', ID: optNoHeader},
	{Name: "format", Short: 'o', Arg: getopt.RequiredArg, ID: optFormat},
	{Name: "parsable", Short: 'p', ID: optParsable},
	{Name: "parsable2", Short: 'P', ID: optParsable2},
	{Name: "users", Short: 'u', Arg: getopt.RequiredArg, ID: optUsers},
	{Name: "Users", Short: 'U', ID: optOnlyUsers},
	{Name: "verbose", Short: 'v', ID: optIgnore},
	{Name: "version", Short: 'V', ID: optVersion},
	{Name: "help", Short: 'h', ID: optHelp},
	{Name: "usage", ID: optHelp},
})

func run(args, env []string, stdout, stderr io.Writer, c show.Caller, uid uint32) int {
	found, _, err := optionSet.Parse(args, getopt.Permute) // words beside the options are nothing to sshare
	if err != nil {
		fmt.Fprintf(stderr, "%s\nTry \"sshare --help\" for more information\n", err)
		return 1
	}
	o := options{clusters: show.Env(env, "SLURM_CLUSTERS")}
	for _, f := range found {
		switch f.ID {
		case optVersion:
			fmt.Fprintln(stdout, show.Version)
			return 0
		case optHelp:
			io.WriteString(stdout, help)
			return 0
		case optHelpFormat:
			printFields(stdout)
			return 0
		}
		o.set(f)
	}
	if err := o.list(c, stdout, stderr, uid); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

func (o *options) set(f getopt.Found) {
	switch f.ID {
	case optAccounts:
		o.accounts = show.List(f.Value)
	case optAll:
		o.all = true
	case optClusters:
		o.clusters = f.Value
	case optFormat:
		o.format = f.Value
	case optLong:
		o.long = true
	case optNoHeader:
		o.style.NoHeader = true
	case optOnlyUsers:
		o.onlyUsers = true
	case optParsable:
		o.style.Parsable, o.style.Parsable2 = true, false
	case optParsable2:
		o.style.Parsable, o.style.Parsable2 = false, true
	case optPartition:
		o.part = true
	case optUsers:
		o.users = show.List(f.Value)
	}
}

// list prints the tree, with --clusters that of each. Its error is a whole line for stderr.
func (o *options) list(c show.Caller, stdout, stderr io.Writer, uid uint32) error {
	columns, unknown := assoc.Columns(o.columns(), fields)
	if unknown != "" {
		return fmt.Errorf("sshare: error: Invalid field requested: %q", unknown)
	}
	clusters, complaint, err := show.Clusters(c, "sshare", o.clusters)
	switch {
	case errors.As(err, new(*show.Failure)):
		return fmt.Errorf("sshare: error: %w", err)
	case err != nil:
		return err
	}
	io.WriteString(stderr, complaint)
	if len(clusters) == 0 {
		clusters = []show.Cluster{{}}
	}
	var b strings.Builder
	for _, one := range clusters {
		known, err := assoc.Load(c, one.Site)
		if err != nil {
			return fmt.Errorf("sshare: error: %w", err)
		}
		if o.clusters != "" && !o.style.NoHeader {
			b.WriteString("CLUSTER: " + one.Name + "\n")
		}
		b.WriteString(assoc.Format(o.style, columns, o.rows(assoc.Tree(known.Associations), uid)))
	}
	_, err = io.WriteString(stdout, b.String())
	return err
}

// rows are those of the tree that are asked for.
func (o *options) rows(tree []assoc.Node, uid uint32) []node {
	var out []node
	shown := map[string]bool{} // accounts
	for _, n := range tree {
		if !o.shows(n, uid) {
			continue
		}
		row := node{Node: n}
		for _, a := range n.Above {
			if shown[a] {
				row.depth++
			}
		}
		if n.User == "" {
			shown[n.Account] = true
		}
		out = append(out, row)
	}
	return out
}

func (o *options) columns() string {
	switch {
	case o.format != "":
		return o.format
	case o.long:
		return "account,user,rawshares,normshares,rawusage,normusage,effectvusage,fairshare,levelfs,grptresmins,tresrunmins"
	case o.part:
		return "account,user,partition,rawshares,normshares,rawusage,effectvusage,fairshare"
	}
	return "account,user,rawshares,normshares,rawusage,effectvusage,fairshare"
}

// shows selects: accounts, and users that are asked for, the caller if none is.
func (o *options) shows(n assoc.Node, uid uint32) bool {
	if len(o.accounts) > 0 && !slices.Contains(o.accounts, n.Account) {
		return false
	}
	if n.User == "" {
		return !o.onlyUsers
	}
	switch {
	case o.all:
		return true
	case len(o.users) > 0:
		return slices.Contains(o.users, n.User) || n.UID != nil && slices.Contains(o.users, strconv.FormatUint(uint64(*n.UID), 10))
	}
	return n.UID != nil && *n.UID == uid
}

const help = `Usage: sshare [OPTIONS]
Shows the accounts of the federation's sites, and the shares that their users have in them. What was used is not shown.

  -A, --accounts=LIST       only these accounts
  -a, --all                 all users
  -e, --helpformat          the names of all fields
  -l, --long                more fields
  -M, --clusters=LIST       only these sites
  -m, --partition           the partition of each right
  -n, --noheader            no lines above the rows
  -o, --format=LIST         fields, with %WIDTH: account%30,user
  -P, --parsable2           fields with | between them
  -p, --parsable            fields with | after them
  -U, --Users               users only, not their accounts
  -u, --users=LIST          these users
  -V, --version             the version
`
