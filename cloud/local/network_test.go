package local

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"fsub/cloud/local/lan"
	"fsub/cloud/provider"
)

// links are the interfaces of a provider.
func links(p *Provider) (out []string) {
	all, _ := net.Interfaces()
	h := fnv.New32a()
	h.Write([]byte(p.cfg.Dir))
	for _, i := range all {
		if strings.HasPrefix(i.Name, lan.Name(h.Sum32())[:8]) {
			out = append(out, i.Name)
		}
	}
	return out
}

// bridged is a provider whose machines have networks of their own.
func bridged(t *testing.T) *Provider {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: it takes root")
	}
	p := world(t, func(c *Config) { c.Network = NetworkNamespace })
	if !p.host.isolation.Network {
		t.Skipf("SKIPPED: network namespaces cannot be made here: %+v", p.host.isolation)
	}
	return p
}

// TestNetworkOfTheirOwn: a machine has its address on its own link, reaches the host's end and the others, and leaves nothing.
func TestNetworkOfTheirOwn(t *testing.T) {
	p := bridged(t)
	got := create(t, p, request("G1", 3))
	for _, i := range got {
		if s := seen(t, p, i.ID); !strings.Contains(s, " "+i.Addr+" ") {
			t.Errorf("machine %s has %s, saw %q", i.ID, i.Addr, s)
		}
	}
	l, err := net.Listen("tcp", p.HostAddr()+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	g, m := p.gangs.find("G1.2")
	proc, _, err := p.host.process(&m)
	if err != nil || g == nil {
		t.Fatal(err)
	}
	for _, target := range []string{p.HostAddr(), got[1].Addr} {
		// A port that nobody listens on is refused by a host that is reached.
		out, err := inNetOf(proc.PID, fmt.Sprintf("exec 3<>/dev/tcp/%s/%s", target, port))
		if err != nil && !strings.Contains(out, "refused") {
			t.Errorf("from %s to %s: %s", m.Addr, target, out)
		}
	}
	next := open(t, p.cfg.Dir, func(c *Config) { c.Network = NetworkNamespace })
	if next.net.lan.Subnet() != p.net.lan.Subnet() {
		t.Errorf("the next provider has %s, this one %s", next.net.lan.Subnet(), p.net.lan.Subnet())
	}
	if err := next.Delete(context.Background(), idsOf(got)); err != nil {
		t.Fatal(err)
	}
	if after := links(p); after != nil {
		t.Errorf("links left: %v", after)
	}
}

func idsOf(all []provider.Instance) (ids []provider.InstanceID) {
	for _, i := range all {
		ids = append(ids, i.ID)
	}
	return ids
}

// TestViewOfANetwork: /sys and /etc/hosts fit the network.
func TestViewOfANetwork(t *testing.T) {
	p := bridged(t)
	got := create(t, p, request("G1", 1))
	seen(t, p, "G1.0")
	_, m := p.gangs.find("G1.0")
	proc, _, err := p.host.process(&m)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("nsenter", "-t", fmt.Sprint(proc.PID), "-n", "-m", "sh", "-c", "ls /sys/class/net; cat /sys/class/net/eth0/operstate").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "eth0\nlo\nup\n") {
		t.Errorf("%v: %s", err, out)
	}
	if left, _ := filepath.Glob(filepath.Join(p.host.dir("G1.0"), "sys-*")); left != nil {
		t.Errorf("left: %v", left)
	}
	host, _ := os.Hostname()
	text, err := os.ReadFile(filepath.Join(p.host.dir("G1.0"), "hosts.before"))
	if addrs := addrsOf(string(text), host); err != nil || !slices.Contains(addrs, p.HostAddr()) || slices.ContainsFunc(addrs, isLoopback) {
		t.Errorf("%s resolves to %v in machine %s, and is at %s: %v", host, addrs, got[0].ID, p.HostAddr(), err)
	}
}

// TestNetworkGoesWithTheLast: whoever ends the machines, and whoever is there then.
func TestNetworkGoesWithTheLast(t *testing.T) {
	p := bridged(t)
	killAll := func() {
		for _, i := range list(t, p) {
			_, m := p.gangs.find(i.ID)
			if proc, begun, err := p.host.process(&m); err == nil && begun {
				if err := p.host.kill(proc); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	create(t, p, request("G1", 2))
	killAll()
	if s := states(list(t, p)); s != "G1.0 ended, G1.1 ended" || links(p) != nil {
		t.Errorf("after a listing: %s; links %v", s, links(p))
	}
	create(t, p, request("G2", 1))
	killAll()
	open(t, p.cfg.Dir, nil) // the daemon has died, too
	if left := links(p); left != nil {
		t.Errorf("after a restart: %v", left)
	}
}

// TestNetworkIsChanged: machines stay on what they were made on.
func TestNetworkIsChanged(t *testing.T) {
	p := bridged(t)
	create(t, p, request("G1", 1))
	host := open(t, p.cfg.Dir, func(c *Config) { c.Network = NetworkHost })
	if got := create(t, host, request("G2", 1)); !strings.HasPrefix(got[0].Addr, "127.") {
		t.Errorf("a new machine is at %s", got[0].Addr)
	}
	again := open(t, p.cfg.Dir, func(c *Config) { c.Network = NetworkNamespace })
	if got := create(t, again, request("G3", 1)); !again.net.lan.Has(got[0].Addr) {
		t.Errorf("a new machine is at %s", got[0].Addr)
	}
	host = open(t, p.cfg.Dir, func(c *Config) { c.Network = NetworkHost })
	if err := host.Delete(t.Context(), []provider.InstanceID{"G1.0", "G2.0"}); err != nil {
		t.Fatal(err)
	}
	if links(p) == nil {
		t.Error("the bridge of G3 is gone")
	}
	if err := host.Delete(t.Context(), []provider.InstanceID{"G3.0"}); err != nil {
		t.Fatal(err)
	}
	if left := links(p); left != nil {
		t.Errorf("links left: %v", left)
	}
	list(t, p)
}

func TestWhichNetwork(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for network, want := range map[Network]string{NetworkHost: "the host's: the configuration says so", NetworkAuto: "the host's: the daemon is not root", "": "the host's: the daemon is not root"} {
		if os.Geteuid() == 0 && network != NetworkHost {
			want = "the host's: machines have no namespaces"
		}
		p, err := New(Config{Dir: t.TempDir(), Agent: self, Network: network, NoNamespaces: os.Geteuid() == 0})
		if err != nil || p.Network() != want || p.HostAddr() != "127.0.0.1" {
			t.Errorf("%q: %v %q, want %q", network, err, p.Network(), want)
		}
	}
	if _, err := New(Config{Dir: t.TempDir(), Agent: self, Network: "bridge"}); err == nil || !strings.Contains(err.Error(), "want auto, host or namespace") {
		t.Error(err)
	}
}

func TestResolvers(t *testing.T) {
	for name, c := range map[string]struct{ etc, systemd, want, err string }{
		"none":          {},
		"another host":  {etc: "nameserver 10.0.0.2\n"},
		"a stub":        {etc: "nameserver 127.0.0.53\noptions edns0\n", systemd: "nameserver 10.0.0.3\nsearch lab\n", want: "nameserver 10.0.0.3\nsearch lab\n"},
		"both":          {etc: "search lab\nnameserver ::1\nnameserver 10.0.0.2\n", want: "search lab\nnameserver 10.0.0.2\n"},
		"a server here": {etc: "nameserver 127.0.0.1\n", err: "loopback"},
		"stubs alone":   {etc: "nameserver 127.0.0.53\n", systemd: "nameserver 127.0.0.1\n", err: "loopback"},
	} {
		dir := t.TempDir()
		files := []string{filepath.Join(dir, "resolv.conf"), filepath.Join(dir, "systemd")}
		for i, text := range []string{c.etc, c.systemd} {
			if text == "" {
				continue
			}
			if err := os.WriteFile(files[i], []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := resolvers(files)
		if string(got) != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestHostsForANetwork(t *testing.T) {
	for text, want := range map[string]string{
		"127.0.0.1 localhost\n127.0.1.1 big.lab big\n10.0.0.9 nas\n": "127.0.0.1 localhost\n10.0.0.9 nas\n10.254.0.1\tbig.lab big _gateway\n",
		"127.0.0.1 localhost big # me\n::1 localhost":                "127.0.0.1\tlocalhost\n::1 localhost\n10.254.0.1\tbig _gateway\n",
		"10.0.0.4 big":            "10.0.0.4 big\n10.254.0.1\tbig _gateway\n",
		"127.0.0.1 bigger big2\n": "127.0.0.1 bigger big2\n10.254.0.1\tbig _gateway\n",
		"":                        "10.254.0.1\tbig _gateway\n",
	} {
		if got := hostsFor(text, "big", "10.254.0.1"); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
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

// inNetOf runs a command of bash in a machine's network.
func inNetOf(pid int, script string) (string, error) {
	out, err := exec.Command("nsenter", "--net=/proc/"+strconv.Itoa(pid)+"/ns/net", "timeout", "60", "bash", "-c", script).CombinedOutput()
	return string(out), err
}

// TestAddressesThatAnotherTook: a network that was chosen and not made yet moves aside for one that was made meanwhile, and its machines come up at once.
func TestAddressesThatAnotherTook(t *testing.T) {
	first, second := rivals(t, "100.66.160.0/19")
	create(t, first, request("G1", 1))
	got := create(t, second, request("G1", 1))
	if first.net.lan.Subnet() == second.net.lan.Subnet() || !second.net.lan.Has(got[0].Addr) {
		t.Errorf("%s beside %s, and %s", second.net.lan.Subnet(), first.net.lan.Subnet(), got[0].Addr)
	}
}

// rivals are two providers that have chosen the same addresses out of a range of two networks, of which nobody but the test knows.
func rivals(t *testing.T, of string) (first, second *Provider) {
	t.Helper()
	two := func(c *Config) {
		c.Network, c.Subnets = NetworkNamespace, []netip.Prefix{netip.MustParsePrefix(of)}
	}
	if bridged(t).cfg.Network != NetworkNamespace {
		t.Fatal("no network of its own")
	}
	first, second = world(t, two), world(t, two)
	for second.net.lan.Subnet() != first.net.lan.Subnet() { // by the names of their directories
		second = world(t, two)
	}
	return first, second
}

// TestAllGangsAreMoved: of several gangs with addresses that another took, each learns of it, though only one can find it out.
func TestAllGangsAreMoved(t *testing.T) {
	first, second := rivals(t, "100.66.192.0/19")
	create(t, first, request("G1", 1))
	errs := make([]error, 8)
	ready := make([]func() error, len(errs))
	for i := range errs { // all have addresses before the first finds out
		r := request(fmt.Sprintf("G%d", i), 1)
		shape, err := second.check(r)
		if err != nil {
			t.Fatal(err)
		}
		g, err := second.record(r, shape)
		if err != nil {
			t.Fatal(err)
		}
		ready[i] = func() error { return second.net.ready(g.Machines) }
	}
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { errs[i] = ready[i]() })
	}
	all.Wait()
	for i, err := range errs {
		if !errors.Is(err, lan.ErrMoved) {
			t.Errorf("G%d may begin with an address of another's network: %v", i, err)
		}
	}
}
