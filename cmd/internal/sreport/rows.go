package sreport

import (
	"cmp"
	"slices"
	"strings"

	"fsub/cmd/internal/assoc"
	"fsub/cmd/internal/show"
	v1 "fsub/federation/api/v1"
)

// row is one line of a report.
type row struct {
	cluster, account, login string
	sums                    map[string]int64 // seconds of each TRES
	tres, used              string
}

// fields are the columns of the reports.
var fields = []assoc.Field[row]{
	{Name: "Accounts", Header: "Account", Width: 15, Value: func(r *row) string { return r.account }},
	{Name: "Cluster", Header: "Cluster", Width: 9, Value: func(r *row) string { return r.cluster }},
	{Name: "Energy", Header: "Energy", Width: 8, Value: func(*row) string { return "0" }},
	{Name: "Login", Header: "Login", Width: 9, Value: func(r *row) string { return r.login }},
	{Name: "Proper", Header: "Proper Name", Width: 15, Value: func(r *row) string { return show.ProperName(r.login) }},
	{Name: "TresName", Header: "TRES Name", Width: 14, Value: func(r *row) string { return r.tres }},
	{Name: "Used", Header: "Used", Width: 8, Value: func(r *row) string { return r.used }},
}

// amounts are the TRES that the books have sums of.
var amounts = map[string]func(*v1.BookedSum) int64{
	"cpu":      func(s *v1.BookedSum) int64 { return s.CPUSeconds },
	"mem":      func(s *v1.BookedSum) int64 { return s.MemSeconds },
	"node":     func(s *v1.BookedSum) int64 { return s.NodeSeconds },
	"billing":  func(s *v1.BookedSum) int64 { return s.BillingSeconds },
	"gres/gpu": func(s *v1.BookedSum) int64 { return s.GPUSeconds },
}

// group adds up what the books say of one cluster, account and user, with a row for each account above its users where the report has those.
func (r *kind) group(sums []v1.BookedSum) []row {
	at := map[[3]string]*row{}
	add := func(cluster, account, login string, s *v1.BookedSum) {
		key := [3]string{cluster, account, login}
		if at[key] == nil {
			at[key] = &row{cluster: cluster, account: account, login: login, sums: map[string]int64{}}
		}
		for name, of := range amounts {
			at[key].sums[name] += of(s)
		}
	}
	names := strings.Split(r.by, ",")
	for i := range sums {
		s := &sums[i]
		if len(s.Values) != len(names) {
			continue
		}
		value := map[string]string{}
		for n, name := range names {
			value[name] = s.Values[n]
		}
		add(value["site"], value["account"], value["user"], s)
		if r.sums {
			add(value["site"], value["account"], "", s)
			add(value["site"], "root", "", s)
		}
	}
	out := make([]row, 0, len(at))
	for _, one := range at {
		out = append(out, *one)
	}
	slices.SortFunc(out, func(a, b row) int {
		first := func(x *row) int { // root above all
			if r.sums && x.account == "root" && x.login == "" {
				return 0
			}
			return 1
		}
		if r.sums {
			return cmp.Or(cmp.Compare(a.cluster, b.cluster), cmp.Compare(first(&a), first(&b)), cmp.Compare(a.account, b.account), cmp.Compare(a.login, b.login))
		}
		return cmp.Or(cmp.Compare(a.cluster, b.cluster), cmp.Compare(a.login, b.login), cmp.Compare(a.account, b.account))
	})
	return out
}

// byUse are the users of each cluster that have used most CPU time.
func byUse(rows []row, top int) []row {
	slices.SortStableFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.cluster, b.cluster), cmp.Compare(b.sums["cpu"], a.sums["cpu"]))
	})
	n := map[string]int{}
	return slices.DeleteFunc(rows, func(r row) bool {
		n[r.cluster]++
		return n[r.cluster] > top
	})
}
