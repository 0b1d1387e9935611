package controller

import (
	"errors"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/sbatch"
)

// A name that neither the tree nor a site knows is refused in Slurm's words when the job is submitted; but nothing is unknown as long as a site has not been seen.
func TestUnknownNames(t *testing.T) {
	b := newBench(t)
	b.dear.nodes, b.dear.pool = 3, true // n3 is there alone
	b.cheap.associations = federation.Associations{"alice": {{Account: "physics", QOS: []string{"normal", "long"}}}}
	empty, _ := accounts.New(nil)
	tree := &changing{empty}
	ask := func(change func(*sbatch.Spec)) (number int) {
		j := federation.Job{User: "alice", Spec: &sbatch.Spec{WorkDir: "/"}}
		change(j.Spec)
		var no *federation.SlurmError
		if errors.As(b.ctl.Judge(&j), &no) {
			return no.Number
		}
		return 0
	}
	fed := func(kinds ...string) *sbatch.Fed { return &sbatch.Fed{Accelerators: kinds} }
	cases := []struct {
		name   string
		change func(*sbatch.Spec)
		number int
	}{
		{"account", func(s *sbatch.Spec) { s.Account = "phyiscs" }, 2045},
		{"account of a site", func(s *sbatch.Spec) { s.Account = "physics" }, 0},
		{"account of a component", func(s *sbatch.Spec) { s.Het = []sbatch.Spec{{Account: "phyiscs"}} }, 2045},
		{"QOS", func(s *sbatch.Spec) { s.QOS = "nope" }, 2066},
		{"QOS of a site", func(s *sbatch.Spec) { s.QOS = "long" }, 0},
		{"QOS normal", func(s *sbatch.Spec) { s.QOS = "normal" }, 0},
		{"excluded node", func(s *sbatch.Spec) { s.Exclude = "n1,bogus7" }, 2018},
		{"excluded node of one site", func(s *sbatch.Spec) { s.Exclude = "n3" }, 0},
		{"node", func(s *sbatch.Spec) { s.NodeList = "bogus7" }, 2018},
		{"accelerator", func(s *sbatch.Spec) { s.Fed = fed("h100", "h1000") }, 2072},
		{"accelerator of a price list", func(s *sbatch.Spec) { s.Fed = fed("h100", "B200:8") }, 0},
		{"accelerators", func(s *sbatch.Spec) { s.Fed = fed("h100:2") }, 0},
	}
	for _, tree := range []interface{ Tree() *accounts.Tree }{treeOf{empty}, tree} {
		b.limited(tree)
		b.ctl.priced = func() map[string]bool { return map[string]bool{"b200": true} }
		for _, c := range cases {
			if got := ask(c.change); got != 0 {
				t.Errorf("%s: refused with %d when no site has been seen", c.name, got)
			}
		}
		b.rounds(3)
		for _, c := range cases {
			if got := ask(c.change); got != c.number {
				t.Errorf("%s: refused with %d, want %d", c.name, got, c.number)
			}
		}
	}
	b.cheap.associations = nil // a Slurm cluster that enforces no accounts takes any name
	b.wait(time.Minute)
	if got := ask(func(s *sbatch.Spec) { s.Account = "phyiscs" }); got != 0 {
		t.Errorf("an account where none are enforced: refused with %d", got)
	}
	tree.edit(t, accounts.Edit{Op: accounts.Add, Key: accounts.AccountKey("vision")}, accounts.Edit{Op: accounts.Add, Key: accounts.UserKey("vision", "alice")})
	b.wait(time.Minute)
	if got := ask(func(s *sbatch.Spec) { s.Account = "phyiscs" }); got != 2045 {
		t.Errorf("an account where only the tree has some: refused with %d", got)
	}
}

// A site that has refused our token since the start knows no names: it runs nothing.
func TestUnknownBesideDeniedSite(t *testing.T) {
	b := newBench(t)
	b.dear.fail = federation.ErrDenied
	b.restart()
	b.rounds(3)
	var no *federation.SlurmError
	if err := b.ctl.Judge(&federation.Job{User: "alice", Spec: &sbatch.Spec{Exclude: "bogus7"}}); !errors.As(err, &no) || no.Number != 2018 {
		t.Errorf("an unknown node: %v", err)
	}
}

// Excluded nodes of one site are not asked of another, which would refuse the job.
func TestExcludedNodesOfAnotherSite(t *testing.T) {
	b := newBench(t)
	b.dear.nodes = 3
	b.rounds(3)
	id := b.submit(func(s *sbatch.Spec) { s.Exclude = "n[2-3]" })
	b.rounds(4)
	b.want(id, federation.Pending, "", "cheap")
	if got := b.cheap.asked[id].Exclude; got != "n2" {
		t.Errorf("cheap was asked for a job without nodes %q, want n2", got)
	}
}
