// Package sshare shows the accounts and users of the account tree with their shares, what they have used and the fair share that follows from it, as
// Slurm's sshare does. Of sites, and where there is no tree, only the shares are known: the other columns are empty.
package sshare

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"fsub/cmd/internal/assoc"
	"fsub/cmd/internal/conn"
	"fsub/cmd/internal/option"
	"fsub/cmd/internal/show"
	"fsub/sbatch/getopt"
)

// Main is the command sshare.
func Main(args, env []string, stdout, stderr io.Writer, c *conn.Conn) int {
	return run(args, env, stdout, stderr, c, uint32(show.UID()))
}

// options are what the command line asks for.
type options struct {
	accounts, users            []string
	clusters, format           string
	all, long, onlyUsers, part bool
	json, yaml                 bool
	style                      assoc.Style
}

var optionSet = option.NewSet("sshare", []option.Row[options]{
	{Name: "accounts", Short: 'A', List: func(o *options) *[]string { return &o.accounts }},
	{Name: "all", Short: 'a', Flag: func(o *options) *bool { return &o.all }},
	{Name: "helpformat", Short: 'e', Print: func(_ *options, _ option.Value, w io.Writer) bool { printFields(w); return true }},
	{Name: "json", Arg: getopt.OptionalArg, Do: func(o *options, _ option.Value) error { o.json = true; return nil }},
	{Name: "long", Short: 'l', Flag: func(o *options) *bool { return &o.long }},
	{Name: "partition", Short: 'm', Flag: func(o *options) *bool { return &o.part }},
	{Name: "cluster", As: "clusters"},
	{Name: "clusters", Short: 'M', Env: "SLURM_CLUSTERS", Text: func(o *options) *string { return &o.clusters }},
	{Name: "noheader", Short: 'n', Flag: func(o *options) *bool { return &o.style.NoHeader }},
	{Name: "format", Short: 'o', Text: func(o *options) *string { return &o.format }},
	{Name: "parsable", Short: 'p', Do: func(o *options, _ option.Value) error { o.style.Parsable, o.style.Parsable2 = true, false; return nil }},
	{Name: "parsable2", Short: 'P', Do: func(o *options, _ option.Value) error { o.style.Parsable, o.style.Parsable2 = false, true; return nil }},
	{Name: "users", Short: 'u', List: func(o *options) *[]string { return &o.users }},
	{Name: "Users", Short: 'U', Flag: func(o *options) *bool { return &o.onlyUsers }},
	{Name: "verbose", Short: 'v'},
	{Name: "yaml", Arg: getopt.OptionalArg, Do: func(o *options, _ option.Value) error { o.yaml = true; return nil }},
	{Name: "version", Short: 'V', Say: show.Version + "\n"},
	{Name: "help", Short: 'h', Say: help},
	{Name: "usage", Say: help},
})

func run(args, env []string, stdout, stderr io.Writer, c show.Caller, uid uint32) int {
	return optionSet.Run(args, env, stdout, stderr, func(o *options) error { // words beside the options are nothing to sshare
		if o.json || o.yaml {
			return o.document(c, stdout, stderr, args)
		}
		return o.list(c, stdout, stderr, uid)
	})
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

// shows reports whether a row is shown to the user of that uid.
func (o *options) shows(n assoc.Node, uid uint32) bool {
	if n.User == "" && o.onlyUsers {
		return false
	}
	id := ""
	if n.UID != nil {
		id = strconv.FormatUint(uint64(*n.UID), 10)
	}
	return o.selects(n.Account, n.User, id, n.UID != nil && *n.UID == uid)
}

// selects selects accounts (user is ""), and users that are asked for, or else the caller. uid is "" if it is not known.
func (o *options) selects(account, user, uid string, caller bool) bool {
	switch {
	case len(o.accounts) > 0 && !slices.Contains(o.accounts, account):
		return false
	case user == "", o.all:
		return true
	case len(o.users) > 0:
		return slices.Contains(o.users, user) || uid != "" && slices.Contains(o.users, uid)
	}
	return caller
}

const help = `Usage: sshare [OPTIONS]
Shows the accounts and users of the federation, their shares and what they have used; with -M those of sites, and of these the shares alone.

  -A, --accounts=LIST       only these accounts
  -a, --all                 all users
  -e, --helpformat          the names of all fields
      --json, --yaml        all that is known of them, for programs
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
