package web

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
)

// standing is what runs and waits of the accounts of who asks, why, and which limits they have: those that they are in or coordinate, an operator's all. Where there is no account
// tree it is the jobs of who asks.
func (s *server) standing(r *http.Request) ([]v1.JobCount, []v1.Account, error) {
	me := s.me(r)
	tree, err := client.List(r.Context(), s.api, &v1.Accounts, v1.None{})
	if err != nil && !errors.Is(err, federation.ErrInvalid) { // which says that there is none
		return nil, nil, err
	}
	q := v1.SummaryQuery{By: "account,state,reason", Limit: 200}
	mine := ofTeam(tree, me)
	switch {
	case len(tree) == 0 || len(mine) == 0 && !s.raised(r):
		q.Where = []string{"user=" + me}
	case !s.raised(r):
		q.Where = []string{"account=" + strings.Join(slices.Sorted(maps.Keys(mine)), ",")}
	}
	live, err := client.List(r.Context(), s.api, &v1.Summary, q)
	if err != nil {
		return nil, nil, err
	}
	limits := slices.DeleteFunc(tree, func(a v1.Account) bool {
		of := a.Account
		if a.Kind == accounts.Account {
			of = a.Name
		}
		return a.Kind == accounts.QOS || !mine[of] && !s.raised(r) || len(limitsOf(&a)) == 0
	})
	return live, limits, nil
}

// leads are which accounts users coordinate.
type leads struct{ shelf[map[string]bool] }

// all are the accounts that who asks coordinates, with those below these.
func (l *leads) all(s *server, r *http.Request) map[string]bool {
	own, err := l.of(viewerOf(s, r, "")).get(s.Now, leadsLife, func() (map[string]bool, error) {
		tree, err := client.List(r.Context(), s.api, &v1.Accounts, v1.None{})
		me, own := s.me(r), map[string]bool{}
		for again := true; again; {
			again = false
			for i := range tree {
				a := &tree[i]
				if a.Kind == accounts.Account && !own[a.Name] && (slices.Contains(a.Coordinators, me) || own[a.Parent]) {
					own[a.Name], again = true, true
				}
			}
		}
		if errors.Is(err, federation.ErrInvalid) { // which says that there is no tree
			err = nil
		}
		return own, err
	})
	if err != nil {
		return nil // no button is better than no page
	}
	return own
}

// ofTeam are the accounts that a user is in, or coordinates, with those below these.
func ofTeam(tree []v1.Account, user string) map[string]bool {
	mine := map[string]bool{}
	for again := true; again; {
		again = false
		for i := range tree {
			a, name := &tree[i], tree[i].Name
			in := slices.Contains(a.Coordinators, user) || a.Kind == accounts.Account && mine[a.Parent]
			if a.Kind == accounts.User {
				name, in = a.Account, a.Name == user
			}
			if in && !mine[name] {
				mine[name], again = true, true
			}
		}
	}
	return mine
}

// limitsOf are the options of a record that keep jobs back, as sacctmgr writes them.
func limitsOf(a *v1.Account) (all []string) {
	for _, name := range slices.Sorted(maps.Keys(a.Set)) {
		if name != "Fairshare" {
			all = append(all, name+"="+a.Set[name])
		}
	}
	return all
}

func limitRows(all []v1.Account) [][]string {
	rows := [][]string{{"ACCOUNT", "USER", "LIMITS"}}
	for i := range all {
		account, user := all[i].Name, ""
		if all[i].Kind == accounts.User {
			account, user = all[i].Account, all[i].Name
		}
		rows = append(rows, []string{account, user, strings.Join(limitsOf(&all[i]), " ")})
	}
	return rows
}

func liveRows(all []v1.JobCount) [][]string {
	rows := [][]string{{"ACCOUNT", "STATE", "WHY", "JOBS", "TASKS"}}
	for i := range all {
		x := &all[i]
		rows = append(rows, []string{orDash(x.Account), string(x.State), strings.TrimPrefix(string(x.Reason), "None"), strconv.FormatInt(x.Jobs, 10), strconv.FormatInt(x.Tasks, 10)})
	}
	return rows
}

// waste is what somebody's runs held and did not use.
type waste struct {
	v1.BookedSum
	lost, idle federation.Money
}

// wasteRows say how much of what each account's users held was used, and what was lost, the most lost first.
func wasteRows(month []v1.BookedSum) [][]string {
	sum := map[[2]string]*waste{}
	for i := range month {
		m := &month[i]
		var k [2]string
		copy(k[:], m.Values)
		x := sum[k]
		if x == nil {
			x = new(waste)
			sum[k] = x
		}
		x.CPUUsed, x.CPUOf = x.CPUUsed+m.CPUUsed, x.CPUOf+m.CPUOf
		x.GPUUsed, x.GPUOf = x.GPUUsed+m.GPUUsed, x.GPUOf+m.GPUOf
		x.LimitBy, x.LimitOf = x.LimitBy+m.LimitBy, x.LimitOf+m.LimitOf
		switch m.Fate {
		case "lost":
			x.lost += m.Amount
		case "idle":
			x.idle += m.Amount
		}
	}
	part := func(a, b int64) string {
		if b == 0 {
			return ""
		}
		return fmt.Sprintf("%.0f %%", 100*float64(a)/float64(b))
	}
	keys := slices.SortedFunc(maps.Keys(sum), func(a, b [2]string) int {
		x, y := sum[a], sum[b]
		return cmp.Or(cmp.Compare(y.lost+y.idle, x.lost+x.idle), cmp.Compare(a[0]+" "+a[1], b[0]+" "+b[1]))
	})
	rows := [][]string{{"ACCOUNT", "USER", "CPU USED", "GPU USED", "TIME LIMIT USED", "LOST", "IDLE"}}
	for _, k := range keys {
		x := sum[k]
		rows = append(rows, []string{orDash(k[0]), k[1], part(x.CPUUsed, x.CPUOf), part(x.GPUUsed, x.GPUOf), part(x.LimitBy, x.LimitOf), x.lost.USD(), x.idle.USD()})
	}
	return rows
}
