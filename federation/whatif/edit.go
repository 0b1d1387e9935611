package whatif

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/place"
	"fsub/federation/reasons"
	"fsub/federation/replay"
	"fsub/slurm/hostlist"
)

// Edit is what would be different.
type Edit struct {
	Drain  []string // SITE, or SITE/HOSTLIST: takes no jobs. What runs there goes on
	Resume []string // the same: takes jobs again
	Add    []string // SITE=N or SITE/PARTITION=N: so many nodes more, like the first there
	Site   []string // a site more: see replay.SiteSyntax
	Price  []string // SITE:TRES=DOLLARS, by the hour
	Policy []string // KEY=VALUE, as in the configuration's section policy
	Lift   []string // accounts whose limits do not count
	Limit  []string // ACCOUNT:OPTION=VALUE or ACCOUNT/USER:OPTION=VALUE: another limit or budget
	QOS    []string // QOS:OPTION=VALUE
}

// Empty reports whether nothing would be different.
func (e *Edit) Empty() bool {
	return len(e.Drain)+len(e.Resume)+len(e.Add)+len(e.Site)+len(e.Price)+len(e.Policy)+len(e.Lift)+len(e.Limit)+len(e.QOS) == 0
}

// lifts reports whether an edit lifts what keeps a job back. Limits of a QOS are not those of an account.
func (e *Edit) lifts(w *federation.Prospect) bool {
	return !strings.HasPrefix(string(w.Reason), "QOS") && slices.ContainsFunc(w.Under, func(name string) bool { return slices.Contains(e.Lift, name) })
}

// exempt are limits without those of some accounts.
type exempt struct {
	federation.Limits
	jobs map[federation.JobID]bool // that stand under one of these
}

func (l exempt) Check(now time.Time, j *federation.Job, o *decision.Offer) reasons.Reason {
	if why := l.Limits.Check(now, j, o); !l.jobs[j.ID] || strings.HasPrefix(string(why), "QOS") {
		return why
	}
	return ""
}

// apply returns edited copies of what there is, and of a policy.
func (e *Edit) apply(o *federation.Prospects, p place.Policy) (*federation.Prospects, place.Policy, error) {
	next := *o
	next.Sites = make([]*federation.Site, len(o.Sites))
	for i, s := range o.Sites {
		site := *s
		next.Sites[i] = &site
	}
	for _, name := range e.Lift {
		if !slices.Contains(o.Accounts, name) {
			return nil, p, fmt.Errorf("no account %q in the federation; see: fed account list", name)
		}
	}
	if len(e.Limit)+len(e.QOS) > 0 {
		if o.Limits == nil {
			return nil, p, errors.New("the federation has no account tree, and so no limits")
		}
		var err error
		if next.Limits, err = o.Limits.With(e.Limit, e.QOS); err != nil {
			return nil, p, err
		}
	}
	for _, text := range e.Drain {
		if err := setState(next.Sites, text, true); err != nil {
			return nil, p, err
		}
	}
	for _, text := range e.Resume {
		if err := setState(next.Sites, text, false); err != nil {
			return nil, p, err
		}
	}
	for _, text := range e.Add {
		if err := addNodes(next.Sites, text); err != nil {
			return nil, p, err
		}
	}
	for _, text := range e.Price {
		if err := setPrice(next.Sites, text); err != nil {
			return nil, p, err
		}
	}
	for _, text := range e.Site {
		s, err := replay.ParseSite(text)
		if err != nil {
			return nil, p, err
		}
		if siteOf(next.Sites, string(s.Name)) != nil {
			return nil, p, fmt.Errorf("site %s is there already; add nodes to it, or take another name", s.Name)
		}
		next.Sites = append(next.Sites, s)
	}
	for _, text := range e.Policy {
		if err := SetPolicy(&p, text); err != nil {
			return nil, p, err
		}
	}
	return &next, p, nil
}

func siteOf(sites []*federation.Site, name string) *federation.Site {
	for _, s := range sites {
		if string(s.Name) == name {
			return s
		}
	}
	return nil
}

// known finds a site that has been seen.
func known(sites []*federation.Site, name string) (*federation.Site, error) {
	s := siteOf(sites, name)
	switch {
	case s == nil:
		return nil, fmt.Errorf("no site %q in the federation; see: fed site list", name)
	case s.Seen == nil:
		return nil, fmt.Errorf("site %s has not been seen yet: nothing is known of its nodes", name)
	}
	return s, nil
}

// setState drains a site or nodes of it, or has them take jobs again.
func setState(sites []*federation.Site, text string, drain bool) error {
	name, list, some := strings.Cut(text, "/")
	s, err := known(sites, name)
	if err != nil {
		return err
	}
	if !some {
		s.State = federation.FedActive
		if drain {
			s.State = federation.FedDrain
		}
		return nil
	}
	names, err := hostlist.Expand(list)
	if err != nil {
		return fmt.Errorf("%s: %w", text, err)
	}
	obs := *s.Seen
	obs.Nodes = slices.Clone(obs.Nodes)
	for _, n := range names {
		i := slices.IndexFunc(obs.Nodes, func(node federation.Node) bool { return node.Name == n })
		if i < 0 {
			return fmt.Errorf("site %s has no node %s; see: fed node list %s", name, n, name)
		}
		state := slices.DeleteFunc(slices.Clone(obs.Nodes[i].State), isDrain)
		if drain {
			state = append(state, "DRAIN")
		}
		obs.Nodes[i].State = state
	}
	s.Seen = &obs
	return nil
}

func isDrain(state string) bool { return strings.HasPrefix(state, "DRAIN") }

// maxAdded bounds the nodes that are added at once.
const maxAdded = 20_000

// addNodes adds nodes like the first of a partition.
func addNodes(sites []*federation.Site, text string) error {
	where, count, ok := strings.Cut(text, "=")
	n, err := strconv.Atoi(count)
	if !ok || err != nil || n < 1 || n > maxAdded {
		return fmt.Errorf("invalid nodes to add %q: want SITE=N or SITE/PARTITION=N, at most %d", text, maxAdded)
	}
	name, partition, named := strings.Cut(where, "/")
	s, err := known(sites, name)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(s.Seen.Partitions, func(p federation.Partition) bool { return p.Name == partition || !named && p.Default })
	if i < 0 {
		names := make([]string, len(s.Seen.Partitions))
		for i := range names {
			names[i] = s.Seen.Partitions[i].Name
		}
		if !named {
			return fmt.Errorf("no partition of site %s is its default; name one as SITE/PARTITION=N: %s", name, strings.Join(names, ", "))
		}
		return fmt.Errorf("site %s has no partition %q: want one of %s", name, partition, strings.Join(names, ", "))
	}
	obs := *s.Seen
	part := obs.Partitions[i]
	k := slices.IndexFunc(obs.Nodes, func(n federation.Node) bool { return slices.Contains(part.Nodes, n.Name) })
	if k < 0 {
		return fmt.Errorf("partition %s of site %s has no node that others could be like", part.Name, name)
	}
	like := obs.Nodes[k]
	like.State, like.CPUsUsed, like.MemUsed, like.Suspect, like.Reason, like.Info = []string{"IDLE"}, 0, 0, false, "", nil
	obs.Nodes, obs.Partitions = slices.Clone(obs.Nodes), slices.Clone(obs.Partitions)
	part.Nodes = slices.Clone(part.Nodes)
	for i := range n {
		node := like
		node.Name = fmt.Sprintf("added-%s-%05d", name, i+1)
		node.GRES = slices.Clone(like.GRES)
		for g := range node.GRES {
			node.GRES[g].Used = 0
		}
		node.Partitions = []string{part.Name}
		obs.Nodes = append(obs.Nodes, node)
		part.Nodes = append(part.Nodes, node.Name)
	}
	if part.MaxStarts != nil {
		most := *part.MaxStarts + n
		part.MaxStarts = &most
	}
	obs.Partitions[i] = part
	slices.SortFunc(obs.Nodes, func(a, b federation.Node) int { return strings.Compare(a.Name, b.Name) })
	s.Seen, s.Pools = &obs, place.Pools(s.Name, &obs)
	return nil
}

func setPrice(sites []*federation.Site, text string) error {
	where, amount, ok := strings.Cut(text, "=")
	name, tres, named := strings.Cut(where, ":")
	x, err := strconv.ParseFloat(amount, 64)
	if !ok || !named || tres == "" || err != nil || !(x >= 0 && x <= 1e6) {
		return fmt.Errorf("invalid price %q: want SITE:TRES=DOLLARS by the hour, 0 or more, as rhein:gres/gpu:h100=1.80", text)
	}
	s, err := known(sites, name)
	if err != nil {
		return err
	}
	if err := priced(s, tres); err != nil {
		return fmt.Errorf("price %q: %w", text, err)
	}
	prices := maps.Clone(s.Prices)
	if prices == nil {
		prices = map[string]float64{}
	}
	prices[tres] = x
	s.Prices = prices
	return nil
}

// priced reports why a price of a TRES would mean nothing at a site.
func priced(s *federation.Site, tres string) error {
	if !slices.ContainsFunc(s.Seen.Nodes, func(n federation.Node) bool { return n.Rented == nil }) {
		return fmt.Errorf("%s rents its machines, whose price is that of their offer; see: fed offers", s.Name)
	}
	has := map[string]bool{"cpu": true, "mem": true, "node": true}
	for _, n := range s.Seen.Nodes {
		for _, g := range n.GRES {
			if has["gres/"+g.Name] = true; g.Type != "" {
				has["gres/"+g.Name+":"+g.Type] = true
			}
		}
	}
	if !has[tres] {
		return fmt.Errorf("no %s at %s: want one of %s", tres, s.Name, strings.Join(slices.Sorted(maps.Keys(has)), ", "))
	}
	return nil
}

// policyKeys are those of the configuration's section policy that matter to a plan of jobs that wait.
var policyKeys = map[string]func(p *place.Policy, value string) error{
	"run_fraction":  atLeast(0.001, number(func(p *place.Policy, x float64) { p.RunFraction = x })),
	"wait_job_hour": number(func(p *place.Policy, x float64) { p.WaitJobHour = orNone(x) }),
	"wait_gpu_hour": number(func(p *place.Policy, x float64) { p.WaitGPUHour = orNone(x) }),
	"reservations": func(p *place.Policy, value string) error {
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 { // 0 stands for the default
			return fmt.Errorf("invalid number %q: want a whole one, 1 or more", value)
		}
		p.Reservations = n
		return nil
	},
	"lost_work": func(p *place.Policy, value string) error {
		d, err := time.ParseDuration(value)
		if err != nil || d < 0 {
			return fmt.Errorf("invalid duration %q: want one as 30m", value)
		}
		p.LostWork = max(d, 1) // 0 stands for the default
		return nil
	},
}

// orNone is an amount, where 0 means nothing and not the default.
func orNone(x float64) decision.Dollars {
	if x == 0 {
		return -1
	}
	return decision.Dollars(x)
}

// atLeast refuses an amount below least where 0 has no meaning of its own: in a [place.Policy] it stands for the default.
func atLeast(least float64, set func(*place.Policy, string) error) func(*place.Policy, string) error {
	return func(p *place.Policy, value string) error {
		if x, err := strconv.ParseFloat(value, 64); err == nil && x < least {
			return fmt.Errorf("invalid number %q: want %v or more", value, least)
		}
		return set(p, value)
	}
}

func number(set func(*place.Policy, float64)) func(*place.Policy, string) error {
	return func(p *place.Policy, value string) error {
		x, err := strconv.ParseFloat(value, 64)
		if err != nil || !(x >= 0 && x <= 1e9) {
			return fmt.Errorf("invalid number %q: want one, 0 or more", value)
		}
		set(p, x)
		return nil
	}
}

// SetPolicy sets a KEY=VALUE of a policy.
func SetPolicy(p *place.Policy, text string) error {
	key, value, _ := strings.Cut(text, "=")
	set := policyKeys[key]
	if set == nil {
		return fmt.Errorf("unknown key of the policy %q: want one of %s", key, strings.Join(slices.Sorted(maps.Keys(policyKeys)), ", "))
	}
	if err := set(p, value); err != nil {
		return fmt.Errorf("policy %s: %w", key, err)
	}
	return nil
}
