package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	"fsub/accounting"
	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
)

// What the leader tells the other daemons, and nobody else, so that they answer as it does.
const (
	pathSites     = "/daemons/sites"
	pathStarts    = "/daemons/starts"
	pathSpendings = "/daemons/spendings"
)

// told is what the leader tells of the federation.
type told struct {
	Operators []string
	Sites     []toldSite
}

// toldSite is what listings of jobs depend on of a site: what it is made of, and who may use it. How its nodes are at the moment is not in it, so that it
// changes rarely.
type toldSite struct {
	Name      federation.SiteName
	State     federation.FedState
	Answering bool
	Prices    accounting.Prices
	Users     map[string]federation.SiteUser
	Accounts  map[string]string
	Seen      *federation.Observation
}

func tellSite(s *federation.Site) toldSite {
	t := toldSite{Name: s.Name, State: s.State, Answering: s.Answering, Prices: s.Prices, Users: s.Users, Accounts: s.Accounts}
	if o := s.Seen; o != nil {
		t.Seen = &federation.Observation{Cluster: o.Cluster, Version: o.Version, Mode: o.Mode, NoSlurm: o.NoSlurm, Associations: o.Associations, Accounts: o.Accounts}
		for _, p := range o.Partitions {
			t.Seen.Partitions = append(t.Seen.Partitions, federation.Partition{Name: p.Name, Default: p.Default, MaxTime: p.MaxTime, DefaultTime: p.DefaultTime,
				DefMemPerCPU: p.DefMemPerCPU, DefMemPerNode: p.DefMemPerNode})
		}
		for _, n := range o.Nodes {
			one := federation.Node{Name: n.Name, CPUs: n.CPUs, Mem: n.Mem}
			for _, g := range n.GRES {
				one.GRES = append(one.GRES, federation.GRES{Name: g.Name, Type: g.Type, Total: g.Total})
			}
			t.Seen.Nodes = append(t.Seen.Nodes, one)
		}
	}
	return t
}

func (t *toldSite) site() *federation.Site {
	return &federation.Site{Name: t.Name, State: t.State, Answering: t.Answering, Prices: t.Prices, Users: t.Users, Accounts: t.Accounts, Seen: t.Seen}
}

// copies keep what was told last: with ten thousand nodes it takes some ten milliseconds to write.
type copies struct {
	mu   sync.Mutex
	of   []*federation.Observation
	made time.Time
	text []byte
	tag  string // of text
}

// madeFor is how long a copy is told again although something that is not in an observation may have changed.
const madeFor = 2 * time.Second

// now returns what is told of sites, and a name of it that it shares with nothing else.
func (c *copies) now(sites []*federation.Site, operators []string, now time.Time) ([]byte, string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := make([]*federation.Observation, len(sites))
	for i, s := range sites {
		seen[i] = s.Seen
	}
	if c.text != nil && slices.Equal(seen, c.of) && now.Sub(c.made) < madeFor {
		return c.text, c.tag, nil
	}
	t := told{Operators: operators}
	for _, s := range sites {
		t.Sites = append(t.Sites, tellSite(s))
	}
	text, err := json.Marshal(t)
	if err != nil {
		return nil, "", err
	}
	sum := sha256.Sum256(text)
	c.of, c.made, c.text, c.tag = seen, now, text, `"`+hex.EncodeToString(sum[:16])+`"`
	return c.text, c.tag, nil
}

// daemonRoutes adds what only daemons may ask, of the one that leads.
func (s *Server) daemonRoutes() {
	if s.cfg.Leader != nil {
		return
	}
	add := func(path string, h func(http.ResponseWriter, *http.Request) error) {
		s.router.Mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			err := error(answer.NoRoute(r))
			if identity.ByDaemon(r.Context()) {
				err = h(w, r)
			}
			if err != nil {
				answer.Refusal(w, answer.Status(err), err)
			}
		})
	}
	add(pathSites, func(w http.ResponseWriter, r *http.Request) error {
		text, tag, err := s.copies.now(s.cfg.Controller.Sites(), *s.operators.Load(), s.cfg.Now())
		if err != nil {
			return err
		}
		if w.Header().Set("ETag", tag); r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return nil
		}
		_, _ = w.Write(text) // else the other one asks again
		return nil
	})
	add(pathStarts, tells(s.cfg.Controller.Starts))
	add(pathSpendings, tells(s.cfg.Controller.Spendings))
}

func tells[T any](ask func(context.Context) (T, error)) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		out, err := ask(r.Context())
		if err != nil {
			return err
		}
		return answer.JSON(w, out)
	}
}
