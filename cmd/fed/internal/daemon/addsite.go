package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"fsub/cmd/fed/internal/config"
	"fsub/federation"
	v1 "fsub/federation/api/v1"
	"fsub/federation/audit"
	"fsub/federation/controller"
	"fsub/federation/driver"
	"fsub/federation/journal"
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

// sees reports whether a site sees a directory of this machine.
func (m *members) sees(name federation.SiteName, dir string) bool {
	s := m.site(name)
	return s != nil && (&federation.Site{FileSystems: s.FileSystems}).Sees(dir)
}

// put keeps a site, in the place of one of its name.
func (m *members) put(s controller.Site) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if i := slices.IndexFunc(m.all, func(other controller.Site) bool { return other.Name == s.Name }); i >= 0 {
		m.all[i] = s
		return
	}
	m.all = append(m.all, s)
}

// measurer is what reads a site's accounting; nil: nothing does.
func (m *members) measurer(name federation.SiteName) driver.Measurer {
	if s := m.site(name); s != nil {
		return driver.AbilitiesOf(s.Driver).Measure
	}
	return nil
}

// rebooter is what reboots a site's nodes; nil: nothing does.
func (m *members) rebooter(name federation.SiteName) driver.Rebooter {
	if s := m.site(name); s != nil {
		return driver.AbilitiesOf(s.Driver).Reboot
	}
	return nil
}

// srun is how a user calls the srun of a site; nil: not at all.
func (m *members) srun(name federation.SiteName, user string) *v1.SiteSrun {
	s := m.site(name)
	if s == nil {
		return nil
	}
	at := driver.AbilitiesOf(s.Driver).Srun
	if at == nil {
		return nil
	}
	return &v1.SiteSrun{Site: name, Host: at.Host, Command: at.Command, User: s.Users[user].Name}
}

// calls is the budget of calls of a site; nil: it has none.
func (m *members) calls(name federation.SiteName) func() (perSecond, used float64) {
	if s := m.site(name); s != nil {
		return driver.AbilitiesOf(s.Driver).Calls
	}
	return nil
}

// keepers are the sites whose accounts can be read and changed.
func (m *members) keepers() map[federation.SiteName]driver.AccountKeeper {
	all := map[federation.SiteName]driver.AccountKeeper{}
	for _, s := range m.list() {
		if k := driver.AbilitiesOf(s.Driver).AccountTree; k != nil {
			all[s.Name] = k
		}
	}
	return all
}

// list are all sites as they are now.
func (m *members) list() []controller.Site {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.all)
}

// addSite takes a site into the federation that a description in YAML tells of: a new one, or one that has left. The description is on the disk before the site
// gets a job.
func (p *parts) addSite(ctx context.Context, req v1.AddSite, by audit.Entry) (federation.SiteName, error) {
	s, err := config.ParseSite(req.Config)
	if err != nil {
		return "", err
	}
	p.adding.Lock()
	defer p.adding.Unlock()
	if p.members.site(s.Name) != nil {
		said, err := p.store.SiteState(ctx)
		switch {
		case err != nil:
			return "", err
		case said[s.Name].State != federation.FedRemoved:
			return "", fmt.Errorf("site %s is a member already; to change how it is described, run: fed site update FILE", s.Name)
		case p.config.Configures(s.Name):
			return "", errConfigured(s.Name)
		}
	}
	d, err := p.tryOut(ctx, &s, req.Force)
	if err != nil {
		return "", err
	}
	if err := p.keepSite(ctx, &s); err != nil {
		return "", fmt.Errorf("keep the description of site %s: %w", s.Name, err)
	}
	by.Object = string(s.Name)
	err = p.store.SetSiteState(ctx, federation.SiteRecord{Name: s.Name, State: federation.FedActive, Reason: "added", By: by.Who.User, At: by.At}, by)
	if err != nil {
		return "", err
	}
	p.join(&s, d)
	return s.Name, nil
}

// updateSite changes how a site is described that was added while the daemon ran.
func (p *parts) updateSite(ctx context.Context, name federation.SiteName, req v1.UpdateSite, by audit.Entry) error {
	p.adding.Lock()
	defer p.adding.Unlock()
	switch {
	case p.members.site(name) == nil:
		return fmt.Errorf("no site %q in the federation; see: fed site list", name)
	case p.config.Configures(name):
		return errConfigured(name)
	}
	was, err := p.config.ReadSiteFile(name)
	if err != nil {
		return err
	}
	text := req.Config
	if text == "" {
		if text, err = config.ChangedSite(was, req.Set); err != nil {
			return err
		}
	}
	s, err := config.ParseSite(text)
	if err != nil {
		return err
	}
	if s.Name != name {
		return fmt.Errorf("the description is of site %s: a site keeps its name", s.Name)
	}
	d, err := p.tryOut(ctx, &s, req.Force)
	if err != nil {
		return err
	}
	if err := p.keepSite(ctx, &s); err != nil {
		return fmt.Errorf("keep the description of site %s: %w", name, err)
	}
	by.Before, by.After = was.URL, s.URL
	event := federation.SiteEvent{Site: name, At: by.At, Who: by.Who.User, To: "UPDATED", Why: strings.Join(req.Set, " ")}
	if err := p.store.Commit(ctx, &journal.Batch{SiteEvents: []federation.SiteEvent{event}, Audit: []audit.Entry{by}}); err != nil {
		return err
	}
	p.join(&s, d)
	return nil
}

func errConfigured(name federation.SiteName) error {
	return fmt.Errorf("site %s stands in the daemon's configuration: change it there, and restart the daemon", name)
}

// join has the controller and the other parts know a site as it is described now.
func (p *parts) join(s *config.Site, d federation.Driver) {
	member := memberOf(s, d)
	p.power.joins(&member)
	p.members.put(member)
	p.ledger.Join(ledgerSite(p.config, &member, s.ReportCommand))
	p.ctl.Join(member)
}

// tryOut opens a site and has it pass the checks of fed site test, unless forced: a mistake in a description is told before anything depends on it.
func (p *parts) tryOut(ctx context.Context, s *config.Site, force bool) (federation.Driver, error) {
	if s.FileSystems != nil && p.objects == nil {
		return nil, fmt.Errorf("site %s: filesystems: files are carried there through a store: set blobs in the configuration", s.Name)
	}
	d, err := openSite(*p.config, *s, p.term, p.logOf("sites"))
	if err != nil || force {
		return d, err
	}
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	var failed []string
	if can := driver.AbilitiesOf(d); can.Check != nil {
		for _, k := range can.Check.Check(ctx) {
			if k.Result == driver.CheckFailed {
				failed = append(failed, strings.TrimSuffix(fmt.Sprintf("%s: %s; %s", k.Name, k.Detail, k.Advice), "; "))
			}
		}
	}
	const goOn = "; --force goes on all the same"
	if len(failed) > 0 {
		return nil, fmt.Errorf("site %s does not pass the checks%s\n%s", s.Name, goOn, strings.Join(failed, "\n"))
	}
	seen, err := d.Observe(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w%s", err, goOn)
	}
	for _, other := range p.ctl.Sites() {
		if other.Name != s.Name && sameCluster(seen, other.Seen) {
			return nil, fmt.Errorf("%s is the cluster %q that site %s is already%s", s.Name, seen.Cluster, other.Name, goOn)
		}
	}
	return d, nil
}

// sameCluster reports whether two looks were at one cluster: its name and its nodes are the same.
func sameCluster(a, b *federation.Observation) bool {
	if a == nil || b == nil || a.Cluster == "" || a.Cluster != b.Cluster {
		return false
	}
	return slices.EqualFunc(a.Nodes, b.Nodes, func(x, y federation.Node) bool { return x.Name == y.Name })
}

// checkLimit is how long a site is tried for.
const checkLimit = 90 * time.Second

// checkSite tries everything that is needed of a site: what its driver needs, and what the daemon itself does.
func (p *parts) checkSite(ctx context.Context, name federation.SiteName) ([]driver.SiteCheck, error) {
	s := p.members.site(name)
	if s == nil {
		return nil, federation.ErrNotFound
	}
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	var out []driver.SiteCheck
	if i := slices.IndexFunc(p.config.Sites, func(c config.Site) bool { return c.Name == name }); i >= 0 {
		if err := p.config.Sites[i].CheckSecrets(); err != nil {
			return []driver.SiteCheck{{Name: "credentials", Result: driver.CheckFailed, Detail: err.Error(), Advice: "put the file there, for the daemon's user alone"}}, nil
		}
	}
	if can := driver.AbilitiesOf(s.Driver); can.Check != nil {
		out = can.Check.Check(ctx)
	} else {
		k := driver.SiteCheck{Name: "answer", Result: driver.CheckOK, Detail: "node information available"}
		if _, err := s.Driver.Observe(ctx); err != nil {
			k.Result, k.Detail, k.Advice = driver.CheckFailed, err.Error(), "see: fed site show "+string(name)
		}
		out = append(out, k)
	}
	out = append(out, p.checkFiles(s))
	if !slices.ContainsFunc(out, func(k driver.SiteCheck) bool { return k.Result == driver.CheckFailed }) {
		p.ctl.LookAgain(name)
	}
	return out, nil
}

// checkFiles tells how the users' files get to a site. Whether its nodes see a directory only a job can tell.
func (p *parts) checkFiles(s *controller.Site) driver.SiteCheck {
	k := driver.SiteCheck{Name: "file systems", Result: driver.CheckOK}
	try := fmt.Sprintf(`fsub --fed-sites=%s --wrap 'ls -d "$PWD"'`, s.Name)
	switch {
	case s.FileSystems == nil:
		k.Result, k.Detail, k.Advice = driver.CheckSkipped, "configured as seeing all of the users' directories; only a job can tell", "to try it run as a user: "+try
	case p.objects == nil:
		k.Result, k.Detail, k.Advice = driver.CheckFailed, "it does not see all of the users' directories, and nothing carries files there", "set blobs in the configuration"
	case len(s.FileSystems) == 0:
		k.Detail = "it sees none of the users' directories: files are carried there and back"
	default:
		k.Detail = fmt.Sprintf("it sees %v; for other directories files are carried there and back", s.FileSystems)
	}
	return k
}

// keepSite keeps the description of a site that was added or changed, for this daemon and those that share its store.
func (p *parts) keepSite(ctx context.Context, s *config.Site) error {
	return errors.Join(p.config.WriteSiteFile(s), p.shared.keep(ctx))
}
