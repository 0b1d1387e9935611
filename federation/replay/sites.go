package replay

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/accounting"
	"fsub/federation"
	v1 "fsub/federation/api/v1"
	"fsub/federation/decision"
	"fsub/federation/place"
	"fsub/sbatch"
	"fsub/topology"
)

// SiteSyntax is how a site is written for [ParseSite].
const SiteSyntax = "NAME=NODES[xGPUS[:TYPE]][,cpus=N][,mem=GIB][,price=DOLLARS][,speed=FACTOR][,leaf=NODES][,rented=BOOT]"

// ParseSite makes a site of like nodes: "rhein=16x8:h100,price=2.10" is sixteen of eight GPUs each, which cost $2.10 an hour each. Not said: 12 CPUs and 128 GiB to a
// GPU, 64 and 256 GiB for a node without; 1 for the speed; the price that is assumed of that kind of GPU. "rented=3m": the nodes are rented when they are needed, and
// take so long to boot; price is a GPU's then too. "leaf=8": each eight nodes are below a switch, and one is above all.
func ParseSite(text string) (*federation.Site, error) {
	bad := func(what string) error { return fmt.Errorf("invalid site %q: %s: want %s", text, what, SiteSyntax) }
	name, rest, ok := strings.Cut(text, "=")
	switch {
	case !ok:
		return nil, bad("no number of nodes")
	case name == "":
		return nil, bad("no name")
	}
	parts := strings.Split(rest, ",")
	count, gpus, wired := strings.Cut(parts[0], "x")
	nodes, err := strconv.Atoi(count)
	if err != nil || nodes < 1 || nodes > 1_000_000 {
		return nil, bad(fmt.Sprintf("%q nodes", count))
	}
	perNode, kind := 0, ""
	if wired {
		n, k, _ := strings.Cut(gpus, ":")
		if perNode, err = strconv.Atoi(n); err != nil || perNode < 0 || perNode > 1024 {
			return nil, bad(fmt.Sprintf("%q GPUs of a node", n))
		}
		kind = k
	}
	node := federation.Node{State: []string{"IDLE"}, CPUs: 64, Mem: 256 << 10, Threads: 1, Partitions: []string{"main"}}
	if perNode > 0 {
		node.CPUs, node.Mem = 12*perNode, sbatch.MemMiB(perNode)<<17
		node.GRES = []federation.GRES{{Name: "gpu", Type: kind, Total: perNode}}
	}
	site := &federation.Site{Name: federation.SiteName(name), State: federation.FedActive, Answering: true}
	price, rented, leaf := -1.0, false, 0
	boot := time.Duration(0)
	for _, p := range parts[1:] {
		key, value, _ := strings.Cut(p, "=")
		x, err := strconv.ParseFloat(value, 64)
		good := err == nil && x >= 1 && x <= 1<<20 || key == "speed" && x > 0 && x <= 1e6
		switch key {
		case "cpus":
			node.CPUs = int(x)
		case "mem":
			node.Mem = sbatch.MemMiB(x) << 10
		case "price":
			price, good = x, err == nil && x >= 0 && x <= 1e6
		case "speed":
			site.Speed = map[string]float64{kind: x}
		case "leaf":
			leaf = int(x)
		case "rented":
			boot, err = time.ParseDuration(value)
			rented, good = true, err == nil && boot >= 0
		default:
			return nil, bad("unknown word " + strconv.Quote(key))
		}
		if !good {
			return nil, bad(p)
		}
	}
	if rented && price < 0 {
		return nil, bad("a rented site needs a price")
	}
	if price >= 0 && !rented {
		if perNode > 0 {
			site.Prices = accounting.Prices{"gres/gpu": price}
		} else {
			site.Prices = accounting.Prices{"cpu": price}
		}
	}
	site.Seen = manyNodes(name, nodes, node, rented, boot, decision.Dollars(price*float64(max(perNode, 1))))
	if leaf > 0 {
		site.Seen.Tree = leavesOf(site.Seen.Nodes, leaf)
	}
	site.Pools = place.Pools(site.Name, site.Seen)
	return site, nil
}

// leavesOf puts so many nodes at a time below a switch, and one switch above all.
func leavesOf(nodes []federation.Node, each int) topology.Tree {
	paths := make(map[string]string, len(nodes))
	for i := range nodes {
		paths[nodes[i].Name] = fmt.Sprintf("core:leaf%04d", i/each)
	}
	return topology.FromPaths(paths)
}

// manyNodes is what a site of like nodes says of itself.
func manyNodes(name string, count int, like federation.Node, rented bool, boot time.Duration, price decision.Dollars) *federation.Observation {
	part := federation.Partition{Name: "main", Default: true, Up: true, State: "UP", MaxTime: sbatch.Unlimited}
	obs := &federation.Observation{Cluster: name}
	for i := range count {
		n := like
		n.Name = fmt.Sprintf("%s%05d", name, i+1)
		n.GRES = slices.Clone(like.GRES)
		if rented {
			n.State = []string{"IDLE", "CLOUD", "POWERED_DOWN"}
			n.Rented = &federation.Rented{Offering: name, PricePerHour: price, Boot: max(boot, time.Second), Market: "on-demand"}
		}
		part.Nodes = append(part.Nodes, n.Name)
		obs.Nodes = append(obs.Nodes, n)
	}
	obs.Partitions = []federation.Partition{part}
	return obs
}

// SitesOf makes sites of the nodes that a daemon tells of, idle. What they cost is assumed by the kind of their GPUs.
func SitesOf(nodes []v1.Node) (sites []*federation.Site) {
	byName := map[federation.SiteName]*federation.Site{}
	for i := range nodes {
		n := &nodes[i]
		s := byName[n.Site]
		if s == nil {
			s = &federation.Site{Name: n.Site, State: federation.FedActive, Answering: true, Seen: &federation.Observation{Cluster: string(n.Site)}}
			byName[n.Site], sites = s, append(sites, s)
		}
		node := federation.Node{Name: n.Name, State: []string{"IDLE"}, CPUs: n.CPUs, Mem: sbatch.MemMiB(n.Memory), Threads: 1, Features: n.Features, Partitions: n.Partitions}
		if n.GPUs > 0 {
			node.GRES = []federation.GRES{{Name: "gpu", Type: n.GPUType, Total: n.GPUs}}
		}
		s.Seen.Nodes = append(s.Seen.Nodes, node)
		for _, name := range n.Partitions {
			k := slices.IndexFunc(s.Seen.Partitions, func(p federation.Partition) bool { return p.Name == name })
			if k < 0 {
				k = len(s.Seen.Partitions)
				s.Seen.Partitions = append(s.Seen.Partitions, federation.Partition{Name: name, Default: k == 0, Up: true, State: "UP", MaxTime: sbatch.Unlimited})
			}
			s.Seen.Partitions[k].Nodes = append(s.Seen.Partitions[k].Nodes, n.Name)
		}
	}
	for _, s := range sites {
		s.Pools = place.Pools(s.Name, s.Seen)
	}
	return sites
}
