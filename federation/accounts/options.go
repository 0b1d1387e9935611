package accounts

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/accounting"
	"fsub/accounting/fairtree"
	"fsub/federation/plain"
	"fsub/sbatch"
)

// Option is something that can be set for records of some kinds, under sacctmgr's name.
type Option struct {
	Name  string
	Alias []string // other names that sacctmgr takes
	Of    []Kind
	form  form
	// Own: a coordinator may set it for what stands below him.
	Own bool
	// Local: sites are not told of it.
	Local bool
}

type form uint8

const (
	text     form = iota
	shares        // a number, or "parent"
	count         // a whole number
	factor        // a number
	span          // minutes, or D-HH:MM:SS; kept in minutes
	tres          // "cpu=4,gres/gpu=8"
	names         // words with commas
	money         // dollars in a period: "1000/month"
	tresOver      // minutes of TRES in a period: "gres/gpu=60000/month"
)

var both = []Kind{Account, User}

// Options are all there are, in the order in which they are listed.
var Options = []Option{
	{Name: "Description", Of: []Kind{Account}, Own: true},
	{Name: "Organization", Of: []Kind{Account}, Own: true},
	{Name: "Fairshare", Alias: []string{"Share", "Shares", "RawShares"}, Of: both, form: shares, Own: true},
	{Name: "Priority", Of: []Kind{QOS}, form: count},
	{Name: "UsageFactor", Of: []Kind{QOS}, form: factor},
	{Name: "Preempt", Of: []Kind{QOS}, form: names},
	{Name: "PreemptMode", Of: []Kind{QOS}},
	{Name: "PreemptExemptTime", Of: []Kind{QOS}, form: span, Local: true},
	{Name: "GraceTime", Of: []Kind{QOS}, form: count},
	{Name: "Flags", Of: []Kind{QOS}, form: names},
	{Name: "GrpJobs", Of: []Kind{Account, User, QOS}, form: count},
	{Name: "GrpSubmitJobs", Alias: []string{"GrpSubmit"}, Of: []Kind{Account, User, QOS}, form: count},
	{Name: "GrpTRES", Of: []Kind{Account, User, QOS}, form: tres},
	{Name: "Guarantee", Of: []Kind{Account}, form: tres, Local: true},
	{Name: "GrpTRESMins", Of: []Kind{Account, User, QOS}, form: tres},
	{Name: "GrpTRESRunMins", Of: []Kind{Account, User, QOS}, form: tres},
	{Name: "GrpWall", Of: []Kind{Account, User, QOS}, form: span},
	{Name: "MaxJobs", Of: both, form: count},
	{Name: "MaxSubmitJobs", Alias: []string{"MaxSubmit"}, Of: both, form: count},
	{Name: "MaxTRES", Alias: []string{"MaxTRESPerJob", "MaxTRESPJ"}, Of: []Kind{Account, User, QOS}, form: tres},
	{Name: "MaxTRESMins", Alias: []string{"MaxTRESMinsPerJob"}, Of: []Kind{Account, User, QOS}, form: tres},
	{Name: "MaxWall", Alias: []string{"MaxWallDurationPerJob"}, Of: []Kind{Account, User, QOS}, form: span},
	{Name: "MaxTRESPerUser", Alias: []string{"MaxTRESPU"}, Of: []Kind{QOS}, form: tres},
	{Name: "MaxTRESPerAccount", Alias: []string{"MaxTRESPA"}, Of: []Kind{QOS}, form: tres},
	{Name: "MaxJobsPerUser", Alias: []string{"MaxJobsPU"}, Of: []Kind{QOS}, form: count},
	{Name: "MaxJobsPerAccount", Alias: []string{"MaxJobsPA"}, Of: []Kind{QOS}, form: count},
	{Name: "MaxSubmitJobsPerUser", Alias: []string{"MaxSubmitPU", "MaxSubmitJobsPU"}, Of: []Kind{QOS}, form: count},
	{Name: "MaxSubmitJobsPerAccount", Alias: []string{"MaxSubmitPA", "MaxSubmitJobsPA"}, Of: []Kind{QOS}, form: count},
	{Name: "Budget", Of: []Kind{Account, User, QOS}, form: money, Local: true},
	{Name: "BudgetTRESMins", Of: []Kind{Account, User, QOS}, form: tresOver, Local: true},
	{Name: "BudgetWarn", Of: []Kind{Account, User, QOS}, form: count, Local: true},
	{Name: "BudgetSoft", Of: []Kind{Account, User, QOS}, form: count, Local: true},
	{Name: "BudgetEnd", Of: []Kind{Account, User, QOS}, form: count, Local: true},
	{Name: "QOS", Alias: []string{"QosLevel"}, Of: both, form: names},
	{Name: "DefaultQOS", Of: both},
}

// OptionOf finds an option of a kind by its name in any case, an alias, or the beginning of its name if that is enough.
func OptionOf(kind Kind, name string) (*Option, error) {
	var like []*Option
	for i := range Options {
		o := &Options[i]
		if !slices.Contains(o.Of, kind) {
			continue
		}
		if strings.EqualFold(o.Name, name) || slices.ContainsFunc(o.Alias, func(a string) bool { return strings.EqualFold(a, name) }) {
			return o, nil
		}
		if len(name) >= 3 && len(name) < len(o.Name) && strings.EqualFold(o.Name[:len(name)], name) {
			like = append(like, o)
		}
	}
	switch len(like) {
	case 1:
		return like[0], nil
	case 0:
		var known []string
		for i := range Options {
			if slices.Contains(Options[i].Of, kind) {
				known = append(known, Options[i].Name)
			}
		}
		return nil, fmt.Errorf("unknown option %q for kind %s: use one of %s", name, kind, strings.Join(known, ", "))
	}
	return nil, fmt.Errorf("option %q is short for %s and for %s: write it out", name, like[0].Name, like[1].Name)
}

// Value reads a new value over an old one. "", "-1" and "none" unset it; of TRES, NAME=-1 unsets one and the others stay; a list that begins with + or
// - adds to the old one or takes from it.
func (o *Option) Value(old, value string) (string, error) {
	value = strings.TrimSpace(value)
	if value == "" || value == "-1" || o.form != text && strings.EqualFold(value, "none") {
		return "", nil
	}
	bad := func(want string) (string, error) {
		return "", fmt.Errorf("invalid value %q of %s: want %s", value, o.Name, want)
	}
	switch o.form {
	case shares:
		if strings.EqualFold(value, "parent") {
			return "parent", nil
		}
		n, err := strconv.ParseUint(value, 10, 32)
		if err != nil || uint32(n) >= fairtree.UseParent {
			return bad("a number of shares, or parent")
		}
		return strconv.FormatUint(n, 10), nil
	case count:
		n, err := strconv.ParseUint(value, 10, 32)
		if err != nil {
			return bad("a whole number, or -1 for none")
		}
		return strconv.FormatUint(n, 10), nil
	case factor:
		f, err := strconv.ParseFloat(value, 64)
		if err != nil || !(f >= 0) || math.IsInf(f, 0) {
			return bad("a number that is not negative")
		}
		return strconv.FormatFloat(f, 'g', -1, 64), nil
	case span:
		d, ok := sbatch.TimeLimit(value)
		if !ok || d == sbatch.Unlimited {
			return bad("minutes, HH:MM:SS or D-HH:MM:SS, or -1 for none")
		}
		return strconv.FormatInt(int64(d/time.Minute), 10), nil
	case money, tresOver:
		return readBudget(o, value)
	case tres:
		return mergeTRES(o.Name, old, value)
	case names:
		return mergeNames(old, value), nil
	}
	if strings.Contains(value, "|") {
		return bad("a text without |")
	}
	return value, plain.Check(o.Name, value, mostText)
}

// mostText is what slurmdbd has room for in a description.
const mostText = 255

func mergeTRES(option, old, value string) (string, error) {
	t, err := accounting.ParseTRES(old)
	if err != nil {
		t = accounting.TRES{}
	}
	for item := range strings.SplitSeq(value, ",") {
		name, n, ok := strings.Cut(strings.TrimSpace(item), "=")
		if ok && strings.TrimSpace(n) == "-1" {
			delete(t, name)
			continue
		}
		more, err := accounting.ParseTRES(item)
		if err != nil || len(more) == 0 || name != strings.ToLower(name) {
			return "", fmt.Errorf("invalid value %q of %s: want TRES as in cpu=64,mem=512G,gres/gpu=8; -1 for none", value, option)
		}
		for name, n := range more {
			t[name] = n
		}
	}
	text := t.String()
	if _, err := accounting.ParseTRES(text); err != nil { // with a suffix more can be given than is read again
		return "", fmt.Errorf("invalid value %q of %s: the number is too large; -1 for no limit", value, option)
	}
	return text, nil
}

func mergeNames(old, value string) string {
	split := func(s string) []string {
		return slices.DeleteFunc(strings.Split(s, ","), func(w string) bool { return strings.TrimSpace(w) == "" })
	}
	list := split(old)
	if value[0] != '+' && value[0] != '-' {
		list = nil
	}
	for _, w := range split(value) {
		name := strings.TrimSpace(strings.TrimLeft(w, "+-"))
		list = slices.DeleteFunc(list, func(have string) bool { return have == name })
		if w[0] != '-' {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return strings.Join(list, ",")
}

// Shares are a record's shares: 1 if none are set.
func (r *Record) Shares() uint32 {
	switch text := r.Set["Fairshare"]; text {
	case "":
		return 1
	case "parent":
		return fairtree.UseParent
	default:
		n, _ := strconv.ParseUint(text, 10, 32)
		return uint32(n)
	}
}

// Count is a limit that is a number; ok is false if it is not set. One of time is in minutes.
func (r *Record) Count(option string) (n int64, ok bool) {
	n, err := strconv.ParseInt(r.Set[option], 10, 64)
	return n, err == nil
}

// TRES is a limit by TRES; nil if it is not set.
func (r *Record) TRES(option string) accounting.TRES {
	if r.Set[option] == "" {
		return nil
	}
	t, _ := accounting.ParseTRES(r.Set[option])
	return t
}

// Flag reports whether a QOS has a flag.
func (r *Record) Flag(name string) bool {
	for flag := range strings.SplitSeq(r.Set["Flags"], ",") {
		if strings.EqualFold(flag, name) {
			return true
		}
	}
	return false
}

// UsageFactor is what usage of a QOS counts: 1 if it is not set.
func (r *Record) UsageFactor() float64 {
	f, err := strconv.ParseFloat(r.Set["UsageFactor"], 64)
	if err != nil {
		return 1
	}
	return f
}
