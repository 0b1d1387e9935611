package daemons

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "fsub/federation/api/v1"
	"fsub/testbed/program"
)

// Commands on other machines, such as those inside jobs, are answered by each daemon, whichever leads, and none fails while another one takes over.
func TestRemoteCommands(t *testing.T) {
	t.Parallel()
	var addresses []string
	w := newWorld(t, 3, func(w *world) {
		w.sites = func(d *daemon) string {
			addresses = append(addresses, freeAddress(t))
			return fmt.Sprintf("remote: {listen: %q}\nsites: [{name: alpha, url: \"unix:%[2]s\", key_file: %[3]s, no_associations: true}]\n", addresses[len(addresses)-1], d.path("rest"), d.path("key"))
		}
	})
	if err := program.Put(w.dir, "fsub-remote"); err != nil {
		t.Fatal(err)
	}
	was := w.leader(w.daemons[0])
	w.stand()
	cert, err := tls.LoadX509KeyPair(filepath.Join(w.dir, was.name, "remote.crt"), filepath.Join(w.dir, was.name, "remote.key"))
	if err != nil {
		t.Fatal(err)
	}
	made, err := w.others(was)[0].run("fed", "token", "create", "ci", "--json") // at one that stands by
	if err != nil {
		t.Fatal(err)
	}
	var token v1.Token
	if err := json.Unmarshal([]byte(made), &token); err != nil {
		t.Fatalf("%v: %s", err, made)
	}
	sum := sha256.Sum256(cert.Certificate[0])
	run := func(addresses []string, args ...string) (string, error) {
		var all []string
		for _, a := range addresses {
			all = append(all, "tls://"+a+"#"+hex.EncodeToString(sum[:]))
		}
		cmd := exec.Command(w.path("fsub-remote"))
		cmd.Args, cmd.Dir, cmd.Env = args, w.dir, append(os.Environ(), "FSUB_SOCKET="+strings.Join(all, ","), "FSUB_TOKEN="+token.Token)
		out, err := cmd.CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%v: %w: %s", args, err, out)
		}
		return strings.TrimSpace(string(out)), err
	}
	w.write("job.sh", "#!/bin/sh\n#SBATCH --time=5 --hold\n")
	var ids []string
	for i, at := range addresses {
		eventually(t, w.daemons[i].name+" answers other machines", func() error {
			id, err := run([]string{at}, "fsub", "--parsable", w.path("job.sh"))
			ids = append(ids, id)
			return err
		})
		if out, err := run([]string{at}, "squeue", "--noheader", "--format=%i", "--jobs="+ids[len(ids)-1]); err != nil || out != ids[len(ids)-1] {
			t.Errorf("squeue at %s: %q, %v", w.daemons[i].name, out, err)
		}
	}
	last := ids[len(ids)-1]
	was.kill()
	began := time.Now()
	for range 20 {
		if out, err := run(addresses, "squeue", "--noheader", "--format=%i", "--jobs="+last); err != nil || out != last {
			t.Errorf("squeue while another daemon takes over: %q, %v", out, err)
		}
	}
	if _, err := run(addresses, "fsub", "--parsable", w.path("job.sh")); err != nil {
		t.Error(err)
	}
	if _, err := w.others(was)[0].run("fed", "token", "revoke", "ci"); err != nil {
		t.Error(err)
	}
	for _, at := range addresses {
		if out, err := run([]string{at}, "squeue"); err == nil {
			t.Errorf("a revoked token at %s: %s", at, out)
		}
	}
	t.Logf("21 commands took %v", time.Since(began).Round(time.Millisecond))
}
