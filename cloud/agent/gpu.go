package agent

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"fsub/cloud/agentapi"
)

// smi asks nvidia-smi for a table of its GPUs; nil where there is none.
func smi(fields string) [][]string {
	path, err := exec.LookPath("nvidia-smi")
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	text, err := exec.CommandContext(ctx, path, "--query-gpu="+fields, "--format=csv,noheader,nounits").Output()
	if err != nil {
		return nil
	}
	var rows [][]string
	for line := range strings.Lines(string(text)) {
		row := strings.Split(strings.TrimSpace(line), ",")
		for i := range row {
			row[i] = strings.TrimSpace(row[i])
		}
		if len(row) == strings.Count(fields, ",")+1 {
			rows = append(rows, row)
		}
	}
	return rows
}

// gpus are those of the machine that answer.
func gpus() (list []agentapi.GPU) {
	for _, row := range smi("index,name,uuid") {
		if n, err := strconv.Atoi(row[0]); err == nil {
			list = append(list, agentapi.GPU{Index: n, Type: row[1], UUID: row[2]})
		}
	}
	if len(list) == 0 {
		return amdGPUs("/sys/class/kfd/kfd/topology/nodes")
	}
	return list
}

// amdGPUs are those that AMD's driver has: its nodes without compute units are processors.
func amdGPUs(nodes string) (list []agentapi.GPU) {
	paths, _ := filepath.Glob(filepath.Join(nodes, "*", "properties")) // fails for a bad pattern only
	for _, path := range paths {
		text, _ := os.ReadFile(path)
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); len(f) == 2 && f[0] == "simd_count" && f[1] != "0" {
				list = append(list, agentapi.GPU{Index: len(list), Type: "AMD"})
			}
		}
	}
	return list
}

// The driver of GPUs may still be loading as the machine boots: so long they are waited for.
const gpuWait, gpuAgain = 2 * time.Minute, 3 * time.Second

// gpusOnceUp are the machine's GPUs once all that are on its bus answer, or those that do by then.
func gpusOnceUp(ctx context.Context, bus string) []agentapi.GPU {
	for end := time.Now().Add(gpuWait); ; {
		list := gpus()
		if len(list) >= nvidiaOn(bus) || time.Now().After(end) {
			return list
		}
		select {
		case <-time.After(gpuAgain):
		case <-ctx.Done():
			return list
		}
	}
}

// nvidiaOn counts NVIDIA's display and 3D controllers on a bus.
func nvidiaOn(bus string) (n int) {
	vendors, _ := filepath.Glob(filepath.Join(bus, "*", "vendor")) // fails for a bad pattern only
	for _, path := range vendors {
		vendor, _ := os.ReadFile(path)
		class, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "class"))
		if strings.TrimSpace(string(vendor)) == "0x10de" && (strings.HasPrefix(string(class), "0x0300") || strings.HasPrefix(string(class), "0x0302")) {
			n++
		}
	}
	return n
}

// gpuTable is what the machine's GPUs do now, asked for all runs together.
type gpuTable struct {
	mu   sync.Mutex
	at   time.Time
	read [][]string
}

// tableAge is how old an answer may be.
const tableAge = lookEvery / 2

// rows are index, utilization in percent and memory in MiB of each GPU.
func (t *gpuTable) rows() [][]string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := time.Now(); now.Sub(t.at) > tableAge {
		t.read, t.at = smi("index,utilization.gpu,memory.used"), now
	}
	return t.read
}

// gpuMeter is what a run makes of its GPUs.
type gpuMeter struct {
	table  *gpuTable
	mine   map[int]bool
	looked time.Time
	looks  int
	util   float64 // sum of the looks' averages, in percent
	hours  float64
	mem    int64
}

func newGPUMeter(t *gpuTable, indices []int) gpuMeter {
	m := gpuMeter{table: t, mine: map[int]bool{}, looked: time.Now()}
	for _, n := range indices {
		m.mine[n] = true
	}
	return m
}

func (m *gpuMeter) look() {
	if len(m.mine) == 0 {
		return
	}
	var util float64
	var mem int64
	n, known := 0, true
	for _, row := range m.table.rows() {
		index, err := strconv.Atoi(row[0])
		if err != nil || !m.mine[index] {
			continue
		}
		u, err := strconv.ParseFloat(row[1], 64)
		known = known && err == nil // a GPU that is divided (MIG) tells no utilization
		mib, _ := strconv.ParseInt(row[2], 10, 64)
		util, mem, n = util+u, mem+mib<<20, n+1
	}
	if n == 0 {
		return
	}
	if m.mem = max(m.mem, mem); !known {
		return
	}
	now := time.Now()
	m.hours += util / 100 * now.Sub(m.looked).Hours()
	m.util, m.looks, m.looked = m.util+util/float64(n), m.looks+1, now
}

func (m *gpuMeter) last(u *agentapi.Used) {
	if u.GPUMem = m.mem; m.looks > 0 {
		u.GPUUtil, u.GPUHours = m.util/float64(m.looks), m.hours
	}
}
