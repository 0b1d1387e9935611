package bed

import (
	"fmt"
	"slices"
	"strings"
)

// Site describes one cluster of a bed: what its slurm.conf will say.
type Site struct {
	Name  string
	Index int    // 1..62, decides its address in the bed's subnet
	Suite string // Debian suite, which decides the Slurm version
	Auth  Auth   // how its daemons and commands know each other

	Nodes   int // named Name1, Name2, ...
	CPUs    int // of each node
	MemMiB  int // of each node
	GPUs    int // of each node
	GPUType string

	LeafNodes int      // nodes under one leaf switch; the leaves hang under one switch named spine
	Extra     bool     // starts only with --all or by name
	Without   []string // users that this site does not know
}

// Auth is Slurm's own authentication at a site. slurmrestd's callers have tokens whatever it is.
type Auth string

const (
	AuthSlurm Auth = "slurm" // a key that all daemons and commands read; Slurm 23.11 and later
	AuthMunge Auth = "munge" // a daemon of its own, munged, on every machine; all versions
)

// Sites is the table of sites that a bed can have. A site's Index is never given to another one.
var Sites = []Site{
	{Name: "alpha", Index: 1, Suite: "trixie", Auth: AuthSlurm, Nodes: 4, CPUs: 16, MemMiB: 64000, GPUs: 4, GPUType: "h100", LeafNodes: 2},
	{Name: "beta", Index: 2, Suite: "trixie", Auth: AuthSlurm, Nodes: 6, CPUs: 16, MemMiB: 64000, GPUs: 2, GPUType: "a100", LeafNodes: 3, Without: []string{"dave"}},
	{Name: "gamma", Index: 3, Suite: "forky", Auth: AuthSlurm, Nodes: 4, CPUs: 16, MemMiB: 64000, GPUs: 8, GPUType: "h200", LeafNodes: 2, Extra: true},
	{Name: "delta", Index: 4, Suite: "bookworm", Auth: AuthMunge, Nodes: 4, CPUs: 16, MemMiB: 64000, GPUs: 4, GPUType: "v100", LeafNodes: 2, Extra: true},
}

// Login is the name of the pseudo-site in which fsub's commands and the daemon run.
const Login = "login"

// User is an account of the bed. All sites and the login have the same users under the same IDs.
type User struct {
	Name     string
	UID      int      // also the ID of the group of that name
	Accounts []string // in Slurm's accounting; the first is the default
}

// Users of every bed, but for those that a site is Without. A program that wants more of them adds them before it makes a bed.
var Users = []User{
	{Name: "alice", UID: 7001, Accounts: []string{"physics"}},
	{Name: "bob", UID: 7002, Accounts: []string{"vision"}},
	{Name: "carol", UID: 7003, Accounts: []string{"vision", "physics"}},
	{Name: "dave", UID: 7004, Accounts: []string{"physics"}},
}

// accountsOf are the accounts that users have, each once.
func accountsOf(us []User) (all []string) {
	for _, u := range us {
		for _, a := range u.Accounts {
			if !slices.Contains(all, a) {
				all = append(all, a)
			}
		}
	}
	return all
}

// restUser runs slurmrestd, which refuses root, SlurmUser and nobody.
var restUser = User{Name: "slurmrest", UID: 7900}

// FindUser returns the user of that name.
func FindUser(name string) (User, error) {
	for _, u := range Users {
		if u.Name == name {
			return u, nil
		}
	}
	return User{}, fmt.Errorf("no user %q in the bed: it has %s", name, strings.Join(userNames(Users), ", "))
}

func userNames(us []User) []string {
	var names []string
	for _, u := range us {
		names = append(names, u.Name)
	}
	return names
}

// findSite returns the description of a site.
func findSite(name string) (Site, error) {
	for _, s := range Sites {
		if s.Name == name {
			return s, nil
		}
	}
	return Site{}, fmt.Errorf("no site %q in the bed: choose from %s", name, strings.Join(siteNames(Sites), ", "))
}

func siteNames(ss []Site) []string {
	var names []string
	for _, s := range ss {
		names = append(names, s.Name)
	}
	return names
}

// site returns the description of a site of this bed.
func (b *Bed) site(name string) (Site, error) {
	s, err := findSite(name)
	if b.opts.Nodes > 0 {
		s.Nodes = b.opts.Nodes
	}
	return s, err
}

// pickSites describes sites by name. None means the sites that start by default.
func (b *Bed) pickSites(names []string) ([]Site, error) {
	picked, err := pickSites(names)
	for i := range picked {
		picked[i], _ = b.site(picked[i].Name) // it is in the table
	}
	return picked, err
}

// pickSites resolves names. None means the sites that start by default.
func pickSites(names []string) ([]Site, error) {
	var picked []Site
	if len(names) == 0 {
		for _, s := range Sites {
			if !s.Extra {
				picked = append(picked, s)
			}
		}
		return picked, nil
	}
	for _, name := range names {
		s, err := findSite(name)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(siteNames(picked), name) {
			picked = append(picked, s)
		}
	}
	return picked, nil
}

// AllSites returns the name of every site, for Up.
func AllSites() []string { return siteNames(Sites) }

// Users returns the users that the site knows.
func (s Site) Users() []User {
	return slices.DeleteFunc(slices.Clone(Users), func(u User) bool { return slices.Contains(s.Without, u.Name) })
}

// NodeNames returns the names of the site's nodes in order.
func (s Site) NodeNames() []string {
	names := make([]string, s.Nodes)
	for i := range names {
		names[i] = fmt.Sprintf("%s%d", s.Name, i+1)
	}
	return names
}
