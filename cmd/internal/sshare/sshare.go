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

var optionSet = option.NewSet(about, []option.Row[options]{
	{Name: "accounts", Short: 'A', Value: "LIST", Help: "only these accounts",
		List: func(o *options) *[]string { return &o.accounts }},
	{Name: "all", Short: 'a', Help: "all users", Flag: func(o *options) *bool { return &o.all }},
	{Name: "helpformat", Short: 'e', Help: "show the names of all fields",
		Print: func(_ *options, _ option.Value, w io.Writer) bool { printFields(w); return true }},
	{Name: "json", Value: "VERSION", Help: "all that is known of them as JSON, for programs",
		Arg: getopt.OptionalArg, Do: func(o *options, _ option.Value) error { o.json = true; return nil }},
	{Name: "long", Short: 'l', Help: "more fields", Flag: func(o *options) *bool { return &o.long }},
	{Name: "partition", Short: 'm', Help: "the partition of each right",
		Flag: func(o *options) *bool { return &o.part }},
	{Name: "cluster", As: "clusters"},
	{Name: "clusters", Short: 'M', Value: "LIST", Help: "these sites, and of these only the shares",
		Env: "SLURM_CLUSTERS", Text: func(o *options) *string { return &o.clusters }},
	{Name: "noheader", Short: 'n', Help: "no lines above the rows",
		Flag: func(o *options) *bool { return &o.style.NoHeader }},
	{Name: "format", Short: 'o', Value: "LIST", Help: "fields, with %WIDTH: account%30,user",
		Text: func(o *options) *string { return &o.format }},
	{Name: "parsable", Short: 'p', Help: "fields with | behind each",
		Do: func(o *options, _ option.Value) error { o.style.Parsable, o.style.Parsable2 = true, false; return nil }},
	{Name: "parsable2", Short: 'P', Help: "fields with | between them",
		Do: func(o *options, _ option.Value) error { o.style.Parsable, o.style.Parsable2 = false, true; return nil }},
	{Name: "users", Short: 'u', Value: "LIST", Help: "these users",
		List: func(o *options) *[]string { return &o.users }},
	{Name: "Users", Short: 'U', Help: "users only, not their accounts",
		Flag: func(o *options) *bool { return &o.onlyUsers }},
	{Name: "verbose", Short: 'v'},
	{Name: "yaml", Value: "VERSION", Help: "the same as --json, in YAML",
		Arg: getopt.OptionalArg, Do: func(o *options, _ option.Value) error { o.yaml = true; return nil }},
	{Name: "version", Short: 'V', Help: "show the version of Slurm whose sshare this is", Say: show.Version + "\n"},
	{Name: "help", Short: 'h', Help: "show this help", Tell: true},
	{Name: "usage", Help: "show this help", Tell: true},
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

var about = option.About{
	Name:  "sshare",
	Does:  "show shares and fair-share over the federation",
	Usage: []string{"sshare [OPTIONS]"},
	Text: "Shows the accounts and users of the federation, their shares, what they have used and the fair-share that follows. " +
		"With --clusters it is the accounts of sites, and of these only the shares.",
}

// About describes sshare.
func About() option.About { return optionSet.About() }
