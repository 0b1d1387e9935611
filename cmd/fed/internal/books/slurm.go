package books

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"fsub/accounting/ledger"
	"fsub/cmd/fed/internal/cli"
)

// slurmReport is a report in sreport's words and shape: CPU minutes for each site, as a cluster, since yesterday's beginning until today's, if nothing else is said.
func slurmReport(ctx context.Context, w io.Writer, o *reportOptions, args []string) error {
	name := strings.ToLower(strings.Join(args[:min(2, len(args))], " "))
	by, head := "", ""
	switch name {
	case "cluster accountutilizationbyuser":
		by, head = "site,account,user", "Cluster|Account|Login|TRES Name|Used"
	case "cluster userutilizationbyaccount":
		by, head = "site,user,account", "Cluster|Login|Account|TRES Name|Used"
	case "user topusage", "user top":
		by, head = "site,user,account", "Cluster|Login|Account|TRES Name|Used"
	case "cluster utilization":
		by, head = "site", "Cluster|TRES Name|Allocated"
	default:
		return fmt.Errorf("fed report has none of sreport's %q: want cluster AccountUtilizationByUser, cluster UserUtilizationByAccount, cluster Utilization or user TopUsage", strings.Join(args, " "))
	}
	today := time.Now().UTC().Truncate(24 * time.Hour)
	from, until := today.AddDate(0, 0, -1), today
	if o.since != "" || o.until != "" || o.last != "" {
		spec := o.spec("")
		var err error
		if from, until, err = spec.Span(time.Now()); err != nil {
			return err
		}
	}
	tres := []string{"cpu"}
	ask := url.Values{"by": {by}}
	for _, word := range args[2:] {
		key, value, _ := strings.Cut(word, "=")
		switch strings.ToLower(key) {
		case "start", "end":
			t, err := time.Parse(time.DateOnly, strings.TrimSuffix(value, "T00:00:00"))
			if err != nil {
				return fmt.Errorf("invalid %s: want %s=YYYY-MM-DD: the ledger's sums are of UTC days", word, key)
			}
			if strings.ToLower(key) == "start" {
				from = t
			} else {
				until = t
			}
		case "cluster", "clusters":
			ask["site"] = strings.Split(value, ",")
		case "account", "accounts":
			ask["account"] = strings.Split(value, ",")
		case "user", "users":
			ask["user"] = strings.Split(value, ",")
		case "tres":
			tres = strings.Split(value, ",")
		default:
			return fmt.Errorf("unknown condition %q: want start=, end=, clusters=, accounts=, users= or tres=", word)
		}
	}
	ask.Set("from", from.Format(time.DateOnly))
	ask.Set("until", until.Format(time.DateOnly))
	rows, err := o.Client().BookedSums(ctx, ask)
	if err != nil {
		return err
	}
	sums := map[string]*ledger.Sums{}
	for i := range rows {
		key := strings.Join(rows[i].Values, "|")
		if sums[key] == nil {
			sums[key] = &ledger.Sums{}
		}
		s := rows[i].Sums()
		sums[key].Add(&s, 1)
	}
	keys := slices.Sorted(maps.Keys(sums))
	if strings.HasPrefix(name, "user top") {
		slices.SortStableFunc(keys, func(a, b string) int { return -cmp.Compare(sums[a].CPU, sums[b].CPU) })
		keys = keys[:min(10, len(keys))]
	}
	line := strings.Repeat("-", 80)
	fmt.Fprintf(w, "%s\n%s %s - %s (%d secs)\nUsage reported in TRES Minutes\n%s\n", line, strings.Join(args[:2], " "), from.Format("2006-01-02T15:04:05"),
		until.Add(-time.Second).Format("2006-01-02T15:04:05"), int64(until.Sub(from).Seconds()), line)
	t := cli.NewTable(w)
	t.Row(strings.Split(head, "|")...)
	for _, key := range keys {
		for _, name := range tres {
			used, err := tresOf(sums[key], name)
			if err != nil {
				return err
			}
			t.Row(append(strings.Split(key, "|"), name, fmt.Sprint((used+30)/60))...)
		}
	}
	return t.Flush()
}

func tresOf(s *ledger.Sums, name string) (int64, error) {
	switch strings.ToLower(name) {
	case "cpu":
		return s.CPU, nil
	case "mem":
		return s.Mem, nil
	case "node":
		return s.Node, nil
	case "billing":
		return s.Billing, nil
	case "gres/gpu":
		return s.GPU, nil
	}
	return 0, fmt.Errorf("the ledger has no sums of %q: want cpu, mem, node, billing or gres/gpu; types of GPUs are told apart by: fed report usage --by gpu", name)
}
