package web

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	v1 "fsub/federation/api/v1"
	. "fsub/federation/web/html"
)

// now is the page of what is free now, and what it costs.
func (s *server) now(r *http.Request) (*page, error) {
	ctx := r.Context()
	sites, err := list(ctx, s, &s.common.sites, &v1.Sites, v1.SiteQuery{}, seenLife)
	if err != nil {
		return nil, err
	}
	nodes, err := list(ctx, s, &s.common.nodes, &v1.Nodes, v1.NodeQuery{}, seenLife)
	if err != nil {
		return nil, err
	}
	planned, err := list(ctx, s, &s.common.planned, &v1.Maintenances, v1.None{}, seenLife)
	if err != nil {
		return nil, err
	}
	offers, err := list(ctx, s, &s.common.offers, &v1.Offers, v1.OfferQuery{Limit: 20}, pricesLife)
	if err != nil {
		return nil, err
	}
	siteTable, rows := nounTable("Sites", &v1.Sites, sites, "AGE", "BOUND")
	plans, _ := nounTable("Planned maintenance", &v1.Maintenances, planned)
	p := &page{title: "Now", command: "fed site list", data: map[string]any{"sites": sites, "nodes": nodes, "maintenance": planned, "offers": offers}, table: rows}
	p.parts = []Node{
		section("What is free", textTable("Free nodes by kind", freeNodes(nodes))),
		section("Sites", siteTable),
		section("Planned maintenance", plans),
	}
	if len(offers) > 0 {
		prices, _ := nounTable("Machines of the clouds, by the hour", &v1.Offers, offers)
		p.parts = append(p.parts, section("Prices", prices))
	}
	return p, nil
}

// kind is a kind of node of a site's partition.
type kind struct{ site, partition, gpu string }

type free struct{ nodes, usable, idle, gpus, gpusFree, cpus, cpusFree int }

// freeNodes adds nodes up by site, partition and kind of GPU.
func freeNodes(nodes []v1.Node) [][]string {
	sum := map[kind]*free{}
	var order []kind
	for i := range nodes {
		n := &nodes[i]
		k := kind{string(n.Site), strings.Join(n.Partitions, ","), n.GPUType}
		f := sum[k]
		if f == nil {
			f = new(free)
			sum[k] = f
			order = append(order, k)
		}
		f.nodes++
		f.gpus += n.GPUs
		f.cpus += n.CPUs
		if n.Usable {
			f.usable++
			f.gpusFree += n.GPUs - n.GPUsUsed
			f.cpusFree += n.CPUs - n.CPUsUsed
			if n.CPUsUsed == 0 {
				f.idle++
			}
		}
	}
	slices.SortFunc(order, func(a, b kind) int {
		return strings.Compare(a.site+" "+a.partition+" "+a.gpu, b.site+" "+b.partition+" "+b.gpu)
	})
	rows := [][]string{{"SITE", "PARTITION", "GPU", "FREE", "GPUS", "IDLE", "NODES", "FREE CPUS", "CPUS"}}
	for _, k := range order {
		f := sum[k]
		gpus, gpusFree := "", ""
		if f.gpus > 0 {
			gpus, gpusFree = strconv.Itoa(f.gpus), strconv.Itoa(f.gpusFree)
		}
		rows = append(rows, []string{k.site, k.partition, k.gpu, gpusFree, gpus, strconv.Itoa(f.idle), strconv.Itoa(f.nodes), strconv.Itoa(f.cpusFree), strconv.Itoa(f.cpus)})
	}
	return rows
}
