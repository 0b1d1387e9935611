package health

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fsub/cmd/fed/internal/cli"
	"fsub/cmd/fed/internal/config"
	"fsub/federation"
	v1 "fsub/federation/api/v1"
	"fsub/federation/health"
	"fsub/federation/reasons"
	"fsub/slurm/hostlist"
)

// seenLine is one line of a file that rules are tried on: the end of a job, or a finding of a health check.
type seenLine struct {
	Time   time.Time        `json:"time"`
	Job    federation.JobID `json:"job"`
	User   string           `json:"user"`
	Name   string           `json:"name"`
	Nodes  string           `json:"nodes"` // hostlist
	State  federation.State `json:"state"`
	Reason reasons.Reason   `json:"reason"`
	Exit   string           `json:"exit"` // as sacct has it: CODE:SIGNAL
	Ran    string           `json:"ran"`  // 2s, 5m
	Text   string           `json:"text"`
	Check  health.Code      `json:"check"` // of a finding
	Device string           `json:"device"`
}

func newTestCommand() *cobra.Command {
	var file config.Flag
	var nodes int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "test FILE",
		Short: "Say what the rules would do, had they seen what a file tells",
		Long: `Say what the rules of the configuration would do, had they seen what FILE tells ("-": standard input). Nothing is done, and no daemon is asked.
Each line is a JSON object, the end of a job or a finding of a health check:

  {"time":"2026-01-01T10:00:00Z","job":1,"user":"alice","name":"train","nodes":"n1","state":"FAILED","exit":"1:0","ran":"2s"}
  {"time":"2026-01-01T10:01:00Z","nodes":"n2","check":"check-gpu","text":"Xid 79"}
  {"time":"2026-01-01T10:02:00Z","nodes":"n[3-8]","check":"check-link","device":"mlx5_3:1","text":"port 1 of mlx5_3 is DOWN"}`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			rules := health.Rules()
			if cmd.Flags().Changed("config") {
				c, err := file.Read()
				if err != nil {
					return err
				}
				rules = c.Health.Effective()
			}
			in := cmd.InOrStdin()
			if args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return err
				}
				defer f.Close()
				in = f
			}
			found, err := tryRules(rules, nodes, in)
			if err != nil {
				return err
			}
			return cli.Print(cmd, &cli.Connection{JSON: asJSON}, &v1.HealthFindings, found)
		},
	}
	file.Add(cmd)
	cmd.Flags().IntVar(&nodes, "nodes", 20, "how many nodes the pool has: limits depend on it")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// tryRules is what rules say to what a file tells.
func tryRules(rules []health.Rule, size int, in io.Reader) (said []v1.HealthFinding, err error) {
	engine := health.NewEngine(rules, func(federation.NodeID) health.Standing {
		return health.Standing{Pool: "pool", Size: size, Site: size, Known: true}
	})
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	said = []v1.HealthFinding{}
	for n := 1; lines.Scan(); n++ {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		var s seenLine
		d := json.NewDecoder(strings.NewReader(lines.Text()))
		d.DisallowUnknownFields()
		if err := d.Decode(&s); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		found, err := s.show(engine)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		for _, f := range found {
			said = append(said, v1.HealthFinding{Time: f.At, Rule: f.Rule, Action: string(f.Act), Site: f.Node.Site, Node: f.Node.Name, Job: f.Job, Why: f.Why, Denied: f.Denied})
		}
	}
	return said, lines.Err()
}

func (s *seenLine) show(engine *health.Engine) ([]health.Finding, error) {
	names, err := hostlist.Expand(s.Nodes)
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("invalid nodes %q: want a hostlist, such as n[1-4]", s.Nodes)
	}
	const site = "site"
	if s.Check != "" {
		var found []health.Finding
		for _, name := range names {
			found = append(found, engine.Checked(federation.NodeID{Site: site, Name: name}, []health.Check{{Code: s.Check, Text: s.Text, Device: s.Device}}, s.Time)...)
		}
		return found, nil
	}
	x := health.Ended{At: s.Time, Job: s.Job, User: s.User, Like: s.User + " " + s.Name, Site: site, Nodes: names, Again: true,
		End: health.End{State: s.State, Reason: s.Reason, Text: s.Text}}
	if len(names) == 1 || s.State == federation.NodeFail {
		x.Blame = names
	}
	if !s.State.Ended() {
		return nil, fmt.Errorf("invalid state %q: want how the job ended, such as FAILED or COMPLETED", s.State)
	}
	if s.Ran != "" {
		if x.Ran, err = time.ParseDuration(s.Ran); err != nil {
			return nil, fmt.Errorf("invalid ran %q: want how long, such as 2s or 5m", s.Ran)
		}
	}
	if s.Exit != "" {
		var code, signal int32
		if _, err := fmt.Sscanf(s.Exit, "%d:%d", &code, &signal); err != nil {
			return nil, fmt.Errorf("invalid exit %q: want CODE:SIGNAL, such as 1:0", s.Exit)
		}
		x.Exit = code<<8 | signal
	}
	_, found := engine.Ended(x)
	return found, nil
}
