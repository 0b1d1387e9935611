package place

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"fsub/federation"
)

// Summarize is [Explain] for a terminal: the best two offers, a third one or the others in one line, and rejections grouped by site and reason. What only
// differs in its figures is one line, with the figures of the first pool.
func Summarize(job *federation.Job, d federation.Decision, sooner []federation.Sooner) string {
	short := d
	if short.Offers = d.Offers; len(d.Offers) > 3 {
		short.Offers = d.Offers[:2]
	}
	short.Rejections = nil
	if !d.Bind && len(d.Offers) == 0 && d.Impossible() {
		short.Rejections = d.Rejections
	}
	text, _, _ := strings.Cut(Explain(job, short), "  not viable: ")
	var b strings.Builder
	b.WriteString(text)
	hidden := false
	if more := d.Offers[len(short.Offers):]; len(more) > 0 {
		hidden = true
		b.WriteString("  " + othersText(more) + "\n")
	}
	groups := grouped(d.Rejections)
	if len(groups) > 0 {
		b.WriteString("  not viable:\n")
	}
	for _, g := range groups {
		hidden = hidden || g.pools > 1 || g.differ
		b.WriteString("    " + g.text() + "\n")
	}
	if len(sooner) > 0 {
		b.WriteString("  sooner:\n")
	}
	for i := range sooner {
		b.WriteString("    " + soonerText(&sooner[i]) + "\n")
	}
	if hidden {
		b.WriteString("  fed explain --all lists every pool\n")
	}
	return b.String()
}

// othersText is "4 more offers, $50.10 to $88.00; the first to start: tau spot/p5, now".
func othersText(more []*federation.Offer) string {
	first := slices.MinFunc(more, func(a, b *federation.Offer) int { return a.Start.Compare(b.Start) })
	when := "now"
	if first.Wait > 0 {
		when = "in " + spanText(first.Wait)
	}
	return fmt.Sprintf("%d more offers, $%s to $%s; the first to start: %s %s, %s",
		len(more), moneyText(float64(more[0].Total)), moneyText(float64(more[len(more)-1].Total)), first.Site, first.Pool, when)
}

// soonerText is "without --switches: alpha main/h100 now, $12.00".
func soonerText(s *federation.Sooner) string {
	when := "now"
	if s.Wait > 0 {
		when = "in " + spanText(s.Wait)
	}
	text := fmt.Sprintf("%s: %s %s %s, $%s", s.Change, s.Site, s.Pool, when, moneyText(float64(s.Total)))
	if s.More > 0 {
		text += fmt.Sprintf(", $%s more", moneyText(float64(s.More)))
	}
	return text
}

// alike is the rejections of some sites for one reason.
type alike struct {
	sites  []federation.SiteName
	first  *federation.Rejection
	pools  int  // at all of these sites
	differ bool // not all have the same figures
	whole  bool // it is about whole sites
}

// grouped puts rejections of a site for one reason together, then sites of which the same is said. They stay in the order of the first of each. Partitions that
// nobody asked for are left out.
func grouped(rejections []federation.Rejection) []*alike {
	type key struct {
		site   federation.SiteName
		reason federation.Reason
		code   federation.Code
	}
	bySite := map[key]*alike{}
	var groups []*alike
	for i := range rejections {
		r := &rejections[i]
		if r.Is(federation.WhyNotAsked) {
			continue
		}
		k := key{r.Site, r.Reason, ""}
		if r.Why != nil {
			k.code = r.Why.Code
		}
		g := bySite[k]
		if g == nil {
			g = &alike{sites: []federation.SiteName{r.Site}, first: r, whole: r.Pool == "" && r.Partition == ""}
			bySite[k] = g
			groups = append(groups, g)
		}
		g.pools++
		g.differ = g.differ || r.Text() != g.first.Text()
	}
	byText := map[string]*alike{}
	return slices.DeleteFunc(groups, func(g *alike) bool {
		k := fmt.Sprint(g.first.Reason, g.first.Text(), g.whole)
		same := byText[k]
		if same == nil {
			byText[k] = g
			return false
		}
		same.sites = append(same.sites, g.sites...)
		same.pools += g.pools
		same.differ = same.differ || g.differ
		return true
	})
}

// text is "oder, elbe: 6 pools: ReqNodeNotAvail: 4 nodes under one switch, largest leaf has 3, or the like".
func (g *alike) text() string {
	names := make([]string, len(g.sites))
	for i, s := range g.sites {
		names[i] = string(s)
	}
	const shown = 6
	where := strings.Join(names[:min(len(names), shown)], ", ")
	if n := len(names) - shown; n > 0 {
		where += fmt.Sprintf(" and %d more", n)
	}
	switch {
	case g.whole:
	case g.pools == 1:
		where = whereText(g.first)
	default:
		where += fmt.Sprintf(" (%d pools)", g.pools)
	}
	text := fmt.Sprintf("%s: %s: %s", where, g.first.Reason, g.first.Text())
	if g.differ {
		text += ", or the like"
	}
	return text
}

// SoonerOffers are the offers of a decision that start a job well before the one that was chosen, and cost more: the job has only to ask for that site. There are two at most,
// the cheapest and the first to start.
func SoonerOffers(d *federation.Decision) (out []federation.Sooner) {
	if len(d.Offers) == 0 {
		return nil
	}
	best := d.Offers[0]
	var cheap, first *federation.Offer
	for _, o := range d.Offers[1:] {
		if o.Site == best.Site || best.Wait-o.Wait < max(time.Minute, best.Wait/10) {
			continue
		}
		if cheap == nil {
			cheap = o
		}
		if first == nil || o.Wait < first.Wait {
			first = o
		}
	}
	for _, o := range []*federation.Offer{cheap, first} {
		if o == nil || len(out) > 0 && cmp.Or(cmp.Compare(o.Site, out[0].Site), cmp.Compare(o.Pool, out[0].Pool)) == 0 {
			continue
		}
		s := SoonerBy("with -M "+string(o.Site), o)
		s.More = runsFor(o) - runsFor(best)
		out = append(out, s)
	}
	return out
}

// runsFor is what an offer costs but for the value of waiting.
func runsFor(o *federation.Offer) federation.Dollars {
	sum := o.Total
	for _, t := range o.Terms {
		if t.Name == "wait" {
			sum -= t.Amount
		}
	}
	return sum
}

// SoonerBy is what a change of what a job asks for brings, by the offer that it would then have.
func SoonerBy(change string, o *federation.Offer) federation.Sooner {
	return federation.Sooner{Change: change, Site: o.Site, Pool: o.Pool, Start: o.Start, Wait: o.Wait, Total: o.Total}
}
