package accounts

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Op is what an edit does.
type Op string

const (
	Add    Op = "add" // what is there already is an error
	Modify Op = "modify"
	Remove Op = "remove"
)

// Edit is one change that somebody wants.
type Edit struct {
	Op Op
	Key
	Parent string // of an account; "": root for a new one, else as it is
	// Default makes the account the one that the user's jobs are charged to.
	Default bool
	// Set are options by any name that [OptionOf] finds.
	Set                                 map[string]string
	AddCoordinators, RemoveCoordinators []string
	From                                string
}

// Change is a record before and after edits; nil where there is none.
type Change struct {
	Key
	Before, After *Record
}

// Verb is the word of the command for what was done.
func (c *Change) Verb() string {
	switch {
	case c.Before == nil:
		return string(Add)
	case c.After == nil:
		return string(Remove)
	}
	return string(Modify)
}

// Object is the record's name in the audit log; of a user's association ACCOUNT/USER.
func (c *Change) Object() string {
	if c.Kind == User {
		return c.Account + "/" + c.Name
	}
	return c.Name
}

// Apply returns the tree after edits, all or none of them, and what they changed. An edit sees what those before it did.
func (t *Tree) Apply(edits []Edit, who Editor) (*Tree, []Change, error) {
	all := maps.Clone(t.all)
	for i := range edits {
		e := edits[i]
		var err error
		if e.Name, err = Name(e.Kind, e.Name); err == nil && e.Kind == User {
			e.Account, err = Name(Account, e.Account)
		}
		if err == nil && e.Kind != User {
			e.Account = ""
		}
		if err == nil && e.Parent != "" {
			e.Parent, err = Name(Account, e.Parent)
		}
		if err == nil {
			err = (&Tree{all: all}).permit(&e, who)
		}
		if err == nil {
			err = apply(all, &e)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	setDefaults(all)
	next, err := of(all)
	if err != nil {
		return nil, nil, err
	}
	return next, t.changes(next), nil
}

func apply(all map[Key]*Record, e *Edit) error {
	old := all[e.Key]
	switch {
	case e.Op == Add && old != nil:
		return fmt.Errorf("%s is there already: modify it", e.Key)
	case e.Op != Add && old == nil:
		return fmt.Errorf("there is no %s", e.Key)
	case e.Op == Remove:
		return remove(all, e.Key)
	case e.Op != Add && e.Op != Modify:
		return fmt.Errorf("unknown operation %q: use add, modify or remove", e.Op)
	case e.Kind != Account && (len(e.AddCoordinators)+len(e.RemoveCoordinators) > 0 || e.Parent != ""):
		return fmt.Errorf("%s: only accounts have coordinators and a parent", e.Key)
	case e.Kind != User && e.Default:
		return fmt.Errorf("%s: only a user has a default account", e.Key)
	case e.Name == Root && e.Kind == Account && e.Parent != "":
		return fmt.Errorf("account root has no parent")
	}
	r := &Record{Key: e.Key, Set: Settings{}, From: e.From}
	if old != nil {
		r = old.clone()
	} else if e.Kind == Account {
		r.Parent = Root
	}
	if e.Parent != "" {
		r.Parent = e.Parent
	}
	if e.Default {
		for k, o := range all {
			if k.Kind == User && k.Name == e.Name && o.Default {
				o = o.clone()
				o.Default = false
				all[k] = o
			}
		}
		r.Default = true
	}
	for _, name := range slices.Sorted(maps.Keys(e.Set)) {
		o, err := OptionOf(e.Kind, name)
		if err != nil {
			return err
		}
		v, err := o.Value(r.Set[o.Name], e.Set[name])
		if err != nil {
			return fmt.Errorf("%s: %w", e.Key, err)
		}
		if v == "" {
			delete(r.Set, o.Name)
		} else {
			r.Set[o.Name] = v
		}
	}
	for _, user := range e.RemoveCoordinators {
		if !slices.Contains(r.Coordinators, user) {
			return fmt.Errorf("%s has no coordinator %s", e.Key, user)
		}
		r.Coordinators = slices.DeleteFunc(r.Coordinators, func(c string) bool { return c == user })
	}
	for _, user := range e.AddCoordinators {
		name, err := Name(User, user)
		if err != nil {
			return fmt.Errorf("%s: coordinator: %w", e.Key, err)
		}
		r.Coordinators = append(r.Coordinators, name)
	}
	slices.Sort(r.Coordinators)
	r.Coordinators = slices.Compact(r.Coordinators)
	all[e.Key] = r
	return nil
}

// remove refuses what others depend on, and says which these are.
func remove(all map[Key]*Record, k Key) error {
	if k == AccountKey(Root) {
		return fmt.Errorf("account root cannot be removed")
	}
	var needs []string
	for _, o := range slices.SortedFunc(maps.Keys(all), compareKeys) {
		r := all[o]
		if k.Kind == Account && (o.Kind == User && o.Account == k.Name || o.Kind == Account && r.Parent == k.Name) {
			needs = append(needs, o.String())
		}
		if k.Kind == QOS {
			for _, option := range []string{"QOS", "DefaultQOS", "Preempt"} {
				if slices.Contains(strings.Split(r.Set[option], ","), k.Name) {
					needs = append(needs, o.String())
				}
			}
		}
	}
	if n := len(needs); n > 0 {
		return fmt.Errorf("%s is needed by %s%s: remove or change these first", k, strings.Join(needs[:min(n, 3)], ", "), map[bool]string{true: ", ..."}[n > 3])
	}
	delete(all, k)
	return nil
}

// setDefaults gives each user without a default account his first one.
func setDefaults(all map[Key]*Record) {
	first, has := map[string]Key{}, map[string]bool{}
	for _, k := range slices.SortedFunc(maps.Keys(all), compareKeys) {
		if k.Kind != User {
			continue
		}
		has[k.Name] = has[k.Name] || all[k].Default
		if _, ok := first[k.Name]; !ok {
			first[k.Name] = k
		}
	}
	for user, k := range first {
		if !has[user] {
			r := all[k].clone()
			r.Default = true
			all[k] = r
		}
	}
}

// changes are what the next tree has otherwise, in order of the keys.
func (t *Tree) changes(next *Tree) []Change {
	var out []Change
	for k, r := range t.all {
		if o := next.all[k]; o == nil || r != o && !r.equal(o) {
			out = append(out, Change{k, r, o})
		}
	}
	for k, r := range next.all {
		if t.all[k] == nil {
			out = append(out, Change{k, nil, r})
		}
	}
	slices.SortFunc(out, func(a, b Change) int { return compareKeys(a.Key, b.Key) })
	return out
}
