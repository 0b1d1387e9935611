package health

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fsub/cmd/fed/internal/cli"
	v1 "fsub/federation/api/v1"
	"fsub/federation/health"
	"fsub/federation/health/nodecheck"
)

// nodeHealth is what fed health-check prints.
type nodeHealth struct {
	Node     string              `json:"node"`
	Time     time.Time           `json:"time"`
	Findings []nodecheck.Finding `json:"findings"`
}

func NewCheckCommand() *cobra.Command {
	var c nodecheck.Config
	var conn cli.Connection
	var node, report, state string
	cmd := &cobra.Command{
		Use:   "health-check",
		Short: "Look at this machine's GPUs, links, disks and clock; Slurm's HealthCheckProgram",
		Long: `Look at this machine and print what is wrong as JSON. An InfiniBand or RoCE port is wrong if it has a link and is not active, or was active at an earlier
report since the node has booted. Nothing is drained here: a mistake of a check on every node would drain a cluster. The daemon
does that, by its rules and within their limits (fed health rules), once it is told:

  --report slurm   by the extra field of the node's record, which the daemon reads with the nodes of the site anyway. As root on the node, which
                   is what slurmd runs a HealthCheckProgram as; scontrol is called only when something is different. Slurm 24.11 and newer
  --report daemon  by the daemon's socket, where the node sees it; --node SITE/NAME then

In slurm.conf, with a script of one line for the options:  HealthCheckProgram=/etc/slurm/health-check  HealthCheckInterval=300`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if node == "" {
				name, err := os.Hostname()
				if err != nil {
					return fmt.Errorf("name of this node: %w; name it with --node", err)
				}
				node, _, _ = strings.Cut(name, ".")
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), 40*time.Second) // slurmd kills it after 60
			defer cancel()
			c.Ports, c.Note = state+"-ports", report != ""
			h := nodeHealth{Node: node, Time: time.Now().UTC(), Findings: nodecheck.Run(ctx, c)}
			if h.Findings == nil {
				h.Findings = []nodecheck.Finding{}
			}
			if err := json.NewEncoder(cmd.OutOrStdout()).Encode(h); err != nil {
				return err
			}
			switch report {
			case "":
				return nil
			case "slurm":
				var found []health.Check
				for _, f := range h.Findings {
					found = append(found, health.Check{Code: health.Code(f.Code), Text: f.Text, Device: f.Device})
				}
				return reportToSlurm(cmd.Context(), node, state, found)
			case "daemon":
				q := v1.HealthCheck{Node: node, Findings: []v1.HealthProblem{}}
				for _, f := range h.Findings {
					q.Findings = append(q.Findings, v1.HealthProblem{Code: f.Code, Text: f.Text, Device: f.Device})
				}
				return conn.Client().HealthCheck(cmd.Context(), q)
			}
			return fmt.Errorf("invalid --report %q: want slurm or daemon", report)
		},
	}
	f := cmd.Flags()
	f.StringVar(&report, "report", "", "tell the daemon, by way of slurm or daemon")
	f.StringVar(&node, "node", "", "name of this node; its host name if not set")
	f.StringVar(&state, "state", "/run/fsub-health", "file that says what was reported last, for --report slurm; beside it STATE-ports lists the ports that were active once, with --report")
	f.IntVar(&c.GPUs, "gpus", 0, "how many GPUs there must be; 0: as many as there are")
	f.StringSliceVar(&c.Disks, "disk", nil, "directories whose file systems must be writable and not full; /, /tmp and /var/spool/slurmd if not set")
	f.DurationVar(&c.XIDAge, "xid-age", 24*time.Hour, "how long errors of GPUs in the kernel's log count")
	f.StringVar(&conn.Socket, "socket", cli.DefaultSocket(), "the daemon's socket (environment: FSUB_SOCKET), for --report daemon")
	return cmd
}

// maxExtra bounds what is written into a node's record.
const maxExtra = 1000

// reportToSlurm writes the findings into the node's record, unless they are there. A field that others use is left alone.
func reportToSlurm(ctx context.Context, node, state string, found []health.Check) error {
	text := health.WriteChecks(found)
	for len(text) > maxExtra {
		found = found[:len(found)-1]
		text = health.WriteChecks(found)
	}
	if last, err := os.ReadFile(state); err == nil && string(last) == text {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	shown, err := exec.CommandContext(ctx, "scontrol", "show", "node", node).CombinedOutput()
	if err != nil {
		return fmt.Errorf("scontrol show node %s: %w: %s", node, err, strings.TrimSpace(string(shown)))
	}
	if _, extra, ok := strings.Cut(string(shown), "Extra="); ok && !strings.HasPrefix(extra, health.CheckMark) {
		return errors.New("the extra field of node " + node + " has another use: report with --report daemon")
	}
	if out, err := exec.CommandContext(ctx, "scontrol", "update", "NodeName="+node, "Extra="+text).CombinedOutput(); err != nil {
		return fmt.Errorf("scontrol update node %s: %w: %s", node, err, strings.TrimSpace(string(out)))
	}
	if err := os.MkdirAll(filepath.Dir(state), 0o755); err != nil {
		return err
	}
	return os.WriteFile(state, []byte(text), 0o644)
}
