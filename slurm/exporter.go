package slurm

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"golang.org/x/sync/errgroup"

	"fsub/federation"
	"fsub/federation/driver"
	"fsub/federation/idle"
	"fsub/slurm/hostlist"
)

const (
	scrapes    = 16 // exporters that are asked at a time
	scrapeTime = 5 * time.Second
	scrapeMost = 16 << 20 // bytes that an exporter may say
)

// What a DCGM exporter says of each GPU: the share of the time since it looked last for which it was busy, or in percent what it was at the moment. The first is
// better: a job that computes for a second now and then is seldom met at that.
const (
	gpuUtil   = "DCGM_FI_DEV_GPU_UTIL"
	gpuActive = "DCGM_FI_PROF_GR_ENGINE_ACTIVE"
)

// busyGPUs are what exporters say: percent of each GPU, by the job that it is given to where the exporter is told of jobs, and by its node.
type busyGPUs struct {
	mu    sync.Mutex
	jobs  map[int64][]float64
	nodes map[string][]float64
}

// exporter asks the exporters of the jobs' nodes. A job is known if each of its GPUs is: by its number (the label hpc_job), or since it holds all that its nodes have.
func (m *meter) exporter(ctx context.Context, jobs []driver.Running, out map[federation.JobID]idle.Use) error {
	names := map[string]bool{}
	for i := range jobs {
		list, _ := hostlist.Expand(jobs[i].Nodes)
		for _, name := range list {
			if jobs[i].GPUs > 0 {
				names[name] = true
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	if !strings.Contains(m.cfg.UseExporter, "%n") { // one for all nodes
		names = map[string]bool{"": true}
	}
	busy := busyGPUs{jobs: map[int64][]float64{}, nodes: map[string][]float64{}}
	var g errgroup.Group
	g.SetLimit(scrapes)
	for name := range names {
		g.Go(func() error { return busy.scrape(ctx, m.cfg.UseExporter, name) })
	}
	err := g.Wait() // of the first that failed: what runs on its node is not known
	at := time.Now().UTC()
	for i := range jobs {
		r := &jobs[i]
		if percent, ok := busy.of(r); ok {
			u := out[r.ID]
			u.At, u.GPUs, u.GPU, u.KnowsGPU = at, r.GPUs, percent, true
			out[r.ID] = u
		}
	}
	if err != nil {
		err = fmt.Errorf("site %s: use: exporter: %w: %v", m.cfg.Name, federation.ErrUnavailable, err)
	}
	return err
}

// of is the average of a job's GPUs.
func (b *busyGPUs) of(r *driver.Running) (percent float64, known bool) {
	list := b.jobs[siteNumber(&r.JobRef)]
	if len(list) == 0 {
		nodes, _ := hostlist.Expand(r.Nodes)
		for _, name := range nodes {
			if len(b.nodes[name]) == 0 { // it has not answered
				return 0, false
			}
			list = append(list, b.nodes[name]...)
		}
	}
	if r.GPUs == 0 || len(list) != r.GPUs {
		return 0, false
	}
	for _, p := range list {
		percent += p / float64(len(list))
	}
	return percent, true
}

// scrape reads one exporter. node is whose it is, "" that of all.
func (b *busyGPUs) scrape(ctx context.Context, address, node string) error {
	ctx, cancel := context.WithTimeout(ctx, scrapeTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.ReplaceAll(address, "%n", node), nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", req.URL, resp.Status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(io.LimitReader(resp.Body, scrapeMost))
	if err != nil {
		return fmt.Errorf("%s: %w", req.URL, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	name, scale := gpuActive, 100.0
	if families[name] == nil {
		name, scale = gpuUtil, 1
	}
	for _, one := range families[name].GetMetric() {
		b.add(one, node, scale)
	}
	return nil
}

// add notes what is said of one GPU.
func (b *busyGPUs) add(m *dto.Metric, node string, scale float64) {
	var value float64
	switch {
	case m.Gauge != nil:
		value = m.Gauge.GetValue()
	case m.Untyped != nil:
		value = m.Untyped.GetValue()
	default:
		return
	}
	host := node
	for _, l := range m.GetLabel() {
		switch l.GetName() {
		case "hpc_job":
			if n, err := strconv.ParseInt(l.GetValue(), 10, 64); err == nil {
				b.jobs[n] = append(b.jobs[n], value*scale)
			}
		case "Hostname":
			if host == "" {
				host, _, _ = strings.Cut(l.GetValue(), ".")
			}
		}
	}
	b.nodes[host] = append(b.nodes[host], value*scale)
}
