package scontrol

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"fsub/cmd/internal/conn"
	"fsub/federation"
	"fsub/federation/api"
	"fsub/testbed/apitest"
)

// TestUpdateNode: what scontrol 24.11 prints of orders to nodes, over two sites that have nodes of one name. The tests' user is an administrator.
func TestUpdateNode(t *testing.T) {
	d := apitest.Start(t, api.Config{})
	site := func(name federation.SiteName, nodes ...federation.Node) *federation.Site {
		return &federation.Site{Name: name, State: federation.FedActive, Answering: true, Seen: &federation.Observation{At: time.Now(), Cluster: string(name), Version: "24.11.5", Nodes: nodes}}
	}
	idle := func(name string) federation.Node {
		return federation.Node{Name: name, State: []string{"IDLE"}, CPUs: 1}
	}
	d.Controller.SetSites(site("alpha", idle("a1"), idle("n1"), federation.Node{Name: "n2", State: []string{"IDLE", "DRAIN"}, Reason: "cooling"}), site("beta", idle("n1")))
	c := conn.New(d.Socket, 0)
	defer c.Close()
	for _, test := range []struct {
		args, want string
		exit       int
	}{
		{"update nodename=a1 state=drain", "You must specify a reason when DOWNING or DRAINING a node. Request denied\n", 1},
		{"update nodename=a1 state=bogus", "Invalid input: state=bogus\nRequest aborted\nValid states are: NoResp DRAIN FAIL FUTURE RESUME POWER_DOWN POWER_UP UNDRAIN\n" +
			"Not all states are valid given a node's prior state\n", 1},
		{"update nodename=a1", "No changes specified\n", 1},
		{"update nodename=a1 foo=1", "Update of this parameter is not supported: foo=1\nRequest aborted\n", 1},
		{"update nodename=a1 state", "scontrol: error: Invalid input: state  Request aborted\n", 1},
		{"update nodename=a1 state=resume resumeafter=60", "You can only specify a resume time when DOWNING or DRAINING a node. Request denied\n", 1},
		{"update NodeName=a1 State=DRAIN Reason=fan", "", 0},
		{"update nodename=n1 state=drain reason=fan", "slurm_update error: several sites have a node n1: write alpha/n1 or beta/n1\n", 1},
		{"update nodename=beta/n1 state=drain reason=fan resumeafter=600", "", 0},
		{"-M alpha update nodename=n1 state=drain reason=fan", "", 0},
		{"update nodename=a1 state=down reason=fan", "slurm_update error: Requested operation not supported on this system\n", 1},
		{"update nodename=zz state=drain reason=fan", "slurm_update error: Invalid node name specified: no site has a node zz\n", 1},
		{"update nodename=n2 state=resume", "slurm_update error: Invalid node state specified\n", 1},
		{"update nodename=a1 state=undrain", "", 0},
		{"update nodename=a1 state=undrain", "", 0},
		{"update nodename=a1 state=resume", "slurm_update error: Invalid node state specified\n", 1},
	} {
		var out bytes.Buffer
		exit := Main(strings.Fields(test.args), os.Environ(), &out, &out, c)
		if got := out.String(); got != test.want && !(test.exit == 1 && test.want != "" && strings.HasPrefix(got, strings.TrimSuffix(test.want, "\n"))) || exit != test.exit {
			t.Errorf("%s: exit %d, %q", test.args, exit, got)
		}
	}
	records, err := d.Store.Nodes(t.Context())
	if err != nil || len(records) != 3 || records[0].Wish != federation.WishResume || records[1].Wish != federation.WishDrain || records[2].Until.IsZero() || !records[1].Until.IsZero() {
		t.Errorf("%+v, %v", records, err)
	}
	var out bytes.Buffer
	if exit := Main(strings.Fields("-o show node beta/n1"), os.Environ(), &out, &out, c); exit != 0 || strings.Count(out.String(), "NodeName=n1") != 1 {
		t.Errorf("show node beta/n1: %d, %s", exit, out.String())
	}
}
