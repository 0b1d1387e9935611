package accounts

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fsub/accounting/fairtree"
)

// Tree is all records at one time. It is not changed: Apply makes another one.
type Tree struct {
	all      map[Key]*Record
	below    map[string][]string // accounts by their parent, sorted
	users    map[string][]string // of an account, sorted
	defaults map[string]string   // account by user
}

// New returns a Tree of records. The root account is added if it is not among them.
func New(records []Record) (*Tree, error) {
	all := make(map[Key]*Record, len(records)+1)
	for i := range records {
		all[records[i].Key] = records[i].clone()
	}
	return of(all)
}

// of checks that records fit together, and joins them.
func of(all map[Key]*Record) (*Tree, error) {
	if all[AccountKey(Root)] == nil {
		all[AccountKey(Root)] = &Record{Key: AccountKey(Root), Set: Settings{}}
	}
	t := &Tree{all: all, below: map[string][]string{}, users: map[string][]string{}, defaults: map[string]string{}}
	for _, k := range slices.SortedFunc(maps.Keys(all), compareKeys) {
		r := all[k]
		if r.read == nil {
			r.read = valuesOf(r.Set)
		}
		switch k.Kind {
		case Account:
			if k.Name == Root {
				r.Parent = ""
				break
			}
			if all[AccountKey(r.Parent)] == nil {
				return nil, fmt.Errorf("%s: there is no account %q above it", k, r.Parent)
			}
			t.below[r.Parent] = append(t.below[r.Parent], k.Name)
		case User:
			if all[AccountKey(k.Account)] == nil {
				return nil, fmt.Errorf("%s: there is no account %q", k, k.Account)
			}
			t.users[k.Account] = append(t.users[k.Account], k.Name)
			if r.Default {
				t.defaults[k.Name] = k.Account
			}
		}
		for _, option := range []string{"QOS", "DefaultQOS", "Preempt"} {
			for name := range strings.SplitSeq(r.Set[option], ",") {
				if name != "" && all[QOSKey(name)] == nil {
					return nil, fmt.Errorf("%s: %s=%s: there is no QOS %q; add it first", k, option, r.Set[option], name)
				}
			}
		}
	}
	seen := 0
	for range t.Accounts() {
		seen++
	}
	for k := range all {
		if k.Kind == Account {
			seen--
		}
	}
	if seen != 0 {
		return nil, fmt.Errorf("accounts must not be above each other in a circle")
	}
	return t, t.checkGuarantees()
}

func compareKeys(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Account, b.Account), cmp.Compare(a.Name, b.Name))
}

// Get is a record; nil if there is none. It is not changed.
func (t *Tree) Get(k Key) *Record { return t.all[k] }

// Empty reports whether there are no accounts and users but root. There may be QOS.
func (t *Tree) Empty() bool { return len(t.below) == 0 && len(t.users) == 0 }

// Accounts goes through the accounts, each before those below it, with how deep it stands.
func (t *Tree) Accounts() func(yield func(*Record, int) bool) {
	return func(yield func(*Record, int) bool) { t.walk(Root, 0, yield) }
}

func (t *Tree) walk(name string, depth int, yield func(*Record, int) bool) bool {
	if !yield(t.all[AccountKey(name)], depth) {
		return false
	}
	for _, child := range t.below[name] {
		if !t.walk(child, depth+1, yield) {
			return false
		}
	}
	return true
}

// Records are all records: the tree's accounts, each with its users behind it, then the QOS.
func (t *Tree) Records() []*Record {
	var out []*Record
	for a := range t.Accounts() {
		out = append(out, a)
		for _, u := range t.users[a.Name] {
			out = append(out, t.all[UserKey(a.Name, u)])
		}
	}
	return append(out, t.QOS()...)
}

// QOS are all QOS by name.
func (t *Tree) QOS() []*Record {
	var out []*Record
	for k, r := range t.all {
		if k.Kind == QOS {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b *Record) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// AccountOf is a user's default account; "": he has none.
func (t *Tree) AccountOf(user string) string { return t.defaults[user] }

// Account is the account that a user's job is charged to: the one that it names, if the user is in it, else the user's default one. "": the tree has none for him.
func (t *Tree) Account(user, named string) string {
	user, named = strings.ToLower(user), strings.ToLower(named)
	if named != "" && t.all[UserKey(named, user)] != nil {
		return named
	}
	return t.defaults[user]
}

// Below reports whether a user is in an account or in one below it.
func (t *Tree) Below(account, user string) bool {
	for k := range t.all {
		if k.Kind != User || k.Name != strings.ToLower(user) {
			continue
		}
		for a := range t.Above(k.Account) {
			if a.Name == account {
				return true
			}
		}
	}
	return false
}

// JobAccount is the account that a user's job belongs to: the one that it is charged to, or else root.
func (t *Tree) JobAccount(user, named string) string {
	return cmp.Or(t.Account(user, named), Root)
}

// Misused is what a user's job must not name: an account of the tree that he is not in, or a QOS that neither his association nor, if that lists none, the nearest
// account above it lists. Accounts that the tree does not have, and QOS where none are listed, are for the sites to judge.
func (t *Tree) Misused(user, account, qos string) (kind Kind, is bool) {
	user, account, qos = strings.ToLower(user), strings.ToLower(account), strings.ToLower(qos)
	if account == "" || t.all[AccountKey(account)] == nil {
		account = t.defaults[user]
	} else if t.all[UserKey(account, user)] == nil {
		return Account, true
	}
	may := func(r *Record) (listed, is bool) {
		list := r.Set["QOS"]
		return list != "", r.Set["DefaultQOS"] == qos || slices.Contains(strings.Split(list, ","), qos)
	}
	own := t.all[UserKey(account, user)]
	if qos == "" || own == nil {
		return "", false
	}
	if listed, is := may(own); listed || is {
		return QOS, !is
	}
	for a := range t.Above(account) {
		if listed, is := may(a); listed || is {
			return QOS, !is
		}
	}
	return "", false
}

// Above goes from an account up to root.
func (t *Tree) Above(account string) func(yield func(*Record) bool) {
	return func(yield func(*Record) bool) {
		for a := t.all[AccountKey(account)]; a != nil; a = t.all[AccountKey(a.Parent)] {
			if !yield(a) {
				return
			}
		}
	}
}

// Coordinates reports whether a user is a coordinator of an account or of one above it.
func (t *Tree) Coordinates(user, account string) bool {
	user = strings.ToLower(user)
	for a := range t.Above(account) {
		if slices.Contains(a.Coordinators, user) {
			return true
		}
	}
	return false
}

// CoordinatorsOf are the coordinators of an account, or of the first one above it that has any.
func (t *Tree) CoordinatorsOf(account string) []string {
	for a := range t.Above(account) {
		if len(a.Coordinators) > 0 {
			return a.Coordinators
		}
	}
	return nil
}

// CoordinatesAny reports whether a user is a coordinator of any account.
func (t *Tree) CoordinatesAny(user string) bool {
	for a := range t.Accounts() {
		if slices.Contains(a.Coordinators, user) {
			return true
		}
	}
	return false
}

// FairTree is the tree without usage, and the numbers of its accounts and users there. Users of an account come before the accounts below it, each by
// name, as in slurmdbd since 23.11.
func (t *Tree) FairTree() (*fairtree.Tree, map[Key]fairtree.ID) {
	f, ids := fairtree.New(), make(map[Key]fairtree.ID, len(t.all))
	for a := range t.Accounts() {
		id := fairtree.Root
		if a.Name != Root {
			id = f.Add(ids[AccountKey(a.Parent)], false, a.Shares())
		}
		ids[a.Key] = id
		for _, u := range t.users[a.Name] {
			k := UserKey(a.Name, u)
			ids[k] = f.Add(id, true, t.all[k].Shares())
		}
	}
	return f, ids
}

// wellFormed reports whether a name has 1 to 128 letters, digits and ._@+-, and begins with a letter, digit or underscore.
func wellFormed(name string) bool {
	if name == "" || len(name) > 128 || strings.ContainsRune(".@+-", rune(name[0])) {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("._@+-", r)
	})
}

// Name is a name as Slurm keeps it: in lower case.
func Name(kind Kind, name string) (string, error) {
	name = strings.ToLower(name)
	if !wellFormed(name) {
		return "", fmt.Errorf("invalid name %q of a %s: want letters, digits, '.', '_', '@', '+' and '-'", name, kind)
	}
	return name, nil
}
