package accounts

import "fmt"

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

// permit says why somebody may not make an edit.
func (t *Tree) permit(all map[Key]*Record, e *Edit, who Editor) error {
	if who.Operator {
		return nil
	}
	no := func(format string, args ...any) error { return &DeniedError{fmt.Sprintf(format, args...)} }
	rights := &Tree{all: all}
	switch e.Kind {
	case User:
		if !rights.Coordinates(who.Name, e.Account) {
			return no("%s: only operators and coordinators of account %s may %s it", e.Key, e.Account, e.Op)
		}
		if e.Name == who.Name {
			return no("%s: coordinators cannot change what is their own; ask an operator", e.Key)
		}
	case Account:
		up := e.Parent
		if a := all[e.Key]; a != nil && e.Op != Add {
			if up == "" {
				up = a.Parent
			}
			if !rights.Coordinates(who.Name, a.Parent) {
				return no("%s: only operators and coordinators of an account above it may %s it", e.Key, e.Op)
			}
		}
		if !rights.Coordinates(who.Name, up) {
			return no("%s: only operators and coordinators of account %q may put it there", e.Key, up)
		}
	default:
		return no("%s: only operators may %s it", e.Key, e.Op)
	}
	for name := range e.Set {
		if o, err := OptionOf(e.Kind, name); err == nil && !o.Own {
			return no("%s: only operators may set %s", e.Key, o.Name)
		}
	}
	return nil
}
