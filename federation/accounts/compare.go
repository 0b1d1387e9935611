package accounts

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"fsub/accounting"
)

// Import is what a site's accounting has.
type Import struct {
	Cluster string
	Records []Record
	// Limits: limits, coordinators and QOS were told, too.
	Limits bool
	// Skipped are things that the federation's tree has no place for, in words.
	Skipped []string
}

// Difference is one thing that a site has otherwise than the federation.
type Difference struct {
	Key
	What         What
	Option       string // what differs: an option, Parent, Coordinators or DefaultAccount
	Ours, Theirs string
	// Commands are the words of sacctmgr that make the site agree; nil where that is left to people.
	Commands [][]string
}

// What is how a site differs.
type What string

const (
	Missing What = "missing" // the site does not have it
	Differs What = "differs"
	Extra   What = "extra" // the federation does not have it
)

// Compare tells what a site has otherwise than t, in an order in which the commands can be carried out. What the site has beyond that is removed only if
// drop says so of it.
func (t *Tree) Compare(at *Import, drop func(Key) bool) []Difference {
	theirs := map[Key]*Record{}
	for i := range at.Records {
		theirs[at.Records[i].Key] = &at.Records[i]
	}
	var out, last []Difference
	ours := t.Records()
	slices.SortStableFunc(ours, func(a, b *Record) int { return cmp.Compare(rank(a.Kind), rank(b.Kind)) })
	for _, r := range ours {
		if r.Kind == QOS && !at.Limits {
			continue
		}
		if o := theirs[r.Key]; o != nil {
			out = append(out, differ(r, o, at)...)
		} else if r.Key != AccountKey(Root) { // which every site has
			out = append(out, missing(r, at))
		}
		if at.Limits && r.Kind == Account { // they may be users that the site is to have first
			last = append(last, coordinators(r, theirs[r.Key])...)
		}
	}
	out = append(out, last...)
	var extra []Difference
	held := t.holding(theirs, drop)
	for k := range theirs {
		if !t.extra(k) {
			continue
		}
		d := Difference{Key: k, What: Extra, Theirs: theirs[k].Text()}
		if drop(k) && !(k.Kind == Account && held[k.Name]) {
			d.Commands = [][]string{append([]string{"remove"}, words(k, at.Cluster, true)...)}
		}
		extra = append(extra, d)
	}
	slices.SortFunc(extra, func(a, b Difference) int { // users before their accounts
		return cmp.Or(cmp.Compare(rank(b.Kind), rank(a.Kind)), compareKeys(b.Key, a.Key))
	})
	return append(out, extra...)
}

// extra reports whether a site's record is none of the tree's. What every site has does not count.
func (t *Tree) extra(k Key) bool {
	return t.all[k] == nil && (k.Name != Root || k.Kind == QOS) && k != QOSKey("normal")
}

// holding are the accounts of a site's, by name, below which something stays that the tree does not have: with them it would be removed.
func (t *Tree) holding(theirs map[Key]*Record, drop func(Key) bool) map[string]bool {
	out := map[string]bool{}
	for k, r := range theirs {
		if k.Kind == QOS || !t.extra(k) || drop(k) {
			continue
		}
		above := r.Parent
		if k.Kind == User {
			above = k.Account
		}
		for a := theirs[AccountKey(above)]; a != nil && !out[a.Name]; a = theirs[AccountKey(a.Parent)] {
			out[a.Name] = true
		}
	}
	return out
}

// rank: what others refer to comes first.
func rank(k Kind) int { return slices.Index([]Kind{QOS, Account, User}, k) }

// words name a record to sacctmgr.
func words(k Key, cluster string, where bool) []string {
	out := []string{string(k.Kind)}
	if where {
		out = append(out, "where")
	}
	out = append(out, "Name="+k.Name)
	if k.Kind == User {
		out = append(out, "Account="+k.Account)
	}
	if k.Kind != QOS {
		out = append(out, "Cluster="+cluster)
	}
	return out
}

func missing(r *Record, at *Import) Difference {
	add := append([]string{"add"}, words(r.Key, at.Cluster, false)...)
	if r.Kind == Account {
		add = append(add, "Parent="+r.Parent)
	}
	var set []string
	for _, name := range slices.Sorted(maps.Keys(r.Set)) {
		if sent(name, at) {
			set = append(set, name+"="+r.Set[name])
		}
	}
	d := Difference{Key: r.Key, What: Missing, Ours: r.Text(), Commands: [][]string{append(add, set...)}}
	if r.Default { // the site takes a user's first account for it
		d.Commands = append(d.Commands, defaultAccount(r, at))
	}
	if r.Kind == QOS && len(set) > 0 { // add qos takes no options in older releases
		d.Commands = [][]string{add, at.Modify(r.Key, set...)}
	}
	return d
}

func sent(option string, at *Import) bool {
	i := slices.IndexFunc(Options, func(o Option) bool { return o.Name == option })
	return i >= 0 && !Options[i].Local && (at.Limits || option == "Fairshare")
}

// Modify are sacctmgr's words that set options of a record at a site.
func (at *Import) Modify(k Key, set ...string) []string {
	return slices.Concat([]string{"modify"}, words(k, at.Cluster, true), []string{"set"}, set)
}

func differ(r, o *Record, at *Import) []Difference {
	var out []Difference
	add := func(option, ours, theirs string, commands [][]string) {
		out = append(out, Difference{r.Key, Differs, option, ours, theirs, commands})
	}
	modify := func(set ...string) [][]string {
		return [][]string{at.Modify(r.Key, set...)}
	}
	if r.Kind == Account && r.Parent != o.Parent {
		add("Parent", r.Parent, o.Parent, modify("Parent="+r.Parent))
	}
	for i := range Options {
		name := Options[i].Name
		if !slices.Contains(Options[i].Of, r.Kind) || !sent(name, at) || r.Name == Root && r.Kind == Account && name == "Fairshare" {
			continue
		}
		ours, theirs := r.Set[name], o.Set[name]
		if ours == theirs || unset(name, ours) == unset(name, theirs) {
			continue
		}
		if ours == "" && (name == "Description" || name == "Organization" || name == "QOS" || name == "DefaultQOS") { // the site has its own word
			continue
		}
		add(name, ours, theirs, modify(name+"="+command(&Options[i], ours, theirs)))
	}
	together(out, modify)
	if r.Kind == User && r.Default && !o.Default {
		add("DefaultAccount", r.Account, "", [][]string{defaultAccount(r, at)})
	}
	return out
}

func defaultAccount(r *Record, at *Import) []string {
	return []string{"modify", "user", "where", "Name=" + r.Name, "Cluster=" + at.Cluster, "set", "DefaultAccount=" + r.Account}
}

// together has QOS and DefaultQOS changed by one command: sites refuse a default one that is not among the others.
func together(all []Difference, modify func(set ...string) [][]string) {
	qos := slices.IndexFunc(all, func(d Difference) bool { return d.Option == "QOS" })
	byDefault := slices.IndexFunc(all, func(d Difference) bool { return d.Option == "DefaultQOS" })
	if qos >= 0 && byDefault >= 0 {
		all[qos].Commands = modify("QOS="+all[qos].Ours, "DefaultQOS="+all[byDefault].Ours)
		all[byDefault].Commands = all[qos].Commands
	}
}

// unset is what no value stands for.
func unset(option, value string) string {
	switch {
	case value == "" && (option == "Fairshare" || option == "UsageFactor"):
		return "1"
	case value == "" && (option == "Priority" || option == "GraceTime"):
		return "0"
	case value == "" && option == "PreemptMode":
		return "cluster"
	}
	return strings.ToLower(value)
}

// command is a value as sacctmgr takes it. What is to be unset is named: of TRES each by itself.
func command(o *Option, ours, theirs string) string {
	switch {
	case o.form == tres:
		old, _ := accounting.ParseTRES(theirs)
		list := strings.Split(ours, ",")
		if ours == "" {
			list = nil
		}
		new, _ := accounting.ParseTRES(ours)
		for _, name := range slices.Sorted(maps.Keys(old)) {
			if _, stays := new[name]; !stays {
				list = append(list, name+"=-1")
			}
		}
		return strings.Join(list, ",")
	case ours == "" && o.Name != "PreemptMode":
		if o.form == count || o.form == span || o.Name == "Flags" {
			return "-1"
		}
		return unset(o.Name, "")
	case ours == "":
		return "cluster"
	}
	return ours
}

// coordinators is the difference between those of an account, if there is one. o may be nil.
func coordinators(r, o *Record) []Difference {
	var theirs []string
	if o != nil {
		theirs = o.Coordinators
	}
	d := Difference{Key: r.Key, What: Differs, Option: "Coordinators", Ours: strings.Join(r.Coordinators, ","), Theirs: strings.Join(theirs, ",")}
	for _, user := range r.Coordinators {
		if !slices.Contains(theirs, user) && wellFormed(user) { // an earlier version took any words for a name
			d.Commands = append(d.Commands, []string{"add", "coordinator", "Account=" + r.Name, "Names=" + user})
		}
	}
	for _, user := range theirs {
		if !slices.Contains(r.Coordinators, user) {
			d.Commands = append(d.Commands, []string{"remove", "coordinator", "Account=" + r.Name, "Names=" + user})
		}
	}
	if d.Ours == d.Theirs {
		return nil
	}
	return []Difference{d}
}

// Take are the edits that bring what a site has into t. What both have with another value stays as it is here, and is among the differences, unless replace
// is set.
func (t *Tree) Take(at *Import, site string, replace bool) (edits []Edit, left []Difference) {
	records := slices.Clone(at.Records)
	depth := map[string]int{}
	byName := map[string]*Record{}
	for i := range records {
		if records[i].Kind == Account {
			byName[records[i].Name] = &records[i]
		}
	}
	for name := range byName {
		for a := byName[name]; a != nil && a.Parent != "" && depth[name] <= len(byName); a = byName[a.Parent] {
			depth[name]++
		}
	}
	slices.SortStableFunc(records, func(a, b Record) int {
		return cmp.Or(cmp.Compare(rank(a.Kind), rank(b.Kind)), cmp.Compare(depth[a.Name], depth[b.Name]), compareKeys(a.Key, b.Key))
	})
	for i := range records {
		r := &records[i]
		have := t.all[r.Key]
		if have == nil {
			e := Edit{Op: Add, Key: r.Key, Parent: r.Parent, Set: r.Set, AddCoordinators: r.Coordinators, From: site}
			e.Default = r.Default && t.defaults[r.Name] == ""
			edits = append(edits, e)
			continue
		}
		if replace && r.Default && !have.Default {
			edits = append(edits, Edit{Op: Modify, Key: r.Key, Default: true})
		}
		all := differ(have, r, at)
		if at.Limits && r.Kind == Account {
			all = append(all, coordinators(have, r)...)
		}
		for _, d := range all {
			if !replace {
				left = append(left, d)
				continue
			}
			e := Edit{Op: Modify, Key: r.Key}
			switch d.Option {
			case "Parent":
				e.Parent = r.Parent
			case "DefaultAccount": // where the site has it otherwise, it says so of another account
				continue
			case "Coordinators":
				for _, c := range r.Coordinators {
					if !slices.Contains(have.Coordinators, c) {
						e.AddCoordinators = append(e.AddCoordinators, c)
					}
				}
				for _, c := range have.Coordinators {
					if !slices.Contains(r.Coordinators, c) {
						e.RemoveCoordinators = append(e.RemoveCoordinators, c)
					}
				}
			default:
				o, _ := OptionOf(r.Kind, d.Option)
				e.Set = map[string]string{d.Option: r.Set[d.Option]}
				if o.form == tres {
					e.Set[d.Option] = command(o, r.Set[d.Option], have.Set[d.Option])
				}
			}
			edits = append(edits, e)
		}
	}
	return edits, left
}
