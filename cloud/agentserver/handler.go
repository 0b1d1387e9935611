package agentserver

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"fsub/cloud"
	"fsub/cloud/agentapi"
	"fsub/federation"
	"fsub/federation/tunnel"
)

// maxBody bounds a JSON body: the largest reports the end of a job with as many steps as it can have. maxPiece
// bounds one piece of output, which goes from the connection to its file and is never held in memory.
const (
	maxBody  = 64 << 20
	maxPiece = 16 << 30
)

// commandLife is how long the token for one request of a command inside a job is valid.
const commandLife = time.Minute

// hello registers a machine.
func (s *Server) hello(w http.ResponseWriter, r *http.Request) error {
	site, gang, err := s.gang(bearer(r))
	if err != nil {
		return unauthorized{err}
	}
	var h agentapi.Hello
	if err := readJSON(w, r, maxHello, &h); err != nil {
		return err
	}
	agents, err := s.agents(site)
	if err != nil {
		return err
	}
	let, err := agents.Hello(r.Context(), gang, h)
	switch {
	case errors.Is(err, federation.ErrDenied):
		s.log.Warn("a machine may not register", "site", site, "gang", gang, "instance", h.Instance, "err", err)
		return unauthorized{err}
	case errors.Is(err, federation.ErrConflict):
		return status{http.StatusTooEarly, err}
	case err != nil:
		return err
	}
	if siteOf(let.Machine) != site {
		return fmt.Errorf("machine %s registered at site %s", let.Machine, site)
	}
	s.log.Info("machine registered", "site", site, "gang", gang, "machine", let.Machine, "node", let.Node, "instance", h.Instance)
	return writeJSON(w, s.welcome(let))
}

func (s *Server) welcome(let cloud.Let) agentapi.Welcome {
	welcome := let.Welcome
	welcome.Machine, welcome.Session, welcome.Epoch = string(let.Machine), s.session(let.Machine), s.cfg.Epoch
	if welcome.Node == "" {
		welcome.Node = let.Node
	}
	if welcome.Lease == 0 {
		welcome.Lease = s.cfg.Lease
	}
	if welcome.PollWait == 0 {
		welcome.PollWait = min(s.cfg.PollWait, welcome.Lease/4)
	}
	return welcome
}

// machineHandler answers a registered machine.
type machineHandler func(w http.ResponseWriter, r *http.Request, m cloud.MachineID, a cloud.Agents) error

func (s *Server) asMachine(h machineHandler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		m, err := s.machine(bearer(r))
		if err != nil {
			return unauthorized{err}
		}
		if seen, _ := strconv.ParseInt(r.Header.Get(agentapi.HeaderEpoch), 10, 64); s.cfg.Epoch != 0 && seen > s.cfg.Epoch {
			return fmt.Errorf("%w: this daemon leads no longer (epoch %d): another one does (epoch %d)", federation.ErrUnavailable, s.cfg.Epoch, seen)
		}
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // h sets its own
		done, err := s.machines.take(string(m))
		if err != nil {
			return err
		}
		defer done()
		agents, err := s.agents(siteOf(m))
		if err != nil {
			return err
		}
		return h(w, r, m, agents)
	}
}

func (s *Server) poll(w http.ResponseWriter, r *http.Request, m cloud.MachineID, a cloud.Agents) error {
	var p agentapi.Poll
	done, err := s.tellers.take(string(m))
	if err != nil {
		return err
	}
	defer done()
	if err := readJSON(w, r, maxPoll, &p); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.cfg.PollWait)
	defer cancel()
	orders, err := a.Poll(ctx, m, p)
	if err != nil {
		return overIfDenied(err)
	}
	if orders.Epoch = s.cfg.Epoch; orders.Lease == 0 {
		orders.Lease = s.cfg.Lease
	}
	orders.Servers = s.Servers()
	return writeJSON(w, orders)
}

func (s *Server) report(w http.ResponseWriter, r *http.Request, m cloud.MachineID, a cloud.Agents) error {
	var report agentapi.Report
	done, err := s.tellers.take(string(m))
	if err != nil {
		return err
	}
	defer done()
	if err := readJSON(w, r, maxBody, &report); err != nil {
		return err
	}
	if err := a.Report(r.Context(), m, report); err != nil {
		return overIfDenied(err)
	}
	w.WriteHeader(http.StatusOK)
	return nil
}

// overIfDenied turns a denial into 401: for a request that names no run it means that the machine is gone.
func overIfDenied(err error) error {
	if errors.Is(err, federation.ErrDenied) {
		return unauthorized{err}
	}
	return err
}

// logPiece takes a piece of a run's output. The driver reads the body.
func (s *Server) logPiece(w http.ResponseWriter, r *http.Request, m cloud.MachineID, a cloud.Agents) error {
	offset, err := strconv.ParseInt(r.URL.Query().Get("offset"), 10, 64)
	stream := r.PathValue("stream")
	if err != nil || offset < 0 || stream != "out" && stream != "err" {
		return fmt.Errorf("%w: a log is RUN/out or RUN/err, from an offset", federation.ErrInvalid)
	}
	rc := http.NewResponseController(w)
	body := &lively{http.MaxBytesReader(w, r.Body, maxPiece), rc, s.silence}
	size, err := a.Log(r.Context(), m, r.PathValue("run"), stream, offset, body)
	_ = rc.SetReadDeadline(time.Now().Add(s.silence)) // the server reads the rest before the next request
	switch {
	case errors.Is(err, federation.ErrConflict):
		w.WriteHeader(http.StatusConflict)
	case err != nil:
		return err
	}
	return json.NewEncoder(w).Encode(agentapi.LogSize{Size: size})
}

// stream takes a connection that the machine was ordered to make over for the one who waits for it.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, m cloud.MachineID, a cloud.Agents) error {
	if !tunnel.Asked(r) {
		return fmt.Errorf("%w: want the header Upgrade: %s", federation.ErrInvalid, tunnel.Protocol)
	}
	return a.Stream(m, r.PathValue("id"), func() (tunnel.End, error) { return tunnel.Accept(w) })
}

// within passes a request of a command inside a run on to the API, as the run's owner.
func (s *Server) within(w http.ResponseWriter, r *http.Request, m cloud.MachineID, a cloud.Agents) error {
	if s.cfg.API == nil {
		return fmt.Errorf("%w: the daemon takes no requests of commands inside jobs", federation.ErrNotFound)
	}
	user, err := a.Owner(r.Context(), m, r.PathValue("run"))
	if err != nil {
		return err
	}
	done, err := s.runs.take(r.PathValue("run"))
	if err != nil {
		return err
	}
	defer done()
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		defer a.Asking(r.PathValue("run"))()
	}
	in := r.Clone(r.Context())
	if err := stripRun(in.URL); err != nil {
		return err
	}
	in.RequestURI = in.URL.RequestURI()
	for _, h := range []string{"Authorization", "X-Slurm-User-Name", "X-Slurm-User-Token"} {
		in.Header.Del(h)
	}
	in.Header.Set("X-SLURM-USER-TOKEN", s.cfg.Token(user, jobOf(r.PathValue("run")), s.cfg.Now().Add(commandLife)))
	// Without TLS the API asks the kernel who calls, since it expects a unix socket. That would be the agent.
	if in.TLS == nil {
		in.TLS = &tls.ConnectionState{}
	}
	s.cfg.API.ServeHTTP(w, in)
	return nil
}

// jobOf is the job that a run is of: its name begins with the number.
func jobOf(run string) uint32 {
	number, _, _ := strings.Cut(run, "-")
	n, _ := strconv.ParseUint(number, 10, 32)
	return uint32(n)
}

// stripRun removes PathJob and the run from a request's path.
func stripRun(u *url.URL) error {
	_, path, ok := strings.Cut(strings.TrimPrefix(u.EscapedPath(), agentapi.PathJob), "/")
	plain, err := url.PathUnescape(path)
	if err != nil || !ok {
		return fmt.Errorf("%w: no path below the run", federation.ErrInvalid)
	}
	u.Path, u.RawPath = "/"+plain, "/"+path
	return nil
}
