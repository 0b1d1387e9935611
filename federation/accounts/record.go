// Package accounts is the federation's account tree: accounts, users' associations with them, QOS, and the limits of each, over all sites. [Tree] is
// the whole of it at one time and is never changed; [Tree.Apply] makes the next one of edits, by who may make them. [Books] keeps the newest one and
// its store. [Compare] tells what a site's accounting has otherwise. But for Books it is pure.
package accounts

import (
	"maps"
	"slices"
	"strings"
)

// Kind is what a record is about.
type Kind string

const (
	Account Kind = "account"
	User    Kind = "user" // a user's association with an account
	QOS     Kind = "qos"
)

// Root is the account that all others belong to. It is always there.
const Root = "root"

// Key names a record.
type Key struct {
	Kind    Kind
	Account string // of a user
	Name    string
}

// AccountKey, UserKey and QOSKey name records of each kind.
func AccountKey(name string) Key       { return Key{Kind: Account, Name: name} }
func UserKey(account, user string) Key { return Key{User, account, user} }
func QOSKey(name string) Key           { return Key{Kind: QOS, Name: name} }

func (k Key) String() string {
	if k.Kind == User {
		return "user " + k.Name + " of account " + k.Account
	}
	return string(k.Kind) + " " + k.Name
}

// Record is an account, a user's association or a QOS, with what is set for it.
type Record struct {
	Key
	Parent       string   // of an account
	Default      bool     // of a user: jobs that name no account are charged to this one
	Coordinators []string // of an account, sorted
	Set          Settings
	From         string // the site that it was imported from; "": it was made here

	read *values // of Set, in a tree
}

// Settings are options with values in their canonical form; see [Options]. What is not set has no entry.
type Settings map[string]string

func (s Settings) String() string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(s)) {
		words = append(words, name+"="+quoted(s[name]))
	}
	return strings.Join(words, " ")
}

func quoted(value string) string {
	if strings.ContainsAny(value, " \t\"") {
		return `"` + strings.ReplaceAll(value, `"`, `\"`) + `"`
	}
	return value
}

// Text is the record's content in sacctmgr's words, for people and for the audit log.
func (r *Record) Text() string {
	if r == nil {
		return ""
	}
	var words []string
	if r.Parent != "" {
		words = append(words, "Parent="+r.Parent)
	}
	if r.Default {
		words = append(words, "DefaultAccount="+r.Account)
	}
	if len(r.Coordinators) > 0 {
		words = append(words, "Coordinators="+strings.Join(r.Coordinators, ","))
	}
	if s := r.Set.String(); s != "" {
		words = append(words, s)
	}
	return strings.Join(words, " ")
}

func (r *Record) clone() *Record {
	c := *r
	c.read = nil
	c.Coordinators = slices.Clone(r.Coordinators)
	if c.Set = maps.Clone(r.Set); c.Set == nil {
		c.Set = Settings{}
	}
	return &c
}

func (r *Record) equal(o *Record) bool {
	return r.Key == o.Key && r.Parent == o.Parent && r.Default == o.Default && slices.Equal(r.Coordinators, o.Coordinators) && maps.Equal(r.Set, o.Set)
}
