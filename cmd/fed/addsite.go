package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"fsub/federation"
	"fsub/federation/controller"
)

// members are the sites of a daemon, with those that were added while it runs.
type members struct {
	mu  sync.Mutex
	all []controller.Site
}

func (m *members) site(name federation.SiteName) *controller.Site {
	m.mu.Lock()
	defer m.mu.Unlock()
	if i := slices.IndexFunc(m.all, func(s controller.Site) bool { return s.Name == name }); i >= 0 {
		s := m.all[i]
		return &s
	}
	return nil
}

func (m *members) add(s controller.Site) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all = append(m.all, s)
}

// measurer is what reads a site's accounting; nil: nothing does.
func (m *members) measurer(name federation.SiteName) federation.Measurer {
	if s := m.site(name); s != nil {
		return federation.AbilitiesOf(s.Driver).Measure
	}
	return nil
}

// addSite takes a site into the federation that a description in YAML tells of. The description is on the disk before the site gets a job.
func (p *parts) addSite(ctx context.Context, yaml string, by federation.AuditEntry) (federation.SiteName, error) {
	s, err := parseSite(yaml)
	if err != nil {
		return "", err
	}
	p.adding.Lock()
	defer p.adding.Unlock()
	if p.members.site(s.Name) != nil {
		return "", fmt.Errorf("site %s is known already; if it has left the federation, run: fed site add %s", s.Name, s.Name)
	}
	if s.FileSystems != nil && p.objects == nil {
		return "", fmt.Errorf("site %s: filesystems: files are carried there through a store: set blobs in the configuration", s.Name)
	}
	d, err := openSite(*p.config, s, p.log)
	if err != nil {
		return "", err
	}
	if err := p.config.writeSiteFile(&s); err != nil {
		return "", fmt.Errorf("keep the description of site %s: %w", s.Name, err)
	}
	by.Object = string(s.Name)
	err = p.store.SetSiteState(ctx, federation.SiteRecord{Name: s.Name, State: federation.FedActive, Reason: "added", By: by.Who.User, At: by.At}, by)
	if err != nil {
		return "", err
	}
	member := s.member(d)
	p.power.joins(&member)
	p.members.add(member)
	p.ctl.Join(member)
	return s.Name, nil
}

// checkLimit is how long a site is tried for.
const checkLimit = 90 * time.Second

// checkSite tries everything that is needed of a site: what its driver needs, and what the daemon itself does.
func (p *parts) checkSite(ctx context.Context, name federation.SiteName) ([]federation.SiteCheck, error) {
	s := p.members.site(name)
	if s == nil {
		return nil, federation.ErrNotFound
	}
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	var out []federation.SiteCheck
	if can := federation.AbilitiesOf(s.Driver); can.Check != nil {
		out = can.Check.Check(ctx)
	} else {
		k := federation.SiteCheck{Name: "answer", Result: federation.CheckOK, Detail: "it tells of its nodes"}
		if _, err := s.Driver.Observe(ctx); err != nil {
			k.Result, k.Detail, k.Advice = federation.CheckFailed, err.Error(), "see: fed site show "+string(name)
		}
		out = append(out, k)
	}
	return append(out, p.checkFiles(s)), nil
}

// checkFiles tells how the users' files get to a site. Whether its nodes see a directory only a job can tell.
func (p *parts) checkFiles(s *controller.Site) federation.SiteCheck {
	k := federation.SiteCheck{Name: "file systems", Result: federation.CheckOK}
	try := fmt.Sprintf(`fsub --fed-sites=%s --wrap 'ls -d "$PWD"'`, s.Name)
	switch {
	case s.FileSystems == nil:
		k.Result, k.Detail, k.Advice = federation.CheckSkipped, "configured as seeing all of the users' directories; only a job can tell", "to try it run as a user: "+try
	case p.objects == nil:
		k.Result, k.Detail, k.Advice = federation.CheckFailed, "it does not see all of the users' directories, and nothing carries files there", "set blobs in the configuration"
	case len(s.FileSystems) == 0:
		k.Detail = "it sees none of the users' directories: files are carried there and back"
	default:
		k.Detail = fmt.Sprintf("it sees %v; for other directories files are carried there and back", s.FileSystems)
	}
	return k
}
