package place

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"fsub/federation"
)

// model is what one observation of a site means to placement. It is immutable. The model of the next observation shares what is the
// same (see follow.go). Nodes are known by their index in the observation.
type model struct {
	site    federation.SiteName
	obs     *federation.Observation
	pools   []federation.Pool
	parts   []*federation.Partition // of each pool
	sizes   []size                  // of each pool
	cellsOf [][]int32               // of each pool
	nodeAt  map[string]int32
	feature map[string]bool // features that some node has

	wiring wiring

	inventory

	starts   []int32 // by partition: how many of its idle nodes may be taken into use; nil: all may
	startsOf []int32 // by node: the partition whose starts it counts to if it is, -1 for none

	badPart map[int32]string // the switch above that gangs are kept off; nil: none is

	up      []bool  // can start jobs, now or when a reservation ends
	boot    []int64 // by node: seconds that it takes to start; nil if no node must
	longest []int64 // by pool: the longest of them
	cellOf  []int32
	cells   []cell
	frees   [][]release // by node, in order of time
	blocks  [][]block   // by node: reservations

	reserved bool           // there are any reservations
	promised map[int32]bool // nodes that are reserved for jobs of the federation, which the plan reserves itself
}

// cell is the nodes of one shape in the same partitions and reservations, either all up or all to be started first. Each node is in
// one cell; each pool consists of whole cells.
type cell struct {
	nodes        []int32 // only those that are up
	reservations []string
	gpus         []int32 // slots of GPUs that its nodes have
	cold         bool    // its nodes must start first
}

// release is what a running job frees on a node when it reaches its limit. at is in Unix seconds.
type release struct {
	at       int64
	cpu, mem int32
	rest     bool // of a job that is ending: see freeRest
	job      federation.JobID
	gres     []slotCount
}

// block is a reservation of a whole node from one second to another.
type block struct {
	name     string
	from, to int64
}

// never is a time that does not come.
const never int64 = math.MaxInt64

func newModel(site *federation.Site) *model {
	obs := site.Seen
	m := &model{site: site.Name, obs: obs, pools: site.Pools, nodeAt: make(map[string]int32, len(obs.Nodes)), feature: map[string]bool{}}
	if m.pools == nil {
		m.pools = Pools(site.Name, obs)
	}
	names := make([]string, len(obs.Nodes))
	for i := range obs.Nodes {
		names[i] = obs.Nodes[i].Name
		m.nodeAt[names[i]] = int32(i)
		for _, f := range obs.Nodes[i].Features {
			m.feature[f] = true
		}
	}
	m.wiring = readWiring(obs, m.pools, names)
	m.inventory = newInventory(obs.Nodes)
	m.readNodes()
	m.readReservations()
	m.readRunning()
	m.makeCells()
	m.readStarts()
	m.countPools()
	m.longest = make([]int64, len(m.pools))
	for p := range m.pools {
		for _, n := range m.pools[p].Nodes {
			m.longest[p] = max(m.longest[p], m.bootOf(int32(n)))
		}
	}
	return m
}

func (m *model) countPools() {
	m.sizes = make([]size, len(m.pools))
	for p := range m.pools {
		m.sizes[p] = m.sizeOf(m.nodesOf(&group{pools: []int{p}}), nil, m.wiring.fabricOf[p])
	}
}

// readNodes notes which nodes are up, and which must start first.
func (m *model) readNodes() {
	nodes := m.obs.Nodes
	m.up = make([]bool, len(nodes))
	for i := range nodes {
		nd := &nodes[i]
		m.up[i] = nd.Usable()
		if nd.BadPart != "" {
			if m.badPart == nil {
				m.badPart = map[int32]string{}
			}
			m.badPart[int32(i)] = nd.BadPart
		}
		if nd.Rented != nil && nd.Rented.Boot > 0 && m.up[i] {
			if m.boot == nil {
				m.boot = make([]int64, len(nodes))
			}
			m.boot[i] = int64((nd.Rented.Boot + time.Second - 1) / time.Second)
		}
	}
}

// readReservations notes which nodes are taken when. A node that is down only for being reserved is up for those who may
// use the reservation.
func (m *model) readReservations() {
	m.blocks = make([][]block, len(m.obs.Nodes))
	for i := range m.obs.Reservations {
		r := &m.obs.Reservations[i]
		b := block{name: r.Name, from: unix(r.Start), to: never}
		if !r.End.IsZero() {
			b.to = unix(r.End)
		}
		for _, name := range r.Nodes {
			n, ok := m.nodeAt[name]
			if !ok {
				continue
			}
			if r.For.Of() != 0 {
				if m.promised == nil {
					m.promised = map[int32]bool{}
				}
				m.promised[n] = true
			} else {
				m.blocks[n] = append(m.blocks[n], b)
				m.reserved = true
			}
			if !m.up[n] {
				m.up[n] = usableButReserved(&m.obs.Nodes[n])
			}
		}
	}
}

func usableButReserved(n *federation.Node) bool {
	bare := *n
	bare.State = slices.DeleteFunc(slices.Clone(n.State), func(s string) bool {
		return s == "RESERVED" || s == "MAINT" || s == "MAINTENANCE"
	})
	return bare.Usable()
}

func unix(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

// readRunning notes what running jobs hold and when they give it back at the latest. A job without an end gives nothing back.
func (m *model) readRunning() {
	m.frees = make([][]release, len(m.obs.Nodes))
	for i := range m.obs.Running {
		j := &m.obs.Running[i]
		if j.End.IsZero() {
			continue
		}
		for _, name := range j.Nodes {
			if n, ok := m.nodeAt[name]; ok {
				m.frees[n] = append(m.frees[n], m.releaseOf(n, j))
			}
		}
	}
	for n := range m.frees {
		m.finishFrees(int32(n))
	}
}

// releaseOf is what a running job gives back on node n.
func (m *model) releaseOf(n int32, j *federation.RunningJob) release {
	return release{at: j.End.Unix(), job: j.Job, cpu: clamp(int64(j.CPUs)), mem: clamp(int64(j.Mem)), gres: m.held(n, j.GRES)}
}

// finishFrees adds what an ending job gives back to a node's releases, and sorts them.
func (m *model) finishFrees(n int32) {
	if slices.Contains(m.obs.Nodes[n].State, "COMPLETING") {
		m.freeRest(n)
	}
	slices.SortStableFunc(m.frees[n], func(a, b release) int { return cmp.Compare(a.at, b.at) })
}

// firstFree is when the first of a node's jobs ends.
func (m *model) firstFree(n int32) int64 {
	if len(m.frees[n]) == 0 {
		return never
	}
	return m.frees[n][0].at
}

// freeRest attributes what is in use on a node but held by no running job to one that is ending: it may be freed at any moment.
func (m *model) freeRest(n int32) {
	base := int(n) * len(m.slots)
	rest := release{cpu: m.totalCPU[n] - m.cpu[n], mem: m.totalMem[n] - m.mem[n], rest: true}
	gres := make([]int32, len(m.slots))
	for s := range gres {
		gres[s] = m.totalGRES[base+s] - m.gres[base+s]
	}
	for _, r := range m.frees[n] {
		rest.cpu -= r.cpu
		rest.mem -= r.mem
		for _, g := range r.gres {
			gres[g.slot] -= g.count
		}
	}
	rest.cpu, rest.mem = max(rest.cpu, 0), max(rest.mem, 0)
	for s, count := range gres {
		if count > 0 {
			rest.gres = append(rest.gres, slotCount{int32(s), count})
		}
	}
	m.frees[n] = append(m.frees[n], rest)
}

func (m *model) makeCells() {
	in := make([][]int32, len(m.obs.Nodes)) // pools of each node
	m.parts = make([]*federation.Partition, len(m.pools))
	for p := range m.pools {
		for i := range m.obs.Partitions {
			if m.obs.Partitions[i].Name == m.pools[p].Partition {
				m.parts[p] = &m.obs.Partitions[i]
			}
		}
		for _, n := range m.pools[p].Nodes {
			in[n] = append(in[n], int32(p))
		}
	}
	m.cellOf = make([]int32, len(m.obs.Nodes))
	m.cellsOf = make([][]int32, len(m.pools))
	at := map[string]int32{}
	var last string
	var lastCell int32 = -1
	for n := range in {
		m.cellOf[n] = -1
		if len(in[n]) == 0 {
			continue
		}
		key := cellKey(in[n], m.blocks[n], m.bootOf(int32(n)) > 0)
		if key != last || lastCell < 0 {
			last, lastCell = key, m.cell(at, key, int32(n), in[n])
		}
		m.cellOf[n] = lastCell
		if m.up[n] {
			m.cells[lastCell].nodes = append(m.cells[lastCell].nodes, int32(n))
		}
	}
	for _, cells := range m.cellsOf {
		// A search takes the first nodes that will do: those that are there before those that must start.
		slices.SortStableFunc(cells, func(a, b int32) int { return cmp.Compare(m.coldness(a), m.coldness(b)) })
	}
}

func (m *model) coldness(cell int32) int {
	if m.cells[cell].cold {
		return 1
	}
	return 0
}

func cellKey(pools []int32, blocks []block, cold bool) string {
	key := make([]byte, 0, 32)
	key = fmt.Append(key, pools)
	if cold {
		key = append(key, '~')
	}
	for _, b := range blocks {
		key = append(append(key, ' '), b.name...)
	}
	return string(key)
}

// cell returns the cell of a key, a new one like node n if there is none yet.
func (m *model) cell(at map[string]int32, key string, n int32, pools []int32) int32 {
	if c, ok := at[key]; ok {
		return c
	}
	c := int32(len(m.cells))
	at[key] = c
	nc := cell{cold: m.bootOf(n) > 0}
	for _, b := range m.blocks[n] {
		nc.reservations = append(nc.reservations, b.name)
	}
	for s, k := range m.slots {
		if k.name == "gpu" && m.totalGRES[int(n)*len(m.slots)+s] > 0 {
			nc.gpus = append(nc.gpus, int32(s))
		}
	}
	m.cells = append(m.cells, nc)
	for _, p := range pools {
		m.cellsOf[p] = append(m.cellsOf[p], c)
	}
	return c
}
