// Package sim has the commands that run the planner in virtual time: fed sim replays a trace, fed what-if the queue.
package sim

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fsub/cmd/fed/internal/cli"
	"fsub/cmd/fed/internal/config"
	"fsub/federation"
	v1 "fsub/federation/api/v1"
	"fsub/federation/fairshare"
	"fsub/federation/place"
	"fsub/federation/plain"
	"fsub/federation/replay"
	"fsub/federation/replay/chart"
	"fsub/federation/replay/trace"
	"fsub/federation/whatif"
	"fsub/slurm/wire"
)

// simulation is what "fed sim" is asked for.
type simulation struct {
	c         cli.Connection
	sites     []string
	orders    []string
	config    string
	policy    []string
	picture   string
	history   bool
	since     string
	known     bool
	seed      uint64
	gap       time.Duration
	shape     trace.Shape
	byAccount bool
	everyJob  string
	local     float64
}

func NewCommand() *cobra.Command {
	var s simulation
	cmd := &cobra.Command{
		Use:   "sim TRACE | --history",
		Short: "Replay a trace, or the daemon's own history, through the planner in virtual time",
		Long: `Replays jobs through the daemon's planner in virtual time and prints what became of them: waits, completion, cost, utilisation, fairness.
TRACE is a file in the Standard Workload Format, what "sacct -a -X -P" prints, or CSV with a header; it may be compressed with gzip, and is - for standard input.
The planner does not know how long jobs run: it learns from those that have ended, as in the daemon.

The fleet is that of the daemon as it is, or what --site says: ` + replay.SiteSyntax,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return s.run(cmd, args) },
	}
	s.c.Flags(cmd)
	f := cmd.Flags()
	f.StringArrayVar(&s.sites, "site", nil, "a site of like nodes, as rhein=16x8:h100,price=2.10; may be repeated. Without any: the daemon's sites")
	f.StringSliceVar(&s.orders, "order", []string{string(replay.FairShare)}, "fairshare, fifo or short (expected to take little first); several are compared")
	f.StringVar(&s.config, "config", "", "take the policy and the weights of fairshare from this configuration of a daemon")
	f.StringArrayVar(&s.policy, "policy", nil, "KEY=VALUE of the configuration's section policy, as wait_gpu_hour=3; may be repeated")
	f.StringVar(&s.picture, "picture", "", "draw into this file: the name's .svg and .png are written")
	f.BoolVar(&s.history, "history", false, "the trace is what the daemon's jobs did")
	f.StringVar(&s.since, "since", "", "with --history: jobs since this UTC day, YYYY-MM-DD; without it, of the last 30 days")
	f.BoolVar(&s.known, "known", false, "the planner knows how long each job runs: what perfect forecasts would bring")
	f.Uint64Var(&s.seed, "seed", 0, "decides between places that cost the same")
	f.DurationVar(&s.gap, "gap", time.Second, "virtual time between two plans, at least")
	f.IntVar(&s.shape.Max, "max", 0, "maximum number of jobs to read")
	f.IntVar(&s.shape.GPUsPerNode, "gpus-per-node", 0, "of jobs for which the trace does not say how many nodes they had; 0: 8")
	f.BoolVar(&s.shape.NoLimits, "no-limits", false, "leave out the trace's time limits")
	f.BoolVar(&s.shape.Partitions, "partitions", false, "jobs keep the trace's partitions; else any will do")
	f.BoolVar(&s.byAccount, "accounts", false, "print each account's figures too")
	f.Float64Var(&s.local, "local", 0, "share of the jobs, as 0.5, that users submit at sites themselves: they stand in the sites' own queues, and ours beside them")
	f.StringVar(&s.everyJob, "jobs", "", "write what became of each job into this CSV")
	return cmd
}

func (s *simulation) run(cmd *cobra.Command, args []string) error {
	if err := s.check(args); err != nil {
		return err
	}
	jobs, left, err := s.read(cmd, args)
	if err != nil {
		return err
	}
	if left > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "jobs left out that never ran: %d\n", left)
	}
	sites, err := s.fleet(cmd.Context())
	if err != nil {
		return err
	}
	policy, priority := place.DefaultPolicy(), fairshare.Default()
	if s.config != "" {
		c, err := config.Read(s.config)
		if err != nil {
			return err
		}
		policy, priority = c.PlacementPolicy(), c.Priority.FairShare()
	}
	for _, text := range s.policy {
		if err := whatif.SetPolicy(&policy, text); err != nil {
			return err
		}
	}
	jobs, local, _ := replay.AtSites(jobs, sites, s.local, int64(s.seed))
	var all []chart.Replay
	for _, order := range s.orders {
		cfg := replay.Config{Sites: sites, Jobs: jobs, Local: local, Policy: policy, Order: replay.Order(order), Priority: &priority, Seed: s.seed, Gap: s.gap, Oracle: s.known}
		if err := cmd.Context().Err(); err != nil {
			return err
		}
		if plain.Terminal(cmd.ErrOrStderr()) {
			cfg.Progress = func(now time.Time, ended int) {
				fmt.Fprintf(cmd.ErrOrStderr(), "\r%s: %s, %d of %d jobs have ended ", order, now.Format(time.DateOnly), ended, len(jobs))
			}
		}
		r, err := replay.Run(cfg)
		if err != nil {
			return err
		}
		if cfg.Progress != nil {
			fmt.Fprint(cmd.ErrOrStderr(), "\r\x1b[K")
		}
		all = append(all, chart.Replay{Name: order, Result: r, Summary: r.Summary()})
	}
	if err := s.print(cmd.OutOrStdout(), all); err != nil {
		return err
	}
	if s.everyJob != "" {
		if err := writeOutcomes(s.everyJob, all); err != nil {
			return err
		}
	}
	if s.picture != "" {
		names, err := chart.Write(strings.TrimSuffix(strings.TrimSuffix(s.picture, ".svg"), ".png"), s.title(args), all)
		if err != nil {
			return err
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "drawn: %s\n", strings.Join(names, ", "))
	}
	return nil
}

const standardInput = "standard input"

// title says what was replayed, and where.
func (s *simulation) title(args []string) string {
	what, where := "the daemon's jobs", "the daemon's sites"
	switch {
	case s.history:
	case args[0] == "-":
		what = standardInput
	default:
		what = filepath.Base(args[0])
	}
	if len(s.sites) > 0 {
		where = strings.Join(s.sites, "  ")
	}
	return what + " on " + where
}

// check says what is wrong with the options before a replay begins: it may take hours.
func (s *simulation) check(args []string) error {
	switch {
	case s.history == (len(args) == 1):
		return errors.New("want a TRACE or --history, and not both")
	case s.since != "" && !s.history:
		return errors.New("--since is for --history; of a trace all jobs are read, or the first --max")
	case s.local < 0 || s.local >= 1:
		return fmt.Errorf("invalid --local %g: want a share of the jobs, less than 1", s.local)
	case s.gap < 0:
		return fmt.Errorf("invalid --gap %s: want a duration, as 1s", s.gap)
	case s.shape.Max < 0:
		return fmt.Errorf("invalid --max %d: want a number of jobs, or 0 for all", s.shape.Max)
	case s.shape.GPUsPerNode < 0:
		return fmt.Errorf("invalid --gpus-per-node %d: want a number, or 0 for 8", s.shape.GPUsPerNode)
	case len(s.orders) == 0:
		return fmt.Errorf("no --order: want one or several of %v", replay.Orders)
	}
	for _, order := range s.orders {
		if !slices.Contains(replay.Orders, replay.Order(order)) {
			return fmt.Errorf("unknown order %q: want one of %v", order, replay.Orders)
		}
	}
	for _, name := range []string{s.everyJob, s.picture} {
		if err := canWrite(name); err != nil {
			return err
		}
	}
	return nil
}

// canWrite reports why a file cannot be written later, "" if there is to be none.
func canWrite(name string) error {
	if name == "" {
		return nil
	}
	dir := filepath.Dir(name)
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		var f *os.File
		if f, err = os.CreateTemp(dir, ".fed-sim-*"); err == nil {
			f.Close()
			err = os.Remove(f.Name())
		}
	}
	if e := (*os.PathError)(nil); errors.As(err, &e) {
		err = e.Err
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", name, err)
	}
	return nil
}

func (s *simulation) read(cmd *cobra.Command, args []string) ([]replay.Job, int, error) {
	switch {
	case s.history:
	case args[0] == "-":
		return trace.From(cmd.InOrStdin(), standardInput, s.shape)
	default:
		return trace.Read(args[0], s.shape)
	}
	since := time.Now().UTC().AddDate(0, 0, -30)
	if s.since != "" {
		var err error
		if since, err = time.Parse(time.DateOnly, s.since); err != nil {
			return nil, 0, fmt.Errorf("invalid --since %q: want YYYY-MM-DD", s.since)
		}
	}
	var out v1.AccountingResponse
	q := url.Values{"start_time": {strconv.FormatInt(since.Unix(), 10)}, "skip_steps": {"true"}}
	if err := s.c.Client().Do(cmd.Context(), "GET", "/fed/v1/accounting?"+q.Encode(), nil, &out); err != nil {
		return nil, 0, err
	}
	jobs, left, err := trace.From(strings.NewReader(asSacct(out.Jobs)), "the daemon's history", s.shape)
	if errors.Is(err, replay.ErrNoJobs) {
		err = fmt.Errorf("no job has run since %s; see --since", since.Format(time.DateOnly))
	}
	return jobs, left, err
}

// asSacct writes jobs as sacct does, as far as a replay needs.
func asSacct(jobs []v1.AccountingJob) string {
	var b strings.Builder
	b.WriteString("JobIDRaw|JobName|User|Account|Partition|QOS|Submit|ElapsedRaw|TimelimitRaw|NNodes|AllocTRES\n")
	clean := strings.NewReplacer("|", " ", "\n", " ")
	for i := range jobs {
		j := &jobs[i]
		limit := ""
		if j.Time.Limit.Set && !j.Time.Limit.Infinite {
			limit = fmt.Sprint(int64(j.Time.Limit.Number))
		}
		fmt.Fprintf(&b, "%d|%s|%s|%s|%s|%s|%d|%d|%s|%d|%s\n", j.JobID, clean.Replace(j.Name), j.User, j.Account, j.Partition, j.QOS, j.Time.Submission, j.Time.Elapsed, limit,
			j.AllocationNodes, tresText(j.TRES.Allocated))
	}
	return b.String()
}

func tresText(all []wire.TRES) string {
	var parts []string
	for _, t := range all {
		name := t.Type
		if t.Name != "" {
			name += "/" + t.Name
		}
		parts = append(parts, fmt.Sprintf("%s=%d", name, t.Count))
	}
	return strings.Join(parts, ",")
}

// fleet is the sites that are simulated.
func (s *simulation) fleet(ctx context.Context) (sites []*federation.Site, err error) {
	for _, text := range s.sites {
		site, err := replay.ParseSite(text)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(sites, func(o *federation.Site) bool { return o.Name == site.Name }) {
			return nil, fmt.Errorf("--site %s is given twice: give each site its own name", site.Name)
		}
		sites = append(sites, site)
	}
	if len(sites) > 0 {
		return sites, nil
	}
	nodes, err := s.c.Client().Nodes(ctx, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("the daemon's sites: %w; name some by --site %s", err, replay.SiteSyntax)
	}
	if len(nodes) == 0 {
		return nil, fmt.Errorf("the daemon has no site with nodes: name some by --site %s", replay.SiteSyntax)
	}
	return replay.SitesOf(nodes), nil
}
