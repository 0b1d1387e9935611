package api_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fsub/federation"
	"fsub/federation/api"
	v1 "fsub/federation/api/v1"
	"fsub/federation/decision"
	"fsub/federation/journal"
	"fsub/sbatch"
	"fsub/slurm/wire"
	"fsub/testbed/apitest"
)

// readQueue asks for the queue and reads all of its rows.
func readQueue(socket, query string) (status int, head v1.QueueHead, jobs []wire.Job, err error) {
	h := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(context.Context, string, string) (net.Conn, error) {
		return net.Dial("unix", socket)
	}}}
	resp, err := h.Get("http://fsub/fed/v1/queue" + query)
	if err != nil {
		return 0, head, nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return resp.StatusCode, head, nil, nil
	}
	in := bufio.NewReader(resp.Body)
	for first := true; ; first = false {
		size, err := binary.ReadUvarint(in)
		if err == io.EOF {
			return resp.StatusCode, head, jobs, nil
		}
		frame := make([]byte, size)
		if _, err := io.ReadFull(in, frame); err != nil {
			return resp.StatusCode, head, jobs, err
		}
		if first {
			err = json.Unmarshal(frame, &head)
		} else {
			var j wire.Job
			err = v1.ReadRow(frame, &j)
			jobs = append(jobs, j)
		}
		if err != nil {
			return resp.StatusCode, head, jobs, err
		}
	}
}

// Whatever is written, and however the clock goes on, a daemon that was asked before lists what one lists that has just started.
func TestQueueFollowsTheStore(t *testing.T) {
	outer := t
	rapid.Check(t, func(t *rapid.T) {
		var clock atomic.Int64
		began := time.Now().Truncate(time.Second)
		now := func() time.Time { return began.Add(time.Duration(clock.Load())) }
		store := apitest.NewStore()
		controller := apitest.NewController(store)
		c := api.Config{Store: store, Controller: controller, Users: queueUsers{}, Now: now, MinJobAge: time.Minute}
		old := apitest.Start(outer, c)
		defer old.Stop()
		w := queueWriter{store: store, controller: controller, now: now}
		w.sites(0)
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			switch rapid.IntRange(0, 6).Draw(t, "step") {
			case 0, 1:
				w.create(t)
			case 2, 3:
				w.change(t)
			case 4:
				w.task(t)
			case 5:
				clock.Add(int64(rapid.SampledFrom([]time.Duration{time.Second, 40 * time.Second, time.Hour}).Draw(t, "later")))
			case 6:
				w.sites(rapid.IntRange(0, 2).Draw(t, "world"))
			}
			query := rapid.SampledFrom([]string{"", "?users=alice", "?live=1", "?states=PENDING", "?job_id=30000001,30000002_1", "?sort=-i", "?sort=j,-S", "?cluster=alpha", "?name=b&account=x,y"}).Draw(t, "query")
			_, head, got, err := readQueue(old.Socket, query)
			fresh := apitest.Start(outer, c)
			_, wantHead, want, err2 := readQueue(fresh.Socket, query)
			fresh.Stop()
			if err := errors.Join(err, err2); err != nil || !reflect.DeepEqual(got, want) || !reflect.DeepEqual(head, wantHead) {
				t.Fatalf("%s: %v\n got %s\nwant %s", query, err, brief(got), brief(want))
			}
		}
	})
}

func brief(jobs []wire.Job) string {
	var b strings.Builder
	for _, j := range jobs {
		fmt.Fprintf(&b, "%d %v task %v %q limit %v start %v; ", j.JobID, j.State, j.ArrayTaskID.Number, j.ArrayTaskString, j.TimeLimit.Number, j.StartTime.Number)
	}
	return b.String()
}

// queueUsers has everybody, whatever the number.
type queueUsers struct{}

func (queueUsers) UserName(uint32) (string, error)             { return "alice", nil }
func (queueUsers) UserIDs(string) (uid, gid uint32, err error) { return 7001, 7001, nil }
func (queueUsers) GroupName(uint32) (string, error)            { return "users", nil }

// queueWriter writes to a store as a controller does.
type queueWriter struct {
	store      *apitest.Store
	controller *apitest.Controller
	now        func() time.Time
	jobs       []*federation.Job
}

// sites sets what the sites say of themselves: limits, defaults and the types of GPUs differ from world to world.
func (w *queueWriter) sites(world int) {
	w.controller.SetSites(&federation.Site{Name: "alpha", Seen: &federation.Observation{
		Partitions: []federation.Partition{{Name: "main", Default: world < 2, DefaultTime: time.Duration(1+world%2) * time.Hour}, {Name: "debug", Default: world == 2}},
		Nodes:      []federation.Node{{Name: "a1", GRES: []federation.GRES{{Name: "gpu", Type: []string{"h100", "a100", "h100"}[world], Total: 4}}}},
	}})
}

func (w *queueWriter) create(t *rapid.T) {
	j := &federation.Job{User: rapid.SampledFrom([]string{"alice", "bob"}).Draw(t, "user"), State: federation.Pending, Submit: w.now(),
		Priority: rapid.Uint32Range(0, 2).Draw(t, "priority"),
		Spec: &sbatch.Spec{Name: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "name"), GPUs: "1", Account: rapid.SampledFrom([]string{"", "x"}).Draw(t, "account"),
			Array: rapid.SampledFrom([]string{"", "0-3", "1,5%1"}).Draw(t, "array")}}
	if group := rapid.SampledFrom([]string{"", "sweep", "sweep/lr", "sweeper"}).Draw(t, "group"); group != "" {
		j.Spec.Fed = &sbatch.Fed{Group: group}
	}
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		j.Spec.Begin = w.now().Add(30 * time.Second)
	case 1:
		j.Spec.Array, j.Spec.Het = "", []sbatch.Spec{{Name: "second"}}
	case 2:
		if len(w.jobs) > 0 {
			j.Spec.Array, j.Part = "", &federation.ArrayPart{Array: w.jobs[0].ID, Index: 7}
		}
	}
	if err := w.store.CreateJob(context.Background(), j, &sbatch.Payload{}); err != nil {
		t.Fatal(err)
	}
	w.jobs = append(w.jobs, j)
}

func (w *queueWriter) pick(t *rapid.T) *federation.Job {
	if len(w.jobs) == 0 {
		w.create(t)
	}
	return rapid.SampledFrom(w.jobs).Draw(t, "job")
}

func (w *queueWriter) change(t *rapid.T) {
	j := w.pick(t)
	j.State = rapid.SampledFrom([]federation.State{federation.Pending, federation.Running, federation.Completed, federation.Cancelled}).Draw(t, "state")
	j.Site, j.Nodes, j.Start, j.End = "", "", time.Time{}, time.Time{}
	if j.State != federation.Pending {
		j.Site, j.Nodes, j.Start = "alpha", "a1", w.now()
	}
	if j.State.Ended() {
		j.End = w.now()
	}
	w.commit(t, &journal.Batch{Jobs: []*federation.Job{j}})
}

// task writes a task, and as a controller does its job with it.
func (w *queueWriter) task(t *rapid.T) {
	j := w.pick(t)
	if j.Spec.Array == "" {
		return
	}
	k := &federation.Task{Job: j.ID, Index: 1, SiteJobID: rapid.Uint32Range(1, 99).Draw(t, "raw"), State: rapid.SampledFrom([]federation.State{federation.Running, federation.Failed}).Draw(t, "task state"), Nodes: "a1", Start: w.now()}
	if k.State.Ended() {
		k.End = w.now()
	}
	w.commit(t, &journal.Batch{Jobs: []*federation.Job{j}, Tasks: []*federation.Task{k}})
}

func (w *queueWriter) commit(t *rapid.T, b *journal.Batch) {
	if err := w.store.Commit(context.Background(), b); err != nil {
		t.Fatal(err)
	}
}

// The word @me stands for the caller, which a command on another machine knows by no number.
func TestQueueOfTheCaller(t *testing.T) {
	d := apitest.Start(t, api.Config{Users: queueUsers{}})
	for i, name := range []string{"alice", "bob"} {
		d.Put(t, federation.Job{User: name, UID: uint32(os.Getuid() + i), State: federation.Pending, Spec: &sbatch.Spec{Name: name}})
	}
	_, head, jobs, err := readQueue(d.Socket, "?users="+v1.OfCaller)
	if err != nil || len(jobs) != 1 || jobs[0].Name != "alice" || len(head.InvalidUsers) > 0 {
		t.Errorf("%v, %+v: %s", err, head, brief(jobs))
	}
}

func TestQueueSelects(t *testing.T) {
	d := apitest.Start(t, api.Config{Users: queueUsers{}})
	job := func(name, partition string, state federation.State) federation.Job {
		j := federation.Job{User: "alice", State: state, Partition: partition, Spec: &sbatch.Spec{Name: name}}
		if state.Ended() {
			j.End = time.Now()
		}
		return j
	}
	held := job("b", "p", federation.Pending)
	held.Priority = 9
	d.Put(t, job("c", "q", federation.Running), job("a", "p", federation.Pending), held, job("d", "p", federation.Completed))
	for query, want := range map[string]string{
		"": "d b a c", "?live=1": "b a c", "?sort=j": "a b c d", "?sort=-j": "d c b a", "?sort=-P,j": "c a b d", "?states=RUNNING,COMPLETED": "d c", "?partition=q,x": "c",
		"?job_id=30000001,30000003": "d a", "?job_id=17,18": "", "?name=a,b&states=PENDING": "b a", "?users=0": "d b a c", "?cluster=fed": "d b a c", "?cluster=none": "",
	} {
		status, head, jobs, err := readQueue(d.Socket, query)
		var names []string
		for _, j := range jobs {
			names = append(names, j.Name)
		}
		if got := strings.Join(names, " "); err != nil || status != 200 || got != want || head.Cluster != "fed" {
			t.Errorf("%q: status %d, %q, want %q; %v", query, status, got, want, err)
		}
	}
	for query, want := range map[string]int{"?job_id=17": 404, "?job_id=x": 404, "?job_id=17_x": 404} {
		if status, _, _, err := readQueue(d.Socket, query); err != nil || status != want {
			t.Errorf("%q: status %d, want %d; %v", query, status, want, err)
		}
	}
	d.Store.SetFail(errors.New("disk full"))
	if status, _, _, err := readQueue(d.Socket, ""); err != nil || status != 503 {
		t.Errorf("the store fails: status %d, %v", status, err)
	}
}

// Whoever asks for starts gets those that the controller expects of jobs which wait, and can order by them; so does slurmrestd's listing.
func TestQueueTellsStarts(t *testing.T) {
	d := apitest.Start(t, api.Config{Users: queueUsers{}})
	for _, name := range []string{"a", "b"} {
		d.Put(t, federation.Job{User: "alice", State: federation.Pending, Spec: &sbatch.Spec{Name: name}})
	}
	d.Put(t, federation.Job{User: "alice", State: federation.Pending, Spec: &sbatch.Spec{Name: "c", Begin: time.Unix(2_000_000_000, 0)}}) // its nodes are not free then
	d.Put(t, federation.Job{User: "alice", State: federation.Running, Start: time.Unix(1_500_000_000, 0), Spec: &sbatch.Spec{Name: "d"}})
	at := func(hour int64) decision.Start {
		return decision.Start{Site: "x", At: time.Unix(2_000_000_000+3600*hour, 0)}
	}
	first := federation.FirstJobID
	d.Controller.SetStarts(decision.Starts{first: at(2), first + 2: at(1), first + 3: at(0)})
	for query, want := range map[string]string{
		"?sort=S": "d1500000000 c2000000000 a0 b0", "?start=1&sort=S": "d1500000000 c2000003600 a2000007200 b0", "?start=1&sort=j&states=PENDING": "a2000007200 b0 c2000003600",
	} {
		_, _, jobs, err := readQueue(d.Socket, query)
		var got []string
		for _, j := range jobs {
			got = append(got, fmt.Sprint(j.Name, j.StartTime.Value()))
		}
		if text := strings.Join(got, " "); err != nil || text != want {
			t.Errorf("%s: %q, want %q; %v", query, text, want, err)
		}
	}
	var listed wire.JobsResponse
	if code := as(t, alice, d.Socket, "GET", "/slurm/v0.0.42/jobs", nil, &listed); code != 200 {
		t.Fatalf("status %d", code)
	}
	for _, j := range listed.Jobs {
		want := map[string]int64{"a": 2_000_007_200, "b": 0, "c": 2_000_003_600, "d": 1_500_000_000}[j.Name]
		if j.StartTime.Value() != want {
			t.Errorf("slurmrestd's listing says that %s starts at %d, want %d", j.Name, j.StartTime.Value(), want)
		}
	}
}

// An array that is spread to its last task has no row of its own beside its tasks'.
func TestQueueWithSpreadArray(t *testing.T) {
	d := apitest.Start(t, api.Config{Users: queueUsers{}})
	array := federation.Job{User: "alice", State: federation.Completed, End: time.Now(), Partition: "p", Spec: &sbatch.Spec{Name: "whole"},
		Whole: &federation.ArrayWhole{Count: 1, Max: 1, Step: 1, Spread: true}}
	task := federation.Job{User: "alice", State: federation.Completed, End: time.Now(), Partition: "q", Spec: &sbatch.Spec{Name: "task"},
		Part: &federation.ArrayPart{Array: 30_000_000, Index: 0}}
	d.Put(t, array, task)
	for _, query := range []string{"", "?job_id=30000000_0"} {
		status, _, jobs, err := readQueue(d.Socket, query)
		if err != nil || status != 200 || len(jobs) != 1 || jobs[0].Name != "task" {
			t.Errorf("%q: status %d, %s; %v", query, status, brief(jobs), err)
		}
	}
}

// Many who poll while jobs change see whole lists, each job once.
func TestQueueIsSafeForManyPollers(t *testing.T) {
	d := apitest.Start(t, api.Config{Users: queueUsers{}})
	for range 50 {
		d.Put(t, federation.Job{User: "alice", State: federation.Pending})
	}
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			for range 20 {
				_, _, jobs, err := readQueue(d.Socket, []string{"", "?users=alice", "?sort=-i"}[n%3])
				var ids []int64
				for _, j := range jobs {
					ids = append(ids, j.JobID)
				}
				slices.Sort(ids)
				if err != nil || len(slices.Compact(ids)) != 50 {
					t.Errorf("%d jobs, %v", len(ids), err)
					return
				}
			}
		})
	}
	for i := range 100 {
		id := federation.FirstJobID + federation.JobID(i%50)
		j, err := d.Store.Job(t.Context(), id)
		if err == nil {
			j.Priority = uint32(i)
			err = d.Store.Commit(t.Context(), &journal.Batch{Jobs: []*federation.Job{&j}})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
}

// As real Slurm 24.11 shows them: an exclusive job has all of its nodes, one with --cpus-per-gpu so many for each.
func TestSizesOfRareRequests(t *testing.T) {
	d := apitest.Start(t, api.Config{Users: queueUsers{}})
	node := federation.Node{Name: "a1", CPUs: 16, GRES: []federation.GRES{{Name: "gpu", Type: "h100", Total: 4}}}
	d.Controller.SetSites(&federation.Site{Name: "alpha", Seen: &federation.Observation{Nodes: []federation.Node{node}}})
	runs := func(spec sbatch.Spec) federation.Job {
		return federation.Job{User: "alice", State: federation.Running, Site: "alpha", Nodes: "a1", Spec: &spec}
	}
	d.Put(t, runs(sbatch.Spec{NTasks: 4, GPUs: "2", Exclusive: "exclusive"}), runs(sbatch.Spec{GPUsPerNode: "2", MemPerGPU: 10, More: &sbatch.More{CPUsPerGPU: 3, GPUFreq: "low", Profile: "task"}}),
		runs(sbatch.Spec{NTasksPerNode: 2, CPUsPerTask: 3}))
	_, _, jobs, err := readQueue(d.Socket, "")
	if err != nil || len(jobs) != 3 {
		t.Fatal(jobs, err)
	}
	for i, want := range []string{"16 cpu=16,node=1,billing=16,gres/gpu=4,gres/gpu:h100=4", "6 cpu=6,mem=20M,node=1,billing=6,gres/gpu=2,gres/gpu:h100=2", "6 cpu=6,node=1,billing=6"} {
		if got := fmt.Sprint(jobs[i].CPUs.Value(), " ", jobs[i].TRESAlloc); got != want {
			t.Errorf("job %d: %s, want %s", i, got, want)
		}
	}
	if j := jobs[1]; j.TRESFreq != "gpu:low" || j.MemoryPerTRES != "gres/gpu:10" || !slices.Equal(j.Profile, []string{"TASK"}) || jobs[2].MinCPUsPerNode.Value() != 6 {
		t.Errorf("%s %s %v, at least %d processors", j.TRESFreq, j.MemoryPerTRES, j.Profile, jobs[2].MinCPUsPerNode.Value())
	}
}
