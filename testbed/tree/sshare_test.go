package tree

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fsub/accounting/fairtree"
)

// planted is an association of a random tree.
type planted struct {
	account, user, partition, parent string
	shares                           uint32
}

// plant makes a random tree: accounts to a depth of five, and users, some in several accounts and some in single partitions. Shares are drawn from few
// numbers, so that there are ties.
func plant(r *rand.Rand) (out []planted) {
	shares := func() uint32 {
		return []uint32{0, 1, 1, 1, 1, 2, 2, 3, 4, 10, 977, fairtree.UseParent}[r.IntN(12)]
	}
	depth := map[string]int{"root": 0}
	accounts := []string{"root"}
	for i := range 3 + r.IntN(12) {
		a := planted{account: fmt.Sprintf("fa%02d", i), parent: accounts[r.IntN(len(accounts))], shares: shares()}
		if depth[a.account] = depth[a.parent] + 1; depth[a.account] < 5 {
			accounts = append(accounts, a.account)
		}
		out = append(out, a)
	}
	for _, a := range slices.Clone(out) {
		for _, u := range r.Perm(12)[:r.IntN(6)] {
			p := planted{account: a.account, user: fmt.Sprintf("fu%02d", u), shares: shares()}
			if r.IntN(8) == 0 {
				p.partition = "short"
			}
			out = append(out, p)
		}
	}
	return out
}

// dump is the tree in the words of sacctmgr load.
func dump(cluster string, all []planted) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Cluster - '%s':Fairshare=1\n", cluster)
	below := map[string][]string{}
	var order []string
	add := func(parent, format string, args ...any) {
		if below[parent] == nil {
			order = append(order, parent)
		}
		below[parent] = append(below[parent], fmt.Sprintf(format, args...))
	}
	for _, p := range all {
		switch {
		case p.user == "":
			add(p.parent, "Account - '%s':Fairshare=%d", p.account, p.shares)
		case p.partition == "":
			add(p.account, "User - '%s':Fairshare=%d:DefaultAccount='%s'", p.user, p.shares, p.account)
		default:
			add(p.account, "User - '%s':Fairshare=%d:DefaultAccount='%s':Partition='%s'", p.user, p.shares, p.account, p.partition)
		}
	}
	for _, parent := range order {
		fmt.Fprintf(&b, "Parent - '%s'\n%s\n", parent, strings.Join(below[parent], "\n"))
	}
	return b.String()
}

// standing is an association as the site has it, in the order in which slurmctld has them.
type standing struct {
	id                       uint32
	account, user, partition string
	parent, shares           string
	order                    int
}

func (s *standing) String() string { return s.account + "|" + s.user + "|" + s.partition }

// associations asks the site's sacctmgr. Up to 23.02 slurmctld has them in order of what is called lft, since then by name.
func (p *place) associations() []standing {
	p.Helper()
	var out []standing
	columns := "id,account,user,partition,parentname,fairshare"
	if p.site == "delta" {
		columns += ",lft"
	}
	for line := range strings.Lines(p.as("", "sacctmgr", "-nP", "show", "assoc", "cluster="+p.site, "format="+columns)) {
		f := strings.Split(strings.TrimSpace(line), "|")
		id, err := strconv.ParseUint(f[0], 10, 32)
		if err != nil {
			p.Fatalf("%s: sacctmgr printed %q", p.site, line)
		}
		s := standing{id: uint32(id), account: f[1], user: f[2], partition: f[3], parent: f[4], shares: f[5]}
		if len(f) > 6 {
			s.order, _ = strconv.Atoi(f[6])
		}
		out = append(out, s)
	}
	slices.SortStableFunc(out, func(a, b standing) int { return a.order - b.order })
	return out
}

// setUsage writes slurmctld's file of what associations have used, as dump_assoc_mgr_state does: of each its number, the usage and that by TRES as
// texts, and the wall time. slurmctld is down meanwhile; version and time of its own file stay.
func (p *place) setUsage(used map[uint32]float64) {
	p.Helper()
	file := p.stateFile("assoc_usage")
	old, err := os.ReadFile(file)
	if err != nil || len(old) < 10 {
		p.Fatalf("%s: %v", file, err)
	}
	data := slices.Clone(old[:10])
	text := func(s string) {
		data = binary.BigEndian.AppendUint32(data, uint32(len(s)+1))
		data = append(append(data, s...), 0)
	}
	for _, id := range slices.Sorted(maps.Keys(used)) {
		data = binary.BigEndian.AppendUint32(data, id)
		text(strconv.FormatFloat(used[id], 'f', 6, 64))
		text("1=0")
		data = binary.BigEndian.AppendUint32(data, 0)
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		p.Fatal(err)
	}
}

// stateFile is a file of slurmctld's, which this side sees under the same path.
func (p *place) stateFile(name string) string {
	for line := range strings.Lines(p.as("", "cat", "/etc/slurm/slurm.conf")) {
		if dir, ok := strings.CutPrefix(strings.TrimSpace(line), "StateSaveLocation="); ok {
			return dir + "/" + name
		}
	}
	p.Fatalf("%s: no StateSaveLocation", p.site)
	return ""
}

// shown is what sshare prints of an association.
type shown struct{ normShares, rawUsage, normUsage, effective, fairShare, levelFS string }

func (p *place) sshare() (map[string]shown, error) {
	out, err := world.Bed.Output(context.Background(), p.site, "", "sshare", "-anP", "-m", "-o", "account,user,partition,normshares,rawusage,normusage,effectvusage,fairshare,levelfs")
	rows := map[string]shown{}
	for line := range strings.Lines(out) {
		f := strings.Split(strings.TrimSpace(line), "|")
		if len(f) == 9 {
			rows[strings.Join(f[:3], "|")] = shown{f[3], f[4], f[5], f[6], f[7], f[8]}
		}
	}
	return rows, err
}

// wants is what our Fair Tree makes of the site's associations, as sshare prints it.
func wants(all []standing, used map[uint32]float64) map[string]shown {
	tree := fairtree.New()
	accounts, ids := map[string]fairtree.ID{}, map[string]fairtree.ID{}
	for i := range all {
		a := &all[i]
		shares := fairtree.UseParent
		if n, err := strconv.ParseUint(a.shares, 10, 32); err == nil {
			shares = uint32(n)
		}
		id := fairtree.Root
		switch {
		case a.user != "":
			id = tree.Add(accounts[a.account], true, shares)
		case a.account != "root":
			id = tree.Add(accounts[a.parent], false, shares)
		}
		if a.user == "" {
			accounts[a.account] = id
		}
		ids[a.String()] = id
		tree.Use(id, used[a.id])
	}
	tree.Rank()
	out := map[string]shown{}
	digits := func(f float64) string { return strconv.FormatFloat(f, 'f', 6, 64) }
	for i := range all {
		a := &all[i]
		id := ids[a.String()]
		s := shown{normShares: digits(tree.NormShares(id)), rawUsage: strconv.FormatFloat(math.Trunc(tree.Usage(id)), 'f', 0, 64),
			normUsage: digits(tree.NormUsage(id)), effective: digits(tree.EffectiveUsage(id))}
		if a.user != "" {
			s.fairShare = digits(tree.Factor(id))
		}
		if l := tree.LevelFS(id); id == fairtree.Root {
			s.normUsage = "" // sshare leaves it out
		} else if a.shares != "parent" {
			if s.levelFS = digits(l); math.IsInf(l, 1) {
				s.levelFS = "inf"
			}
		}
		out[a.String()] = s
	}
	return out
}

// differences compares, the line of the first kind of each difference only: trees have many lines.
func differences(want, got map[string]shown) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(want)) {
		if w, g := want[k], got[k]; w != g && !(near(w.levelFS, g.levelFS) && w.but(g)) {
			out = append(out, fmt.Sprintf("%s: sshare prints %+v, ours is %+v", k, got[k], want[k]))
		}
	}
	if n := len(got) - len(want); n != 0 {
		out = append(out, fmt.Sprintf("sshare prints %d lines more", n))
	}
	return strings.Join(out, "\n")
}

// near: of large numbers sshare prints more digits than ours have, which are 53 bits to its 64. From 12 digits on the last one may be rounded
// the other way.
func near(a, b string) bool {
	x, err := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return err == nil && err2 == nil && x > 1e5 && math.Abs(x-y) <= max(x*1e-14, 1.1e-6)
}

// but reports whether all else is the same.
func (s shown) but(o shown) bool {
	s.levelFS = o.levelFS
	return s == o
}

// uproot removes a tree.
func (p *place) uproot(all []planted) {
	var accounts, users []string
	for _, a := range all {
		if a.user == "" {
			accounts = append(accounts, a.account)
		} else {
			users = append(users, a.user)
		}
	}
	if len(users) > 0 {
		p.as("", "sacctmgr", "-i", "delete", "user", "name="+strings.Join(users, ","))
	}
	p.as("", "sacctmgr", "-i", "delete", "account", "name="+strings.Join(accounts, ","))
}

// Random trees with random usage in slurmctld: what we make of them is what the site's sshare prints, to the last digit.
func TestFairShareIsThatOfSshare(t *testing.T) {
	world.Need(t)
	trees, seed := 2, uint64(time.Now().UnixNano())
	if full() {
		trees = 60
	}
	t.Logf("seed %d", seed)
	eachSite(t, func(p *place) {
		r := rand.New(rand.NewPCG(seed, uint64(len(p.site))<<8|uint64(p.site[0])))
		lines := 0
		for i := range trees {
			all := plant(r)
			if err := world.Bed.StopService(p.site, "slurmctld"); err != nil {
				p.Fatal(err)
			}
			p.write("/tmp/tree", dump(p.site, all))
			p.as("", "sacctmgr", "-i", "load", "file=/tmp/tree")
			there := p.associations()
			used := map[uint32]float64{}
			for _, s := range there {
				if s.user != "" || r.IntN(10) == 0 && s.account != "root" { // of an account: what users had used who are gone
					used[s.id] = float64([]int{0, 0, 100, 100, 200, 300, 500, 700, 12345, r.IntN(1 << 30), 1 << 40}[r.IntN(11)])
				}
			}
			p.setUsage(used)
			if err := world.Bed.StartService(context.Background(), p.site, "slurmctld"); err != nil {
				p.Fatal(err)
			}
			want := wants(there, used)
			if len(there) < len(all) {
				p.Fatalf("%s: of %d associations sacctmgr has taken %d", p.site, len(all), len(there))
			}
			p.eventually(fmt.Sprintf("tree %d", i), func() string {
				got, err := p.sshare()
				if err != nil {
					return err.Error()
				}
				return differences(want, got)
			})
			lines += len(want)
			p.uproot(all)
		}
		p.Logf("%s: %d trees, %d associations: all as sshare prints them", p.site, trees, lines)
	})
}
