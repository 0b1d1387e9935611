package place

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/codes"
	"fsub/federation/decision"
	"fsub/federation/plain"
	"fsub/federation/reasons"
)

// Detail is all that there is to say of why a job is where it is, with times in zone: [Explain], of each component by itself too, and what holds it back.
func Detail(job *federation.Job, why *decision.Explained, zone *time.Location) string {
	var b strings.Builder
	b.WriteString(explain(job, why.Decision, apart(why), decision.Lines(why.Waits, zone)))
	for i := range why.Components {
		one := Component(job, i)
		one.Component = &federation.HetComponent{Leader: job.ID, Offset: i}
		for line := range strings.Lines(Explain(&one, why.Components[i])) {
			b.WriteString("  " + line)
		}
	}
	writePlace(&b, why.Decision.Place, zone)
	writeKeptOff(&b, why.KeptOff, zone)
	writeHoldbacks(&b, why.Holdbacks, true)
	writeSooner(&b, why)
	writePath(&b, why)
	return b.String()
}

// Summarize is [Detail] for a terminal: the best two offers, a third one or the others in one line, and rejections grouped by site and reason. What only
// differs in its figures is one line, with the figures of the first pool. Each component and each thing that holds the job back is one line.
func Summarize(job *federation.Job, why *decision.Explained, zone *time.Location) string {
	d := why.Decision
	short := d
	if short.Offers = d.Offers; len(d.Offers) > 3 {
		short.Offers = d.Offers[:2]
	}
	short.Rejections = nil
	if !d.Bind && len(d.Offers) == 0 && d.Impossible() {
		short.Rejections = d.Rejections
	}
	apart := apart(why)
	text, _, _ := strings.Cut(explain(job, short, apart, decision.Lines(why.Waits, zone)), "  not viable: ")
	var b strings.Builder
	b.WriteString(text)
	hidden := false
	switch more := d.Offers[len(short.Offers):]; {
	case apart:
		hidden = len(d.Offers) > 1
	case len(more) > 0:
		hidden = true
		b.WriteString("  " + othersText(more, job.Site != "") + "\n")
	}
	groups := grouped(d.Rejections)
	if len(groups) > 0 {
		b.WriteString("  not viable:\n")
	}
	for _, g := range groups {
		hidden = hidden || g.pools > 1 || g.differ
		b.WriteString("    " + g.text() + "\n")
	}
	writeComponents(&b, job, why)
	writePlace(&b, why.Decision.Place, zone)
	writeKeptOff(&b, why.KeptOff, zone)
	writeHoldbacks(&b, why.Holdbacks, false)
	writeSooner(&b, why)
	writePath(&b, why)
	jobs := slices.ContainsFunc(why.Holdbacks, func(h decision.Holdback) bool { return len(h.Details) > 0 })
	switch {
	case jobs:
		b.WriteString("  fed explain --all lists every pool, and who holds what\n")
	case hidden || len(why.Components) > 0:
		b.WriteString("  fed explain --all lists every pool\n")
	}
	return b.String()
}

// NotViable are lines that say where a job cannot run and why, of sites of which the same is said together.
func NotViable(d *decision.Decision) (lines []string) {
	for _, g := range grouped(d.Rejections) {
		lines = append(lines, g.text())
	}
	return lines
}

// writeComponents tells of each component where it could start if it were a separate job: "30004711+1: alpha in 40 min; the others wait for it".
func writeComponents(b *strings.Builder, job *federation.Job, why *decision.Explained) {
	if len(why.Components) == 0 {
		return
	}
	b.WriteString("  components, each for itself:\n")
	last := lastComponent(why)
	for i := range why.Components {
		var texts []string
		seen := map[federation.SiteName]bool{}
		for _, o := range why.Components[i].Offers {
			if !seen[o.Site] {
				seen[o.Site] = true
				texts = append(texts, string(o.Site)+" "+whenText(o.Wait))
			}
		}
		text := "no site can run it now"
		if len(texts) > 0 {
			text = strings.Join(texts, ", ")
		}
		if i == last {
			text += "; the others wait for it"
		}
		fmt.Fprintf(b, "    %d+%d: %s\n", job.ID, i, text)
	}
	if offers := why.Decision.Offers; len(offers) > 0 {
		fmt.Fprintf(b, "    together: %s %s\n", offers[0].Site, whenText(offers[0].Wait))
	}
}

// lastComponent is the one that can start last where the job is to run; -1: none can start later than all others.
func lastComponent(why *decision.Explained) int {
	if len(why.Decision.Offers) == 0 {
		return -1
	}
	site := why.Decision.Offers[0].Site
	last, longest := -1, time.Duration(0)
	for i := range why.Components {
		wait := time.Duration(-1)
		for _, o := range why.Components[i].Offers {
			if o.Site == site && (wait < 0 || o.Wait < wait) {
				wait = o.Wait
			}
		}
		switch {
		case wait > longest:
			last, longest = i, wait
		case wait == longest:
			last = -1
		}
	}
	return last
}

// writePlace tells what holds the job's place at its site.
func writePlace(b *strings.Builder, p *decision.Place, zone *time.Location) {
	if p != nil {
		fmt.Fprintf(b, "  place: %s of %s is held from %s until %s by its reservation %s\n", p.Nodes, p.Site, p.Start.In(zone).Format(time.DateTime), p.End.In(zone).Format(time.TimeOnly), p.Reservation)
	}
}

// writeKeptOff tells which switches a job of several nodes is kept off, and why.
func writeKeptOff(b *strings.Builder, all []decision.KeptOff, zone *time.Location) {
	for i := range all {
		b.WriteString("  gangs are kept off " + plain.Line(all[i].Text(zone)) + "\n")
	}
}

// writeHoldbacks tells what of the account tree keeps a job waiting, and of whole who holds what of it.
func writeHoldbacks(b *strings.Builder, all []decision.Holdback, whole bool) {
	if len(all) > 0 {
		b.WriteString("  held back:\n")
	}
	for _, h := range all {
		fmt.Fprintf(b, "    %s: %s\n", h.Kind, h.Text)
		for _, text := range h.Details {
			if whole {
				b.WriteString("      " + text + "\n")
			}
		}
	}
}

// writeSooner tells what would have a job start sooner.
func writeSooner(b *strings.Builder, why *decision.Explained) {
	var lines []string
	for _, h := range why.Holdbacks {
		lines = append(lines, h.Free...)
	}
	for i := range why.Sooner {
		lines = append(lines, soonerText(&why.Sooner[i]))
	}
	if len(lines) > 0 {
		b.WriteString("  sooner:\n    " + strings.Join(lines, "\n    ") + "\n")
	}
}

// writePath tells what is still to run of a job's workflow.
func writePath(b *strings.Builder, why *decision.Explained) {
	if why.Path > 0 {
		fmt.Fprintf(b, "  critical path: %s in its group from this job on; of its user's jobs those with more go first\n", spanText(why.Path))
	}
}

// whenText is "now" or "in 12 min".
func whenText(wait time.Duration) string {
	if wait > 0 {
		return "in " + spanText(wait)
	}
	return "now"
}

// apart reports whether a job waits for something else than nodes.
func apart(why *decision.Explained) bool {
	return len(why.Waits) > 0 || slices.ContainsFunc(why.Holdbacks, func(h decision.Holdback) bool {
		return h.Kind == decision.HeldByLimit || h.Kind == decision.HeldByBudget
	})
}

// othersText is "4 more offers, $50.10 to $88.00; the first to start: tau spot/p5, now". Of a job that is bound it is not said who would start it.
func othersText(more []*decision.Offer, bound bool) string {
	first := slices.MinFunc(more, func(a, b *decision.Offer) int { return a.Start.Compare(b.Start) })
	least, most := more[0].Price(), more[0].Price()
	for _, o := range more {
		least, most = min(least, o.Price()), max(most, o.Price())
	}
	text := fmt.Sprintf("%d more offers, %s to %s", len(more), dollarsText(least), dollarsText(most))
	if !bound {
		text += fmt.Sprintf("; the first to start: %s %s, %s", first.Site, first.Pool, whenText(first.Wait))
	}
	return text
}

// soonerText is "without --switches: alpha main/h100 now, $12.00".
func soonerText(s *decision.Sooner) string {
	text := fmt.Sprintf("%s: %s %s %s, %s", s.Change, s.Site, s.Pool, whenText(s.Wait), dollarsText(s.Price))
	if s.More > 0 {
		text += fmt.Sprintf(", %s more", dollarsText(s.More))
	}
	return text
}

// alike is the rejections of some sites for one reason.
type alike struct {
	sites  []federation.SiteName
	first  *decision.Rejection
	pools  int  // at all of these sites
	differ bool // not all have the same figures
	whole  bool // it is about whole sites
}

// grouped puts rejections of a site for one reason together, then sites of which the same is said. They stay in the order of the first of each. Partitions that
// nobody asked for are left out.
func grouped(rejections []decision.Rejection) []*alike {
	type key struct {
		site   federation.SiteName
		reason reasons.Reason
		code   codes.Code
	}
	bySite := map[key]*alike{}
	var groups []*alike
	for i := range rejections {
		r := &rejections[i]
		if r.Is(codes.NotAsked) {
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
	text := fmt.Sprintf("%s: %s: %s", g.where(), g.first.Reason, g.first.Text())
	if g.differ {
		text += ", or the like"
	}
	return text
}

// where is "oder, elbe (6 pools)".
func (g *alike) where() string {
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
	return where
}

// SoonerOffers are the offers of a decision that start a job well before the one that was chosen, and cost more: the job has only to ask for that site. There are two at most,
// the cheapest and the first to start.
func SoonerOffers(d *decision.Decision) (out []decision.Sooner) {
	if len(d.Offers) == 0 {
		return nil
	}
	best := d.Offers[0]
	var cheap, first *decision.Offer
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
	for _, o := range []*decision.Offer{cheap, first} {
		if o == nil || len(out) > 0 && cmp.Or(cmp.Compare(o.Site, out[0].Site), cmp.Compare(o.Pool, out[0].Pool)) == 0 {
			continue
		}
		s := SoonerBy("with -M "+string(o.Site), o)
		s.More = o.Price() - best.Price()
		out = append(out, s)
	}
	return out
}

// SoonerBy is what a change of what a job asks for brings, by the offer that it would then have.
func SoonerBy(change string, o *decision.Offer) decision.Sooner {
	return decision.Sooner{Change: change, Site: o.Site, Pool: o.Pool, Start: o.Start, Wait: o.Wait, Total: o.Total, Price: o.Price()}
}
