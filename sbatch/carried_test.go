package sbatch

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// bodies are files by their absolute names.
type bodies map[string]string

func (b bodies) Exists(name string) bool { return b[name] != "" }
func (b bodies) Read(name string, _ int) ([]byte, error) {
	if body, ok := b[name]; ok {
		return []byte(body), nil
	}
	return noFiles{}.Read(name, 0)
}

// TestClientsBusiness: what sbatch itself makes of options for which no interface has a word. Tried on sbatch 24.11.5.
func TestClientsBusiness(t *testing.T) {
	files := bodies{"/home/alice/dir/bb": "#BB one\n\n#BB two", "/home/alice/dir/bbn": "#BB one\n", "/home/alice/dir/env": "A=1\x00B=x y\x00SLURM_X=2\x00",
		"/dev/fd/7": "FD=7\x00"}
	ask := func(args ...string) (*Request, error) {
		in := input("#!/bin/sh\n#SBATCH -n1\ntrue\n", args...)
		in.Env, in.Files = []string{"HOME=/home/alice", "QQ=1", "SLURM_Y=3"}, files
		return Parse(in)
	}
	for arg, want := range map[string]string{
		"--bbf=bb":  "#!/bin/sh\n#BB one\n\n#BB two\n#SBATCH -n1\ntrue\n",
		"--bbf=bbn": "#!/bin/sh\n#BB one\n#SBATCH -n1\ntrue\n",
	} {
		if r, err := ask(arg); err != nil || r.Payload.Script != want {
			t.Errorf("%s: %q, %v", arg, r.Payload.Script, err)
		}
	}
	for _, c := range []struct{ args, has, hasNot string }{
		{"--export-file=env", "A=1 SLURM_X=2", "HOME QQ SLURM_Y SLURM_GET_USER_ENV"},
		{"--export-file=env --export=ALL", "A=1 SLURM_X=2", "HOME QQ"},
		{"--export-file=env --export=A,C=4", "A=1 C=4 SLURM_X=2 SLURM_GET_USER_ENV=1", "QQ SLURM_EXPORT_ENV"},
		{"--export-file=env --export=NONE --hint=nomultithread", "SLURM_GET_USER_ENV=1 SLURM_THREADS_PER_CORE=1", "A SLURM_X SLURM_HINT SLURM_JOB_NAME SLURM_RLIMIT_CPU"},
		{"--export-file=7", "FD=7", "A QQ"},
		{"--cpu-freq=low-high:performance --mem-bind=v,local", "SLURM_MEM_BIND=verbose,local SLURM_MEM_BIND_VERBOSE=verbose QQ=1", "SLURM_CPU_FREQ_REQ"}, // slurmctld sets it
		{"--mem-bind=map_mem:0,1", "SLURM_MEM_BIND=map_mem:0,1 SLURM_MEM_BIND_VERBOSE=quiet", ""},
	} {
		r, err := ask(strings.Fields(c.args)...)
		if err != nil {
			t.Errorf("%s: %v", c.args, err)
			continue
		}
		for _, v := range strings.Fields(c.has) {
			if !slices.Contains(r.Payload.Environment, v) {
				t.Errorf("%s: no %s in %q", c.args, v, r.Payload.Environment)
			}
		}
		for _, name := range strings.Fields(c.hasNot) {
			if v, there := lookup(r.Payload.Environment, name); there {
				t.Errorf("%s: %s=%s is there", c.args, name, v)
			}
		}
	}
	for args, want := range map[string]string{
		"--bbf=nope":               "sbatch: error: Invalid --bbf specification",
		"--propagate=STACK,nofile": "sbatch: error: Bad rlimit name: nofile", "--propagate=ALL,STACK": "sbatch: error: Bad rlimit name: ALL",
		"--export-file=nope": "sbatch: error: Could not open user environment file nope",
	} {
		_, err := ask(args)
		var exit *Exit
		if !errors.As(err, &exit) || exit.Stderr[0] != want || exit.Code != 1 {
			t.Errorf("%s: %v", args, err)
		}
	}
}

// TestHostFile: SLURM_HOSTFILE names the host of each task, if no option does.
func TestHostFile(t *testing.T) {
	ask := func(env string, args ...string) (*Request, *Exit) {
		in := input("#!/bin/sh\n", args...)
		in.Env, in.Files = []string{"SLURM_HOSTFILE=" + env}, bodies{"/home/alice/dir/hosts": "a1\na1 # twice\na[2-3]\n", "/none": "# none\n"}
		r, err := Parse(in)
		var exit *Exit
		errors.As(err, &exit)
		return r, exit
	}
	for _, c := range []struct {
		args         string
		tasks, nodes int
		list         string
	}{{"-J x", 4, 3, "a1,a1,a[2-3]"}, {"-n2 -m block", 2, 1, "a1,a1"}, {"-n3", 3, 2, "a1,a1,a2"}} {
		r, exit := ask("hosts", strings.Fields(c.args)...)
		if exit != nil || r.Spec.NTasks != c.tasks || r.Spec.MinNodes != c.nodes || r.Spec.NodeList != c.list || r.Spec.More.Distribution != "arbitrary" {
			t.Errorf("%s: %+v, %v", c.args, r, exit)
		}
	}
	if r, exit := ask("hosts", "-w", "b1"); exit != nil || r.Spec.NodeList != "b1" || r.Spec.More != nil {
		t.Errorf("%+v, %v", r, exit)
	}
	const failure = "sbatch: error: Failure getting NodeNames from hostfile"
	if _, exit := ask("/nope"); exit == nil || len(exit.Stderr) != 2 || exit.Stderr[1] != failure || exit.Code != 1 {
		t.Errorf("%v", exit)
	}
	if _, exit := ask("/none"); exit == nil || exit.Stderr[0] != "sbatch: error: Hostlist is empty!" {
		t.Errorf("%v", exit)
	}
}

func TestAutocomplete(t *testing.T) {
	_, err := Parse(input("", "--autocomplete=--no"))
	var exit *Exit
	const want = "--no-kill=\n--no-kill \n--no-requeue\n--nodefile=\n--nodelist=\n--nodes=\n\n"
	if !errors.As(err, &exit) || exit.Code != 0 || exit.Stdout != want {
		t.Errorf("%#v", exit)
	}
}

func TestUses(t *testing.T) {
	for args, option := range map[string]string{"-S0": "core-spec=0", "--resv-ports --stepmgr": "resv-ports", "--reboot": "reboot",
		"--gres-flags=multiple-tasks-per-sharing": "gres-flags=SHARING", "--cores-per-socket=2": "cores-per-socket", "-L matlab:2": "licenses", "--container=/bundle": "container"} {
		r, err := Parse(input("#!/bin/sh\n", strings.Fields(args)...))
		if err != nil || !r.Spec.Uses(option) {
			t.Errorf("%s does not use %s: %v", args, option, err)
		}
		if r, err = Parse(input("#!/bin/sh\n", "-n1", "-S1")); err != nil || r.Spec.Uses(option) {
			t.Errorf("-n1 uses %s: %v", option, err)
		}
	}
}
