package sbatch

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fsub/sbatch/getopt"
)

// now is a Friday evening in a zone that is not UTC.
var now = time.Date(2026, 11, 20, 18, 30, 15, 0, time.FixedZone("CET", 3600))

func input(script string, args ...string) Input {
	return Input{Args: args, Dir: "/home/alice/dir", Host: "login1", Now: now, Umask: 0o22, Files: noFiles{},
		Stdin: func() ([]byte, error) { return []byte(script), nil }}
}

// TestRoundTrip: whatever Parse understands, it understands again when Options has written it down.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		var args []string
		for range 1 + r.IntN(6) {
			args = append(args, randomWords(r, Following)...)
		}
		first, err := Parse(input("#!/bin/sh\n", args...))
		if err != nil {
			return
		}
		again, err := Parse(input("#!/bin/sh\n", first.Spec.Options()...))
		if err != nil {
			t.Fatalf("%q\n as %q\n err %v", args, first.Spec.Options(), err)
		}
		if diff := cmp.Diff(first.Spec, again.Spec); diff != "" {
			t.Fatalf("%q\n as %q\n(-first +again)\n%s", args, first.Spec.Options(), diff)
		}
	})
}

func TestPrecedence(t *testing.T) {
	in := input("#!/bin/sh\n#SBATCH -p script -q script -A script --wait --mem=1G --requeue\n", "-p", "args")
	in.Env = []string{"SBATCH_PARTITION=env", "SBATCH_QOS=env", "SBATCH_WAIT=0", "SBATCH_MEM_PER_CPU=2G", "SBATCH_NO_REQUEUE=no"}
	r, err := Parse(in)
	if err != nil {
		t.Fatal(err)
	}
	s := r.Spec
	if s.Partition != "args" || s.QOS != "env" || s.Account != "script" {
		t.Errorf("partition %q, qos %q, account %q", s.Partition, s.QOS, s.Account)
	}
	if r.Wait || s.Requeue != nil {
		t.Errorf("wait %v, requeue %v: the environment switches them off", r.Wait, s.Requeue)
	}
	if s.MemPerNode != 1024 || s.MemPerCPU != 0 {
		t.Errorf("mem %d, mem-per-cpu %d: what is written down puts the environment's away", s.MemPerNode, s.MemPerCPU)
	}
}

func TestDerived(t *testing.T) {
	for _, c := range []struct {
		args string
		want func(*Spec) bool
	}{
		{"-o out/%j -e /abs -D sub", func(s *Spec) bool {
			return s.WorkDir == "/home/alice/dir/sub" && s.Output == "/home/alice/dir/sub/out/%j" && s.Error == "/abs"
		}},
		{"-w n[1-3],n2,m1", func(s *Spec) bool { return s.MinNodes == 4 && s.MaxNodes == 0 }},
		{"-w n[1-3] -N 1-2", func(s *Spec) bool { return s.MinNodes == 1 && s.MaxNodes == 2 }},
		{"-N 4 -n 2", func(s *Spec) bool { return s.MinNodes == 2 && s.MaxNodes == 2 }},
		{"-N 2-9 -n 4", func(s *Spec) bool { return s.MinNodes == 2 && s.MaxNodes == 4 }},
		{"-n 7 --ntasks-per-node=3", func(s *Spec) bool { return s.MinNodes == 3 && s.MaxNodes == 0 }},
		{"--mem=0", func(s *Spec) bool { return s.MemPerNode == MemAll }},
		{"-J x", func(s *Spec) bool { return s.Name == "x" }},
		{"", func(s *Spec) bool { return s.Name == "sbatch" && s.WorkDir == "/home/alice/dir" && s.Output == "" }},
		{"--gres=gres/gpu:h100:2,nvme:1", func(s *Spec) bool { return s.GRES == "gpu:h100:2,nvme:1" }},
		{"--begin=16:00", func(s *Spec) bool { return s.Begin.Equal(time.Date(2026, 11, 21, 15, 0, 0, 0, time.UTC)) }},
		{"--begin=19:00", func(s *Spec) bool { return s.Begin.Equal(time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC)) }},
		{"--mail-type=END --mail-type=fail", func(s *Spec) bool { return s.MailType == "END,FAIL" }},
		{"--signal=rb:10@300", func(s *Spec) bool {
			return *s.Signal == Signal{Name: "USR1", Before: 5 * time.Minute, BatchOnly: true, Reservation: true}
		}},
	} {
		r, err := Parse(input("#!/bin/sh\n", strings.Fields(c.args)...))
		if err != nil {
			t.Errorf("%s: %v", c.args, err)
		} else if !c.want(&r.Spec) {
			t.Errorf("%s: %+v", c.args, r.Spec)
		}
	}
}

func TestMore(t *testing.T) {
	for _, c := range []struct {
		args string
		want More
		env  string // variables that sbatch sets for it
	}{
		{"--hint=NoMultithread", More{Hint: "NoMultithread"}, "SLURM_HINT=NoMultithread SLURM_THREADS_PER_CORE=1"},
		{"--hint=multithread", More{Hint: "multithread"}, "SLURM_HINT=multithread SLURM_NTASKS_PER_CORE=65535"},
		{"--hint=nomultithread --threads-per-core=2", More{ThreadsPerCore: 2}, "SLURM_THREADS_PER_CORE=2"},
		{"-B 1:4:1 -N2", More{SocketsPerNode: 1, CoresPerSocket: 4, ThreadsPerCore: 1}, "SLURM_NTASKS=8 SLURM_THREADS_PER_CORE=1"},
		{"--threads-per-core=4 -B 1:2 --sockets-per-node=3", More{SocketsPerNode: 3, CoresPerSocket: 2}, ""},
		{"-B *:2-4", More{CoresPerSocket: 2}, "SLURM_NTASKS=2"},
		{"-m *:block,Pack", More{Distribution: "block:block,pack"}, "SLURM_DISTRIBUTION=block:block,pack"},
		{"-m plane=4", More{Distribution: "plane=4"}, "SLURM_DISTRIBUTION=plane SLURM_DIST_PLANESIZE=4"},
		{"-m arbitrary -w n[1-3]", More{Distribution: "arbitrary"}, "SLURM_NTASKS=3 SLURM_ARBITRARY_NODELIST=n[1-3] SLURM_DISTRIBUTION=arbitrary"},
		{"--gpu-bind=closest --gpus-per-task=1", More{GPUBind: "closest"}, "SLURM_TRES_BIND=gres/gpu:closest"},
		{"--tres-per-task=cpu=2,gres/gpu:a100=1,license/x=1", More{TRESPerTask: "license/x=1"},
			"SLURM_CPUS_PER_TASK=2 SLURM_TRES_PER_TASK=cpu=2,gres/gpu:a100=1,license/x=1 SLURM_TRES_BIND=gres/gpu:per_task:1"},
		{"-O --no-kill --wait-all-nodes=1 --kill-on-invalid-dep=No", More{Overcommit: true, NoKill: true, WaitAllNodes: Yes, KillOnInvalidDep: No}, ""},
		{"--delay-boot=1:30 --tmp=1G -L a:2 -S 2", More{DelayBoot: 90 * time.Second, TmpDisk: 1024, Licenses: "a:2", CoreSpec: 2}, ""},
		{"-N 1,4", More{NodeSizes: "1,4"}, ""},
	} {
		r, err := Parse(input("#!/bin/sh\n", strings.Fields(c.args)...))
		if err != nil {
			t.Errorf("%s: %v", c.args, err)
			continue
		}
		if r.Spec.More == nil || *r.Spec.More != c.want {
			t.Errorf("%s: %+v", c.args, r.Spec.More)
		}
		for _, v := range strings.Fields(c.env) {
			if !slices.Contains(r.Payload.Environment, v) {
				t.Errorf("%s: no %s in %q", c.args, v, r.Payload.Environment)
			}
		}
	}
	r, err := Parse(Input{Args: []string{"--no-kill=off", "--wrap", "x"}, Env: []string{"SBATCH_OVERCOMMIT=0"}, Dir: "/", Files: noFiles{}})
	if err != nil || r.Spec.More != nil {
		t.Errorf("what is switched off leaves %+v, %v", r.Spec.More, err)
	}
}

// #PBS and #BSUB lines count after #SBATCH lines and before the environment; those of PBS only if there are none of LSF.
func TestForeign(t *testing.T) {
	const script = "#!/bin/sh\n#SBATCH -J mine -q keep\n#PBS -N pbs -q pbs -W umask=077\nhostname\n#PBS -l nodes=2:ppn=4:gpus=1\n"
	in := input(script, "-p", "args")
	in.Env = []string{"SBATCH_JOB_NAME=env", "SLURM_UMASK=0022"}
	r, err := Parse(in)
	if err != nil {
		t.Fatal(err)
	}
	s := r.Spec
	if s.Name != "env" || s.QOS != "keep" || s.Partition != "args" || s.MinNodes != 2 || s.NTasks != 8 || s.GPUsPerNode != "1" {
		t.Errorf("%+v", s)
	}
	if !slices.Contains(r.Payload.Environment, "SLURM_UMASK=0077") {
		t.Errorf("no umask in %q", r.Payload.Environment)
	}
	r, err = Parse(input("#!/bin/sh\n#BSUB -J lsf -n 2,4 -cwd sub\n" + script))
	if err != nil || r.Spec.Name != "lsf" || r.Spec.NTasks != 4 || r.Spec.Partition != "" || r.Spec.WorkDir != "/home/alice/dir/sub" {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = Parse(input(script, "--ignore-pbs"))
	if err != nil || r.Spec.Name != "mine" || r.Spec.MinNodes != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	far := strings.Repeat("true\n", 100)
	for fill, want := range map[string]string{far: "late", far + "true\n": "sbatch"} {
		if r, err = Parse(input("#!/bin/sh\n" + fill + "#PBS -N late\n")); err != nil || r.Spec.Name != want {
			t.Errorf("name %q, %v, want %q", r.Spec.Name, err, want)
		}
	}
}

func TestMoreRefusals(t *testing.T) {
	for args, want := range map[string]string{
		"--hint=x": `sbatch: error: unrecognized --hint argument "x", see --hint=help`,
		"--ntasks-per-core=2 --threads-per-core=1":     "sbatch: error: --ntasks-per-core (2) can not be bigger than --threads-per-core (1)",
		"-S 1 --thread-spec=1":                         "sbatch: fatal: -S/--core-spec and --thred-spec options are mutually exclusive",
		"--tres-per-task=mem=1G":                       "sbatch: fatal: Invalid TRES for --tres-per-task: mem",
		"--tres-per-task=cpu=2 -c2":                    "sbatch: fatal: You can not have --tres-per-task=cpu= and --cpus-per-task please use one or the other",
		"--tres-per-task=gres/gpu=1 --gpus-per-task=1": "sbatch: fatal: You can not have --tres-per-task=gres/gpu= and --gpus-per-task please use one or the other",
		"-m arbitrary -N1 -w n1":                       "sbatch: error: --nodes is incompatible with --distribution=arbitrary",
		"-m arbitrary":                                 "sbatch: error: With Arbitrary distribution you need to specify a nodelist or hostfile with the -w option",
		"--cpus-per-gpu=2 --tres-per-task=cpu=2":       "sbatch: fatal: --cpus-per-task, --tres-per-task=cpu:#, and --cpus-per-gpu are mutually exclusive",
	} {
		_, err := Parse(input("#!/bin/sh\n", strings.Fields(args)...))
		var exit *Exit
		if !errors.As(err, &exit) || len(exit.Stderr) == 0 || exit.Stderr[0] != want || exit.Code != 1 {
			t.Errorf("%s: %v", args, err)
		}
	}
}

func TestExport(t *testing.T) {
	env := []string{"HOME=/home/a", "FOO=1", "SLURM_JOB_ID=7", "SPANK_X=1", "EMPTY="}
	for _, c := range []struct {
		export string // "-" is none at all
		want   string // what is there of the caller's, and how
	}{
		{"-", "HOME FOO SLURM_JOB_ID SPANK_X EMPTY"},
		{"all", "HOME FOO SLURM_JOB_ID SPANK_X EMPTY"},
		{"NONE", "SLURM_JOB_ID SLURM_EXPORT_ENV=NONE SLURM_GET_USER_ENV=1"},
		{"nil", "SLURM_JOB_ID SLURM_EXPORT_ENV=nil"},
		{"FOO,NOPE,B=2", "FOO B=2 SLURM_JOB_ID SLURM_EXPORT_ENV=FOO,NOPE,B=2 SLURM_GET_USER_ENV=1"},
		{"FOO=9,ALL", "FOO HOME SLURM_JOB_ID SPANK_X EMPTY SLURM_EXPORT_ENV=FOO=9,ALL SLURM_GET_USER_ENV=1"},
		{"ALL,FOO=9", "HOME FOO=9 SLURM_JOB_ID SPANK_X EMPTY SLURM_EXPORT_ENV=ALL,FOO=9 SLURM_GET_USER_ENV=1"},
		{`A="x,y",'B=q'`, `A="x,y" B=q SLURM_JOB_ID SLURM_EXPORT_ENV=A="x,y",'B=q' SLURM_GET_USER_ENV=1`},
	} {
		in := input("#!/bin/sh\n")
		if c.export != "-" {
			in.Args = []string{"--export=" + c.export}
		}
		in.Env = env
		r, err := Parse(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := briefly(r.Payload.Environment, env); got != c.want {
			t.Errorf("--export=%s\n got %s\nwant %s", c.export, got, c.want)
		}
	}
}

// briefly names the variables that are the caller's, unchanged, and writes out the others. What sbatch adds to every job is left out.
func briefly(got, callers []string) string {
	var list []string
	for _, v := range got {
		name, _, _ := strings.Cut(v, "=")
		switch name {
		case "SLURM_SUBMIT_DIR", "SLURM_SUBMIT_HOST", "SLURM_UMASK", "SLURM_PRIO_PROCESS", "SLURM_JOB_NAME",
			"OMPI_MCA_plm_slurm_args", "PRTE_MCA_plm_slurm_args", "HYDRA_BOOTSTRAP", "HYDRA_LAUNCHER_EXTRA_ARGS",
			"I_MPI_HYDRA_BOOTSTRAP", "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS":
			continue
		}
		for _, c := range callers {
			if c == v {
				v = name
			}
		}
		list = append(list, v)
	}
	return strings.Join(list, " ")
}

func TestEnvironmentOfOptions(t *testing.T) {
	in := input("#!/bin/sh\n", strings.Fields("-n4 -c2 --ntasks-per-node=2 --gpus-per-task=h100:1 --open-mode=a -d 5 --propagate=NOFILE --mem-per-gpu=2G")...)
	in.Env = []string{"SLURM_UMASK=0007", "SLURM_NTASKS=99", "SLURM_STEPMGR=x", "HYDRA_BOOTSTRAP=ssh"}
	in.Limits = func() []Limit { return []Limit{{"CPU", 1<<64 - 1}, {"NOFILE", 1024}} }
	r, err := Parse(in)
	if err != nil {
		t.Fatal(err)
	}
	got := "\n" + strings.Join(r.Payload.Environment, "\n") + "\n"
	for _, want := range strings.Fields(`SLURM_UMASK=0007 SLURM_NTASKS=4 SLURM_NPROCS=4 SLURM_CPUS_PER_TASK=2 SLURM_NTASKS_PER_NODE=2
		SLURM_TRES_PER_TASK=cpu=2,gres/gpu:h100=1 SLURM_TRES_BIND=gres/gpu:per_task:1 SLURM_OPEN_MODE=a SLURM_JOB_DEPENDENCY=5
		SLURM_STEPMGR=x SLURM_RLIMIT_NOFILE=U1024 SLURM_MEM_PER_GPU=2048 SLURM_SUBMIT_DIR=/home/alice/dir
		SLURM_SUBMIT_HOST=login1 SLURM_JOB_NAME=sbatch I_MPI_HYDRA_BOOTSTRAP=slurm HYDRA_BOOTSTRAP=ssh`) {
		if !strings.Contains(got, "\n"+want+"\n") {
			t.Errorf("%s is missing", want)
		}
	}
	for _, wrong := range []string{"SLURM_RLIMIT_CPU", "HYDRA_LAUNCHER_EXTRA_ARGS=", "SLURM_NTASKS=99", "SLURM_GPUS"} {
		if strings.Contains(got, "\n"+wrong) {
			t.Errorf("%s is there", wrong)
		}
	}
}

func TestWarningsAndQuiet(t *testing.T) {
	const script = "#!/bin/sh\n#SLURM -N4 -n2\n"
	r, err := Parse(input(script))
	if err != nil || len(r.Warnings) != 2 || !strings.Contains(r.Warnings[1], "setting nnodes to 2") {
		t.Errorf("%v, request %+v", err, r)
	}
	if r, err = Parse(input(script, "-Q")); err != nil || len(r.Warnings) != 1 {
		t.Errorf("-Q: %v, warnings %q", err, r.Warnings)
	}
}

// seeds are the recorded calls, and what they do not have.
func seeds(f *testing.F, add func(script, args, env string)) {
	add("#!/bin/sh\n#SBATCH -N2 --time=1:2:3 \"--job-name=a b\" # c\n#SBATCH hetjob\n", "-n 4\x00--mem=4G", "SBATCH_WAIT=1")
	add("#!/bin/sh\n#SBATCH --begin=12/25-10:00 -w n[1-3,07]x[1-2] --signal=B:USR1@9\n", "--export=A='x,y',ALL", "SBATCH_REQ_SWITCH=2")
	add("#!/bin/sh\n#FSUB --sites=a,b --stage-in='x -> y'\n#SBATCH packjob\n", "-n1\x00:\x00-n2\x00:\x00--fed-max-cost=3", "FSUB_SITES=x\x00SLURM_HOSTFILE=")
	add("#!/bin/sh\n#PBS -l nodes=2:ppn=4+n7,walltime=1:00\n#BSUB -n 2,4 -cwd x\n", "--cpu-freq=low-high:ondemand\x00--mem-bind=v,map_mem:0,1", "")
	for _, file := range []string{"calls-22.05", "calls-24.11", "calls-26.05", "foreign", "het"} {
		body, err := os.ReadFile("testdata/" + file + ".jsonl")
		if err != nil {
			f.Fatal(err)
		}
		for line := range strings.Lines(string(body)) {
			var a reply
			if err := json.Unmarshal([]byte(line), &a); err != nil {
				f.Fatal(err)
			}
			add(a.Script, strings.Join(a.Args, "\x00"), strings.Join(a.Env, "\x00"))
		}
	}
}

// fuzzed is a call made of texts; NULs part words and variables.
func fuzzed(script, args, env string) Input {
	in := input(script)
	if args != "" {
		in.Args = strings.Split(args, "\x00")
	}
	if env != "" {
		in.Env = strings.Split(env, "\x00")
	}
	return in
}

func FuzzParse(f *testing.F) {
	seeds(f, func(script, args, env string) {
		for release := range Releases() {
			f.Add(script, args, env, uint8(release))
		}
	})
	plugins := []Plugin{{"container-image", "", getopt.RequiredArg}, {"view", "I", getopt.OptionalArg}, {"writable", "", getopt.NoArg}}
	f.Fuzz(func(t *testing.T, script, args, env string, release uint8) {
		in := fuzzed(script, args, env)
		in.Slurm = Releases()[int(release)%len(Releases())]
		if release > 100 {
			in.Plugins = plugins
		}
		r, err := Parse(in)
		var exit *Exit
		switch {
		case err == nil && r == nil:
			t.Fatal("neither request nor error")
		case err != nil && (!errors.As(err, &exit) || exit.Code < 0 || exit.Code > 255):
			t.Fatalf("error %#v", err)
		case err != nil && exit.Code != 0 && len(exit.Stderr) == 0 && exit.Stdout == "":
			t.Fatal("refused without a word")
		}
		got, err2 := Understand(in)
		if err == nil && (err2 != nil || len(got.Components) != 1+len(r.Spec.Het)) {
			t.Fatalf("Parse takes it, Understand has %+v, %v", got, err2)
		}
	})
}

// FuzzRoundTrip: what Parse understands it understands again when it is written down.
func FuzzRoundTrip(f *testing.F) {
	seeds(f, func(script, args, env string) { f.Add(script, args, env) })
	f.Fuzz(func(t *testing.T, script, args, env string) {
		first, err := Parse(fuzzed(script, args, env))
		if err != nil || len(first.Spec.Het) > 0 {
			return
		}
		again, err := Parse(input("#!/bin/sh\n", first.Spec.Options()...))
		if err != nil {
			t.Fatalf("%q: %v", first.Spec.Options(), err)
		}
		if diff := cmp.Diff(first.Spec, again.Spec); diff != "" {
			t.Fatalf("%q (-first +again)\n%s", first.Spec.Options(), diff)
		}
	})
}

func FuzzPointInTime(f *testing.F) {
	for _, s := range valuePools["begin"] {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { pointInTime(s, now, Following) })
}

const block = `#!/bin/bash
#SBATCH --job-name=train
#SBATCH --partition=gpu
#SBATCH --nodes=4 --ntasks-per-node=8
#SBATCH --gres=gpu:h100:8
#SBATCH --time=24:00:00
#SBATCH --mem=0
#SBATCH --output=logs/%x-%j.out
#SBATCH --mail-type=END,FAIL
srun python train.py
`

// BenchmarkDirectives is one core's work on the block of directives of an ordinary training script.
func BenchmarkDirectives(b *testing.B) {
	in := input(block)
	script := []byte(block)
	b.ReportAllocs()
	for b.Loop() {
		p := newParser(&in)
		if err := directivesOf(p, script); err != nil {
			b.Fatal(err)
		}
		if err := p.verify(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "blocks/s")
}

// TestRoom: a parser has room for every option of the table.
func TestRoom(t *testing.T) {
	if room := len((&given{}).sources); len(options) > room || len(options) > 256 {
		t.Errorf("%d options, room for %d", len(options), room)
	}
}

func directivesOf(p *parser, script []byte) error {
	_, err := p.directives(&scanner{script: script, file: "stdin", release: p.release, notices: &p.notices})
	return err
}

// BenchmarkParse is a whole call, with an environment of 40 variables.
func BenchmarkParse(b *testing.B) {
	in := input(block, "--account=x")
	for i := range 40 {
		in.Env = append(in.Env, "VARIABLE_"+strings.Repeat("x", i)+"=some value of usual length")
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(in); err != nil {
			b.Fatal(err)
		}
	}
}
