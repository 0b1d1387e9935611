// Package sreport prints what the federation's books have in the reports of Slurm's sreport that ask who has used what. Each site is a cluster; sums are of whole
// UTC days. "fed report" has the same, money, and more.
package sreport

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"fsub/cmd/internal/assoc"
	"fsub/cmd/internal/conn"
	"fsub/cmd/internal/option"
	"fsub/cmd/internal/show"
	v1 "fsub/federation/api/v1"
	"fsub/sbatch/getopt"
)

// Main is the command sreport.
func Main(args, env []string, stdout, stderr io.Writer, c *conn.Conn) int {
	return run(args, env, stdout, stderr, c, time.Now())
}

type options struct {
	style assoc.Style
	unit  string
	tres  []string
}

var optionSet = option.NewSet(about, []option.Row[options]{
	{Name: "all_clusters", Short: 'a'}, {Name: "federation"}, {Name: "local"},
	{Name: "noheader", Short: 'n', Help: "no lines above the rows",
		Flag: func(o *options) *bool { return &o.style.NoHeader }},
	{Name: "parsable", Short: 'p', Help: "fields with | behind each",
		Flag: func(o *options) *bool { return &o.style.Parsable }},
	{Name: "parsable2", Short: 'P', Help: "fields with | between them",
		Flag: func(o *options) *bool { return &o.style.Parsable2 }},
	{Name: "quiet", Short: 'Q'}, {Name: "verbose", Short: 'v'},
	{Name: "tres", Short: 'T', Value: "LIST", Help: "cpu, mem, node, billing or gres/gpu, one in a line",
		List: func(o *options) *[]string { return &o.tres }},
	{Name: "", Short: 't', Value: "UNIT", Help: "unit of the sums: Seconds, Minutes (the default) or Hours",
		Text: func(o *options) *string { return &o.unit }},
	{Name: "version", Short: 'V', Help: "show the version of Slurm whose sreport this is", Say: show.Version + "\n"},
	{Name: "help", Short: 'h', Help: "show this help", Tell: true},
	{Name: "usage", Help: "show this help", Tell: true},
})

func run(args, env []string, stdout, stderr io.Writer, c show.Caller, now time.Time) int {
	var o options
	words, ended, err := optionSet.Parse(&o, args, stdout)
	if err == nil && !ended {
		err = o.report(c, words, now, stdout)
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

// report prints the report that words name. Its error is a whole line for stderr.
func (o *options) report(c show.Caller, words []string, now time.Time, stdout io.Writer) error {
	r, rest, err := named(words)
	if err != nil {
		return err
	}
	k, err := readConditions(rest, now)
	if err != nil {
		return err
	}
	u, err := unitOf(o.unit)
	if err != nil {
		return err
	}
	tres := o.tres
	if len(k.tres) > 0 {
		tres = k.tres
	}
	for _, t := range tres {
		if _, ok := amounts[strings.ToLower(t)]; !ok {
			return fmt.Errorf("sreport: error: the books have no sums of %q: want cpu, mem, node, billing or gres/gpu", t)
		}
	}
	columns, unknown := assoc.Columns(k.format(r.columns, len(tres) > 0), fields)
	if unknown != "" {
		return fmt.Errorf(" Unknown field '%s'", unknown)
	}
	rows, err := r.rows(c, k, tres, u)
	if err != nil {
		return fmt.Errorf("sreport: error: %w", err)
	}
	var b strings.Builder
	if line := strings.Repeat("-", 80); !o.style.NoHeader && !o.style.Parsable && !o.style.Parsable2 {
		what := "CPU"
		if len(tres) > 0 {
			what = "TRES"
		}
		const stamp = "2006-01-02T15:04:05"
		fmt.Fprintf(&b, "%s\n%s %s - %s (%d secs)\nUsage reported in %s %s\n%s\n", line, r.title(k.top), k.from.Format(stamp), k.until.Add(-time.Second).Format(stamp),
			int64(k.until.Sub(k.from).Seconds()), what, u.name, line)
	}
	b.WriteString(assoc.Format(o.style, columns, rows))
	_, err = io.WriteString(stdout, b.String())
	return err
}

// kind is one report.
type kind struct {
	words   [2]string // "cluster", "accountutilizationbyuser"
	title   func(top int) string
	by      string // dimensions of the books
	columns string
	order   func(rows []row, top int) []row // nil: as they are made
	sums    bool                            // each account has a row of its own above its users
}

var kinds = []kind{
	{[2]string{"cluster", "accountutilizationbyuser"}, titled("Cluster/Account/User Utilization"), "site,account,user", "cluster,account,login,proper,used,energy", nil, true},
	{[2]string{"cluster", "userutilizationbyaccount"}, titled("Cluster/User/Account Utilization"), "site,user,account", "cluster,login,proper,account,used,energy", nil, false},
	{[2]string{"user", "topusage"}, func(top int) string { return fmt.Sprintf("Top %d Users", top) }, "site,user,account", "cluster,login,proper,account,used,energy", byUse, false},
}

func titled(text string) func(int) string { return func(int) string { return text } }

// named finds the report that the first words name, by the beginnings of its words.
func named(words []string) (kind, []string, error) {
	if len(words) == 0 {
		return kind{}, nil, errors.New("sreport: error: the interactive mode is not there: name a report, as in: sreport cluster AccountUtilizationByUser start=2026-11-01")
	}
	group := strings.ToLower(words[0])
	if !slices.Contains([]string{"cluster", "job", "reservation", "user"}, group) {
		return kind{}, nil, fmt.Errorf("invalid keyword: %s", words[0])
	}
	name := ""
	if len(words) > 1 {
		name = strings.ToLower(words[1])
	}
	for _, r := range kinds {
		if r.words[0] == group && name != "" && strings.HasPrefix(r.words[1], name) {
			return r, words[2:], nil
		}
	}
	return kind{}, nil, fmt.Errorf("sreport: error: the federation's books have no report %q: want cluster AccountUtilizationByUser, cluster UserUtilizationByAccount or user TopUsage; "+
		"for others see: fed report --help, or run sreport at a site", strings.Join(words[:min(2, len(words))], " "))
}

// rows asks the books.
func (r *kind) rows(c show.Caller, k *conditions, tres []string, u unit) ([]row, error) {
	var q show.Query
	q.Add("by", r.by)
	q.Add("from", k.from.Format(time.DateOnly))
	q.Add("until", k.until.Format(time.DateOnly))
	for _, s := range k.sites {
		q.Add("site", s)
	}
	for _, a := range k.accounts {
		q.Add("account", a)
	}
	for _, name := range k.users {
		q.Add("user", name)
	}
	var sums []v1.BookedSum
	if err := show.Get(c, "/fed/v1/books/sums"+q.String(), &sums); err != nil {
		return nil, err
	}
	out := r.group(sums)
	if r.order != nil {
		out = r.order(out, k.top)
	}
	var all []row
	for _, one := range out {
		if len(tres) == 0 {
			one.used = u.text(one.sums["cpu"])
			all = append(all, one)
		}
		for _, t := range tres {
			one.tres, one.used = strings.ToLower(t), u.text(one.sums[strings.ToLower(t)])
			all = append(all, one)
		}
	}
	return all, nil
}

var about = option.About{
	Name:  "sreport",
	Does:  "report who has used what of the federation",
	Usage: []string{"sreport [OPTIONS] REPORT [CONDITION...]"},
	Text: "Reports what the books of the federation have of who has used what. Each site is a cluster. Sums are of whole UTC days, " +
		"of runs that have ended.",
	Words: []getopt.Group{{Title: "Reports and conditions", Options: words}},
	Notes: "fed report has money, GPU hours by type, waiting times and running jobs.",
}

// About describes sreport.
func About() option.About { return optionSet.About() }

var words = []getopt.Described{
	{Value: "cluster AccountUtilizationByUser", Help: "for each site accounts, and below each its users"},
	{Value: "cluster UserUtilizationByAccount", Help: "for each site users, and what each charged to which account"},
	{Value: "user TopUsage", Help: "who has used most"},
	{Value: "Start=DAY End=DAY", Help: "the days, as YYYY-MM-DD; yesterday if nothing is said"},
	{Value: "Accounts= Clusters= Users=", Help: "only what belongs to one of these, with commas"},
	{Value: "Format=LIST", Help: "of Accounts, Cluster, Energy, Login, Proper, TresName and Used, with %WIDTH"},
	{Value: "TopCount=N", Help: "how many rows TopUsage has"},
}
