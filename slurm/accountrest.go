package slurm

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"fsub/accounting"
	"fsub/accounting/fairtree"
	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/slurm/wire"
)

// record is an association, an account or a QOS as slurmrestd tells it. Options have the same places in v0.0.42 to v0.0.45.
type record wire.DBRecord

// restWords are slurmrestd's words for sacctmgr's.
var restWords = map[string]string{
	"DenyOnLimit": "DENY_LIMIT", "EnforceUsageThreshold": "ENFORCE_USAGE_THRESHOLD", "NoDecay": "NO_DECAY", "NoReserve": "NO_RESERVE",
	"OverPartQOS": "OVERRIDE_PARTITION_QOS", "PartitionMaxNodes": "PARTITION_MAXIMUM_NODE", "PartitionMinNodes": "PARTITION_MINIMUM_NODE",
	"PartitionTimeLimit": "PARTITION_TIME_LIMIT", "Relative": "RELATIVE", "RequiresReservation": "REQUIRED_RESERVATION", "UsageFactorSafe": "USAGE_FACTOR_SAFE",
	"cluster": "DISABLED", "cancel": "CANCEL", "requeue": "REQUEUE", "suspend": "SUSPEND", "gang": "GANG", "within": "WITHIN",
}

// at finds a place in a record, and what holds it; nil: this slurmrestd has no such place.
func (r record) at(path string) (holder map[string]any, key string, value any) {
	steps := strings.Split(path, ".")
	holder = r
	for _, step := range steps[:len(steps)-1] {
		holder, _ = holder[step].(map[string]any)
	}
	key = steps[len(steps)-1]
	return holder, key, holder[key]
}

func (r record) text(path string) string {
	_, _, v := r.at(path)
	s, _ := v.(string)
	return s
}

// words are a list of texts, or of things with names.
func (r record) words(path string) (out []string) {
	_, _, v := r.at(path)
	list, _ := v.([]any)
	for _, x := range list {
		switch x := x.(type) {
		case string:
			out = append(out, x)
		case map[string]any:
			if direct, ok := x["direct"].(bool); !ok || direct { // a coordinator of an account above is one here, too
				out = append(out, record(x).text("name"))
			}
		}
	}
	return out
}

// option is the value at a place as sacctmgr prints it; "" if it is not set.
func (r record) option(path string) string {
	_, _, v := r.at(path)
	switch v := v.(type) {
	case string:
		return v
	case float64:
		if path == "shares_raw" && v == float64(fairtree.UseParent) {
			return "parent"
		}
		return strconv.FormatFloat(v, 'f', -1, 64)
	case map[string]any: // {set, infinite, number}
		if n, ok := v["number"].(float64); ok && v["set"] == true {
			return strconv.FormatFloat(n, 'f', -1, 64)
		}
	case []any:
		if held := tresAt(v); len(held) > 0 {
			return held.String()
		}
		words := r.words(path)
		for i, w := range words {
			for ours, theirs := range restWords {
				if w == theirs && (path == "flags" || path == "preempt.mode") {
					words[i] = ours
				}
			}
		}
		return strings.Join(words, ",")
	}
	return ""
}

// tresAt reads a list of TRES; nil if it is none.
func tresAt(list []any) accounting.TRES {
	out := accounting.TRES{}
	for _, x := range list {
		t, ok := x.(map[string]any)
		n, counted := t["count"].(float64)
		if !ok || !counted {
			return nil
		}
		out[tresName(wire.TRES{Type: record(t).text("type"), Name: record(t).text("name")})] = int64(n)
	}
	return out
}

// askDB reads records of slurmdbd's, with the limits that are their own only.
func (k *accountKeeper) askDB(ctx context.Context, path string, query url.Values) (*wire.DBRecordsResponse, error) {
	var a wire.DBRecordsResponse
	if err := k.c.do(ctx, request{op: "accounting", method: http.MethodGet, db: true, path: path, query: query}, &a); err != nil {
		return nil, err
	}
	if len(a.Errors) > 0 {
		return nil, fmt.Errorf("site %s: accounting: %w", k.cfg.Name, slurmError(federation.ErrUnavailable, a.Errors[0], ""))
	}
	return &a, nil
}

// ownLimits has slurmdbd leave out what an association has from the accounts above it, which would become its own if it were written back.
func ownLimits(cluster string) url.Values {
	return url.Values{"cluster": {cluster}, "Exclude limits from parents": {"true"}}
}

// askREST reads all of a site's accounting by slurmrestd of 24.11 and later.
func (k *accountKeeper) askREST(ctx context.Context, at *accounts.Import) error {
	of, err := k.askDB(ctx, wire.PathDBAccounts, url.Values{"WithCoordinators": {"true"}})
	if err != nil {
		return err
	}
	qos, err := k.askDB(ctx, wire.PathDBQOS, nil)
	if err != nil {
		return err
	}
	all, err := k.askDB(ctx, wire.PathDBAssociations, ownLimits(at.Cluster))
	if err != nil {
		return err
	}
	add := func(r accounts.Record, from record) {
		var columns []string
		for _, o := range accounts.AtSites(r.Kind) {
			columns = append(columns, from.option(o.Path(r.Kind)))
		}
		r.Set = settings(at, r.Key, columns)
		at.Records = append(at.Records, r)
	}
	for _, q := range qos.QOS {
		add(accounts.Record{Key: accounts.QOSKey(record(q).text("name"))}, record(q))
	}
	for _, a := range all.Associations {
		r := record(a)
		account, user := r.text("account"), r.text("user")
		switch {
		case r.text("cluster") != at.Cluster:
		case r.text("partition") != "":
			at.Skipped = append(at.Skipped, fmt.Sprintf("user %s of account %s in partition %s", user, account, r.text("partition")))
		case user != "":
			isDefault, _ := r["is_default"].(bool)
			add(accounts.Record{Key: accounts.UserKey(account, user), Default: isDefault}, r)
		default:
			rec := accounts.Record{Key: accounts.AccountKey(account), Parent: r.text("parent_account")}
			i := slices.IndexFunc(of.Accounts, func(o wire.DBRecord) bool { return record(o).text("name") == account })
			if i >= 0 {
				rec.Coordinators = record(of.Accounts[i]).words("coordinators")
				slices.Sort(rec.Coordinators)
			}
			add(rec, r)
			if i >= 0 {
				about(&at.Records[len(at.Records)-1], record(of.Accounts[i]).text("description"), record(of.Accounts[i]).text("organization"))
			}
		}
	}
	return nil
}
