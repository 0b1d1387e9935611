package web

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"fsub/federation"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	. "fsub/federation/web/html"
)

// team is the page of what accounts have spent: this month against last, budgets, and by whom. Users see their own, coordinators that of their accounts.
func (s *server) team(r *http.Request) (*page, error) {
	ctx, now := r.Context(), s.Now().UTC()
	month := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	sums := func(life time.Duration, from, until time.Time, more url.Values) ([]v1.BookedSum, error) {
		q := url.Values{"from": {from.Format(time.DateOnly)}, "until": {until.Format(time.DateOnly)}, "sums": {"amount,gpu,cpu,runs,cpu_used,cpu_of,gpu_used,gpu_of,limit_by,limit_of"}}
		maps.Copy(q, more)
		return s.sums.of(viewerOf(s, r, q.Encode())).get(s.Now, life, func() ([]v1.BookedSum, error) { return s.api.BookedSums(ctx, q) })
	}
	tomorrow := now.AddDate(0, 0, 1)
	byUser, err := sums(spentLife, month, tomorrow, url.Values{"by": {"account,user"}})
	if err != nil {
		return nil, err
	}
	before, err := sums(pastLife, month.AddDate(0, -1, 0), month, url.Values{"by": {"account,user"}})
	if err != nil {
		return nil, err
	}
	daily, err := sums(spentLife, month, tomorrow, url.Values{"by": {"account"}, "every": {"day"}})
	if err != nil {
		return nil, err
	}
	budgets, err := client.List(ctx, s.api, &v1.Budgets, v1.None{})
	if err != nil {
		return nil, err
	}
	live, limits, err := s.standing(r)
	if err != nil {
		return nil, err
	}
	rows := spentRows(byUser, before)
	p := &page{title: "Team", command: "fed report cost --by account,user", data: map[string]any{"month": byUser, "last_month": before, "budgets": budgets, "jobs": live, "limits": limits}, table: rows}
	p.parts = []Node{
		E("p", Class("lead"), "From the 1st of "+month.Format("January")+" until now, against the whole of "+month.AddDate(0, -1, 0).Format("January")+". What still runs is not in it."),
		section("Running and waiting", textTable("Jobs by account, state and why", liveRows(live))),
		section("Budgets", budgetTable(budgets)),
		section("Limits", textTable("Limits of accounts and users", limitRows(limits))),
		section("Spent by day", dayChart(daily, month, now)),
		section("Spent by user", textTable("Spent by account and user", rows)),
		section("Waste", textTable("Used of what was held", wasteRows(byUser)), E("p", Class("hint"), "Used is of the runs of which it was measured. Lost went to runs whose nodes failed or that were preempted, idle to GPUs that did nothing.")),
	}
	return p, nil
}

// spent is what somebody's runs came to.
type spent struct {
	now, before federation.Money
	gpu, cpu    int64
	runs        int64
}

// spentRows add up what each account's users have spent, the most first.
func spentRows(month, last []v1.BookedSum) [][]string {
	sum := map[[2]string]*spent{}
	of := func(x *v1.BookedSum) *spent {
		var k [2]string
		copy(k[:], x.Values)
		if sum[k] == nil {
			sum[k] = new(spent)
		}
		return sum[k]
	}
	for i := range month {
		x := of(&month[i])
		x.now += month[i].Amount
		x.gpu += month[i].GPUSeconds
		x.cpu += month[i].CPUSeconds
		x.runs += month[i].Runs
	}
	for i := range last {
		of(&last[i]).before += last[i].Amount
	}
	rows := [][]string{{"ACCOUNT", "USER", "RUNS", "GPU HOURS", "CPU HOURS", "SPENT", "LAST MONTH"}}
	keys := slices.SortedFunc(maps.Keys(sum), func(a, b [2]string) int {
		return cmp.Or(cmp.Compare(sum[b].now, sum[a].now), cmp.Compare(a[0]+" "+a[1], b[0]+" "+b[1]))
	})
	for _, k := range keys {
		x := sum[k]
		rows = append(rows, []string{orDash(k[0]), k[1], strconv.FormatInt(x.runs, 10), hours(x.gpu), hours(x.cpu), x.now.USD(), x.before.USD()})
	}
	return rows
}

func hours(seconds int64) string { return fmt.Sprintf("%.1f", float64(seconds)/3600) }

func budgetTable(all []v1.Budget) Node {
	if len(all) == 0 {
		return E("p", Class("empty"), "No budget that you may see is set.")
	}
	rows := [][]string{{"OF", "PERIOD", "LIMIT", "USED", "RUNNING", "RESERVED", "LEFT"}}
	for i := range all {
		b := all[i].Report()
		amount := func(v float64) string {
			if all[i].TRES == "" {
				return fmt.Sprintf("$%.2f", v)
			}
			return fmt.Sprintf("%.0f %s min", v, all[i].TRES)
		}
		rows = append(rows, []string{b.Of, b.Period, amount(b.Limit), amount(b.Used), amount(b.Running), amount(b.Reserved), amount(max(b.Limit-b.Used-b.Running, 0))})
	}
	return textTable("Budgets", rows)
}

// dayChart draws what each day of the month came to, with a table of the same behind it.
func dayChart(sums []v1.BookedSum, month, now time.Time) Node {
	days := now.Day()
	amount := make([]federation.Money, days)
	var most federation.Money
	for i := range sums {
		day, err := time.Parse(time.DateOnly, sums[i].Period)
		if err == nil && day.Month() == month.Month() && day.Day() <= days {
			amount[day.Day()-1] += sums[i].Amount
			most = max(most, amount[day.Day()-1])
		}
	}
	if most == 0 {
		return E("p", Class("empty"), "Nothing has been spent this month.")
	}
	const width, height, left, bottom = 720, 150, 56, 22
	svg := E("svg", A("viewBox", fmt.Sprintf("0 0 %d %d", width, height)), A("role", "img"), A("aria-label", "Spent by day; the table has the same"), Class("bars"))
	step := float64(width-left-6) / float64(days)
	svg.Children = append(svg.Children,
		E("line", num("x1", left), num("x2", width-6), num("y1", height-bottom), num("y2", height-bottom)),
		E("text", A("text-anchor", "end"), num("x", left-6), num("y", 14), most.USD()),
		E("text", A("text-anchor", "end"), num("x", left-6), num("y", height-bottom), "0"))
	rows := [][]string{{"DAY", "SPENT"}}
	for i, a := range amount {
		h := float64(height-bottom-6) * float64(a) / float64(most)
		svg.Children = append(svg.Children, E("rect", Class("r"), num("x", left+step*float64(i)+1), num("y", float64(height-bottom)-h), num("width", max(min(step-2, 40), 2)), num("height", h)))
		if i == 0 || i == days-1 || (i+1)%7 == 0 && i < days-2 {
			svg.Children = append(svg.Children, E("text", A("text-anchor", "middle"), num("x", left+step*float64(i)+min(step, 42)/2), num("y", height-6), strconv.Itoa(i+1)))
		}
		rows = append(rows, []string{month.AddDate(0, 0, i).Format(time.DateOnly), a.USD()})
	}
	return E("figure", A("tabindex", "0"), svg, E("details", E("summary", "As a table"), textTable("Spent by day", rows)))
}
