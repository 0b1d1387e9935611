package accounts

import (
	"cmp"
	"errors"
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
	Alias []string // other names that sacctmgr accepts
	Of    []Kind
	form  form
	// Own: a coordinator may set it for what stands below him.
	Own bool
	// Local: sites are not told of it.
	Local bool
	// Limit is what it bounds; nil: it bounds nothing.
	Limit *Limit

	assoc, qos string // where slurmrestd has it in an association and in a QOS, from v0.0.42 to v0.0.45
	column     string // sacctmgr's name for it in its tables; "": Name
}

// Path is where slurmrestd has the option in its records of a kind; "": it has no place there.
func (o *Option) Path(kind Kind) string {
	if kind == QOS {
		return o.qos
	}
	return o.assoc
}

// Column is what sacctmgr calls the option in its tables.
func (o *Option) Column() string { return cmp.Or(o.column, o.Name) }

// AtSites are the options of a kind that sites keep too.
func AtSites(kind Kind) (list []*Option) {
	for i := range Options {
		if o := &Options[i]; o.Path(kind) != "" && slices.Contains(o.Of, kind) {
			list = append(list, o)
		}
	}
	return list
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
	choice        // CountsAll or CountsOwn
	tresOver      // minutes of TRES in a period: "gres/gpu=60000/month"
)

var (
	both = []Kind{Account, User}
	all3 = []Kind{Account, User, QOS}
)

// Options are all there are, in the order in which they are listed. Limits are checked in this order, too.
var Options = []Option{
	{Name: "Description", Of: []Kind{Account}, Own: true},
	{Name: "Organization", Of: []Kind{Account}, Own: true},
	{Name: "Fairshare", Alias: []string{"Share", "Shares", "RawShares"}, Of: both, form: shares, Own: true, assoc: "shares_raw", column: "Share"},
	{Name: "Priority", Of: []Kind{QOS}, form: count, qos: "priority"},
	{Name: "UsageFactor", Of: []Kind{QOS}, form: factor, qos: "usage_factor"},
	{Name: "Preempt", Of: []Kind{QOS}, form: names, qos: "preempt.list"},
	{Name: "PreemptMode", Of: []Kind{QOS}, qos: "preempt.mode"},
	{Name: "PreemptExemptTime", Of: []Kind{QOS}, form: span, Local: true},
	{Name: "GraceTime", Of: []Kind{QOS}, form: count, qos: "limits.grace_time"},
	{Name: "Flags", Of: []Kind{QOS}, form: names, qos: "flags"},
	{Name: "GrpJobs", Of: all3, form: count, assoc: "max.jobs.per.count", qos: "limits.max.active_jobs.count",
		Limit: limit(PerGroup, Jobs, "@GrpJobsLimit")},
	{Name: "GrpSubmitJobs", Alias: []string{"GrpSubmit"}, Of: all3, form: count,
		assoc: "max.jobs.per.submitted", qos: "limits.max.jobs.count", column: "GrpSubmit",
		Limit: limit(PerGroup, Submitted, "@GrpSubmitJobsLimit")},
	{Name: "GrpTRES", Of: all3, form: tres, assoc: "max.tres.total", qos: "limits.max.tres.total",
		Limit: limit(PerGroup, Amount, "@Grp*", "cpu=@GrpCpuLimit", "mem=@GrpMemLimit", "node=@GrpNodeLimit")},
	{Name: "Guarantee", Of: []Kind{Account}, form: tres, Local: true},
	{Name: "GrpTRESMins", Of: all3, form: tres, assoc: "max.tres.group.minutes", qos: "limits.max.tres.minutes.total",
		Limit: limit(PerGroup, Minutes, "@Grp*Minutes", "cpu=@GrpCPUMinutesLimit")},
	{Name: "GrpTRESRunMins", Of: all3, form: tres,
		assoc: "max.tres.group.active", qos: "limits.max.tres.minutes.per.qos",
		Limit: limit(PerGroup, RunMinutes, "@Grp*RunMinutes", "cpu=@GrpCPURunMinutesLimit")},
	{Name: "GrpWall", Of: all3, form: span, assoc: "max.per.account.wall_clock", qos: "limits.max.wall_clock.per.qos",
		Limit: limit(PerGroup, Minutes, "@GrpWallLimit")},
	{Name: "MaxJobs", Of: both, form: count, assoc: "max.jobs.active",
		Limit: limit(PerAssociation, Jobs, "@MaxJobsLimit")},
	{Name: "MaxSubmitJobs", Alias: []string{"MaxSubmit"}, Of: both, form: count,
		assoc: "max.jobs.total", column: "MaxSubmit",
		Limit: limit(PerAssociation, Submitted, "@MaxSubmitJobLimit")},
	{Name: "MaxTRES", Alias: []string{"MaxTRESPerJob", "MaxTRESPJ"}, Of: all3, form: tres,
		assoc: "max.tres.per.job", qos: "limits.max.tres.per.job",
		Limit: limit(PerJob, Amount, "@Max*PerJob", "cpu=@MaxCpuPerJobLimit", "node=@MaxNodePerJobLimit", "QOS mem=QOSMaxMemoryPerJob")},
	{Name: "MaxTRESMins", Alias: []string{"MaxTRESMinsPerJob"}, Of: all3, form: tres,
		assoc: "max.tres.minutes.per.job", qos: "limits.max.tres.minutes.per.job",
		Limit: limit(PerJob, Minutes, "@Max*MinutesPerJob", "cpu=@MaxCpuMinutesPerJobLimit")},
	{Name: "MaxWall", Alias: []string{"MaxWallDurationPerJob"}, Of: all3, form: span,
		assoc: "max.jobs.per.wall_clock", qos: "limits.max.wall_clock.per.job",
		Limit: limit(PerJob, Minutes, "@MaxWallDurationPerJobLimit")},
	{Name: "MaxJobsPerUser", Alias: []string{"MaxJobsPU"}, Of: []Kind{QOS}, form: count,
		qos: "limits.max.jobs.active_jobs.per.user", column: "MaxJobsPU",
		Limit: limit(PerUser, Jobs, "QOSMaxJobsPerUserLimit")},
	{Name: "MaxJobsPerAccount", Alias: []string{"MaxJobsPA"}, Of: []Kind{QOS}, form: count,
		qos: "limits.max.jobs.active_jobs.per.account", column: "MaxJobsPA",
		Limit: limit(PerAccount, Jobs, "MaxJobsPerAccount")},
	{Name: "MaxTRESPerUser", Alias: []string{"MaxTRESPU"}, Of: []Kind{QOS}, form: tres,
		qos: "limits.max.tres.per.user", column: "MaxTRESPU",
		Limit: limit(PerUser, Amount, "QOSMax*PerUser", "cpu=QOSMaxCpuPerUserLimit", "node=QOSMaxNodePerUserLimit", "mem=QOSMaxMemoryPerUser")},
	{Name: "MaxTRESPerAccount", Alias: []string{"MaxTRESPA"}, Of: []Kind{QOS}, form: tres,
		qos: "limits.max.tres.per.account", column: "MaxTRESPA",
		Limit: limit(PerAccount, Amount, "Max*PerAccount", "mem=MaxMemoryPerAccount")},
	{Name: "MaxSubmitJobsPerUser", Alias: []string{"MaxSubmitPU", "MaxSubmitJobsPU"}, Of: []Kind{QOS}, form: count,
		qos: "limits.max.jobs.per.user", column: "MaxSubmitPU",
		Limit: &Limit{PerUser, Submitted, "MaxSubmitJobs", word{"QOSMaxSubmitJobPerUserLimit"}}},
	{Name: "MaxSubmitJobsPerAccount", Alias: []string{"MaxSubmitPA", "MaxSubmitJobsPA"}, Of: []Kind{QOS}, form: count,
		qos: "limits.max.jobs.per.account", column: "MaxSubmitPA",
		Limit: &Limit{PerAccount, Submitted, "MaxSubmitJobs", word{"MaxSubmitJobsPerAccount"}}},
	{Name: "Budget", Of: all3, form: money, Local: true,
		Limit: limit(PerGroup, Money, "FedAccountBudget")},
	{Name: "BudgetTRESMins", Of: all3, form: tresOver, Local: true,
		Limit: limit(PerGroup, PeriodMinutes, "@Grp*Minutes", "cpu=@GrpCPUMinutesLimit")},
	{Name: "BudgetWarn", Of: all3, form: count, Local: true},
	{Name: "BudgetSoft", Of: all3, form: count, Local: true},
	{Name: "BudgetEnd", Of: all3, form: count, Local: true},
	{Name: BudgetCounts, Of: all3, form: choice, Local: true},
	{Name: BudgetClose, Of: both, form: names, Local: true},
	{Name: "QOS", Alias: []string{"QosLevel"}, Of: both, form: names, assoc: "qos"},
	{Name: "DefaultQOS", Of: both, assoc: "default.qos"},
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
	return nil, fmt.Errorf("option %q %w for %s and for %s: write it out", name, ErrShort, like[0].Name, like[1].Name)
}

// ErrShort: the beginning of a name could be either of two options.
var ErrShort = errors.New("is short")

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
	case choice:
		if value = strings.ToLower(value); value != CountsAll && value != CountsOwn {
			return bad("all or own")
		}
		return value, nil
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
