// Package elsewhere has a second machine call the daemon: a namespace of mounts and of the network, where none of the daemon's files is, with a munged of its own that
// has a site's key, and a user whose uid is another one there. The user's commands are unchanged.
package elsewhere

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fsub/testbed/munged"
	"fsub/testbed/openid"
	"fsub/testbed/program"
)

// The user is fsubalice, a name that no machine has already, on the daemon's machine and al on the other.
const (
	alice, al = 54100, 47100
	patience  = time.Minute
)

// world is both machines.
type world struct {
	t      *testing.T
	dir    string // the daemon's: nothing of it is on the other machine
	server string // HOST:PORT
	other  string // the PID of a process on the other machine
	there  string // a directory on both
	idp    *openid.Provider
	daemon *exec.Cmd
}

// A script goes from the second machine to its result by sbatch, squeue, scancel and sacct, unchanged, and nobody there is more than he should be.
func TestSecondMachine(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: not root: nobody else can make machines")
	}
	w := newWorld(t)
	w.user(al, "sbatch says who called", `^Submitted batch job 30000000\n$`, "sbatch", "--output="+w.dir+"/out/%j", "/tmp/job.sh", "a word")
	w.user(al, "squeue has it, or sacct", `30000000`, "sh", "-c", "squeue -h -o %i; sacct -X -n -o JobID")
	w.await("COMPLETED|0:0|fsubalice\n", "sacct", "-X", "-n", "-P", "-j", "30000000", "-o", "State,ExitCode,User")
	if text, err := os.ReadFile(w.dir + "/out/30000000"); err != nil || string(text) != fmt.Sprintf("%d a word\n", alice) {
		t.Errorf("the output: %q, %v", text, err)
	}
	w.user(al, "a job that waits", `^30000001\n$`, "sbatch", "--parsable", "--hold", "/tmp/job.sh")
	w.user(al, "is listed", `^30000001 fsubalice PENDING\n$`, "squeue", "-h", "-o", "%i %u %T", "--me")
	w.user(al, "is cancelled", `^$`, "scancel", "30000001")
	w.await("CANCELLED by 54100\n", "sacct", "-X", "-n", "-P", "-j", "30000001", "-o", "State")
	w.user(al, "fed asks as the user, too", `(?m)^30000001\tfsubalice\t(.*)\tCANCELLED\t`, "fed", "job", "list", "--where", "state=CANCELLED")
	w.user(al, "why it went where it went", `^job 30000000 -> here`, "fed", "explain", "30000000")
	for name, c := range map[string]struct {
		uid  int
		says string
		env  []string
	}{
		"root of that machine":       {0, "root of a machine of alpha is not root here", nil},
		"a user who has alice's uid": {alice, "uid 54100 of alpha is fsubalice here, who is uid 47100 there", nil},
		"a stranger":                 {47999, "uid 47999 of alpha is not a user of the daemon's machine", nil},
		"another key":                {al, "made with another key", []string{"FSUB_CLIENT_FILE=" + w.there + "/another.yaml"}},
		"no munged":                  {al, "munged does not answer at /run/nothing (no such file or directory)", []string{"FSUB_CLIENT_FILE=" + w.there + "/none.yaml"}},
		"a server that is not there": {al, "nothing listens there", []string{"FSUB_SERVER=" + w.host() + ":1"}},
	} {
		if out, err := w.run(c.uid, c.env, "sbatch", "/tmp/job.sh"); err == nil || !strings.Contains(out, c.says) {
			t.Errorf("%s: %v: %s, want %q", name, err, out, c.says)
		}
	}
	w.signIn()
	// The same user with a token, as on a laptop.
	made, err := w.onDaemon(alice, "fed", "token", "create", "laptop", "--json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var token struct{ Token string }
	if err := json.Unmarshal(made, &token); err != nil {
		t.Fatal(err)
	}
	if out, err := w.run(47999, []string{"FSUB_TOKEN=" + token.Token}, "squeue", "-h", "--me", "-t", "all", "-o", "%u"); err != nil || !strings.Contains(out, "fsubalice") {
		t.Errorf("by a token: %v: %s", err, out)
	}
	w.mistakes(token.Token)
	w.forged()
	w.insideJob()
}

func newWorld(t *testing.T) *world {
	dir, err := os.MkdirTemp("", "elsewhere")
	if err != nil {
		t.Fatal(err)
	}
	there, err := os.MkdirTemp("", "there")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir); os.RemoveAll(there) })
	w := &world{t: t, dir: dir, there: there, idp: openid.Start(t)}
	remote := filepath.Join(there, "bin")
	for _, err := range []error{
		os.Chmod(dir, 0o755), os.Chmod(there, 0o755), os.Mkdir(dir+"/bin", 0o755), os.Mkdir(remote, 0o755), os.Mkdir(dir+"/out", 0o755), os.Chown(dir+"/out", alice, alice),
		program.Put(dir+"/bin", "fsub", "fed", "fed-agent"), program.PutAs(remote+"/fsub", "fsub-remote"), program.Put(remote, "fed"), program.Link(remote),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	// Two munged with one key, as on two machines.
	here, key, another := munged.Start(t, "alpha"), munged.Start(t, "alpha"), munged.Start(t, "another")
	w.machine(key)
	w.network()
	w.certificate()
	w.write(dir+"/passwd", fmt.Sprintf("fsubalice:x:%d:%[1]d::/nonexistent:/bin/sh\n", alice))
	w.write(dir+"/group", fmt.Sprintf("fsubalice:x:%d:\n", alice))
	w.write(dir+"/fed.yaml", fmt.Sprintf(`socket: %[1]s/fsub.sock
state_dir: %[1]s/state
remote: {listen: "%[2]s", cert_file: %[1]s/crt, key_file: %[1]s/key}
munge: {alpha: %[3]s}
oidc: {issuer: "%[5]s", client_id: fsub}
sites:
  - {name: alpha, url: "unix:%[1]s/rest", token_file: %[1]s/token, users: {fsubalice: {name: al, uid: %[4]d, gid: %[4]d}}}
  - {name: here, kind: local, local: {nodes: 1, cpus: 2, mem_mib: 500, network: host}}
`, dir, w.server, here, al, w.idp.Issuer))
	w.write(dir+"/token", "SLURM_JWT=a.b.c")
	if err := os.Chmod(dir+"/token", 0o600); err != nil {
		t.Fatal(err)
	}
	client := fmt.Sprintf("server: %s\nca_file: /etc/fsub/ca.pem\n", w.server)
	w.write(there+"/another.yaml", client+"munge: alpha\nmunge_socket: "+another+"\n")
	w.write(there+"/none.yaml", client+"munge: alpha\nmunge_socket: /run/nothing\n")
	w.write(there+"/client.yaml", client+"munge: alpha\n")
	w.write(there+"/job.sh", "#!/bin/sh\n#SBATCH --time=5 --chdir=/tmp\necho $(id -u) $1\n")
	w.inside("cp $0/client.yaml $0/ca.pem /etc/fsub/ && cp $0/job.sh /tmp/")
	daemon := w.onDaemon(0, "fed", "serve", "--config", dir+"/fed.yaml")
	log, err := os.Create(dir + "/fed.log")
	if err != nil {
		t.Fatal(err)
	}
	daemon.Stdout, daemon.Stderr = log, log
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	w.daemon = daemon
	t.Cleanup(func() {
		daemon.Process.Signal(os.Interrupt)
		daemon.Wait()
		if out, err := w.onDaemon(0, "fed", "pool", "clear", "--yes", "--config", dir+"/fed.yaml").CombinedOutput(); err != nil {
			t.Errorf("fed pool clear: %v: %s", err, out)
		}
		if text, _ := os.ReadFile(dir + "/fed.log"); t.Failed() {
			t.Logf("the daemon's log:\n%s", text)
		}
	})
	w.await("", "squeue", "-h")
	return w
}

func (w *world) write(path, text string) {
	w.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// machine makes the second machine, whose munged listens at a socket. It lives as long as the process w.other.
func (w *world) machine(munged string) {
	const made = `set -e
mkdir "$0/etc" && mount -t tmpfs -o mode=755 etc "$0/etc" && cp -a /etc/. "$0/etc" && mkdir -p "$0/etc/fsub" && mount --move "$0/etc" /etc
echo "al:x:$1:$1::/nonexistent:/bin/sh" >> /etc/passwd
munge=$(dirname "$2")
mkdir "$0/munge" && mount --bind "$munge" "$0/munge"
mount -t tmpfs -o mode=755 run /run && mkdir /run/munge && mount --bind "$0/munge" /run/munge
mount -t tmpfs -o mode=755 none "$3"
ip link set lo up
echo made
exec sleep infinity`
	cmd := exec.Command("unshare", "-m", "-n", "--propagation", "private", "sh", "-c", made, w.there, fmt.Sprint(al), munged, w.dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := program.Spawn(cmd); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	if n, err := out.Read(make([]byte, 16)); n == 0 {
		w.t.Fatalf("the second machine: %v: %s", err, &said)
	}
	w.other = fmt.Sprint(cmd.Process.Pid)
}

// network connects both machines by a cable, and finds a port for the daemon.
func (w *world) network() {
	n := os.Getpid() % 4096
	w.server = fmt.Sprintf("10.213.%d.%d", n/64, n%64*4+1)
	peer := fmt.Sprintf("10.213.%d.%d", n/64, n%64*4+2)
	cable := fmt.Sprintf("fsub%d", n)
	const connected = `set -e
ip link add "$0" type veth peer name eth0 netns "$1"
ip addr add "$2/30" dev "$0" && ip link set "$0" up
nsenter -t "$1" -n sh -ec 'ip addr add "$0/30" dev eth0 && ip link set eth0 up' "$3"`
	if out, err := exec.Command("sh", "-c", connected, cable, w.other, w.server, peer).CombinedOutput(); err != nil {
		w.t.Fatalf("%v: %s", err, out)
	}
	w.t.Cleanup(func() { exec.Command("ip", "link", "del", cable).Run() })
	l, err := net.Listen("tcp", w.server+":0")
	if err != nil {
		w.t.Fatal(err)
	}
	w.server = l.Addr().String()
	l.Close()
}

func (w *world) host() string {
	host, _, _ := net.SplitHostPort(w.server)
	return host
}

// certificate makes one for the daemon's address, which the other machine has as that of its authority.
func (w *world) certificate() {
	key, err1 := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	template := x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IPAddresses: []net.IP{net.ParseIP(w.host())},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	der, err2 := x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), key)
	private, err3 := x509.MarshalPKCS8PrivateKey(key)
	if err := errors.Join(err1, err2, err3); err != nil {
		w.t.Fatal(err)
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	w.write(w.dir+"/crt", string(cert))
	w.write(w.there+"/ca.pem", string(cert))
	if err := os.WriteFile(w.dir+"/key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// onDaemon is a command on the daemon's machine, where alice is a user.
func (w *world) onDaemon(uid int, args ...string) *exec.Cmd {
	const own = `mkdir -p "$0/etc" && mount -t tmpfs -o mode=755 etc "$0/etc" && cp -a /etc/. "$0/etc" && cat "$0/passwd" >> "$0/etc/passwd" && cat "$0/group" >> "$0/etc/group" && mount --move "$0/etc" /etc && uid=$1 && shift && exec setpriv --reuid=$uid --regid=$uid --clear-groups "$@"`
	cmd := exec.Command("unshare", append([]string{"-m", "--propagation", "private", "sh", "-c", own, w.dir, fmt.Sprint(uid)}, args...)...)
	cmd.Env = []string{"PATH=" + w.dir + "/bin:" + os.Getenv("PATH"), "HOME=/nonexistent", "FSUB_SOCKET=" + w.dir + "/fsub.sock"}
	return cmd
}

// inside runs a shell's command as root of the second machine; $0 is the directory on both.
func (w *world) inside(command string) {
	w.t.Helper()
	if out, err := exec.Command("nsenter", "-t", w.other, "-m", "-n", "sh", "-ec", command, w.there).CombinedOutput(); err != nil {
		w.t.Fatalf("%s: %v: %s", command, err, out)
	}
}

// run is a command of a user of the second machine.
func (w *world) run(uid int, env []string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	out, err := w.command(ctx, uid, env, args...).CombinedOutput()
	return string(out), err
}

// command is a command of a user of the second machine.
func (w *world) command(ctx context.Context, uid int, env []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "nsenter", append([]string{"-t", w.other, "-m", "-n", "setpriv", fmt.Sprintf("--reuid=%d", uid), fmt.Sprintf("--regid=%d", uid), "--clear-groups"}, args...)...)
	cmd.Env = append([]string{"PATH=" + w.there + "/bin:" + os.Getenv("PATH"), "HOME=/nonexistent"}, env...)
	cmd.Dir = "/"
	return cmd
}
