package contract

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fsub/testbed/bed"
)

// job is one submission of a call.
type job struct {
	side   string // "sbatch" or "fsub"
	site   string
	dir    string // its own: where it is submitted
	script string
	id     string // as it was printed
	tasks  int
	said   said
}

// usual is what both callers find in their environment. The socket is ours, and no secret to the other.
func usual(site string) []string {
	return []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "TERM=dumb", "SLURM_CONF=/etc/slurm/slurm.conf",
		"HOME=" + world.Bed.Home("alice"), "USER=alice", "LOGNAME=alice", "SHELL=/bin/bash", "FSUB_SOCKET=" + world.Daemon.Socket(), "FSUB_SITES=" + site}
}

// submit submits a call by real sbatch within the site, or by ours in the login.
func submit(t *testing.T, c *call, site, side string) *job {
	t.Helper()
	dir := filepath.Join(world.Bed.Home("alice"), "contract", site, strings.NewReplacer(" ", "-", "/", "-").Replace(c.name), side)
	j := &job{side: side, site: site, dir: dir, script: filepath.Join(dir, "probe.sh"), tasks: max(1, c.tasks)}
	j.prepare(t, c)
	where, command := site, "/usr/bin/sbatch"
	if side == "fsub" {
		where, command = bed.Login, filepath.Join(world.Bin, "sbatch")
	}
	args := []string{command, "--parsable"}
	for _, a := range c.args {
		args = append(args, strings.ReplaceAll(a, "%D", dir))
	}
	shell := c.shell + "\n" + `exec env -u _ -u SHLVL -u OLDPWD "$@"`
	switch {
	case c.wrap:
		args = append(args, "--wrap", "exec /bin/bash "+j.script+" a 'b c'")
	case c.stdin:
		args = append(append(args, "-"), c.argv...)
		shell = c.shell + "\n" + `exec env -u _ -u SHLVL -u OLDPWD "$@" <probe.sh`
	default:
		args = append(append(args, "probe.sh"), c.argv...)
	}
	j.said = run(t, where, dir, append(usual(site), c.env...), append([]string{"/bin/bash", "-c", shell, "bash"}, args...))
	j.id = strings.TrimSpace(j.said.stdout)
	if j.said.code == 0 {
		t.Cleanup(func() { cancel(j) })
	}
	return j
}

// cancel ends a job that a test has left.
func cancel(j *job) { _ = world.Bed.Exec(context.Background(), j.command("scancel", "-Q", j.id)) }

// show is what scontrol says of a job.
func (j *job) show(t *testing.T) string {
	var out strings.Builder
	c := j.command("scontrol", "show", "job", j.id)
	c.Stdout, c.Stderr = &out, &out
	_ = world.Bed.Exec(t.Context(), c)
	return out.String()
}

// command is a command of the side that submitted the job.
func (j *job) command(name string, args ...string) bed.Cmd {
	if j.side == "sbatch" {
		return bed.Cmd{Site: j.site, Args: append([]string{name}, args...)}
	}
	return bed.Cmd{Site: bed.Login, Args: append([]string{filepath.Join(world.Bin, name)}, args...), Env: []string{"FSUB_SOCKET=" + world.Daemon.Socket()}}
}

// prepare makes the job's directory anew, with the script and the files of the call.
func (j *job) prepare(t *testing.T, c *call) {
	t.Helper()
	text := strings.Replace(probe, "%S", "", 1)
	if c.steps {
		text = strings.Replace(probe, "%S", step, 1)
	}
	files := map[string]string{"probe.sh": strings.ReplaceAll(text, "%D", j.dir)}
	for name, text := range c.files {
		files[name] = text
	}
	alice, err := bed.FindUser("alice")
	if err != nil {
		t.Fatal(err)
	}
	check := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	check(os.RemoveAll(j.dir))
	for name, text := range files {
		path := filepath.Join(j.dir, name)
		check(os.MkdirAll(filepath.Dir(path), 0o755))
		check(os.WriteFile(path, []byte(text), 0o644))
	}
	for path := filepath.Dir(j.dir); path != world.Bed.Home("alice"); path = filepath.Dir(path) {
		check(os.Chown(path, alice.UID, alice.UID))
	}
	check(filepath.WalkDir(j.dir, func(path string, _ os.DirEntry, err error) error {
		if err == nil {
			err = os.Chown(path, alice.UID, alice.UID)
		}
		return err
	}))
}

// numbers are the job's IDs, as the job itself knows them, by the word that stands for them when jobs are compared.
func (j *job) numbers(seen view) map[string]string {
	ids := map[string]string{j.id: "ID"}
	for field, value := range seen {
		switch _, name, _ := strings.Cut(field, "$"); name {
		case "SLURM_JOB_ID", "SLURM_JOBID", "SLURM_ARRAY_JOB_ID", "FSUB_JOB_ID", "FSUB_ARRAY_JOB_ID":
			ids[value] = "ID"
		case "SLURM_JOB_ID_HET_GROUP_1", "SLURM_JOB_ID_PACK_GROUP_1":
			ids[value] = "ID+1"
		}
	}
	delete(ids, "")
	return ids
}

var stamp = regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]+`) // of what slurmd says in an output file

var digits = regexp.MustCompile(`\d{4,}`)

// masked is what was seen, with words for what no two jobs have in common: directory, nodes and numbers. A number that was filled up with
// zeros keeps its width.
func (j *job) masked(seen view) view {
	ids := j.numbers(seen)
	mask := func(text string) string {
		text = stamp.ReplaceAllString(anyNode(strings.ReplaceAll(text, j.dir, "DIR")), "TIME")
		return digits.ReplaceAllStringFunc(text, func(number string) string {
			word, known := ids[strings.TrimLeft(number, "0")]
			switch {
			case !known:
				return number
			case number[0] == '0':
				return fmt.Sprintf("%s%d", word, len(number))
			}
			return word
		})
	}
	m := view{"stderr": mask(j.said.stderr), "exit status": fmt.Sprint(j.said.code)}
	for field, value := range seen {
		m[mask(field)] = mask(value)
	}
	return m
}
