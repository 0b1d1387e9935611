package main

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
	"github.com/spf13/cobra"

	"fsub/accounting"
	"fsub/cloud/container"
	"fsub/federation"
	"fsub/federation/place"
)

// defaultConfig is where the configuration is looked for if no --config says otherwise.
const defaultConfig = "/etc/fsub/fed.yaml"

// Config is the one configuration file. Every key has a default that works on one machine; a key that is not here is an
// error.
type Config struct {
	Federation string        `yaml:"federation"`
	Socket     string        `yaml:"socket"`
	StateDir   string        `yaml:"state_dir"`
	Metrics    string        `yaml:"metrics,omitempty"` // HOST:PORT for /metrics over TCP; "" is none
	Operators  []string      `yaml:"operators,omitempty"`
	JobIDs     IDRange       `yaml:"job_ids"`
	MinJobAge  time.Duration `yaml:"min_job_age"` // how long squeue -t all shows ended jobs
	MaxRequeue int           `yaml:"max_requeue"`
	MaxArray   int           `yaml:"max_array_size"`       // one more than the highest task index, as MaxArraySize in slurm.conf
	KeepEnded  time.Duration `yaml:"keep_ended,omitempty"` // how long ended jobs stay in the books; 0: for ever
	Policy     Policy        `yaml:"policy"`
	Blobs      Blobs         `yaml:"blobs,omitempty"`
	Remote     Remote        `yaml:"remote,omitempty"`
	Agents     Agents        `yaml:"agents,omitempty"`
	Sites      []SiteConfig  `yaml:"sites"`
}

// IDRange is the range that federated job IDs come from. Sites keep their own counters below it (MaxJobId).
type IDRange struct {
	First federation.JobID `yaml:"first"`
	Last  federation.JobID `yaml:"last"`
}

// Policy is how placement weighs money against time; see place.Policy for the meaning of each.
type Policy struct {
	RunFraction float64       `yaml:"run_fraction"`
	WaitJobHour float64       `yaml:"wait_job_hour"` // dollars
	WaitGPUHour float64       `yaml:"wait_gpu_hour"` // dollars
	Backlog     int           `yaml:"backlog"`
	BindAhead   time.Duration `yaml:"bind_ahead"`
	LostWork    time.Duration `yaml:"lost_work"` // at most, when a rented machine is taken back
}

// SiteConfig is one site: a Slurm cluster, or a pool of machines that are rented.
type SiteConfig struct {
	Name           federation.SiteName `yaml:"name"`
	Kind           string              `yaml:"kind,omitempty"` // slurm if not set; local, aws
	URL            string              `yaml:"url,omitempty"`  // http://HOST:PORT or unix:/PATH of slurmrestd
	User           string              `yaml:"user,omitempty"` // whose token it is; SlurmUser, for pinned job IDs
	Mode           federation.Mode     `yaml:"mode,omitempty"` // pinned or mapped; not set: what the token is found to allow
	KeyFile        string              `yaml:"key_file,omitempty"`
	TokenFile      string              `yaml:"token_file,omitempty"`
	Prices         accounting.Prices   `yaml:"prices,omitempty"` // dollars per hour of one unit: gres/gpu:h100, gres/gpu, cpu, mem (GiB), node
	Speed          map[string]float64  `yaml:"speed,omitempty"`  // by GPU type: how fast against 1
	Backlog        int                 `yaml:"backlog,omitempty"`
	Partition      string              `yaml:"default_partition,omitempty"` // of jobs that name none; Slurm 24.11 does not tell it
	Topology       string              `yaml:"topology_file,omitempty"`     // topology.conf, or what "scontrol show topology" prints
	NoAssociations bool                `yaml:"no_associations,omitempty"`   // the site does not enforce accounts
	CallsPerSecond float64             `yaml:"calls_per_second,omitempty"`
	Timeout        time.Duration       `yaml:"timeout,omitempty"`
	Users          map[string]SiteUser `yaml:"users,omitempty"` // by name here: who they are at the site, where that differs
	// Directories of the submit hosts that the site's nodes have too. No key: all of them; "none" (or an empty list): none.
	FileSystems Directories `yaml:"filesystems,omitempty"`
	// Where jobs work whose files are carried to the site: a directory of its nodes, seen by all of them if jobs of several nodes are to find
	// their files everywhere. /tmp if not set.
	Scratch string `yaml:"scratch,omitempty"`
	// Directory of the site's nodes with our commands (fsub-remote, or fsub where they see the daemon's socket, by the names of Slurm's).
	// Jobs find it first in PATH. Not set: jobs there have the site's own commands.
	Commands string `yaml:"commands,omitempty"`
	// Where those commands reach the daemon: HOST:PORT of its remote door, or the path of its socket where the nodes see that. Not set: the
	// address of remote, else the socket.
	Daemon        string         `yaml:"daemon,omitempty"`
	PluginOptions []PluginOption `yaml:"plugin_options,omitempty"` // what the site's plugins add to sbatch's options

	// Of sites that are no Slurm clusters.
	Pools []PoolConfig `yaml:"pools,omitempty"` // its partitions; one named main, with all that is offered, if not set
	Local *LocalConfig `yaml:"local,omitempty"`
	AWS   *AWSConfig   `yaml:"aws,omitempty"`
	// What makes containers on its machines, for jobs that ask for one as with pyxis: enroot, podman (with crun), any, none. Not set: on this machine what it has; on others none.
	Containers container.Engine `yaml:"containers,omitempty"`
	// Timing is for those who know why.
	Timing *TimingConfig `yaml:"timing,omitempty"`
}

func defaults() Config {
	p := place.DefaultPolicy()
	return Config{
		Federation: "fed",
		Socket:     "/run/fsub/fsub.sock",
		StateDir:   "/var/lib/fsub",
		JobIDs:     IDRange{federation.FirstJobID, federation.LastJobID},
		MinJobAge:  5 * time.Minute,
		MaxRequeue: 5,
		MaxArray:   1_000_001,
		Blobs:      defaultBlobs(),
		Agents:     defaultAgents(),
		Policy: Policy{RunFraction: p.RunFraction, WaitJobHour: float64(p.WaitJobHour), WaitGPUHour: float64(p.WaitGPUHour),
			Backlog: p.Backlog, BindAhead: p.BindAhead, LostWork: p.LostWork},
	}
}

// readConfig reads and checks a configuration file. Errors name the file, and the line and column where there are some.
func readConfig(path string) (Config, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return Config{}, fmt.Errorf("no configuration file %s: write one (see README.md) or name another with --config", path)
	}
	if err != nil {
		return Config{}, fmt.Errorf("read the configuration: %w", err)
	}
	c, err := parseConfig(text)
	if err != nil {
		return Config{}, fmt.Errorf("%s: %w", path, err)
	}
	c.resolve(filepath.Dir(path))
	return c, nil
}

func parseConfig(text []byte) (Config, error) {
	c := defaults()
	if err := yaml.UnmarshalWithOptions(text, &c, yaml.DisallowUnknownField()); err != nil && !errors.Is(err, io.EOF) {
		message := strings.TrimRight(yaml.FormatError(err, false, true), "\n")
		return c, errors.New(message + alikeKeys(message))
	}
	for i := range c.Sites {
		s := &c.Sites[i]
		if s.Kind == kindSlurm {
			s.Kind = ""
		}
		if s.rented() {
			continue
		}
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
	return c, c.check()
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
	abs(&c.Remote.Cert)
	abs(&c.Remote.Key)
	abs(&c.Agents.Binary)
	for i := range c.Sites {
		abs(&c.Sites[i].KeyFile)
		abs(&c.Sites[i].TokenFile)
		abs(&c.Sites[i].Topology)
		if a := c.Sites[i].AWS; a != nil {
			abs(&a.CredentialsFile)
		}
	}
}

var siteName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,39}$`)

func (c *Config) check() error {
	if !siteName.MatchString(c.Federation) {
		return fmt.Errorf("federation: %q is no name: letters, digits, '.', '_' and '-', at most 40", c.Federation)
	}
	if c.JobIDs.First < 1 || c.JobIDs.First > c.JobIDs.Last || c.JobIDs.Last > federation.LastJobID {
		return fmt.Errorf("job_ids: %d to %d is no range within 1 to %d (Slurm's REST API refuses higher IDs)", c.JobIDs.First, c.JobIDs.Last, federation.LastJobID)
	}
	if c.MinJobAge < 0 || c.MaxRequeue < 0 {
		return errors.New("min_job_age and max_requeue are not negative")
	}
	if c.MaxArray < 1 || c.MaxArray > federation.MaxArrayIndex+1 || c.KeepEnded < 0 || c.KeepEnded > 0 && c.KeepEnded < c.MinJobAge {
		return fmt.Errorf("max_array_size is from 1 to %d; keep_ended is 0 or not less than min_job_age", federation.MaxArrayIndex+1)
	}
	if err := errors.Join(c.Policy.check(), c.Blobs.check(), c.Remote.check(), c.Agents.check()); err != nil {
		return err
	}
	seen := map[federation.SiteName]bool{}
	for i, s := range c.Sites {
		if !siteName.MatchString(string(s.Name)) {
			return fmt.Errorf("sites[%d]: name: %q is no name: letters, digits, '.', '_' and '-', at most 40", i, s.Name)
		}
		if seen[s.Name] {
			return fmt.Errorf("sites[%d]: there are two sites named %s", i, s.Name)
		}
		seen[s.Name] = true
		check := s.check
		if s.rented() {
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

func (s *SiteConfig) check() error {
	switch {
	case s.Kind != "":
		return fmt.Errorf("kind: %q is none of slurm, local, aws", s.Kind)
	case len(s.Pools) > 0 || s.Local != nil || s.AWS != nil || s.Timing != nil:
		return errors.New("pools, timing, local and aws are for sites of the kinds local and aws")
	case s.URL == "":
		return errors.New("url is missing: http://HOST:PORT or unix:/PATH of its slurmrestd")
	case s.KeyFile == "" && s.TokenFile == "":
		return errors.New("key_file or token_file is missing: the key that its slurmctld checks tokens with, or a token")
	case s.KeyFile != "" && s.TokenFile != "":
		return errors.New("key_file and token_file exclude each other")
	case s.Commands != "" && !filepath.IsAbs(s.Commands):
		return fmt.Errorf("commands: %q is no absolute path on the site's nodes", s.Commands)
	case s.Daemon != "" && s.Commands == "":
		return errors.New("daemon: this is for the commands in jobs: set commands too")
	case s.Mode != "" && s.Mode != federation.Pinned && s.Mode != federation.Mapped:
		return fmt.Errorf("mode: %q is neither pinned (jobs run under their federated IDs) nor mapped (under IDs of the site's own)", s.Mode)
	}
	return nil
}

// checkCommon checks the keys that sites of all kinds have.
func (s *SiteConfig) checkCommon() error {
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
	if err := s.checkUsers(); err != nil {
		return err
	}
	return s.checkOffered()
}

// number reports whether f can be reckoned with: .nan and .inf, which YAML knows, would spoil every sum of dollars.
func number(f float64) bool { return f >= 0 && !math.IsInf(f, 1) }

func (p *Policy) check() error {
	for name, f := range map[string]float64{"run_fraction": p.RunFraction, "wait_job_hour": p.WaitJobHour, "wait_gpu_hour": p.WaitGPUHour} {
		if !number(f) {
			return fmt.Errorf("policy: %s is %v: it must be a number and not negative", name, f)
		}
	}
	if p.Backlog < 0 || p.BindAhead < 0 || p.LostWork < 0 {
		return errors.New("policy: backlog, bind_ahead and lost_work are not negative")
	}
	return nil
}

func newConfigCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "The configuration file"}
	var file configFlag
	check := &cobra.Command{
		Use:   "check",
		Short: "Check the configuration and print what was understood, with all defaults",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := file.read()
			if err != nil {
				return err
			}
			for _, s := range c.Sites {
				if s.rented() {
					continue
				}
				if _, err := openSite(c, s, nil); err != nil {
					return err
				}
			}
			return yaml.NewEncoder(cmd.OutOrStdout(), yaml.IndentSequence(true)).Encode(c)
		},
	}
	file.add(check)
	cmd.AddCommand(check)
	return cmd
}
