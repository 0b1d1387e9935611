package rented

import (
	"bytes"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"fsub/cloud/agentapi"
	"fsub/federation"
)

// TestSecrets looks for credentials and tokens wherever others, or a backup, could see them, while a job runs and after it: the cloud's secret, the daemon's keys, the tokens of machines.
func TestSecrets(t *testing.T) {
	single(t)
	t.Parallel()
	w := newWorld(t, config{pool: "max: 2, idle: 2s"})
	w.start()
	id := w.fsub("#!/bin/bash\n#SBATCH -N 2 -t 5 -o out\nenv > env\nsrun -N2 bash -c 'env > env-$SLURM_PROCID; cat /proc/$PPID/environ > ppid-$SLURM_PROCID 2>&1; true'\necho up > up\nwhile [ ! -e go ]; do sleep 0.1; done\n")
	w.eventually("the job is up", time.Minute, func() string {
		if w.read("up") == "" {
			rec, _ := w.job(id)
			return string(rec.Job.State) + " " + string(rec.Job.Reason)
		}
		return ""
	})
	secrets := w.secrets()
	places := w.processes(t)
	if len(places) < 12 { // a daemon, two agents, a script, two steps
		t.Errorf("only %d places were looked at", len(places))
	}
	for place, text := range places {
		for name, s := range secrets {
			if s.in(text) {
				t.Errorf("%s is in %s", name, place)
			}
		}
	}
	var userData string
	for _, in := range w.cloud.Instances() {
		userData = in.UserData
		for name, s := range secrets {
			if name != "one-time token" && s.in([]byte(in.UserData)) {
				t.Errorf("%s is in the user data", name)
			}
		}
	}
	for _, c := range w.cloud.Calls() {
		for name, s := range secrets {
			if s.in([]byte(c.Form.Encode())) {
				t.Errorf("%s is in a call of %s", name, c.Action)
			}
		}
	}
	w.tokenIsSpent(t, userData)
	os.WriteFile(filepath.Join(w.work, "go"), nil, 0o644)
	if rec := w.await(id, time.Minute); rec.Job.State != federation.Completed {
		t.Errorf("the job is %s (%s)", rec.Job.State, rec.Job.Reason)
	}
	w.noMachines(time.Minute)
	w.stop()
	for _, root := range []string{filepath.Join(w.dir, "state"), w.work, filepath.Join(w.dir, "fed.log")} {
		filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || strings.HasSuffix(path, ".key") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for name, s := range secrets {
				if s.in(text) {
					t.Errorf("%s is in %s", name, path)
				}
			}
			return nil
		})
	}
}

// secret is what must not be seen, as it would be written.
type secret struct {
	pattern *regexp.Regexp
	bytes   []byte
}

func (s secret) in(text []byte) bool {
	if s.pattern != nil {
		return s.pattern.Match(text)
	}
	return bytes.Contains(text, s.bytes) || bytes.Contains(text, []byte(hex.EncodeToString(s.bytes))) || bytes.Contains(text, []byte(base64.StdEncoding.EncodeToString(s.bytes)))
}

func (w *world) secrets() map[string]secret {
	out := map[string]secret{
		"the cloud's secret key": {bytes: []byte(w.cloud.SecretKey())},
		"one-time token":         {pattern: regexp.MustCompile(`fo1\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{20,}`)},
		"session token":          {pattern: regexp.MustCompile(`fs1\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{20,}`)},
	}
	for _, file := range []string{"agents.key", "token.key"} {
		key, err := os.ReadFile(filepath.Join(w.dir, "state", file))
		if err != nil {
			w.t.Fatal(err)
		}
		out["the daemon's "+file] = secret{bytes: key}
	}
	return out
}

// processes are the arguments and environments of this process and of all that it has started, and what the job has seen of its environment.
func (w *world) processes(t *testing.T) map[string][]byte {
	out := map[string][]byte{}
	for _, pid := range descendants() {
		dir := fmt.Sprintf("/proc/%d", pid)
		for _, file := range []string{"cmdline", "environ"} {
			if text, err := os.ReadFile(filepath.Join(dir, file)); err == nil && len(text) > 0 {
				name, _ := os.ReadFile(filepath.Join(dir, "comm"))
				out[file+" of "+strings.TrimSpace(string(name))+" "+dir] = text
			}
		}
	}
	for _, name := range []string{"env", "env-0", "env-1", "ppid-0", "ppid-1"} {
		text, err := os.ReadFile(filepath.Join(w.work, name))
		if err != nil {
			t.Error(err)
		}
		out["the job's "+name] = text
	}
	return out
}

// descendants are this process and all below it: daemons, machines, their agents and jobs. What other packages' tests show on this machine is not looked at.
func descendants() []int {
	children := map[int][]int{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range stats {
		text, _ := os.ReadFile(file)
		var state string
		var parent int
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if _, bad := fmt.Sscan(string(text[bytes.LastIndexByte(text, ')')+1:]), &state, &parent); err == nil && bad == nil {
			children[parent] = append(children[parent], pid)
		}
	}
	list := []int{os.Getpid()}
	for i := 0; i < len(list); i++ {
		list = append(list, children[list[i]]...)
	}
	return list
}

// tokenIsSpent tries the one-time token of machines that are in: nobody gets in with it again, whatever machine they say that they are.
func (w *world) tokenIsSpent(t *testing.T, userData string) {
	token := regexp.MustCompile(`(?m)^token=(.+)$`).FindStringSubmatch(userData)
	if token == nil {
		t.Fatalf("no token in the user data: %s", userData)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	instances := []string{"i-00000000000000000"}
	for _, in := range w.cloud.Instances() {
		instances = append(instances, in.ID)
	}
	for _, instance := range instances {
		hello, _ := json.Marshal(agentapi.Hello{Instance: instance, Nonce: "another"})
		r, _ := http.NewRequest("POST", "https://127.0.0.1:"+w.port+agentapi.PathHello, bytes.NewReader(hello))
		r.Header.Set("Authorization", "Bearer "+token[1])
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if answer.StatusCode != http.StatusUnauthorized {
			t.Errorf("the token of the user data, used again as %s: %s %s", instance, answer.Status, text)
		}
	}
}
