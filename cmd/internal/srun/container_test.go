package srun

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"fsub/cloud/container/containertest"
)

// boxed is a gang whose directory has an image "tiny.sqsh".
func boxed(t *testing.T, image string, cpus ...int) *gang {
	t.Helper()
	g := newGang(t, cpus...)
	if err := os.Link(image, filepath.Join(g.dir, "tiny.sqsh")); err != nil {
		t.Fatal(err)
	}
	return g
}

// tiny is an image for tests of this package: it has what the test's own program is linked with.
func tiny(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return containertest.Image(t, t.TempDir(), self)
}

// TestContainers: what pyxis does on Slurm, where there is no registry.
func TestContainers(t *testing.T) {
	const image = "--container-image=./tiny.sqsh "
	file := tiny(t)
	for _, c := range []struct {
		name, script, out, errs string
		code                    int
	}{
		{"command", "srun -N1 -n1 -w n1 " + image + "grep PRETTY /etc/os-release", "PRETTY_NAME=\"Tiny\"", "", 0},
		{"all tasks of a node", "srun -n4 " + image + `sh -c 'echo $SLURM_PROCID $SLURM_LOCALID $SLURM_NTASKS $COLOR $(pwd); [ $SLURM_TASK_PID = $$ ]'`,
			"0 0 4 image /inside\n1 1 4 image /inside\n2 2 4 image /inside\n3 0 4 image /inside", "", 0},
		{"exit codes", "srun -n4 " + image + `sh -c 'exit $SLURM_PROCID'`, "", "srun: error: n1: task 1: Exited with exit code 1\nsrun: error: n1: task 2: Exited with exit code 2\n" +
			"srun: error: n2: task 3: Exited with exit code 3", 3},
		{"no such command", "srun -N1 -n1 -w n1 " + image + "nosuch", "", "slurmstepd: error: execve(): nosuch: No such file or directory\nsrun: error: n1: task 0: Exited with exit code 2", 2},
		{"mounts", "echo data >f; srun -N1 -n1 -w n1 " + image + "--container-mounts=./f:/mnt/f:ro,tmpfs:/t cat /mnt/f", "data", "", 0},
		{"no such mount", "srun -N1 -n2 -w n1 " + image + "--container-mounts=/nosuch true", "", "slurmstepd: error: pyxis: --container-mounts: source path does not exist: /nosuch\n" +
			"srun: error: n1: tasks 0-1: Exited with exit code 1", 1},
		{"no such image", "srun -N1 -n1 -w n1 --container-image=/nosuch.sqsh true", "",
			"slurmstepd: error: pyxis: failed to create container filesystem for image: /nosuch.sqsh: no such file on this machine\nsrun: error: n1: task 0: Exited with exit code 1", 1},
		{"bad value", "srun --container-mounts=: " + image + "true", "", "srun: error: pyxis: --container-mounts: invalid format: :", 1},
		{"two values", "srun --container-image=x " + image + "true", "", "srun: error: pyxis: --container-image specified multiple times", 1},
		{"no container", "srun -N1 -n1 -w n1 --container-writable echo x", "x", "srun: error: pyxis: ignoring --container-writable because neither --container-image nor --container-name is set", 0},
		{"input", "echo hi | srun -N1 -n1 -w n1 " + image + "cat", "hi", "", 0},
		{"label and files", "srun -n2 -l " + image + "-o o.%t sh -c 'echo $SLURM_PROCID'; cat o.0 o.1", "0\n1", "", 0},
		{"a name", "srun -N1 -n1 -w n1 " + image + "--container-name=c --container-writable touch /kept; srun -N1 -n1 -w n1 --container-name=c ls /kept", "/kept", "", 0},
		{"no such name", "srun -N1 -n1 -w n1 --container-name=c true", "", "slurmstepd: error: pyxis: error: a container with name \"pyxis_c\" does not exist, and --container-image is not set\n" +
			"srun: error: n1: task 0: Exited with exit code 1", 1},
		{"two steps in one container", "srun -N1 -n1 -w n1 --overlap " + image + "--container-name=c --container-writable sh -c 'touch /kept; until [ -e /go ]; do sleep 0.05; done' & " +
			"until srun -N1 -n1 -w n1 --overlap --container-name=c:exec ls /kept 2>/dev/null; do sleep 0.1; done; srun -N1 -n1 -w n1 --overlap --container-name=c touch /go; wait $!", "/kept", "", 0},
		{"option of the job", "export SLURM_SPANK__SLURM_SPANK_OPTION_pyxis_container_image=./tiny.sqsh SLURM_SPANK__SLURM_SPANK_OPTION_pyxis_container_writable='(null)'; srun -N1 -n1 -w n1 sh -c 'touch /x; echo $COLOR'", "image", "", 0},
		{"variable of pyxis", "PYXIS_CONTAINER_IMAGE=./tiny.sqsh srun -N1 -n1 -w n1 sh -c 'echo $COLOR'", "image", "", 0},
		{"job's value", "COLOR=job srun -N1 -n1 -w n1 " + image + "--container-env=COLOR sh -c 'echo $COLOR'", "job", "", 0},
		{"components", "srun -l --exact -N1 -n1 " + image + "sh -c 'echo $COLOR' : --exact -N1 -n1 sh -c 'echo ${COLOR-none}'", "0: image\n1: none", "", 0},
		{"srun within", "srun -N1 -n1 -w n1 --overlap " + image + "srun --overlap -n1 -N1 -w n2 bash -c 'echo $SLURMD_NODENAME; cat /etc/os-release | grep -c Tiny'", "0\nn2",
			"slurmstepd: error: couldn't chdir to `/inside': No such file or directory: going to /tmp instead\nsrun: error: n2: task 0: Exited with exit code 1\nsrun: error: n1: task 0: Exited with exit code 1", 1},
		{"signals", ": >log; srun -n2 " + image + `sh -c 'trap "echo got usr1; exit 7" USR1; echo on; sleep 60 & wait' >log & p=$!; until [ "$(grep -c on log)" = 2 ]; do sleep 0.1; done; kill -USR1 $p; wait $p; c=$?; cat log; exit $c`,
			"got usr1\ngot usr1\non\non", "srun: error: n1: task 0: Exited with exit code 7\nsrun: error: n2: task 1: Exited with exit code 7", 7},
		{"what is left behind", "srun -n2 " + image + `sh -c "setsid sleep 6432.$$ >/dev/null 2>&1 & echo left"; pgrep -f "sleep 6432[.]$$"`, "left\nleft", "", 1},
		{"terminal", "srun --pty -N1 -n1 -w n1 " + image + "true </dev/null", "", "srun: error: Not using a pseudo-terminal, disregarding --pty option\nsrun: error: ioctl(TIOCGWINSZ): Inappropriate ioctl for device", 0},
		{"saved", "srun -N1 -n1 -w n1 " + image + "--container-save=s.sqsh --container-writable touch /kept; srun -N1 -n1 -w n1 --container-image=./s.sqsh ls /kept", "/kept",
			"pyxis: exported container pyxis_4711.0 to DIR/s.sqsh", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := boxed(t, file, 3, 1)
			out, errs, code := g.shell(t, c.script)
			if sorted(out) != c.out || settle(strings.ReplaceAll(errs, g.dir, "DIR")) != settle(c.errs) || code != c.code {
				t.Errorf("%s\n got %d, %q, %q\nwant %d, %q, %q", c.script, code, sorted(out), settle(errs), c.code, c.out, settle(c.errs))
			}
			for i, s := range g.services {
				s.RemoveRun("run1")
				if left, _ := filepath.Glob(filepath.Join(g.dir, "node"+strconv.Itoa(i), "containers/root/*")); len(left) > 0 && !strings.Contains(c.script, "container-name") {
					t.Errorf("left behind: %v", left)
				}
			}
			if out, _ := exec.Command("pgrep", "-f", g.dir).Output(); len(out) > 0 {
				t.Errorf("processes are left behind: %s", out)
			}
		})
	}
}

// TestContainerCancelled: a step whose container is being made ends when it is told to, with all that makes it.
func TestContainerCancelled(t *testing.T) {
	g := boxed(t, tiny(t), 1)
	slow := filepath.Join(g.dir, "slow")
	os.Mkdir(slow, 0o755)
	os.WriteFile(slow+"/unsquashfs", []byte("#!/bin/sh\necho $$ >"+g.dir+"/making\nexec sleep 1000\n"), 0o755)
	_, errs, code := g.shell(t, `export PATH=`+slow+`:$PATH; srun --container-image=./tiny.sqsh true & p=$!; until [ -s making ]; do sleep 0.05; done; kill -TERM $p; wait $p; c=$?
		kill -0 $(cat making) && echo it lives >&2; exit $c`)
	if code != 137 || strings.Contains(errs, "it lives") || !strings.Contains(errs, "task 0: Killed") {
		t.Errorf("%d, %s", code, errs)
	}
}
