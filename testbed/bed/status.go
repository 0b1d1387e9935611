package bed

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Info says where a site is and how it does.
type Info struct {
	Name     string         `json:"name"`
	Up       bool           `json:"up"` // its namespaces exist
	Version  string         `json:"version,omitempty"`
	RestURL  string         `json:"rest_url,omitempty"` // of slurmrestd, reached from the host and the login
	KeyFile  string         `json:"key_file,omitempty"` // HS256 key of the site's tokens, mode 0600
	Conf     string         `json:"conf,omitempty"`     // slurm.conf, the same path inside the site
	PID      int            `json:"pid,omitempty"`      // of the process that holds the site: its end is the site's
	Since    time.Time      `json:"since,omitzero"`
	Services map[string]int `json:"services,omitempty"` // name -> PID on the host, 0 when it does not run
	Nodes    map[string]int `json:"nodes,omitempty"`    // sinfo's state ("idle"; "idle*" does not respond) -> count; empty when slurmctld does not answer
	Link     Addresses      `json:"link,omitzero"`
}

// Addresses are the ends of the link between the host and a site.
type Addresses struct {
	Device string `json:"device"`
	Host   string `json:"host"`
	Site   string `json:"site"`
}

// Site returns where a running site is. It does not ask the site's daemons.
func (b *Bed) Site(name string) (Info, error) {
	s, err := b.site(name)
	if err != nil {
		return Info{}, err
	}
	info := Info{Name: name}
	holder, ok := b.holder(name)
	if !ok {
		return info, errDown(name)
	}
	st, err := b.loadState()
	if err != nil {
		return info, err
	}
	l := siteLink(st.Subnet, s.Index)
	info.Up, info.PID, info.Since = true, holder.PID, holder.startedAt()
	info.Link = Addresses{l.Device, l.HostAddr.String(), l.SiteAddr.String()}
	info.RestURL, info.KeyFile = b.restURL(st, s), b.keyFile(name)
	info.Conf = filepath.Join(b.siteDir(name), "etc", "slurm.conf")
	info.Version, _ = b.rootVersion(s.Suite)
	return info, nil
}

// Status returns all sites of the bed, those that are down as well. A daemon that does not answer delays it by seconds at most.
func (b *Bed) Status(ctx context.Context) ([]Info, error) {
	infos := make([]Info, len(Sites))
	indexes := make([]int, len(Sites))
	for i := range indexes {
		indexes[i] = i
	}
	err := each(indexes, func(i int) error {
		infos[i] = Info{Name: Sites[i].Name}
		if _, ok := b.holder(Sites[i].Name); !ok {
			return nil
		}
		var err error
		infos[i], err = b.statusOf(ctx, Sites[i])
		return err
	})
	return infos, err
}

func (b *Bed) statusOf(ctx context.Context, s Site) (Info, error) {
	info, err := b.Site(s.Name)
	if err != nil {
		return info, err
	}
	holder, _ := b.holder(s.Name)
	ps, err := processesOf(holder)
	if err != nil {
		return info, err
	}
	info.Services = map[string]int{}
	for _, v := range b.services(s) {
		info.Services[v.name] = 0
		for _, p := range ps {
			if v.matches(p) {
				info.Services[v.name] = p.pid
			}
		}
	}
	if info.Services["slurmctld"] != 0 {
		info.Nodes, _ = b.nodeStates(ctx, s.Name)
	}
	return info, nil
}

// nodeStates counts a site's nodes by state, in Slurm's words.
func (b *Bed) nodeStates(ctx context.Context, site string) (map[string]int, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	out, err := b.Output(ctx, site, "", "sinfo", "-h", "-p", "main", "-o", "%T %D")
	if err != nil {
		return nil, err
	}
	states := map[string]int{}
	for line := range strings.Lines(out) {
		var name, count string
		if _, err := fmt.Sscan(line, &name, &count); err != nil {
			continue
		}
		n, _ := strconv.Atoi(count)
		state := strings.TrimRight(name, "*~#$@+^!%-")
		if strings.Contains(name, "*") {
			state += "*"
		}
		states[state] += n
	}
	return states, nil
}
