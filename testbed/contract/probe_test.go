package contract

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"
)

// probe is the script of all jobs. It writes what it sees into a file of its directory, %D, with NUL bytes between: first what bash
// can tell as NAME=value, then, after "environment", the variables as the kernel handed them over. A step does the same with its own.
const probe = `#!/bin/bash
seen="%D/seen.${SLURM_ARRAY_TASK_ID-0}"
fds=$(for f in /proc/$$/fd/*; do
	to=$(readlink "$f") && [[ $to != pipe:* ]] && echo "fd ${f##*/}=$to $(grep flags "/proc/$$/fdinfo/${f##*/}")"
done) # pipes are its own
{
	tell() { printf '%s=%s\0' "$1" "$2"; }
	tell argv0 "$0"; tell argc $#
	i=0; for a; do i=$((i+1)); tell "arg $i" "$a"; done
	tell cwd "$(/bin/pwd -P)"; tell umask "$(umask)"; tell nice "$(nice)"; tell id "$(id)"
	tell script "$(stat -c '%a %U %G' "$0")"; tell spool "$(stat -c '%a %U %G' "${0%/*}")"
	while read -r line; do tell "soft ${line%)*}" "${line##*)}"; done < <(ulimit -aS)
	while read -r line; do tell "hard ${line%)*}" "${line##*)}"; done < <(ulimit -aH)
	while read -r line; do tell "${line%%=*}" "${line#*=}"; done <<<"$fds"
	tell stdin "$(head -c 100)"; tell locale "$(locale 2>&1)"
	tell signals "$(grep -E '^Sig(Blk|Ign)' /proc/self/status)"
	printf 'environment\0'
	cat "/proc/$$/environ"
} >"$seen.part"
%S
echo "out $*"; echo err >&2
mv "$seen.part" "$seen"
`

// step runs the steps of a shape, on all its tasks.
const step = `srun --output="%D/srun.out" bash -c 'cat /proc/self/environ >"$0.step$SLURM_PROCID"' "$seen" 2>"%D/srun.err"; echo $? >"$seen.rc"`

// view is what one job saw and left behind, by field.
type view map[string]string

// awaitView waits for the job's tasks to end, and reads what they wrote.
func awaitView(t *testing.T, j *job) view {
	t.Helper()
	if j.said.code != 0 {
		return j.masked(view{})
	}
	deadline := time.Now().Add(5 * time.Minute)
	for {
		files, _ := filepath.Glob(filepath.Join(j.dir, "seen.*"))
		var done []string
		for _, f := range files {
			if n := strings.TrimPrefix(filepath.Base(f), "seen."); !strings.Contains(n, ".") {
				done = append(done, f)
			}
		}
		if len(done) >= j.tasks {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("job %s of %s did not end: %v\n%s", j.id, j.side, files, j.show(t))
		}
		time.Sleep(50 * time.Millisecond)
	}
	time.Sleep(100 * time.Millisecond) // the mv is not the script's last breath
	return j.masked(j.view(t))
}

// view reads all files of the job's directory.
func (j *job) view(t *testing.T) view {
	t.Helper()
	v := view{}
	err := filepath.WalkDir(j.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || path == j.script {
			return err
		}
		if d.Type()&os.ModeSymlink != 0 {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path, j.dir+"/")
		switch {
		case strings.HasPrefix(name, "seen.") && strings.Contains(name, ".step"):
			v.environment(name, text)
		case strings.HasPrefix(name, "seen.") && !strings.HasSuffix(name, ".rc"):
			own, env, _ := bytes.Cut(text, []byte("\x00environment\x00"))
			for _, f := range bytes.Split(own, []byte{0}) {
				field, value, _ := strings.Cut(string(f), "=")
				v[name+" "+field] = value
			}
			v.environment(name, env)
		default:
			info, err := d.Info()
			if err != nil {
				return err
			}
			v["file "+name] = fmt.Sprintf("%v %s", info.Mode(), text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// environment adds variables; one that is there twice keeps both values.
func (v view) environment(task string, text []byte) {
	vars := strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
	sort.Strings(vars)
	for _, kv := range vars {
		name, value, _ := strings.Cut(kv, "=")
		field := task + " $" + name
		if old, twice := v[field]; twice {
			value = old + "\n" + value
		}
		v[field] = value
	}
}
