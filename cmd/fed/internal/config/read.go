package config

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"fsub/cloud/clouds"
	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/place"
)

func Default() Config {
	p := place.DefaultPolicy()
	return Config{
		Federation:      "fed",
		Socket:          "/run/fsub/fsub.sock",
		StateDir:        "/var/lib/fsub",
		JobIDs:          IDRange{federation.FirstJobID, federation.LastJobID},
		MinJobAge:       5 * time.Minute,
		MaxRequeue:      5,
		MaxArray:        1_000_001,
		AskAbove:        20,
		KeepEnded:       90 * 24 * time.Hour,
		MetricsAccounts: 20,
		Limits:          defaultLimits(),
		Blobs:           defaultBlobs(),
		Agents:          defaultAgents(),
		Books:           Books{History: 31 * 24 * time.Hour},
		Priority:        defaultPriority(),
		Moves:           defaultMoves(),
		Policy: Policy{RunFraction: p.RunFraction, WaitJobHour: float64(p.WaitJobHour), WaitGPUHour: float64(p.WaitGPUHour),
			Backlog: p.Backlog, BindAhead: p.BindAhead, MoveMargin: float64(p.MoveMargin), MoveAfter: 10 * time.Minute, LostWork: p.LostWork},
	}
}

// Read reads and checks a configuration file. Errors name the file, and the line and column
// where there are some.
func Read(path string) (Config, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return Config{}, fmt.Errorf("no configuration file %s: write one (see docs/configuration.md) or name another with --config", path)
	}
	if err != nil {
		return Config{}, fmt.Errorf("read the configuration: %w", err)
	}
	c, err := Parse(text)
	if err != nil {
		return Config{}, fmt.Errorf("%s: %w", path, err)
	}
	c.resolve(filepath.Dir(path))
	return c, nil
}

func Parse(text []byte) (Config, error) {
	c := Default()
	if err := yaml.UnmarshalWithOptions(text, &c, yaml.DisallowUnknownField()); err != nil && !errors.Is(err, io.EOF) {
		return c, yamlError(err)
	}
	for i := range c.Sites {
		s := &c.Sites[i]
		if s.Kind == kindSlurm {
			s.Kind = ""
		}
		if s.Rented() {
			continue
		}
		s.setDefaults()
	}
	return c, c.check()
}

// setDefaults fills in what the description of a Slurm site leaves out.
func (s *Site) setDefaults() {
	if s.User == "" {
		s.User = "slurm"
	}
	if s.CallsPerSecond == 0 {
		s.CallsPerSecond = 200
	}
	if s.Timeout == 0 {
		s.Timeout = 10 * time.Second
	}
}

// resolve makes file names relative to the configuration file.
func (c *Config) resolve(dir string) {
	abs := func(p *string) {
		if *p != "" && !filepath.IsAbs(*p) {
			*p = filepath.Join(dir, *p)
		}
	}
	abs(&c.Socket)
	abs(&c.StateDir)
	abs(&c.StorePasswordFile)
	abs(&c.Reports.Directory)
	abs(&c.Reports.Mail.PasswordFile)
	abs(&c.Mail.PasswordFile)
	abs(&c.Remote.Cert)
	abs(&c.Remote.Key)
	abs(&c.Web.Cert)
	abs(&c.Web.Key)
	abs(&c.Web.Proxy.Socket)
	abs(&c.Daemons.SecretFile)
	abs(&c.Traces.HeadersFile)
	abs(&c.Traces.CAFile)
	abs(&c.Agents.Binary)
	abs(&c.PriceLists.GoogleKeyFile)
	for i := range c.Sites {
		abs(&c.Sites[i].KeyFile)
		abs(&c.Sites[i].TokenFile)
		abs(&c.Sites[i].CAFile)
		abs(&c.Sites[i].ClientCert)
		abs(&c.Sites[i].ClientKey)
		abs(&c.Sites[i].Topology)
		for _, name := range c.Sites[i].Set() {
			for _, p := range c.Sites[i].Of(name).Paths() {
				abs(p)
			}
		}
	}
}

var NameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,39}$`)

func (c *Config) check() error {
	if !NameForm.MatchString(c.Federation) {
		return fmt.Errorf("invalid federation %q: want at most 40 letters, digits, '.', '_' and '-'", c.Federation)
	}
	if c.JobIDs.First < 1 || c.JobIDs.First > c.JobIDs.Last || c.JobIDs.Last > federation.LastJobID {
		return fmt.Errorf("job_ids: invalid range %d to %d: want one within 1 to %d (Slurm's REST API refuses higher IDs)", c.JobIDs.First, c.JobIDs.Last, federation.LastJobID)
	}
	if _, err := ParseLevel("log_level", c.LogLevel); err != nil {
		return err
	}
	if c.Store != "" && !IsPostgres(c.Store) {
		return fmt.Errorf("invalid store %q: want postgres://USER@HOST/DATABASE, or nothing for SQLite in state_dir", c.Store)
	}
	if c.Store == "" && (c.StorePasswordFile != "" || c.StoreUnsafe) {
		return errors.New("store_password_file and store_unsafe are of a PostgreSQL: set store too")
	}
	if c.MinJobAge < 0 || c.MaxRequeue < 0 {
		return errors.New("min_job_age and max_requeue must not be negative")
	}
	if c.Books.History < 0 {
		return fmt.Errorf("books: invalid history %v: want how far back to read, such as 744h", c.Books.History)
	}
	if c.MaxArray < 1 || c.MaxArray > federation.MaxArrayIndex+1 || c.KeepEnded < 0 || c.KeepEnded > 0 && c.KeepEnded < c.MinJobAge {
		return fmt.Errorf("max_array_size is from 1 to %d; keep_ended is 0 or not less than min_job_age", federation.MaxArrayIndex+1)
	}
	if c.KeepAudit < 0 || c.KeepEvents < 0 || c.KeepHistory < 0 || c.AskAbove < 1 {
		return errors.New("keep_audit, keep_events and keep_history must not be negative; ask_above must be at least 1")
	}
	if _, err := hostPort(c.Metrics); c.Metrics != "" && err != nil {
		return fmt.Errorf("metrics: invalid address %q: want HOST:PORT, such as 127.0.0.1:9999", c.Metrics)
	}
	if c.MetricsAccounts < 0 {
		return fmt.Errorf("metrics_accounts: invalid number %d: want how many accounts /metrics shows at most, such as 20", c.MetricsAccounts)
	}
	if err := c.Priority.check(); err != nil {
		return err
	}
	if err := errors.Join(c.Limits.check(), c.Policy.check(), c.Moves.check(), c.Blobs.check(), c.Remote.check(), c.checkCallers(), c.OIDC.check(c), c.Web.check(&c.OIDC), c.Traces.check(), c.Daemons.check(c), c.Agents.check(), c.Health.check(), c.PriceLists.Check(c.Lists()), c.Power.check(), c.Mail.check("mail"), c.Webhooks.check(), c.Reports.Mail.check("reports: mail")); err != nil {
		return err
	}
	seen := map[federation.SiteName]bool{}
	urls := map[string]federation.SiteName{}
	for i, s := range c.Sites {
		if !NameForm.MatchString(string(s.Name)) {
			return fmt.Errorf("sites[%d]: invalid name %q: want at most 40 letters, digits, '.', '_' and '-'", i, s.Name)
		}
		if seen[s.Name] {
			return fmt.Errorf("sites[%d]: there are two sites named %s", i, s.Name)
		}
		seen[s.Name] = true
		if url := strings.ToLower(strings.TrimRight(s.URL, "/")); url != "" && !s.Rented() {
			if other := urls[url]; other != "" {
				return fmt.Errorf("sites %s and %s have the same url %s: a cluster is one site", other, s.Name, s.URL)
			}
			urls[url] = s.Name
		}
		check := s.check
		if s.Rented() {
			check = func() error { return s.checkRented(&c.Agents) }
		}
		err := check()
		if err == nil {
			err = s.checkCommon()
		}
		if err != nil {
			return fmt.Errorf("site %s: %w", s.Name, err)
		}
		if s.Daemon != "" && !filepath.IsAbs(s.Daemon) && c.Remote.Listen == "" {
			return fmt.Errorf("site %s: daemon: %q is neither the path of a socket nor, without remote: listen, an address where the daemon listens", s.Name, s.Daemon)
		}
	}
	return nil
}

func (s *Site) check() error {
	switch {
	case s.Kind != "":
		return fmt.Errorf("invalid kind %q: want %s, %s%s", s.Kind, kindSlurm, kindNames(" or "), clouds.Without)
	case len(s.Pools) > 0 || s.Timing != nil || s.Terms != nil || len(s.Set()) > 0:
		return fmt.Errorf("pools, timing, terms, %[1]s are for sites of the kinds %[1]s", kindNames(" and "))
	case s.URL == "":
		return errors.New("url is missing: https://HOST:PORT, http://HOST:PORT or unix:/PATH of its slurmrestd")
	case s.KeyFile == "" && s.TokenFile == "" && len(s.TokenCommand) == 0:
		return errors.New("key_file, token_file or token_command is missing: the key that its slurmctld checks tokens with, a token, or what makes one")
	case s.KeyFile != "" && s.TokenFile != "" || len(s.TokenCommand) > 0 && s.KeyFile+s.TokenFile != "":
		return errors.New("key_file, token_file and token_command exclude each other")
	case strings.Contains(strings.Join(s.TokenCommand, " "), "%u") && (s.User == "" || s.Mode == federation.Pinned):
		return errors.New("token_command makes a token for each user (%u): name in user who reads for all, and do not set mode: pinned")
	case s.Commands != "" && !filepath.IsAbs(s.Commands):
		return fmt.Errorf("commands: invalid path %q: want an absolute path on the site's nodes", s.Commands)
	case s.Daemon != "" && s.Commands == "":
		return errors.New("daemon: this is for the commands in jobs: set commands too")
	case s.Mode != "" && s.Mode != federation.Pinned && s.Mode != federation.Mapped:
		return fmt.Errorf("invalid mode %q: want pinned (jobs run under their federated IDs) or mapped (under IDs of the site's own)", s.Mode)
	}
	return nil
}

// checkCommon checks the keys that sites of all kinds have.
func (s *Site) checkCommon() error {
	for tres, p := range s.Prices {
		if !number(p) {
			return fmt.Errorf("prices: %s costs %v: a price is a number and not negative", tres, p)
		}
	}
	for gpu, v := range s.Speed {
		if !number(v) || v == 0 {
			return fmt.Errorf("speed: %s is %v: a speed is a positive number", gpu, v)
		}
	}
	if !number(s.CallsPerSecond) || s.Timeout < 0 || s.Backlog < 0 {
		return errors.New("calls_per_second, timeout and backlog are positive numbers")
	}
	for account, n := range s.AccountBacklog {
		if n < 0 {
			return fmt.Errorf("account_backlog: %s: %d: it must not be negative; 0 lets none of its jobs wait there", account, n)
		}
	}
	switch s.Preempt {
	case "", decision.PreemptByUs, decision.PreemptBySite, decision.PreemptByNone:
	default:
		return fmt.Errorf("preempt: %q: want federation, site or off", s.Preempt)
	}
	if s.Promises != "" && s.Promises != PromisesReservation && s.Promises != "off" {
		return fmt.Errorf("promises: %q: want reservation or off", s.Promises)
	}
	if s.Promises == PromisesReservation && s.Rented() {
		return errors.New("promises: reservation: machines that are rented have no reservations of Slurm's: leave it out")
	}
	if err := s.checkUsers(); err != nil {
		return err
	}
	return s.checkOffered()
}

// number reports whether f can be reckoned with: .nan and .inf, which YAML knows, would spoil every
// sum of dollars.
func number(f float64) bool { return f >= 0 && !math.IsInf(f, 1) }

func (p *Policy) check() error {
	for name, f := range map[string]float64{"run_fraction": p.RunFraction, "wait_job_hour": p.WaitJobHour, "wait_gpu_hour": p.WaitGPUHour} {
		if !number(f) {
			return fmt.Errorf("policy: %s is %v: it must be a number and not negative", name, f)
		}
	}
	if p.RunFraction == 0 {
		return errors.New("policy: run_fraction is 0: jobs that run for no time cost nothing anywhere; it must be more than 0")
	}
	for qos, f := range p.WaitQOS {
		if !number(f) {
			return fmt.Errorf("policy: wait_qos: %s is %v: it must be a number and not negative", qos, f)
		}
	}
	if p.MoveMargin != -1 && !number(p.MoveMargin) {
		return fmt.Errorf("policy: move_margin is %v: it must be a number of dollars, or -1 so that no job is moved", p.MoveMargin)
	}
	if p.MoveAfter <= 0 {
		return fmt.Errorf("policy: move_after is %v: it must be a positive duration; move_margin: -1 keeps all jobs where they are", p.MoveAfter)
	}
	if p.Backlog < 0 || p.BindAhead < 0 || p.LostWork < 0 {
		return errors.New("policy: backlog, bind_ahead and lost_work must not be negative")
	}
	return nil
}
