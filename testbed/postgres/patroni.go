package postgres

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fsub/testbed/program"
)

// Cluster is PostgreSQL under Patroni: some servers of which one is the primary, and who that is they agree upon by themselves.
type Cluster struct {
	Nodes []*Node
}

// Node is a server of a cluster, with its Patroni.
type Node struct {
	*Server
	rest, raft string // addresses of its Patroni
	patroni    *exec.Cmd
}

// patroniConfig never falls back to asynchronous replication. Its times are the least that Patroni takes.
const patroniConfig = `scope: fsub
name: %[1]s
restapi: {listen: "%[2]s", connect_address: "%[2]s"}
raft: {data_dir: %[3]s/raft, self_addr: "%[4]s", partner_addrs: [%[5]s]}
bootstrap:
  dcs:
    ttl: 20
    loop_wait: 2
    retry_timeout: 3
    synchronous_mode: true
    synchronous_mode_strict: true
    postgresql: {use_pg_rewind: true, parameters: {wal_log_hints: "on"}}
  initdb: [{encoding: UTF8}, {locale: C.UTF-8}]
  pg_hba: [local all all trust, host all all 127.0.0.1/32 trust, host replication all 127.0.0.1/32 trust]
postgresql:
  listen: "%[6]s"
  connect_address: "%[6]s"
  data_dir: %[3]s/data
  bin_dir: %[7]s
  authentication: {superuser: {username: postgres, password: none}, replication: {username: replicator, password: none}}
  parameters: {unix_socket_directories: %[3]s}
watchdog: {mode: "off"}
`

// StartCluster starts a cluster of so many servers, and waits until a primary takes writes. The test is skipped where Patroni is not installed.
func StartCluster(tb testing.TB, count int) *Cluster {
	tb.Helper()
	if _, err := exec.LookPath("patroni"); err != nil {
		unavailable(tb, errors.New("the package patroni is not installed (Debian: apt-get install patroni python3-pysyncobj)"))
	}
	c := new(Cluster)
	for range count {
		c.Nodes = append(c.Nodes, &Node{Server: newServer(tb, nil), rest: fmt.Sprintf("127.0.0.1:%d", freePort(tb)), raft: fmt.Sprintf("127.0.0.1:%d", freePort(tb))})
	}
	for i, n := range c.Nodes {
		var partners []string
		for k, other := range c.Nodes {
			if k != i {
				partners = append(partners, `"`+other.raft+`"`)
			}
		}
		text := fmt.Sprintf(patroniConfig, n.name(i), n.rest, n.dir, n.raft, strings.Join(partners, ", "), n.Listen(), n.bin)
		if err := os.WriteFile(n.config(), []byte(text), 0o644); err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(n.KillAll)
		n.Begin()
	}
	c.Settle()
	primary := c.Primary()
	primary.Exec("CREATE ROLE " + Role + " LOGIN CREATEDB")
	return c
}

func (n *Node) name(i int) string { return fmt.Sprint("n", i+1) }
func (n *Node) config() string    { return filepath.Join(n.dir, "patroni.yaml") }

// Begin starts the node's Patroni, which starts its server.
func (n *Node) Begin() {
	n.tb.Helper()
	log, err := os.OpenFile(filepath.Join(n.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		n.tb.Fatal(err)
	}
	defer log.Close()
	n.patroni = exec.Command("patroni", n.config())
	n.patroni.Dir, n.patroni.Stdout, n.patroni.Stderr = n.dir, log, log
	n.patroni.Env = append(os.Environ(), "HOME="+n.dir)
	n.patroni.SysProcAttr = &syscall.SysProcAttr{Credential: n.as, Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := program.Spawn(n.patroni); err != nil {
		n.tb.Fatal(err)
	}
}

// KillAll kills the node's Patroni and its server, as the loss of a machine does.
func (n *Node) KillAll() {
	if n.patroni == nil {
		return
	}
	_ = syscall.Kill(-n.patroni.Process.Pid, syscall.SIGKILL) // Patroni starts the server in a session of its own
	if pid, err := os.ReadFile(filepath.Join(n.data(), "postmaster.pid")); err == nil {
		var server int
		if _, err := fmt.Sscan(string(pid), &server); err == nil && server > 1 {
			_ = syscall.Kill(server, syscall.SIGKILL)
		}
	}
	_ = n.patroni.Wait()
	n.patroni = nil
}

// Primary is the node that is the primary by Patroni's word; it is waited for.
func (c *Cluster) Primary() *Node {
	c.Nodes[0].tb.Helper()
	return c.that("primary")
}

// Settle waits until Patroni itself knows a synchronous standby: before that it lets none take over. After each change of the primary that takes some seconds.
func (c *Cluster) Settle() {
	c.Nodes[0].tb.Helper()
	c.that("synchronous")
}

// that waits for a node of which its Patroni says what is asked.
func (c *Cluster) that(is string) (found *Node) {
	c.Nodes[0].tb.Helper()
	client := http.Client{Timeout: 2 * time.Second}
	c.Nodes[0].wait("there is a "+is+" node", func() bool {
		for _, n := range c.Nodes {
			if r, err := client.Get("http://" + n.rest + "/" + is); err == nil {
				r.Body.Close()
				if r.StatusCode == http.StatusOK {
					found = n
					return true
				}
			}
		}
		return false
	})
	return found
}

// Switch has another node become the primary, in order.
func (c *Cluster) Switch() {
	n := c.Primary()
	n.tb.Helper()
	name := ""
	for i, k := range c.Nodes {
		if k == n {
			name = n.name(i)
		}
	}
	n.wait("the primary is switched", func() bool {
		r, err := http.Post("http://"+n.rest+"/switchover", "application/json", strings.NewReader(`{"leader": "`+name+`"}`))
		if err != nil {
			return false
		}
		r.Body.Close()
		return r.StatusCode == http.StatusOK
	})
}

// Hosts are the addresses of all nodes, as a URL has them.
func (c *Cluster) Hosts() string {
	var all []string
	for _, n := range c.Nodes {
		all = append(all, n.Listen())
	}
	return strings.Join(all, ",")
}
