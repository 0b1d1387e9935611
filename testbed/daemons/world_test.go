// Package daemons runs several real daemons, `fed serve`, that share one PostgreSQL, over a simulated site or one of rented machines, and takes them away while jobs are
// submitted: what was acknowledged runs exactly once, no command fails, and no machine is ended or rented two times.
package daemons

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	"fsub/testbed/postgres"
	"fsub/testbed/program"
	"fsub/testbed/simsite"
)

// world is a site, a database, and the daemons.
type world struct {
	t       *testing.T
	dir     string
	site    *simsite.Site
	pg      *postgres.Server
	url     string               // of the database
	alone   bool                 // the one daemon has the database for itself
	ways    bool                 // each daemon has ways of its own to database and site
	mapped  bool                 // the site numbers jobs itself, and the daemons have a token that does not expire
	sites   func(*daemon) string // further lines of a daemon's configuration, in place of the simulated site; nil: none
	daemons []*daemon
}

// option changes what a world is made of.
type option func(*world)

// on has the state in a database of a server.
func on(pg *postgres.Server, url string) option {
	return func(w *world) { w.pg, w.url = pg, url }
}

// alone makes a daemon that shares the database with no other.
func alone(w *world) { w.alone = true }

// throughWays has each daemon reach database and site by ways on which messages can be held.
func throughWays(w *world) { w.ways = true }

// mapped has the site number jobs itself, and gives the daemons a token that does not expire.
func mapped(w *world) { w.mapped = true }

// daemon is one of the daemons, each with a socket and a state directory of its own.
type daemon struct {
	*world
	name    string
	address string
	toDB    *way      // nil: there is none
	toSite  *way      // likewise
	cmd     *exec.Cmd // nil: it does not run
	ended   chan struct{}
}

// newWorld starts so many daemons.
func newWorld(t *testing.T, count int, options ...option) *world {
	t.Helper()
	dir, err := os.MkdirTemp("", "daemons") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := program.Put(dir, "fsub", "fed"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"squeue", "scancel", "sacct", "sinfo", "scontrol"} {
		if err := os.Symlink("fsub", filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	w := &world{t: t, dir: dir}
	for _, o := range options {
		o(w)
	}
	if w.pg == nil {
		w.pg = postgres.Start(t)
	}
	if w.url == "" {
		w.url = w.pg.URL()
	}
	key := []byte(rand.Text())
	w.site, err = simsite.New(simsite.Config{Name: "alpha", Clock: simsite.RealClock{}, JWTKey: key, Nodes: []simsite.NodeConfig{{Names: "a[1-50]", CPUs: 64, Mem: 256000}, {Names: "b[1-20]", CPUs: 64, Mem: 256000}},
		Partitions: []simsite.PartitionConfig{{Name: "main", Default: true, Nodes: "a[1-50]"}, {Name: "spare", Nodes: "b[1-20]"}}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", w.path("rest"))
	if err != nil {
		t.Fatal(err)
	}
	go w.site.Serve(t.Context(), l)
	w.write("key", string(key))
	w.write("token", w.site.Token("slurm", time.Hour))
	w.write("secret", strings.Repeat("secret", 8))
	for i := range count {
		d := &daemon{world: w, name: "d" + strconv.Itoa(i+1), address: freeAddress(t)}
		if w.ways {
			d.toDB, d.toSite = newWay(t, w.pg.Listen(), pgMessages), newWay(t, w.path("rest"), pieces)
		}
		d.configure()
		w.daemons = append(w.daemons, d)
		d.start()
		t.Cleanup(func() {
			d.end(syscall.SIGCONT)
			d.kill()
			if t.Failed() {
				log, _ := os.ReadFile(w.path(d.name + ".log"))
				t.Logf("the log of %s:\n%s", d.name, log[max(0, len(log)-6000):])
			}
		})
	}
	return w
}

// configure writes the daemon's configuration.
func (d *daemon) configure() {
	d.t.Helper()
	url, rest, token := d.url, "unix:"+d.path("rest"), "key_file: "+d.path("key")
	if d.toDB != nil {
		url, rest = fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", postgres.Role, d.toDB.address(), path.Base(strings.Split(d.url, "?")[0])), "http://"+d.toSite.address()
	}
	if d.mapped {
		token = "mode: mapped, token_file: " + d.path("token")
	}
	sites := fmt.Sprintf("sites: [{name: alpha, url: %q, %s, no_associations: true}]\n", rest, token)
	if d.sites != nil {
		sites = d.sites(d)
	}
	text := fmt.Sprintf("federation: test\nsocket: %[1]s/%[2]s.sock\nstate_dir: %[1]s/%[2]s\nstore: %[3]s\n", d.dir, d.name, url) + sites
	if !d.world.alone {
		text += fmt.Sprintf("daemons: {name: %s, listen: %q, secret_file: %s}\n", d.name, d.address, d.path("secret"))
	}
	d.write(d.name+".yaml", text)
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

func (w *world) write(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(w.path(name), []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// start starts the daemon and waits until it answers, itself or through another.
func (d *daemon) start() {
	d.t.Helper()
	log, err := os.OpenFile(d.path(d.name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		d.t.Fatal(err)
	}
	defer log.Close()
	d.cmd = exec.Command(d.path("fed"), "serve", "--config", d.path(d.name+".yaml"))
	d.cmd.Stdout, d.cmd.Stderr = log, log
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // a test that is killed leaves no daemon
	if err := program.Spawn(d.cmd); err != nil {
		d.t.Fatal(err)
	}
	d.ended = make(chan struct{})
	go func(cmd *exec.Cmd, ended chan struct{}) { cmd.Wait(); close(ended) }(d.cmd, d.ended)
	eventually(d.t, d.name+" answers", func() error { _, err := d.list(); return err })
}

// end sends the daemon a signal.
func (d *daemon) end(s os.Signal) {
	if d.cmd != nil {
		d.cmd.Process.Signal(s)
	}
}

// kill ends the daemon at once.
func (d *daemon) kill() {
	if d.cmd != nil {
		d.end(syscall.SIGKILL)
		<-d.ended
		d.cmd = nil
	}
}

// list is what the daemon says of all.
func (d *daemon) list() ([]v1.Daemon, error) {
	ctx, stop := context.WithTimeout(context.Background(), 30*time.Second)
	defer stop()
	c := client.New(d.path(d.name + ".sock"))
	defer c.Close()
	return client.List(ctx, c, &v1.Daemons, v1.None{})
}

// leader is the daemon that leads, as another one says.
func (w *world) leader(asked *daemon) *daemon {
	w.t.Helper()
	var leads *daemon
	eventually(w.t, "a daemon leads", func() error {
		all, err := asked.list()
		if err != nil {
			return err
		}
		i := slices.IndexFunc(all, func(d v1.Daemon) bool { return d.Leads })
		if i < 0 {
			return fmt.Errorf("none of %d", len(all))
		}
		leads = w.daemons[slices.IndexFunc(w.daemons, func(d *daemon) bool { return d.name == all[i].Name })]
		return nil
	})
	return leads
}

// others are the daemons but one.
func (w *world) others(than *daemon) (all []*daemon) {
	for _, d := range w.daemons {
		if d != than {
			all = append(all, d)
		}
	}
	return all
}

// run runs a command against the daemon. It must succeed.
func (d *daemon) run(args ...string) (string, error) {
	out, _, err := d.both(args...)
	return out, err
}

// both is run with what the command says on its standard error.
func (d *daemon) both(args ...string) (out, said string, err error) {
	cmd := exec.Command(d.path(args[0]), args[1:]...)
	cmd.Env = append(os.Environ(), "FSUB_SOCKET="+d.path(d.name+".sock"), "LC_ALL=C.UTF-8")
	cmd.Dir = d.dir
	var output, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &errs
	if err := cmd.Run(); err != nil {
		return "", "", fmt.Errorf("%s at %s: %w: %s", strings.Join(args, " "), d.name, err, strings.TrimSpace(errs.String()))
	}
	return strings.TrimSpace(output.String()), errs.String(), nil
}

// http asks the daemon, on a connection of its own for each request.
func (d *daemon) http() *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(context.Context, string, string) (net.Conn, error) {
		return net.Dial("unix", d.path(d.name+".sock"))
	}}}
}

// ready is why the daemon says that it is not ready to answer.
func (d *daemon) ready() error {
	resp, err := d.http().Get("http://fed/readyz")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		why, _ := io.ReadAll(resp.Body)
		return fmt.Errorf("%s: %s", resp.Status, why)
	}
	return nil
}

// patience is how long anything may take on a busy machine.
const patience = 5 * time.Minute

func eventually(t *testing.T, what string, do func() error) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if err = do(); err == nil {
			return
		}
	}
	t.Fatalf("%s: not within %v: %v", what, patience, err)
}
