package accounts

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Editor is who edits. One who is no operator may change what stands below an account that he coordinates: shares, users, accounts; no limits, and
// nothing of his own.
type Editor struct {
	Name     string
	Operator bool
	// For the audit log.
	UID        uint32
	Role, From string
}

// DeniedError is an edit that its editor may not make.
type DeniedError struct{ Text string }

func (e *DeniedError) Error() string { return e.Text }

func denied(format string, args ...any) error { return &DeniedError{fmt.Sprintf(format, args...)} }

// permit says why an editor may not make an edit. What coordinators may not do in one edit they may not do in several: to remove a record and add it
// again would lift its limits, so only operators remove what has any.
func (t *Tree) permit(e *Edit, who Editor) (err error) {
	if who.Operator {
		return nil
	}
	switch e.Kind {
	case User:
		err = t.permitUser(e, who)
	case Account:
		err = t.permitAccount(e, who)
	default:
		err = denied("%s: only operators may %s it", e.Key, e.Op)
	}
	if err != nil {
		return err
	}
	for name := range e.Set {
		if o, err := OptionOf(e.Kind, name); err == nil && !o.Own {
			return denied("%s: only operators may set %s", e.Key, o.Name)
		}
	}
	if e.Op == Remove {
		if set := t.all[e.Key].operators(); len(set) > 0 {
			return denied("%s: only operators may remove it, for they alone may set %s", e.Key, strings.Join(set, ", "))
		}
	}
	return nil
}

func (t *Tree) permitUser(e *Edit, who Editor) error {
	switch {
	case !t.Coordinates(who.Name, e.Account):
		return denied("%s: only operators and coordinators of account %s may %s it", e.Key, e.Account, e.Op)
	case strings.EqualFold(e.Name, who.Name):
		return denied("%s: coordinators cannot change what is their own; ask an operator", e.Key)
	}
	if old := t.defaultOf(e); old != "" && !t.Coordinates(who.Name, old) {
		return denied("%s: only operators, and coordinators of account %s as well, may make it the default account in place of %[2]s", e.Key, old)
	}
	return nil
}

func (t *Tree) permitAccount(e *Edit, who Editor) error {
	up := e.Parent
	if a := t.all[e.Key]; a != nil && e.Op != Add {
		if up == "" {
			up = a.Parent
		}
		if !t.Coordinates(who.Name, a.Parent) {
			return denied("%s: only operators and coordinators of an account above it may %s it", e.Key, e.Op)
		}
		if of, lost := t.lost(a.Parent, up); len(lost) > 0 {
			return denied("%s: only operators may take it from below %s, for they alone may set %s", e.Key, of, strings.Join(lost, ", "))
		}
	}
	if !t.Coordinates(who.Name, up) {
		return denied("%s: only operators and coordinators of account %q may put it there", e.Key, up)
	}
	return nil
}

// lost are the settings of operators that hold below an account and do not below another, of the first record that has any.
func (t *Tree) lost(from, to string) (of Key, set []string) {
	stays := map[string]bool{}
	for a := range t.Above(to) {
		stays[a.Name] = true
	}
	for a := range t.Above(from) {
		if set := a.operators(); !stays[a.Name] && len(set) > 0 {
			return a.Key, set
		}
	}
	return Key{}, nil
}

// operators are the options that only operators may set and that are set, by name.
func (r *Record) operators() []string {
	if r == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(r.Set)), func(name string) bool {
		o, err := OptionOf(r.Kind, name)
		return err == nil && o.Own
	})
}

// defaultOf is the account that an edit replaces as the default one of its user; "": none.
func (t *Tree) defaultOf(e *Edit) string {
	for k, r := range t.all {
		if e.Default && k.Kind == User && k.Name == e.Name && r.Default {
			return k.Account
		}
	}
	return ""
}
