// Package assoc is what sacctmgr and sshare have in common: the associations of all sites as the
// daemon last saw them, the tree that their accounts make, and tables in Slurm's layout.
package assoc

import (
	"slices"
	"strconv"
	"strings"

	"fsub/cmd/internal/show"
	v1 "fsub/federation/api/v1"
)

// Load asks the daemon for the associations of a site, or of all ("").
func Load(c show.Caller, site string) (*v1.Associations, error) {
	var q show.Query
	q.Add("cluster", site)
	out := new(v1.Associations)
	return out, show.Get(c, "/fed/v1/associations"+q.String(), out)
}

// Node is one account in the tree, with its users, or one user of an account.
type Node struct {
	*v1.Association
	Above []string // the accounts above it, root first
	Norm  float64  // the part that it has of what its parent has, by shares among its siblings
}

// Tree lists the associations of all clusters as one tree: accounts and users of one name are one,
// as the first site has them. Users of an account stand before its sub-accounts, which stand in the
// order of the sites' accounting.
func Tree(list []v1.Association) []Node {
	t := tree{children: map[string][]*v1.Association{}, users: map[string][]*v1.Association{}}
	seen := map[[3]string]bool{}
	for i := range list {
		a := &list[i]
		key := [3]string{a.Account, a.User, a.Partition}
		if seen[key] {
			continue
		}
		seen[key] = true
		switch {
		case a.User != "":
			t.users[a.Account] = append(t.users[a.Account], a)
		case a.ParentAccount == "" || a.ParentAccount == a.Account:
			t.roots = append(t.roots, a)
		default:
			t.children[a.ParentAccount] = append(t.children[a.ParentAccount], a)
		}
	}
	for _, r := range t.roots {
		t.add(r, nil, 0)
	}
	for i := range list { // users of accounts that the site does not report
		if a := &list[i]; a.User != "" && t.users[a.Account] != nil {
			t.addUsers(a.Account, nil)
		}
	}
	return t.out
}

type tree struct {
	roots           []*v1.Association
	children, users map[string][]*v1.Association // by account
	out             []Node
}

// add appends an account and what is below it.
func (t *tree) add(a *v1.Association, above []string, norm float64) {
	t.out = append(t.out, Node{a, above, norm})
	accounts := t.children[a.Account]
	delete(t.children, a.Account) // accounts may be each other's parents by mistake
	below := append(slices.Clip(above), a.Account)
	sum := t.addUsers(a.Account, accounts, below...)
	for _, c := range accounts {
		t.add(c, below, float64(c.Shares)/float64(sum))
	}
}

// addUsers appends the users of an account, and returns the sum of their shares and those of their siblings.
func (t *tree) addUsers(account string, siblings []*v1.Association, above ...string) int64 {
	users := t.users[account]
	delete(t.users, account)
	var sum int64
	for _, x := range slices.Concat(users, siblings) {
		sum += x.Shares
	}
	sum = max(sum, 1)
	for _, u := range users {
		t.out = append(t.out, Node{u, above, float64(u.Shares) / float64(sum)})
	}
	return sum
}

// ID is an association's number; nothing where the site does not tell it, as no slurmrestd up to 24.11 does.
func ID(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// Words splits the value of a condition: "alice,bob", without quotes.
func Words(value string) []string { return show.List(strings.Trim(value, `"'`)) }
