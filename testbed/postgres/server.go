// Package postgres starts PostgreSQL servers for tests: a primary from Debian's packages in a directory of its own, as an unprivileged user, on a unix
// socket and loopback; and a synchronous standby of it. [Start] is where to begin. A server is up in about two seconds, and is removed with the test.
package postgres

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"fsub/testbed/program"
)

// Role is the role that stores use: it may make databases, owns them, and is no superuser.
const Role = "fed"

// superuser is whom a server belongs to.
const superuser = "postgres"

// bootTime bounds how long a server takes until it answers, on a busy machine.
const bootTime = time.Minute

// TB is what a server needs of a test: a [testing.TB], or what a package of tests has instead of one.
type TB interface {
	Helper()
	Cleanup(func())
	Failed() bool
	Fatal(...any)
	Fatalf(string, ...any)
	Skipf(string, ...any)
	Logf(string, ...any)
}

// Server is a running PostgreSQL, or one that was stopped.
type Server struct {
	tb        TB
	bin       string              // where the programs are
	as        *syscall.Credential // nil: this user
	dir       string              // socket, log and data
	port      int
	primary   *Server // of a standby
	settings  []string
	process   *exec.Cmd
	ended     chan struct{} // closed: process has ended
	databases int
}

// Start starts a primary. Each setting is "name=value", as in postgresql.conf; no client can change it. The test is skipped where PostgreSQL is not installed,
// and fails there in CI.
func Start(tb TB, settings ...string) *Server {
	tb.Helper()
	s := newServer(tb, settings)
	s.must(s.command("initdb", "-D", s.data(), "-U", superuser, "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync", "--no-instructions"))
	s.Restart()
	s.Exec("CREATE ROLE " + Role + " LOGIN CREATEDB")
	return s
}

// Standby starts a standby of s, without which s acknowledges no commit from now on.
func (s *Server) Standby(settings ...string) *Server {
	s.tb.Helper()
	standby := newServer(s.tb, settings)
	standby.primary = s
	s.must(standby.command("pg_basebackup", "-D", standby.data(), "-h", s.dir, "-p", strconv.Itoa(s.port), "-U", superuser, "-R", "-X", "stream", "-c", "fast", "--no-sync"))
	standby.Restart()
	s.Exec("ALTER SYSTEM SET synchronous_standby_names = '*'")
	s.Exec("SELECT pg_reload_conf()")
	s.wait("the standby is synchronous", func() bool {
		return s.Exec("SELECT COUNT(*) FROM pg_stat_replication WHERE sync_state = 'sync'") == "1" && s.Exec("SHOW synchronous_standby_names") == "*"
	})
	return standby
}

func newServer(tb TB, settings []string) *Server {
	tb.Helper()
	bin, err := programs()
	if err != nil {
		unavailable(tb, err)
	}
	dir, err := os.MkdirTemp("", "fsub-pg-") // a short name: that of a socket may have 107 bytes
	if err != nil {
		tb.Fatal(err)
	}
	s := &Server{tb: tb, bin: bin, dir: dir, port: freePort(tb), settings: settings}
	tb.Cleanup(func() {
		s.Kill()
		if tb.Failed() {
			tb.Logf("PostgreSQL's log:\n%s", s.lastWords())
		}
		os.RemoveAll(dir)
	})
	if os.Getuid() == 0 { // PostgreSQL does not run as root
		if s.as, err = unprivileged(); err != nil {
			unavailable(tb, err)
		}
		if err := os.Chown(dir, int(s.as.Uid), int(s.as.Gid)); err != nil {
			tb.Fatal(err)
		}
	}
	return s
}

// programs is the directory of the newest PostgreSQL that is installed.
func programs() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		return "", errors.New("PostgreSQL's server is not installed (Debian: apt-get install postgresql)")
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
		return n
	}
	return filepath.Dir(slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })), nil
}

func unavailable(tb TB, err error) {
	tb.Helper()
	if os.Getenv("CI") == "true" {
		tb.Fatalf("CI must run this test: %v", err)
	}
	tb.Skipf("SKIPPED, PostgreSQL cannot run here: %v", err)
}

func unprivileged() (*syscall.Credential, error) {
	for _, name := range []string{superuser, "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, errors.Join(err1, err2)
	}
	return nil, errors.New("there is no user postgres or nobody to run it as")
}

func freePort(tb TB) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// command is one of PostgreSQL's programs, as the user whom the server belongs to.
func (s *Server) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(s.bin, name), args...)
	c.Dir, c.Env = s.dir, append(os.Environ(), "LC_ALL=C")
	c.SysProcAttr = &syscall.SysProcAttr{Credential: s.as}
	return c
}

func (s *Server) must(c *exec.Cmd) string {
	s.tb.Helper()
	out, err := c.CombinedOutput()
	if err != nil {
		s.tb.Fatalf("%s: %v\n%s", filepath.Base(c.Path), err, out)
	}
	return strings.TrimSpace(string(out))
}

// Restart starts a server that was stopped or killed, on its old address, and waits until it answers.
func (s *Server) Restart() {
	s.tb.Helper()
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		s.tb.Fatal(err)
	}
	defer log.Close()
	args := []string{"-D", s.data(), "-k", s.dir, "-p", strconv.Itoa(s.port), "-h", "127.0.0.1"}
	for _, setting := range s.settings {
		args = append(args, "-c", setting)
	}
	p := s.command("postgres", args...)
	p.Stdout, p.Stderr = log, log
	p.SysProcAttr.Pdeathsig = syscall.SIGQUIT // a test that is killed leaves no server
	if err := program.Spawn(p); err != nil {
		s.tb.Fatal(err)
	}
	ended := make(chan struct{})
	s.process, s.ended = p, ended
	go func() {
		_ = p.Wait() // how it ended is in its log
		close(ended)
	}()
	s.wait("the server answers", func() bool {
		select {
		case <-ended:
			s.tb.Fatalf("PostgreSQL ended at its start:\n%s", s.lastWords())
		default:
		}
		return s.psql("postgres", "SELECT 1").Run() == nil
	})
}

// Stop ends the server in order: connections are cut, all is written.
func (s *Server) Stop() { s.end(syscall.SIGINT) }

// Kill ends it as a crash does: nothing more is written, and its next start recovers.
func (s *Server) Kill() { s.end(syscall.SIGQUIT) }

func (s *Server) end(signal os.Signal) {
	if s.process == nil {
		return
	}
	_ = s.process.Process.Signal(signal) // it may have ended by itself
	select {
	case <-s.ended:
	case <-time.After(bootTime):
		_ = s.process.Process.Kill()
		<-s.ended
	}
	s.process = nil
}

// Promote makes a primary of a standby.
func (s *Server) Promote() {
	s.tb.Helper()
	s.Exec("SELECT pg_promote()")
	s.wait("the standby is promoted", func() bool { return s.Exec("SELECT pg_is_in_recovery()") == "f" })
}

// URL is the address of a new database, empty and owned by [Role], through the unix socket.
func (s *Server) URL() string {
	s.tb.Helper()
	s.databases++
	name := fmt.Sprintf("fed%d", s.databases)
	s.Exec("CREATE DATABASE " + name + " OWNER " + Role)
	return s.Address(name)
}

// Encrypt has the server take TLS connections from now on, with a certificate and its key from these files.
func (s *Server) Encrypt(cert, key string) {
	s.tb.Helper()
	for from, to := range map[string]string{cert: "server.crt", key: "server.key"} {
		text, err := os.ReadFile(from)
		if err != nil {
			s.tb.Fatal(err)
		}
		to = filepath.Join(s.data(), to)
		if err := os.WriteFile(to, text, 0o600); err != nil {
			s.tb.Fatal(err)
		}
		if s.as != nil {
			if err := os.Chown(to, int(s.as.Uid), int(s.as.Gid)); err != nil {
				s.tb.Fatal(err)
			}
		}
	}
	const loaded = "SELECT pg_conf_load_time()"
	before := s.Exec(loaded)
	s.Exec("ALTER SYSTEM SET ssl = on")
	s.Exec("SELECT pg_reload_conf()")
	s.wait("the server has read them", func() bool { return s.Exec(loaded) != before })
}

// Small makes a new database on a file system of its own, of so many MiB, and returns its URL. fill leaves no space there, free gives it back. Only root can
// make one: else the test is skipped.
func (s *Server) Small(mib int) (url string, fill, free func()) {
	s.tb.Helper()
	dir := filepath.Join(s.dir, "small")
	if os.Getuid() != 0 {
		unavailable(s.tb, errors.New("only root mounts a file system"))
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		s.tb.Fatal(err)
	}
	fill, free = s.mount(dir, mib)
	s.Exec("CREATE TABLESPACE small LOCATION '" + dir + "'")
	s.Exec("CREATE DATABASE small OWNER " + Role + " TABLESPACE small")
	return s.Address("small"), fill, free
}

// SmallLog moves the write-ahead log to a file system of its own, of so many MiB. fill leaves no space there and uses up what the server has set aside, so that it crashes; free
// gives the space back, and starts the server if it has ended. Only root can do that: else the test is skipped.
func (s *Server) SmallLog(mib int) (fill, free func()) {
	s.tb.Helper()
	if os.Getuid() != 0 {
		unavailable(s.tb, errors.New("only root mounts a file system"))
	}
	s.Stop()
	dir, log := filepath.Join(s.dir, "wal"), filepath.Join(s.data(), "pg_wal")
	if err := os.Mkdir(dir, 0o755); err != nil {
		s.tb.Fatal(err)
	}
	waste, give := s.mount(dir, mib)
	s.must(exec.Command("cp", "-a", log, dir))
	if err := errors.Join(os.RemoveAll(log), os.Symlink(filepath.Join(dir, "pg_wal"), log)); err != nil {
		s.tb.Fatal(err)
	}
	s.Restart()
	fill = func() {
		waste()
		for range 4 * mib { // a segment each
			if s.psql("postgres", "CREATE TABLE IF NOT EXISTS t (); DROP TABLE t; SELECT pg_switch_wal()").Run() != nil {
				return
			}
		}
		s.tb.Fatal("the log finds space all the same")
	}
	return fill, func() {
		give()
		s.wait("the server answers, or ends", func() bool {
			select {
			case <-s.ended:
				s.Restart()
				return true
			default:
				return s.psql("postgres", "SELECT 1").Run() == nil
			}
		})
	}
}

// mount makes a small file system, which lasts as long as the test.
func (s *Server) mount(dir string, mib int) (fill, free func()) {
	s.tb.Helper()
	options := fmt.Sprintf("size=%dm,uid=%d,gid=%d,mode=700", mib, s.as.Uid, s.as.Gid)
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		unavailable(s.tb, fmt.Errorf("mount a tmpfs: %w", err))
	}
	s.tb.Cleanup(func() {
		s.Kill()
		_ = syscall.Unmount(dir, syscall.MNT_DETACH) // it goes with the directory's removal, or that fails
	})
	waste := filepath.Join(dir, "waste")
	fill = func() {
		f, err := os.Create(waste)
		if err != nil {
			s.tb.Fatal(err)
		}
		defer f.Close()
		for size := 1 << 20; size >= 512; size /= 2 { // to the last block
			for err = nil; err == nil; {
				_, err = f.Write(make([]byte, size))
			}
		}
	}
	return fill, func() { os.Remove(waste) }
}

// URLOverTCP is that of a new database, over loopback.
func (s *Server) URLOverTCP() string {
	s.tb.Helper()
	u, err := url.Parse(s.URL())
	if err != nil {
		s.tb.Fatal(err)
	}
	return fmt.Sprintf("postgres://%s@%s%s?sslmode=disable", Role, s.Listen(), u.Path)
}

// Address is that of a database through the unix socket.
func (s *Server) Address(database string) string {
	return fmt.Sprintf("postgres://%s@/%s?host=%s&port=%d", Role, database, s.dir, s.port)
}

// Listen is the server's address on loopback, host and port.
func (s *Server) Listen() string { return fmt.Sprintf("127.0.0.1:%d", s.port) }

// Socket is the path of the unix socket.
func (s *Server) Socket() string { return fmt.Sprintf("%s/.s.PGSQL.%d", s.dir, s.port) }

// Exec runs statements as superuser and returns what they answer: rows on lines, columns parted by bars.
func (s *Server) Exec(text string) string {
	s.tb.Helper()
	return s.ExecIn("postgres", text)
}

// ExecIn is Exec in a database.
func (s *Server) ExecIn(database, text string) string {
	s.tb.Helper()
	return s.must(s.psql(database, text))
}

func (s *Server) psql(database, text string) *exec.Cmd {
	return s.command("psql", "-h", s.dir, "-p", strconv.Itoa(s.port), "-U", superuser, "-d", database, "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", text)
}

func (s *Server) wait(what string, done func() bool) {
	s.tb.Helper()
	for deadline := time.Now().Add(bootTime); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.tb.Fatalf("waited a minute until %s\n%s", what, s.lastWords())
		}
	}
}

// lastWords is the end of the server's log.
func (s *Server) lastWords() string {
	b, _ := os.ReadFile(filepath.Join(s.dir, "log"))
	return string(b[max(0, len(b)-4000):])
}
