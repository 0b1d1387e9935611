package frameworks

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fsub/testbed/ec2"
	"fsub/testbed/program"
)

// world is a daemon with the sites that jobs run at. It is made by the first test that needs it.
type world struct {
	bin, dir string
	daemon   *exec.Cmd
	log      string
	cloud    *ec2.Cloud
}

var (
	made     *world
	theWorld = sync.OnceValues(newWorld)
)

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if made != nil {
		if err := made.close(code != 0); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

func needWorld(t *testing.T) *world {
	t.Helper()
	w, err := theWorld()
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func newWorld() (*world, error) {
	dir, err := os.MkdirTemp("", "fsub-frameworks-")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		return nil, err
	}
	w := &world{dir: dir, bin: filepath.Join(dir, "bin"), log: filepath.Join(dir, "fed.log")}
	made = w
	// submitit looks for srun to find Slurm
	if err := errors.Join(program.Put(w.bin, "fsub", "fed", "fed-agent"), program.Link(w.bin, "sbatch", "squeue", "scancel", "sinfo", "sacct", "scontrol", "srun")); err != nil {
		return nil, err
	}
	sites, err := w.sites()
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf("federation: frameworks\nsocket: %[1]s/s\nstate_dir: %[1]s/state\nagents: {listen: \"127.0.0.1:0\", lease: 2m}\nsites:\n%[2]s", dir, sites)
	if err := os.WriteFile(w.config(), []byte(text), 0o600); err != nil {
		return nil, err
	}
	return w, w.start()
}

func (w *world) config() string { return filepath.Join(w.dir, "fed.yaml") }

// sites are those of the configuration: local always, the others where [places] has them.
func (w *world) sites() (string, error) {
	const pools = "pools: [{name: main, default: true, shared: true, min: 0, max: 4, idle: 10s}, {name: mpi, shared: true, min: 0, max: 4, idle: 10s, mpi: pmix}]"
	const shape = "nodes: 4, cpus: 4, mem_mib: 4000"
	text := "- {name: local, kind: local, local: {" + shape + "}, " + pools + "}\n"
	for _, p := range places() {
		switch p {
		case "hostnet":
			text += "- {name: hostnet, kind: local, local: {" + shape + ", network: host}, " + pools + "}\n"
		case "aws":
			w.cloud = ec2.New(ec2.Config{Process: true, Dir: filepath.Join(w.dir, "ec2")})
			url, err := w.cloud.Start("")
			if err != nil {
				return "", err
			}
			credentials := filepath.Join(w.dir, "credentials")
			secret := fmt.Sprintf("[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n", w.cloud.AccessKey(), w.cloud.SecretKey())
			if err := os.WriteFile(credentials, []byte(secret), 0o600); err != nil {
				return "", err
			}
			text += fmt.Sprintf("- {name: aws, kind: aws, aws: {region: %s, endpoint: %q, pricing_endpoint: %[2]q, credentials_file: %s, types: [g6.xlarge], "+
				"markets: [on-demand], boot: 5s}, %s}\n", w.cloud.Region(), url, credentials, pools)
		}
	}
	return text, nil
}

// places are the sites where each framework runs.
func places() []string {
	switch {
	case os.Getenv("FSUB_FULL") == "":
		return []string{"local"}
	case os.Geteuid() != 0:
		return []string{"local", "aws"}
	}
	return []string{"local", "hostnet", "aws"}
}

// start starts the daemon and waits until all sites answer.
func (w *world) start() error {
	log, err := os.Create(w.log)
	if err != nil {
		return err
	}
	defer log.Close()
	w.daemon = exec.Command(filepath.Join(w.bin, "fed"), "serve", "--config", w.config())
	w.daemon.Stdout, w.daemon.Stderr = log, log
	w.daemon.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := w.daemon.Start(); err != nil {
		return err
	}
	last := ""
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		out, _ := w.command("fed", "site", "list", "--json").Output()
		if last = string(out); bytes.Count(out, []byte(`"answering": true`)) == len(places()) {
			return nil
		}
	}
	return fmt.Errorf("the sites %s do not all answer: %s", strings.Join(places(), " "), last)
}

// command is one of ours, in the environment of an ordinary login.
func (w *world) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(w.bin, name), args...)
	cmd.Dir = w.dir
	cmd.Env = []string{"PATH=" + w.bin + ":/usr/local/bin:/usr/bin:/bin", "HOME=" + w.dir, "FSUB_SOCKET=" + filepath.Join(w.dir, "s"), "LANG=C.UTF-8"}
	return cmd
}

// close ends the daemon and all machines.
func (w *world) close(failed bool) error {
	var err error
	if w.daemon != nil && w.daemon.Process != nil {
		err = errors.Join(w.daemon.Process.Signal(syscall.SIGTERM), w.daemon.Wait())
		if out, e := w.command("fed", "pool", "clear", "--yes", "--config", w.config()).CombinedOutput(); e != nil {
			err = errors.Join(err, fmt.Errorf("fed pool clear: %w: %s", e, out))
		}
	}
	if w.cloud != nil {
		err = errors.Join(err, w.cloud.Close())
	}
	if text, _ := os.ReadFile(w.log); failed || err != nil {
		fmt.Fprintf(os.Stderr, "the daemon's log ends:\n%s\n", text[max(0, len(text)-6000):])
	}
	return errors.Join(err, os.RemoveAll(w.dir))
}
