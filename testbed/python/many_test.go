package python

import (
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"fsub/testbed/simsite"
)

// many are the tasks of one array, of which as_completed tells while the daemon is killed again and again. It prints what that took of the client.
const many = `
import os, resource, signal, sys, threading, time
import fsub_client as fsub

tasks, kills = int(sys.argv[1]), int(sys.argv[2])
client = fsub.Client(patience=300)
begun = time.monotonic()
array = client.submit("#!/bin/sh\n#SIM run=1s\ntrue\n", array=f"0-{tasks - 1}", output="/dev/null")
seen, killed = bytearray(tasks), 0
for n, task in enumerate(fsub.as_completed(array.tasks, timeout=3000)):
    assert not seen[task.task], f"task {task.task} has ended twice"
    assert task.wait().state == "COMPLETED"
    seen[task.task] = 1
    if n >= (killed + 1) * tasks // (kills + 1) and killed < kills:
        os.kill(int(open(os.environ["FSUB_TEST_PID"]).read()), signal.SIGKILL)
        killed += 1
assert all(seen) and killed == kills and array.result(60).state == "COMPLETED"
took, cpu = time.monotonic() - begun, time.process_time()
held = client.submit("#!/bin/sh\n", hold=True, output="/dev/null")
time.sleep(2)
idle = time.process_time()
time.sleep(10)
idle = (time.process_time() - idle) / 10
client.cancel([held])
mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(f"{tasks} tasks, {killed} kills: {took:.0f} s, client {cpu:.1f} s of CPU, {mib:.0f} MiB, {100 * idle:.2f} % of a core while nothing happens, {threading.active_count()} threads")
assert mib < 200 and idle < 0.05
`

// TestManyTasks: each end of an array is seen once, however often the daemon is killed. With FSUB_FULL there are 100,000 tasks and ten kills.
func TestManyTasks(t *testing.T) {
	tasks, kills := "1000", "2"
	if os.Getenv("FSUB_FULL") != "" {
		tasks, kills = "100000", "10"
	}
	wheel := built(t, "*client*.whl")
	key := rand.Text()
	site, err := simsite.New(simsite.Config{Name: "sim", Clock: simsite.RealClock{}, JWTKey: []byte(key), MinJobAge: time.Minute,
		Nodes:      []simsite.NodeConfig{{Names: "n[1-40]", CPUs: 64, Mem: 256_000}},
		Partitions: []simsite.PartitionConfig{{Name: "main", Default: true}}})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	rest, err := os.MkdirTemp("", "fpy")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(rest) })
	l, err := net.Listen("unix", rest+"/rest")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go http.Serve(l, site.Handler())
	if err := os.WriteFile(rest+"/key", []byte(key), 0o600); err != nil {
		t.Fatal(err)
	}
	d := startDaemonOver(t, fmt.Sprintf("sites: [{name: sim, url: \"unix:%s/rest\", key_file: %[1]s/key, no_associations: true}]\n", rest), 1, own(t))
	v := newVenv(t, own(t), wheel)
	out, err := v.run(dir, d.environment(), "-c", many, tasks, kills)
	if t.Logf("%s", out); err != nil {
		t.Error(err)
	}
}
