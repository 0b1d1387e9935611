// Package sacctmgr lists the users, accounts, associations, clusters, QOS and TRES of all sites as
// Slurm's sacctmgr does, from what the daemon has seen of the sites' accounting. It changes
// nothing: the accounts are the sites'.
package sacctmgr

//lint:file-ignore ST1005 Slurm's own sentences begin and end as Slurm has them.

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"fsub/cmd/internal/assoc"
	"fsub/cmd/internal/conn"
	"fsub/cmd/internal/option"
	"fsub/cmd/internal/show"
	"fsub/sbatch/getopt"
)

// Main is the command sacctmgr.
func Main(args, env []string, stdout, stderr io.Writer, c *conn.Conn) int {
	return run(args, stdout, stderr, c)
}

// query says what to list, and how.
type query struct {
	style             assoc.Style
	withAssoc, asTree bool
	json, yaml        bool
	args              []string // of the command
	format            string
	// Conditions: what is listed has one of the values; none is any.
	names, users, accounts, clusters, partitions, qos, types []string
}

var optionSet = option.NewSet(about, []option.Row[query]{
	{Name: "associations", Short: 's', Help: "users and accounts with their associations",
		Flag: func(q *query) *bool { return &q.withAssoc }},
	{Name: "help", Short: 'h', Help: "show this help", Tell: true},
	{Name: "usage", Help: "show this help", Tell: true},
	{Name: "immediate", Short: 'i'},
	{Name: "json", Value: "VERSION", Help: "JSON, for programs",
		Arg: getopt.OptionalArg, Do: func(q *query, _ option.Value) error { q.json = true; return nil }},
	{Name: "noheader", Short: 'n', Help: "no lines above the rows",
		Flag: func(q *query) *bool { return &q.style.NoHeader }},
	{Name: "oneliner", Short: 'o'},
	{Name: "parsable", Short: 'p', Help: "fields with | behind each",
		Do: func(q *query, _ option.Value) error { q.style.Parsable, q.style.Parsable2 = true, false; return nil }},
	{Name: "parsable2", Short: 'P', Help: "fields with | between them",
		Do: func(q *query, _ option.Value) error { q.style.Parsable, q.style.Parsable2 = false, true; return nil }},
	{Name: "quiet", Short: 'Q'},
	{Name: "readonly", Short: 'r'},
	{Name: "verbose", Short: 'v'},
	{Name: "version", Short: 'V', Help: "show the version of Slurm whose sacctmgr this is", Say: show.Version + "\n"},
	{Name: "yaml", Value: "VERSION", Help: "YAML, for programs",
		Arg: getopt.OptionalArg, Do: func(q *query, _ option.Value) error { q.yaml = true; return nil }},
})

func run(args []string, stdout, stderr io.Writer, c show.Caller) int {
	q := query{args: args}
	words, ended, err := optionSet.Parse(&q, args, stdout)
	if err == nil && !ended {
		err = q.command(words, stdout, c)
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

// command does what the words say. Its error is whole lines for stderr.
func (q *query) command(words []string, stdout io.Writer, c show.Caller) error {
	if len(words) == 0 {
		return errors.New("sacctmgr: error: the federation's sacctmgr asks nothing: say what to list, for example \"sacctmgr list user\"")
	}
	switch verb := strings.ToLower(words[0]); {
	case verb == "help":
		_, err := io.WriteString(stdout, optionSet.Help())
		return err
	case verb == "version":
		_, err := fmt.Fprintln(stdout, show.Version)
		return err
	case isVerb(verb, "show", "list"):
		return q.list(words[1:], stdout, c)
	case isVerb(verb, "ping"):
		return ping(stdout, c)
	case isVerb(verb, "add", "archive", "clear", "create", "delete", "dump", "load", "modify", "reconfigure", "remove", "shutdown"):
		return fmt.Errorf("sacctmgr: error: \"%s\" is not possible here: change the federation's own account tree with fed account and fed qos; change a site's own accounts with its sacctmgr there", verb)
	}
	return fmt.Errorf("invalid keyword: %s", words[0])
}

// isVerb reports whether word is one of verbs, or three letters or more of one.
func isVerb(word string, verbs ...string) bool {
	for _, v := range verbs {
		if len(word) >= 3 && strings.HasPrefix(v, word) {
			return true
		}
	}
	return false
}

const noEntity = `No valid entity in list command
Input line must include "Account", "Association", "Cluster", "Configuration",
"Event", "Federation", "Problem", "QOS", "Resource", "Reservation",
"RunAwayJobs", "Stats", "Transaction", "TRES", "User", or "WCKey"`

// list is "list ENTITY ...".
func (q *query) list(words []string, stdout io.Writer, c show.Caller) error {
	if len(words) == 0 {
		return errors.New(noEntity)
	}
	entity := entityOf(words[0])
	switch {
	case entity == "":
		return errors.New(noEntity)
	case refused[entity] != "":
		return errors.New(refused[entity])
	case q.json || q.yaml:
		return q.document(entity, stdout, c)
	case entity == "configuration":
		return q.configuration(stdout, c)
	case empty[entity] != "":
		_, err := io.WriteString(stdout, emptyTable(q.style, empty[entity]))
		return err
	}
	if err := q.conditions(entity, words[1:]); err != nil {
		return err
	}
	known, err := assoc.Load(c, "")
	if err == nil {
		err = q.wholeFederation(entity, known, c)
	}
	if err != nil {
		return fmt.Errorf("sacctmgr: error: %w", err)
	}
	table, err := q.table(entity, known)
	if err != nil {
		return err
	}
	_, err = io.WriteString(stdout, table)
	return err
}

// entities are the words that stand for something to list, and how few letters do.
var entities = []struct {
	name  string
	least int
}{
	{"accounts", 2}, {"associations", 2}, {"clusters", 2}, {"configuration", 2}, {"events", 1}, {"federation", 1}, {"instances", 1}, {"problems", 1}, {"qos", 1},
	{"reservations", 3}, {"resources", 3}, {"runawayjobs", 2}, {"stats", 1}, {"transactions", 2}, {"tres", 4}, {"users", 1}, {"wckeys", 1},
}

func entityOf(word string) string {
	word = strings.ToLower(word)
	for _, e := range entities {
		if len(word) >= e.least && strings.HasPrefix(e.name, word) {
			return e.name
		}
	}
	return ""
}

// conditions reads what follows the entity: names, NAME=VALUE, and words such as withassoc.
func (q *query) conditions(entity string, words []string) error {
	for _, word := range words {
		name, value, given := strings.Cut(word, "=")
		name = strings.ToLower(name)
		switch {
		case !given && isWord(name):
			q.withAssoc = q.withAssoc || strings.HasPrefix(name, "witha")
			q.asTree = q.asTree || name == "tree"
		case !given:
			q.names = append(q.names, assoc.Words(word)...)
		case name != "" && strings.HasPrefix("format", name):
			q.format += "," + value
		default:
			into := q.condition(entity, name)
			if into == nil {
				return fmt.Errorf(" Unknown condition: %s\n Use keyword 'set' to modify value", word)
			}
			*into = append(*into, assoc.Words(value)...)
		}
	}
	return nil
}

// isWord reports whether a word says how to list, not what.
func isWord(word string) bool {
	switch word {
	case "where", "tree", "onlydefaults", "withsubaccounts":
		return true
	}
	for _, w := range []string{"withassoc", "withcoordinators", "withdeleted", "withrawqoslevel", "wolimits", "wopinfo", "woplimits"} {
		if len(word) >= 3 && strings.HasPrefix(w, word) {
			return true
		}
	}
	return false
}

// condition returns where the values of NAME= belong; nil if there is no such condition.
func (q *query) condition(entity, name string) *[]string {
	is := func(full string, least int) bool { return len(name) >= least && strings.HasPrefix(full, name) }
	switch {
	case is("names", 1):
		return &q.names
	case entity == "tres" && is("type", 1):
		return &q.types
	case is("users", 1):
		return &q.users
	case is("accounts", 2):
		return &q.accounts
	case is("clusters", 1):
		return &q.clusters
	case is("partitions", 3):
		return &q.partitions
	case is("qos", 1), is("qoslevel", 4):
		return &q.qos
	}
	return nil
}

var about = option.About{
	Name:  "sacctmgr",
	Does:  "list what the accounting of the sites has",
	Usage: []string{"sacctmgr [OPTIONS] list ENTITY [NAME...] [CONDITION=VALUES...] [format=FIELDS]"},
	Text: "Lists users, accounts, associations and QOS of the federation's account tree and of its sites. It changes nothing: " +
		"the tree is changed with fed account and fed qos, a site's own accounts with the sacctmgr there.",
	Words: []getopt.Group{{Title: "Entities and conditions", Options: words}},
}

// About describes sacctmgr.
func About() option.About { return optionSet.About() }

var words = []getopt.Described{
	{Value: "account", Help: "the accounts"},
	{Value: "association", Help: "who may charge which account, at which site"},
	{Value: "cluster", Help: "the sites"},
	{Value: "qos", Help: "the QOS"},
	{Value: "tres", Help: "what is counted: CPUs, memory, GPUs and others"},
	{Value: "user", Help: "the users"},
	{Value: "users= accounts= clusters= partitions= qos= names=", Help: "only what has one of these values, with commas"},
	{Value: "format=FIELDS", Help: "fields, with commas and %WIDTH"},
	{Value: "withassoc", Help: "users and accounts with their associations"},
	{Value: "tree", Help: "accounts below the accounts that they belong to"},
}
