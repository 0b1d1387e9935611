package scontrol

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"fsub/cmd/internal/conn"
	"fsub/federation"
	"fsub/federation/api"
	"fsub/federation/audit"
	"fsub/federation/driver"
	"fsub/testbed/apitest"
)

// rebooter writes down what it is told to reboot.
type rebooter struct {
	name string
	told *orders
	err  error
}

// orders are what handlers of the daemon were told.
type orders struct {
	mu    sync.Mutex
	lines []string
}

func (o *orders) add(line string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lines = append(o.lines, line)
}

// take returns them, and forgets them.
func (o *orders) take() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer func() { o.lines = nil }()
	return strings.Join(o.lines, "|")
}

func (r rebooter) RebootNodes(_ context.Context, o driver.RebootOrder) error {
	if r.err != nil {
		return r.err
	}
	r.told.add(strings.TrimSpace(fmt.Sprintf("%s%s %v %v %s %s", map[bool]string{true: "not "}[o.Cancel], r.name, o.Nodes, o.ASAP, o.NextState, o.Reason)))
	return nil
}

// TestReboot: what scontrol 24.11 prints of orders to reboot, over three sites. One of them cannot, one does not answer.
func TestReboot(t *testing.T) {
	var told orders
	can := map[federation.SiteName]driver.Rebooter{
		"alpha": rebooter{"alpha", &told, nil}, "beta": rebooter{"beta", &told, fmt.Errorf("%w: slurmrestd has no call for it: set node_command", federation.ErrInvalid)},
		"gamma": rebooter{"gamma", &told, nil},
	}
	d := apitest.Start(t, api.Config{Federation: "fed", Reboots: func(s federation.SiteName) driver.Rebooter { return can[s] }})
	site := func(name federation.SiteName, answers bool, nodes ...federation.Node) *federation.Site {
		return &federation.Site{Name: name, State: federation.FedActive, Answering: answers, Seen: &federation.Observation{At: time.Now(), Cluster: string(name), Version: "24.11.5", Nodes: nodes}}
	}
	node := func(name, state, reason string) federation.Node {
		return federation.Node{Name: name, State: strings.Split(state, "+"), Reason: reason, CPUs: 1}
	}
	d.Controller.SetSites(site("alpha", true, node("a1", "IDLE", ""), node("a2", "IDLE+DRAIN", "cooling"), node("a3", "DOWN", "fed:olga: fan"), node("n1", "IDLE", "")),
		site("beta", true, node("n1", "IDLE", "")), site("gamma", false, node("g1", "IDLE", "")))
	c := conn.New(d.Socket, 0)
	defer c.Close()
	const wrong = "scontrol_reboot_nodes error: "
	for _, test := range []struct {
		args, want, told string
		exit             int
	}{
		{"reboot", "Missing node list. Specify ALL|<NodeList>\n", "", 1},
		{"reboot a1 a2", "too many arguments for keyword:reboot\n", "", 1},
		{"reboot nextstate=idle a1", "Invalid state: idle\nValid states: DOWN, RESUME\n", "", 1},
		{"reboot nextstate= a1", "missing state\n", "", 1},
		{"reboot reason= a1", "missing reason\n", "", 1},
		{"reboot a1", "", "alpha [a1] false", 0},
		{"reboot ASAP nextstate=resume reason=firmware a1", "", "alpha [a1] true RESUME fed:root: firmware", 0},
		{"reboot reason=firmware a[1-2]", "", "alpha [a1] false  fed:root: firmware|alpha [a2] false", 0},
		{"reboot nextstate=RESUME a[2-3]", wrong + "alpha/a2: DRAIN at the site by admin: cooling: without nextstate=RESUME it reboots and stays so\n", "alpha [a3] false RESUME", 1},
		{"reboot beta/n1", wrong + "beta/n1: invalid request: slurmrestd has no call for it: set node_command\n", "", 1},
		{"reboot gamma/g1", wrong + "gamma/g1: the site does not answer: nothing was done\n", "", 1},
		{"reboot n1", wrong + "several sites have a node n1: write alpha/n1 or beta/n1\n", "", 1},
		{"reboot zz", wrong + "Invalid node name specified: no site has a node zz\n", "", 1},
		{"cancel_reboot a1", "", "not alpha [a1] false", 0},
		{"cancel_reboot", "missing argument for keyword:cancel_reboot\n", "", 1},
		{"cancel_reboot a1 a2", "too many arguments for keyword:cancel_reboot\n", "", 1},
		{"cancel_reboot a[1-2]", "", "not alpha [a1 a2] false", 0},
		{"-M alpha reboot n1", "", "alpha [n1] false", 0},
		{"-M alpha reboot ALL", "", "alpha [a1 a3 n1] false|alpha [a2] false", 0},
	} {
		var out bytes.Buffer
		exit := Main(strings.Fields(test.args), os.Environ(), &out, &out, c)
		if got, told := out.String(), told.take(); got != test.want || exit != test.exit || told != test.told {
			t.Errorf("%s: exit %d, %q, told %q", test.args, exit, got, told)
		}
	}
	entries, err := d.Store.Audit(t.Context(), audit.Query{Verb: "reboot"})
	done := 0
	for _, e := range entries {
		if e.Result == "" {
			done++
		}
	}
	if err != nil || done < 8 || len(entries) < done+3 {
		t.Errorf("audit: %d entries, %d of what was done, %v", len(entries), done, err)
	}
}
