package local

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fsub/cloud"
)

func links() []string {
	all, _ := net.Interfaces()
	var out []string
	for _, i := range all {
		out = append(out, i.Name)
	}
	slices.Sort(out)
	return out
}

// TestNetworkOfTheirOwn: a machine has its address on its own link, reaches the host's end and the others, and leaves nothing.
func TestNetworkOfTheirOwn(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: it takes root")
	}
	before := links()
	p := world(t, func(c *Config) { c.Network = NetworkNamespace })
	if !p.isolation.Network {
		t.Skipf("SKIPPED: network namespaces cannot be made here: %+v", p.isolation)
	}
	got := create(t, p, request("G1", 3))
	for _, i := range got {
		if s := seen(t, p, i.ID); !strings.Contains(s, " "+i.Addr+" ") {
			t.Errorf("machine %s has %s, saw %q", i.ID, i.Addr, s)
		}
	}
	l, err := net.Listen("tcp", p.net.addr(1).String()+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	g, m := p.find("G1.2")
	proc, _, err := p.process(&m)
	if err != nil || g == nil {
		t.Fatal(err)
	}
	for _, target := range []string{p.net.addr(1).String(), got[1].Addr} {
		// A port that nobody listens on is refused by a host that is reached.
		out := inNetOf(proc.PID, fmt.Sprintf("exec 3<>/dev/tcp/%s/%s", target, port))
		if out != "" && !strings.Contains(out, "refused") {
			t.Errorf("from %s to %s: %s", m.Addr, target, out)
		}
	}
	next := open(t, p.cfg.Dir, func(c *Config) { c.Network = NetworkNamespace })
	if next.net.subnet != p.net.subnet {
		t.Errorf("the next provider has %s, this one %s", next.net.subnet, p.net.subnet)
	}
	var ids []cloud.InstanceID
	for _, i := range got {
		ids = append(ids, i.ID)
	}
	if err := next.Delete(context.Background(), ids); err != nil {
		t.Fatal(err)
	}
	if after := links(); !slices.Equal(before, after) {
		t.Errorf("links before %v, after %v", before, after)
	}
}

func TestNetworkNeedsRoot(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("SKIPPED: root may")
	}
	self, _ := os.Executable()
	if _, err := New(Config{Dir: t.TempDir(), Agent: self, Network: NetworkNamespace}); err == nil || !strings.Contains(err.Error(), "takes root") {
		t.Error(err)
	}
}

// inNetOf runs a command of bash in a machine's network and returns what it says of its failure.
func inNetOf(pid int, script string) string {
	out, err := exec.Command("nsenter", "--net=/proc/"+strconv.Itoa(pid)+"/ns/net", "timeout", "5", "bash", "-c", script).CombinedOutput()
	if err != nil {
		return err.Error() + ": " + string(out)
	}
	return ""
}
