package place

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"fsub/federation"
	"fsub/federation/codes"
	"fsub/federation/decision"
	"fsub/federation/reasons"
)

// judged is the verdict of one site, at one version of it, on a shape.
type judged struct {
	version int
	// Where the site's end in the lists of all sites.
	candidates, rejections int32
}

// judge updates the verdicts of the sites that have changed since they last judged a shape.
func (ms *members) judge(sh *shape) {
	het := len(sh.like.Spec.Het) > 0 // whose judgement depends on the time
	if sh.version == ms.version && (!het || sh.clock == ms.now) {
		return
	}
	again := sh.judged == nil || het && sh.clock != ms.now
	if sh.judged == nil {
		sh.judged = make([]judged, len(ms.sites))
	}
	was, wasNo := sh.found, sh.rejections
	sh.found, sh.rejections = make([]*candidate, 0, max(len(was), len(ms.sites))), nil
	var changed []*siteState
	var news []*candidate
	from, fromNo := int32(0), int32(0)
	for i, st := range ms.sites {
		j := &sh.judged[i]
		to, toNo := j.candidates, j.rejections
		if again || j.version != st.version {
			n := len(sh.found)
			ms.judgeAt(sh, st)
			changed, news = append(changed, st), append(news, sh.found[n:]...)
		} else {
			sh.found, sh.rejections = append(sh.found, was[from:to]...), append(sh.rejections, wasNo[fromNo:toNo]...)
		}
		from, fromNo = to, toNo
		*j = judged{st.version, int32(len(sh.found)), int32(len(sh.rejections))}
	}
	sh.version, sh.clock = ms.version, ms.now
	if owned := sh.own(); !again && !owned && sh.exchange(changed, news, &ms.policy) {
		return
	}
	sh.candidates = slices.Clone(sh.found)
	sh.single = !slices.ContainsFunc(sh.found, func(c *candidate) bool { return !c.single() })
	sh.heed()
	sh.cuts(&ms.policy)
	sh.choose()
	sh.sort()
	sh.quotes(&ms.policy)
}

// single reports whether nothing that is said of a candidate depends on which others there are, but for [cut]; see heed and choose.
func (c *candidate) single() bool {
	return c.parts == nil && c.fits[0].unheeded == "" && c.rented() == nil
}

// mostExchanged is how many sites' candidates are put in their places one by one: with more it is no faster.
const mostExchanged = 4

// exchange puts other candidates in the place of the candidates of some sites. The others stay as they are: false if they may not, or that would be no faster, and all are to be looked at.
func (sh *shape) exchange(sites []*siteState, news []*candidate, p *Policy) bool {
	if !sh.single || len(sites) > mostExchanged {
		return false
	}
	cuts := sh.mayCut()
	for _, c := range news {
		if !c.single() {
			return false
		}
		if cuts {
			if c.chanceOfCut(sh); c.cut.chance < sh.least {
				return false
			}
			if c.loseByCut(sh, p); c.cut.chance == sh.least {
				sh.bests++
			}
		}
	}
	n := 0
	for i, q := range sh.quoted {
		c := sh.candidates[i]
		if !slices.Contains(sites, q.site) {
			sh.quoted[n], sh.candidates[n] = q, c
			n++
		} else if cuts && c.cut.chance == sh.least {
			sh.bests--
		}
	}
	if cuts && sh.bests == 0 {
		return false
	}
	clear(sh.candidates[n:])
	sh.quoted, sh.candidates = sh.quoted[:n], sh.candidates[:n]
	for _, c := range news {
		i, same := slices.BinarySearchFunc(sh.candidates, c, (*candidate).compare)
		if same {
			return false
		}
		sh.candidates, sh.quoted = slices.Insert(sh.candidates, i, c), slices.Insert(sh.quoted, i, sh.quoteOf(c, p))
	}
	return true
}

func (ms *members) judgeAt(sh *shape, st *siteState) {
	if r, ok := sh.refused[st.site.Name]; ok && len(r.Parts) == 0 {
		r.Site, r.Partition, r.Pool = st.site.Name, "", ""
		sh.rejections = append(sh.rejections, r)
		return
	}
	if len(sh.like.Spec.Het) > 0 {
		ms.judgeHet(sh, st, &sh.like, sh.drop)
	} else {
		ms.judgeSite(sh, st, &sh.like)
	}
}

// sort puts the candidates into their order: cheapest to run first.
func (sh *shape) sort() {
	slices.SortStableFunc(sh.candidates, (*candidate).compare)
}

// compare is negative if a candidate comes before another one.
func (c *candidate) compare(other *candidate) int {
	waste := 0
	if c.wasteful != other.wasteful {
		waste = 1
		if other.wasteful {
			waste = -1
		}
	}
	return cmp.Or(cmp.Compare(c.fixed, other.fixed), waste, cmp.Compare(c.tie, other.tie))
}

// judgeSite adds to a shape the candidates and rejections of one site. A site that takes no jobs now is judged too: nobody need wait
// for one that could never run the job.
func (ms *members) judgeSite(sh *shape, st *siteState, job *federation.Job) {
	whole := func(no *refusal) { sh.reject(st.site.Name, "", "", no) }
	m := st.model
	if no := demandRefusal(st.site, job); no != nil {
		whole(no)
		return
	}
	if m == nil {
		whole(siteRefusal(st.site))
		return
	}
	if option := lacked(m.obs, job.Spec); option != "" {
		whole(lackRefusal(option))
		return
	}
	if no := licenseRefusal(m.obs.Licenses, job.Needs().Licenses); no != nil {
		whole(no)
		return
	}
	who := accessOf(st.site, job)
	if who.refusal != nil {
		whole(who.refusal)
		return
	}
	if no := limitRefusal(st.site, job); no != nil {
		whole(no)
		return
	}
	asked := sh.ask.Partitions
	known := func(name string) bool {
		return slices.ContainsFunc(m.obs.Partitions, func(p federation.Partition) bool { return p.Name == name })
	}
	switch {
	case len(asked) > 0 && !slices.ContainsFunc(asked, known):
		whole(forGood(reasons.Partition, codes.NoPartition, strings.Join(asked, ",")))
		return
	case len(asked) == 0 && !slices.ContainsFunc(m.obs.Partitions, func(p federation.Partition) bool { return p.Default }):
		whole(forGood(reasons.Partition, codes.NoDefault))
		return
	case len(m.pools) == 0:
		whole(forNow(reasons.ReqNodeNotAvail, codes.NoNodes))
		return
	}
	no := siteRefusal(st.site)
	for i := range m.obs.Partitions {
		ms.judgePartition(sh, st, job, who, &m.obs.Partitions[i], no)
	}
}

// lackRefusal is why a site that lacks an option can run nothing that needs it.
func lackRefusal(option string) *refusal {
	if option == "licenses" {
		return forGood(reasons.Unsupported, codes.NoLicenses)
	}
	return forGood(reasons.Unsupported, codes.NoOption, option)
}

// licenseRefusal is why a site can never give a job its licenses: nil if it has as many, or does not tell which it has (nil). What others hold of them now, slurmctld waits
// for. A choice of licenses, "a|b", is left to it too.
func licenseRefusal(have []federation.License, asked string) *refusal {
	if have == nil || asked == "" || strings.Contains(asked, "|") {
		return nil
	}
	for item := range strings.SplitSeq(asked, ",") {
		name, count, _ := strings.Cut(strings.ReplaceAll(item, "=", ":"), ":")
		n := 1
		if v, err := strconv.Atoi(count); err == nil {
			n = v
		}
		i := slices.IndexFunc(have, func(l federation.License) bool { return l.Name == name })
		if i < 0 {
			return forGood(reasons.Unsupported, codes.NoLicense, name)
		}
		if n > have[i].Total {
			return forGood(reasons.Unsupported, codes.FewLicenses, n, name, have[i].Total)
		}
	}
	return nil
}

func (ms *members) judgePartition(sh *shape, st *siteState, job *federation.Job, who access, part *federation.Partition, siteNo *refusal) {
	m := st.model
	no := partRefusal(st.site, part, job, sh.ask, who)
	if no != nil && siteNo != nil && !no.never {
		no = siteNo
	}
	if no != nil {
		sh.reject(st.site.Name, part.Name, "", no)
		return
	}
	short, before := false, len(sh.found)
	for p := range m.pools {
		if m.pools[p].Partition != part.Name {
			continue
		}
		c, no := ms.poolCandidate(sh, st, job, p)
		short = short || no != nil && no.short > 0
		if siteNo != nil && (no == nil || !no.never) {
			no = siteNo
		}
		if no != nil {
			sh.reject(st.site.Name, part.Name, m.pools[p].Name, no)
			continue
		}
		sh.found = append(sh.found, c)
	}
	if short && len(sh.found) == before {
		ms.judgeJoined(sh, st, job, part.Name, siteNo)
	}
}

// judgeJoined tries the pools of a partition together where none could run the job alone. Their rejections stay, but
// are no longer final.
func (ms *members) judgeJoined(sh *shape, st *siteState, job *federation.Job, part string, siteNo *refusal) {
	var best *candidate
	for _, v := range sh.variants {
		if g, ok := st.model.joined(v.ask, part, job.Spec.Reservation); ok {
			c := ms.newCandidate(ms.newPlacement(v, st, g), st, sh)
			if costRefusal(job, c.bill()) == nil && (best == nil || c.fixed < best.fixed) {
				best = c
			}
		}
	}
	if best == nil {
		return
	}
	for i := range sh.rejections {
		if r := &sh.rejections[i]; r.Site == st.site.Name && r.Partition == part {
			for _, p := range best.pools {
				r.Never = r.Never && r.Pool != st.model.pools[p].Name
			}
		}
	}
	if siteNo == nil {
		sh.found = append(sh.found, best)
	}
}

// poolCandidate is a pool with the job's cheapest variant there, or why none can run.
func (ms *members) poolCandidate(sh *shape, st *siteState, job *federation.Job, pool int) (*candidate, *refusal) {
	if no := sh.leftOut(st, pool); no != nil {
		return nil, no
	}
	var best *candidate
	var nearest *refusal
	for i, v := range sh.variants {
		stand, no := ms.placementIn(sh, i, st, pool)
		if no == nil {
			c := ms.newCandidate(stand, st, sh)
			if no = costRefusal(job, c.bill()); no == nil {
				no = c.rentRefusal(ms.clock)
			}
			if no == nil {
				if best == nil || c.fixed < best.fixed {
					best = c
				}
				continue
			}
		}
		if v.as != "" {
			one := *no
			one.note(codes.NoteAs, v.as)
			no = &one
		}
		if nearest == nil || no.nearer(nearest) {
			nearest = no
		}
	}
	if best != nil {
		return best, nil
	}
	return nil, nearest
}

func (sh *shape) reject(site federation.SiteName, part, pool string, no *refusal) {
	sh.rejections = append(sh.rejections, decision.Rejection{
		Site: site, Partition: part, Pool: pool, Reason: no.reason, Why: no.why, Detail: no.detail, Never: no.never,
	})
}
