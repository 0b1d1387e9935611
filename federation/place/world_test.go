package place

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fsub/accounting"
	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/reasons"
	"fsub/sbatch"
	"fsub/slurm/hostlist"
	"fsub/topology"
)

// world is a federation written down in lines, for the transcripts:
//
//	site alpha [state=DRAIN] [silent] [unseen] [backlog=2] [backlogs=physics:1,...] [error=word] [filesystems=/home,/scratch|none] [lacks=option] [options=plugin/name,...] [tasks] [limited=alice,...]
//	price gres/gpu:h100=2.10 cpu=0.01
//	speed h100=2
//	partition main default max=24h nodes=n[1-4] starts=2 ...
//	nodes n[1-4] cpus=16 mem=64000 gpu=h100:4 features=ib state=IDLE [rent=OFFERING@2.10 [shared] [interrupts=0.1]] [boot=90s] [reason=Word:_more]
//	running n[1-2] cpus=4 mem=400 gpu=h100:2 end=30m
//	waiting 7 [partition=main] [ours] [idle]
//	reservation maint nodes=n1 from=1h to=2h users=bob
//	switch leaf1 nodes=n[1-2] | switch spine children=leaf1,leaf2
//	block b1 nodes=n[1-4] [size=4] ...
//	user alice accounts=ml,bio qos=normal
//	bound 12 -N1 ...
type world struct {
	now     time.Time
	sites   []*federation.Site
	jobs    []*federation.Job
	refused map[federation.JobID]map[federation.SiteName]decision.Rejection
	policy  Policy
}

func newWorld() *world {
	return &world{now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), refused: map[federation.JobID]map[federation.SiteName]decision.Rejection{}}
}

func (w *world) snapshot() federation.Snapshot {
	for _, s := range w.sites {
		if s.Seen != nil {
			s.Pools = Pools(s.Name, s.Seen)
		}
	}
	return federation.Snapshot{Now: w.now, Seed: 1, Sites: w.sites, Jobs: w.jobs, Refused: w.refused}
}

// made is the World of it.
func (w *world) made() *World {
	s := w.snapshot()
	return newWorldOf(&s, w.policy)
}

// words are the fields of a line: plain ones, and those with a value.
type words struct {
	plain []string
	value map[string]string
}

func split(line string) words {
	ws := words{value: map[string]string{}}
	for _, f := range strings.Fields(line) {
		if k, v, ok := strings.Cut(f, "="); ok && !strings.HasPrefix(f, "-") {
			ws.value[k] = v
		} else {
			ws.plain = append(ws.plain, f)
		}
	}
	return ws
}

func (ws words) has(word string) bool { return slices.Contains(ws.plain, word) }

func (ws words) list(key string) []string {
	if ws.value[key] == "" {
		return nil
	}
	return strings.Split(ws.value[key], ",")
}

func (w *world) read(t testing.TB, text string) {
	for _, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		if ws := split(line); len(ws.plain) > 0 {
			w.line(t, ws)
		}
	}
}

func (w *world) line(t testing.TB, ws words) {
	t.Helper()
	kind, ws2 := ws.plain[0], words{ws.plain[1:], ws.value}
	var site *federation.Site
	if len(w.sites) > 0 {
		site = w.sites[len(w.sites)-1]
	}
	switch kind {
	case "site":
		w.sites = append(w.sites, newSite(ws2, w.now))
	case "price":
		for k, v := range ws.value {
			site.Prices[k] = number64(t, v)
		}
	case "speed":
		for k, v := range ws.value {
			site.Speed[k] = number64(t, v)
		}
	case "version":
		site.Seen.Version = ws2.plain[0]
	case "partition":
		site.Seen.Partitions = append(site.Seen.Partitions, newPartition(t, ws2))
	case "nodes":
		addNodes(t, site.Seen, ws2)
	case "running":
		w.addRunning(t, site.Seen, ws2)
	case "waiting":
		number, _ := strconv.Atoi(ws2.plain[0])
		j := federation.WaitingJob{Job: federation.JobID(number), Ours: ws.has("ours"), Idle: ws.has("idle"), Whole: ws.has("whole"), Stake: federation.Stake{Partition: ws.value["partition"]}}
		j.Nodes, _ = strconv.Atoi(ws.value["nodes"])
		if limit := ws.value["limit"]; limit != "" {
			j.Limit = span(t, limit)
		}
		if start := ws.value["start"]; start != "" {
			j.Start = w.now.Add(span(t, start))
		}
		site.Seen.Waiting = append(site.Seen.Waiting, j)
	case "foreseen":
		share := 0.0
		if ws.value["share"] != "" {
			share, _ = strconv.ParseFloat(ws.value["share"], 64)
		}
		site.Outlook = &told{decision.Foreseen{P50: span(t, ws.value["p50"]), P90: span(t, ws.value["p90"]), Of: "as the test says", Unsure: ws.value["unsure"]}, share}
	case "reservation":
		r := federation.Reservation{
			Name: ws2.plain[0], Nodes: hosts(t, ws.value["nodes"]), Users: ws.list("users"), Accounts: ws.list("accounts"),
			Start: w.now.Add(span(t, ws.value["from"])), End: w.now.Add(span(t, ws.value["to"])), Maint: slices.Contains(ws2.plain, "maint"),
		}
		site.Seen.Reservations = append(site.Seen.Reservations, r)
	case "switch":
		sw := topology.Switch{Name: ws2.plain[0], Nodes: hosts(t, ws.value["nodes"]), Children: ws.list("children")}
		if len(sw.Children) > 0 {
			sw.Level = 1
		}
		site.Seen.Tree.Switches = append(site.Seen.Tree.Switches, sw)
	case "topology": // what stands before it is that of one partition
		tree := site.Seen.Tree
		site.Seen.Tree = topology.Tree{}
		for i := range site.Seen.Partitions {
			if p := &site.Seen.Partitions[i]; p.Name == ws2.plain[0] {
				p.Tree = &tree
			}
		}
	case "block":
		tree := &site.Seen.Tree
		base := slices.DeleteFunc(slices.Clone(tree.Switches), func(s topology.Switch) bool { return s.Level > 0 })
		sizes := tree.BlockSizes
		if text := ws.value["size"]; text != "" {
			sizes = nil
			for _, n := range strings.Split(text, ",") {
				size, _ := strconv.Atoi(n)
				sizes = append(sizes, size)
			}
		}
		*tree = topology.OfBlocks(append(base, topology.Switch{Name: ws2.plain[0], Nodes: hosts(t, ws.value["nodes"])}), sizes)
	case "user":
		if site.Seen.Associations == nil {
			site.Seen.Associations = federation.Associations{}
		}
		for i, a := range ws.list("accounts") {
			as := federation.Association{Account: a, QOS: ws.list("qos"), Default: i == 0, DefaultQOS: ws.value["default"]}
			site.Seen.Associations[ws2.plain[0]] = append(site.Seen.Associations[ws2.plain[0]], as)
		}
	case "strict":
		if site.Seen.StrictQOS == nil {
			site.Seen.StrictQOS = map[string]time.Duration{}
		}
		site.Seen.StrictQOS[ws2.plain[0]] = span(t, ws.value["wall"])
	case "alias":
		for k, v := range ws.value {
			site.Users[k] = federation.SiteUser{Name: v}
		}
	case "bound":
		job := w.job(t, ws2)
		units, _ := strconv.Atoi(ws.value["units"])
		site.Bound = append(site.Bound, federation.Bound{Job: job, Partition: job.Spec.Partition, Since: w.now.Add(-time.Minute), Units: units})
	case "job":
		w.jobs = append(w.jobs, w.job(t, ws2))
	default:
		t.Fatalf("what is %q?", kind)
	}
}

func newSite(ws words, now time.Time) *federation.Site {
	s := &federation.Site{
		Name: federation.SiteName(ws.plain[0]), State: federation.FedActive, Answering: true, Error: ws.value["error"],
		Prices: accounting.Prices{}, Speed: map[string]float64{}, Users: map[string]federation.SiteUser{},
		Seen: &federation.Observation{At: now},
	}
	if st := ws.value["state"]; st != "" {
		s.State = federation.FedState(st)
	}
	s.Answering = !ws.has("silent")
	if ws.has("unseen") {
		s.Seen, s.Answering = nil, false
	}
	s.Backlog, _ = strconv.Atoi(ws.value["backlog"])
	for _, of := range ws.list("backlogs") {
		account, n, _ := strings.Cut(of, ":")
		if s.AccountBacklog == nil {
			s.AccountBacklog = map[string]int{}
		}
		s.AccountBacklog[account], _ = strconv.Atoi(n)
	}
	if s.FileSystems = ws.list("filesystems"); ws.value["filesystems"] == "none" {
		s.FileSystems = []string{}
	}
	for _, user := range ws.list("limited") {
		s.Limited = append(s.Limited, federation.Limited{User: user})
	}
	for _, o := range ws.list("options") {
		plugin, name, _ := strings.Cut(o, "/")
		s.Options = append(s.Options, federation.PluginOption{Name: name, Plugin: plugin, Value: federation.TakesValue})
	}
	if s.Seen != nil {
		s.Seen.Lacks = ws.list("lacks")
	}
	return s
}

func newPartition(t testing.TB, ws words) federation.Partition {
	p := federation.Partition{
		Name: ws.plain[0], Default: ws.has("default"), Up: !ws.has("down"), State: "UP",
		MaxTime: span(t, ws.value["max"]), DefaultTime: span(t, ws.value["time"]),
		Nodes: hosts(t, ws.value["nodes"]), AllowAccounts: ws.list("accounts"), DenyAccounts: ws.list("deny"), AllowQOS: ws.list("qos"),
		RootOnly: ws.has("root"), QOS: ws.value["own"],
	}
	if !p.Up {
		p.State = "DOWN"
	}
	p.MaxNodes, _ = strconv.Atoi(ws.value["maxnodes"])
	if s, ok := ws.value["starts"]; ok {
		n, _ := strconv.Atoi(s)
		p.MaxStarts = &n
	}
	return p
}

func addNodes(t testing.TB, obs *federation.Observation, ws words) {
	for _, name := range hosts(t, ws.plain[0]) {
		n := federation.Node{Name: name, State: []string{"IDLE"}, Features: ws.list("features"), Threads: 1}
		n.CPUs, _ = strconv.Atoi(ws.value["cpus"])
		mem, _ := strconv.Atoi(ws.value["mem"])
		n.Mem = sbatch.MemMiB(mem)
		if s := ws.list("state"); s != nil {
			n.State = s
		}
		n.GRES = gresOf(ws)
		n.Reason = strings.ReplaceAll(ws.value["reason"], "_", " ")
		n.Rented = rentedOf(t, ws)
		obs.Nodes = append(obs.Nodes, n)
	}
}

func rentedOf(t testing.TB, ws words) *federation.Rented {
	offering, price, ok := strings.Cut(ws.value["rent"], "@")
	if !ok {
		return nil
	}
	r := &federation.Rented{Offering: offering, PricePerHour: decision.Dollars(number64(t, price)), Whole: !ws.has("shared"), Boot: span(t, ws.value["boot"])}
	if reason, detail, _ := strings.Cut(strings.ReplaceAll(ws.value["reason"], "_", " "), ": "); reason != "" {
		r.Refused = &federation.Refusal{Reason: reasons.Reason(reason), Detail: detail}
	}
	if i := ws.value["interrupts"]; i != "" {
		r.Interrupts = number64(t, i)
	}
	if c := ws.value["chance"]; c != "" {
		r.Chance = number64(t, c)
	}
	if parts := strings.Split(offering, "/"); len(parts) == 3 { // type, zone, market
		r.Zone, r.Market = parts[1], parts[2]
	}
	if n, hours, ok := strings.Cut(ws.value["taken"], "/"); ok {
		r.Taken, r.TakenIn = number64(t, n), number64(t, hours)
	}
	r.OldPrice = ws.value["old"]
	r.Paid = strings.ReplaceAll(ws.value["paid"], "_", " ")
	return r
}

func gresOf(ws words) []federation.GRES {
	var all []federation.GRES
	for k, v := range ws.value {
		if kind, count, ok := strings.Cut(v, ":"); ok && k != "reason" {
			n, _ := strconv.Atoi(count)
			all = append(all, federation.GRES{Name: k, Type: kind, Total: n})
		}
	}
	return all
}

func (w *world) addRunning(t testing.TB, obs *federation.Observation, ws words) {
	j := federation.RunningJob{Nodes: hosts(t, ws.plain[0])}
	if end := ws.value["end"]; end != "" {
		j.End = w.now.Add(span(t, end))
		delete(ws.value, "end")
	}
	j.CPUs, _ = strconv.Atoi(ws.value["cpus"])
	mem, _ := strconv.Atoi(ws.value["mem"])
	j.Mem = sbatch.MemMiB(mem)
	for _, g := range gresOf(ws) {
		j.GRES = append(j.GRES, federation.GRES{Name: g.Name, Type: g.Type, Used: g.Total})
	}
	obs.Running = append(obs.Running, j)
	for i := range obs.Nodes {
		n := &obs.Nodes[i]
		if !slices.Contains(j.Nodes, n.Name) {
			continue
		}
		n.CPUsUsed += j.CPUs
		n.MemUsed += j.Mem
		for k := range n.GRES {
			for _, g := range j.GRES {
				if g.Name == n.GRES[k].Name && g.Type == n.GRES[k].Type {
					n.GRES[k].Used += g.Used
				}
			}
		}
	}
}

// job reads "ID [USER] options [: options of the next component]"; the options are few and in their long form, but for -N, -n, -c,
// -t and -p.
func (w *world) job(t testing.TB, ws words) *federation.Job {
	t.Helper()
	id, err := strconv.Atoi(ws.plain[0])
	if err != nil {
		t.Fatalf("job ID %q", ws.plain[0])
	}
	j := &federation.Job{ID: federation.JobID(id), User: "alice", State: federation.Pending, Submit: w.now.Add(-time.Second), Spec: &sbatch.Spec{}}
	rest := ws.plain[1:]
	if len(rest) > 0 && rest[0][0] != '-' {
		j.User, rest = rest[0], rest[1:]
	}
	part := j
	var parts []*federation.Job
	for _, o := range rest {
		if o == ":" {
			part = &federation.Job{Spec: &sbatch.Spec{}}
			parts = append(parts, part)
			continue
		}
		name, value, ok := strings.Cut(o, "=")
		if !ok {
			name, value = o[:2], o[2:]
			if strings.HasPrefix(o, "--") {
				name, value = o, ""
			}
		}
		w.option(t, part, name, value)
	}
	for _, p := range parts {
		j.Spec.Het = append(j.Spec.Het, *p.Spec)
	}
	return j
}

func (w *world) option(t testing.TB, j *federation.Job, name, value string) {
	t.Helper()
	s := j.Spec
	n, _ := strconv.Atoi(value)
	switch name {
	case "-N", "--nodes":
		lo, hi, isRange := strings.Cut(value, "-")
		s.MinNodes, _ = strconv.Atoi(lo)
		s.MaxNodes = s.MinNodes
		if isRange {
			s.MaxNodes, _ = strconv.Atoi(hi)
		}
	case "-n", "--ntasks":
		s.NTasks = n
	case "-c", "--cpus-per-task":
		s.CPUsPerTask = n
	case "--ntasks-per-node":
		s.NTasksPerNode = n
	case "-t", "--time":
		s.TimeLimit = span(t, value)
	case "--time-min":
		s.TimeMin = span(t, value)
	case "-p", "--partition":
		s.Partition = value
	case "--mem":
		s.MemPerNode = sbatch.MemMiB(n)
		if n == 0 {
			s.MemPerNode = sbatch.MemAll
		}
	case "--mem-per-cpu":
		s.MemPerCPU = sbatch.MemMiB(n)
	case "--mem-per-gpu":
		s.MemPerGPU = sbatch.MemMiB(n)
	case "--gres":
		s.GRES = value
	case "--gpus":
		s.GPUs = value
	case "--gpus-per-node":
		s.GPUsPerNode = value
	case "--gpus-per-task":
		s.GPUsPerTask = value
	case "--constraint":
		s.Constraint = value
	case "--account":
		s.Account = value
	case "--qos":
		s.QOS = value
	case "--reservation":
		s.Reservation = value
	case "--nodelist":
		s.NodeList = value
	case "--exclude":
		s.Exclude = value
	case "--exclusive":
		s.Exclusive = cmp.Or(value, "exclusive")
	case "--deadline":
		s.Deadline = w.now.Add(span(t, value))
	case "--segment", "--contiguous":
		m := sbatch.More{}
		if s.More != nil {
			m = *s.More
		}
		m.Segment, m.Contiguous = max(m.Segment, n), m.Contiguous || name == "--contiguous"
		s.More = &m
	case "--switches":
		s.Switches = n
	case "--clusters":
		s.Clusters = value
	case "--sites", "--not-sites", "--accelerators", "--max-cost", "--stage-out", "--traffic", "--deadline-value", "--checkpoint":
		w.ofFederation(t, s, name, value)
	case "--work-dir":
		s.WorkDir = value
	case "--plugin":
		s.Plugin = append(s.Plugin, sbatch.PluginOption{Name: value})
	case "--cost":
		j.Cost = accounting.MoneyOf(number64(t, value))
	case "--part-of":
		j.Part = &federation.ArrayPart{Array: 1, Count: n}
	case "--waited":
		j.Submit = w.now.Add(-span(t, value))
	case "--refused":
		r := decision.Rejection{Reason: reasons.Refused, Detail: "Invalid license specification", Never: true}
		w.refused[j.ID] = map[federation.SiteName]decision.Rejection{federation.SiteName(value): r}
	default:
		t.Fatalf("what is option %q?", name)
	}
}

func (w *world) ofFederation(t testing.TB, s *sbatch.Spec, name, value string) {
	if s.Fed == nil {
		s.Fed = &sbatch.Fed{}
	}
	switch name {
	case "--sites":
		s.Fed.Sites = strings.Split(value, ",")
	case "--not-sites":
		s.Fed.NotSites = strings.Split(value, ",")
	case "--accelerators":
		s.Fed.Accelerators = strings.Split(value, ",")
	case "--deadline-value":
		s.Fed.DeadlineValue = number64(t, value)
	case "--checkpoint":
		s.Fed.Checkpoint = span(t, value)
	case "--traffic":
		s.Fed.Traffic = value
	case "--max-cost":
		s.Fed.MaxCost = number64(t, value)
	case "--stage-out":
		s.Fed.StageOut = []sbatch.Stage{{From: value}}
	}
}

func hosts(t testing.TB, s string) []string {
	t.Helper()
	names, err := hostlist.ExpandLoosely(s)
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func number64(t testing.TB, s string) float64 {
	t.Helper()
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func span(t testing.TB, s string) time.Duration {
	t.Helper()
	switch s {
	case "":
		return 0
	case "unlimited":
		return sbatch.Unlimited
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// explainAll is what the transcripts show of a plan.
func explainAll(w *world, plan federation.Plan) string {
	var b strings.Builder
	for i, d := range plan.Decisions {
		b.WriteString(Explain(w.jobs[i], d))
		if e := Refusal(d); e != nil {
			fmt.Fprintf(&b, "  sbatch: %d %s (%s)\n", e.Number, e.Text, e.Detail)
		}
	}
	for _, j := range w.jobs[len(plan.Decisions):] {
		fmt.Fprintf(&b, "job %s was not looked at\n", j.ID)
	}
	return b.String()
}

// told is a forecast that is the same for all jobs, of a site where jobs take a share of their limits; 0: its limits bound nothing.
type told struct {
	decision.Foreseen
	share float64
}

func (f *told) Wait(decision.QueueAsk) *decision.Foreseen {
	said := f.Foreseen
	return &said
}

func (f *told) Bounds(byLimits time.Duration) (p50, p90 time.Duration) {
	if f.share == 0 {
		return 0, 0
	}
	return time.Duration(float64(byLimits) * f.share), byLimits
}

func (f *told) Left(federation.JobID, decision.QueueAsk) *decision.Foreseen { return nil }

// A job behind the first 100,000, which all wait for other nodes, starts on a node that none of them wants.
func TestStartsBehindTheFirst(t *testing.T) {
	w := newWorld()
	w.read(t, `site alpha
partition gpu default nodes=a1
partition cpu nodes=b1
nodes a1 cpus=16 mem=64000 gpu=h100:4
nodes b1 cpus=8 mem=64000
running a1 cpus=16 mem=100 gpu=h100:4 end=20m`)
	all := NewWorld(DefaultPolicy(), 1)
	all.SetTime(w.now)
	for _, s := range w.snapshot().Sites {
		all.SetSite(s)
	}
	kinds := []*federation.Job{w.job(t, split("1 --gpus-per-node=4 -t1h")), w.job(t, split("1 --gpus-per-node=2 -t2h"))}
	const before = 150_000
	for i := range before {
		j := *kinds[i%len(kinds)]
		j.ID = federation.JobID(1 + i)
		all.SetJob(Waiting{Job: &j})
	}
	all.Decide()
	last := *w.job(t, split("1 -pcpu"))
	last.ID = before + 1
	all.SetJob(Waiting{Job: &last})
	bound := func() (ids []federation.JobID) {
		for _, d := range all.Decide() {
			if d.Bind && !d.Early {
				ids = append(ids, d.Job)
			}
		}
		return ids
	}
	if got := bound(); !slices.Equal(got, []federation.JobID{last.ID}) {
		t.Errorf("bound are jobs %v, want the last one of %d", got, last.ID)
	}
	all.SetTime(w.now.Add(time.Minute)) // a plan of all
	if got := bound(); !slices.Equal(got, []federation.JobID{last.ID}) {
		t.Errorf("after a new plan jobs %v are bound, want the last one of %d", got, last.ID)
	}
}
