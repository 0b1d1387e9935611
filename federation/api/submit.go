package api

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"fsub/federation"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
	"fsub/federation/demand"
	"fsub/sbatch"
	"fsub/slurm/wire"
)

// Limits of what a job may be, those of a slurmctld that was not told otherwise.
const (
	maxText       = 1024    // name, account, comment, file names ...
	maxArrayText  = 4 << 10 // --array
	maxDependency = 128 << 10
	maxNice       = 1<<31 - 3
	maxHost       = 255
)

// submit is POST /fed/v1/job. It must stay cheap: no site is asked and nothing is read from the store.
func (s *Server) submit(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	body, err := s.bodies.read(w, r)
	if err != nil {
		return err
	}
	defer putBody(body)
	var req v1.SubmitRequest
	if err := decodeSubmit(body.Bytes(), &req); err != nil {
		return badBody(err.Error())
	}
	job := &federation.Job{
		User: c.Name, UID: c.UID, GID: c.GID,
		Spec:       &req.Spec,
		SubmitHost: req.SubmitHost,
	}
	if req.TestOnly {
		resp, err := s.gate.try(r.Context(), c, job, &req.Payload)
		if err != nil {
			return err
		}
		return writeJSON(w, resp)
	}
	named, err := s.gate.accept(r.Context(), c, job, &req.Payload)
	if err != nil {
		return err
	}
	if named.answer != "" || len(named.warnings) > 0 {
		return writeJSON(w, v1.SubmitResponse{JobID: job.ID, Cluster: named.answer, Warnings: named.warnings})
	}
	writeJobID(w, job.ID)
	return nil
}

// gate lets jobs in: whatever is submitted passes it, and what a job is changed to.
type gate struct {
	store      federation.Store
	controller Planner
	now        func() time.Time
	federation string // its name
}

// Planner is what a gate asks of the controller: see Controller.
type Planner interface {
	Judge(j *federation.Job) error
	Explain(j *federation.Job) federation.Decision
	Try(j *federation.Job) (federation.Trial, error)
	Sites() []*federation.Site
	Wake()
}

// accept makes a durable job of what c asked for, or says in Slurm's words why not.
func (s *gate) accept(ctx context.Context, c identity.Caller, job *federation.Job, p *sbatch.Payload) (clusters, error) {
	named, err := s.prepare(c, job, p)
	if err != nil {
		return named, err
	}
	if err := s.allow(job); err != nil {
		return named, err
	}
	s.pin(job)
	named.answer = cmp.Or(named.answer, job.Spec.Clusters)
	return named, s.create(ctx, job, p)
}

// prepare checks what c asked for, by itself, and brings it into the form that is stored.
func (s *gate) prepare(c identity.Caller, job *federation.Job, p *sbatch.Payload) (clusters, error) {
	for sp := range components(job.Spec) {
		// A user may step back, not push forward: sbatch ignores a negative value, but not everybody is sbatch.
		if sp.Nice = min(sp.Nice, maxNice); c.Role < identity.RoleOperator {
			sp.Nice = max(sp.Nice, 0)
		}
	}
	if err := checkPayload(p); err != nil {
		return clusters{}, err
	}
	if err := checkSpec(c, job); err != nil {
		return clusters{}, err
	}
	named, err := s.checkDemand(job.Spec)
	job.Demand = demand.Of(job.Spec)
	return named, err
}

// components are sp and the further components of a heterogeneous job.
func components(sp *sbatch.Spec) iter.Seq[*sbatch.Spec] {
	return func(yield func(*sbatch.Spec) bool) {
		if !yield(sp) {
			return
		}
		for i := range sp.Het {
			if !yield(&sp.Het[i]) {
				return
			}
		}
	}
}

func (s *gate) create(ctx context.Context, job *federation.Job, p *sbatch.Payload) error {
	job.State = federation.Pending
	job.Submit = s.now().UTC()
	job.Priority = -int64(job.Spec.Nice)
	switch { // until the controller has looked at it
	case job.Spec.Hold:
		job.Held, job.Reason = federation.HeldUser, federation.ReasonHeldUser
	case job.Spec.Begin.After(job.Submit):
		job.Reason = federation.ReasonBeginTime
	case job.Spec.Dependency != "":
		job.Reason = federation.ReasonDependency
	default:
		job.Reason = federation.ReasonPriority
	}
	if err := s.store.CreateJob(ctx, job, p); err != nil {
		if errors.Is(err, federation.ErrConflict) {
			// All IDs are in use: what slurmctld says when it has no number left.
			full := &federation.SlurmError{Kind: federation.ErrUnavailable, Number: 11, Text: "Resource temporarily unavailable"}
			return outage(full, err)
		}
		return ofStore(err, errTimedOut)
	}
	s.controller.Wake()
	return nil
}

// checkPayload refuses what no site could take, whoever sent it: sbatch has made these checks, but not everybody is sbatch.
func checkPayload(p *sbatch.Payload) error {
	switch {
	case len(p.Script) > sbatch.MaxScript:
		return invalid(wire.ErrTooLong, fmt.Sprintf("the script has %d bytes, at most %d are allowed", len(p.Script), sbatch.MaxScript))
	case p.Script == "":
		return &federation.SlurmError{Kind: federation.ErrInvalid, Number: 2009, Text: "Job script not specified"}
	case !strings.HasPrefix(p.Script, "#!"):
		return notExecutable("the script does not begin with #!")
	case strings.IndexByte(p.Script, 0) >= 0:
		return notExecutable("the script contains a NULL character")
	}
	for _, list := range [...][]string{p.Argv, p.Environment} {
		for _, text := range list {
			if strings.IndexByte(text, 0) >= 0 {
				return badBody("an argument or a variable of the environment contains a NULL character")
			}
		}
	}
	return nil
}

// checkSpec is the gate for whatever a job asks for, when it is submitted and whenever it is changed: of each of its components it refuses what
// no site could take, and what c may not ask for.
func checkSpec(c identity.Caller, j *federation.Job) error {
	if len(j.Spec.Het) >= maxComponents {
		return badBody(fmt.Sprintf("%d components, at most %d are allowed", len(j.Spec.Het)+1, maxComponents))
	}
	for sp := range components(j.Spec) {
		leader := sp == j.Spec
		switch {
		case !leader && len(sp.Het) > 0:
			return badBody("a component has components")
		case len(j.Spec.Het) > 0 && sp.Array != "":
			return invalid(wire.ErrArray, "a heterogeneous job cannot be an array")
		case !strings.HasPrefix(sp.WorkDir, "/") && (leader || sp.WorkDir != ""):
			return invalid(wire.ErrNoWorkDir, "work_dir must be an absolute path: "+strconv.Quote(sp.WorkDir))
		case sp.More != nil && sp.More.Reboot && c.Role < identity.RoleOperator: // a site would obey SlurmUser's token
			return &federation.SlurmError{Kind: federation.ErrDenied, Number: wire.ErrAccess, Text: wire.Strerror(wire.ErrAccess),
				Said: "rebooting of nodes is only allowed for admins"}
		}
		if err := cmp.Or(checkTexts(sp, j.SubmitHost), checkMore(sp.More), checkNumbers(sp)); err != nil {
			return err
		}
	}
	return nil
}

// maxComponents is how many components a heterogeneous job may have, as in slurmctld 24.11.
const maxComponents = 128

// checkTexts bounds what a user may write into listings and logs. Control characters would forge lines there; only a
// comment may have them, as it may in Slurm.
func checkTexts(sp *sbatch.Spec, submitHost string) error {
	for _, t := range [...]struct {
		name, text string
		max        int
	}{
		{"name", sp.Name, maxText}, {"account", sp.Account, maxText}, {"partition", sp.Partition, maxText}, {"qos", sp.QOS, maxText},
		{"reservation", sp.Reservation, maxText}, {"comment", sp.Comment, maxText}, {"constraint", sp.Constraint, maxText},
		{"work_dir", sp.WorkDir, maxText}, {"input", sp.Input, maxText}, {"output", sp.Output, maxText}, {"error", sp.Error, maxText},
		{"gres", sp.GRES, maxText}, {"gpus", sp.GPUs, maxText}, {"gpus_per_node", sp.GPUsPerNode, maxText}, {"gpus_per_task", sp.GPUsPerTask, maxText},
		{"exclusive", sp.Exclusive, maxText}, {"open_mode", sp.OpenMode, maxText}, {"mail_type", sp.MailType, maxText},
		{"mail_user", sp.MailUser, maxText}, {"command", sp.Command, maxText}, {"submit_line", sp.SubmitLine, maxText}, {"submit_host", submitHost, maxHost},
		{"nodelist", sp.NodeList, 64 << 10}, {"exclude", sp.Exclude, 64 << 10},
		{"array", sp.Array, maxArrayText}, {"dependency", sp.Dependency, maxDependency}, {"clusters", sp.Clusters, maxText},
	} {
		if len(t.text) > t.max {
			return invalid(wire.ErrTooLong, fmt.Sprintf("%s has %d bytes, at most %d are allowed", t.name, len(t.text), t.max))
		}
		bad := strings.IndexFunc(t.text, unicode.IsControl)
		if t.name == "comment" || t.name == "submit_line" { // which may have a script in it
			bad = strings.IndexByte(t.text, 0)
		}
		if bad >= 0 {
			return badBody(fmt.Sprintf("%s contains a control character at byte %d: %.40q", t.name, bad, t.text))
		}
	}
	if sp.Signal != nil && !validSignal(sp.Signal.Name) {
		return badBody(fmt.Sprintf("invalid signal %.40q: want a name such as USR1, or a number", sp.Signal.Name))
	}
	return nil
}

// notExecutable is what sbatch never lets through.
func notExecutable(detail string) error {
	return &federation.SlurmError{Kind: federation.ErrInvalid, Number: 8, Text: "Exec format error", Detail: detail}
}

// checkNumbers refuses counts that mean nothing. They would be the site's to refuse, but placement adds them up before.
func checkNumbers(sp *sbatch.Spec) error {
	const most = 1 << 24
	for _, n := range [...]int{sp.MinNodes, sp.MaxNodes, sp.NTasks, sp.NTasksPerNode, sp.CPUsPerTask, sp.Switches} {
		switch {
		case n < 0:
			return invalid(wire.ErrNodeCount, fmt.Sprintf("a count of %d", n))
		case n > most:
			return invalid(wire.ErrTooManyCPUs, fmt.Sprintf("a count of %d", n))
		}
	}
	if sp.MaxNodes != 0 && sp.MaxNodes < sp.MinNodes {
		return invalid(wire.ErrNodeCount, fmt.Sprintf("at least %d and at most %d nodes", sp.MinNodes, sp.MaxNodes))
	}
	if sp.TimeLimit < 0 || sp.TimeMin < 0 || sp.SwitchesWait < 0 {
		return invalid(wire.ErrTimeLimit, "a negative time")
	}
	const mostMem = 1 << 40 // MiB
	for _, m := range [...]sbatch.MemMiB{sp.MemPerNode, sp.MemPerCPU, sp.MemPerGPU} {
		if m < sbatch.MemAll || m > mostMem {
			return &federation.SlurmError{Kind: federation.ErrInvalid, Number: 2044, Text: "Memory required by task is not available",
				Detail: fmt.Sprintf("%d MiB of memory", m)}
		}
	}
	if sp.Array != "" {
		if _, err := federation.ReadArray(sp.Array); err != nil {
			return invalid(wire.ErrArray, err.Error())
		}
	}
	return nil
}

// buffers are for request bodies: most are a few KiB, and making each anew costs more than decoding it.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// What one user may take up while bodies come in: time, and memory by the number of large ones.
const (
	bodyTime    = 30 * time.Second
	largeBody   = 1 << 20
	largeBodies = 16
)

// bodies reads the bodies of requests.
type bodies struct {
	large chan struct{} // bounds the large ones that are being read
}

func newBodies() *bodies { return &bodies{large: make(chan struct{}, largeBodies)} }

// maxBody bounds a body: a script of sbatch.MaxScript with every byte escaped the usual way, and an environment.
const maxBody = 32 << 20

// read reads all of a request's body into a buffer from the pool; put it back when nothing refers to it any more.
func (s *bodies) read(w http.ResponseWriter, r *http.Request) (*bytes.Buffer, error) {
	if r.ContentLength > maxBody {
		return nil, bodyTooLong()
	}
	if r.ContentLength < 0 || r.ContentLength > largeBody {
		select {
		case s.large <- struct{}{}:
			defer func() { <-s.large }()
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	// A caller that stops in the middle does not keep what it was given. Not every ResponseWriter can do it: tests'.
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(bodyTime))
	b := buffers.Get().(*bytes.Buffer)
	b.Reset()
	n, err := b.ReadFrom(io.LimitReader(r.Body, maxBody+1))
	_ = rc.SetReadDeadline(time.Time{})
	switch {
	case err != nil:
		return nil, badBody(err.Error())
	case n > maxBody:
		return nil, bodyTooLong()
	}
	return b, nil
}

func bodyTooLong() error {
	return invalid(wire.ErrTooLong, fmt.Sprintf("a request has at most %d bytes, a script at most %d", maxBody, sbatch.MaxScript))
}

// putBody gives a buffer back to the pool, unless it has grown so much that keeping it would be a waste.
func putBody(b *bytes.Buffer) {
	if b.Cap() <= 1<<20 {
		buffers.Put(b)
	}
}

// writeJobID writes a v1.SubmitResponse.
func writeJobID(w http.ResponseWriter, id federation.JobID) {
	b := make([]byte, 0, 32)
	b = append(b, `{"job_id":`...)
	b = strconv.AppendUint(b, uint64(id), 10)
	b = append(b, "}\n"...)
	h := w.Header()
	h["Content-Type"] = jsonType
	w.Write(b)
}

var jsonType = []string{"application/json"}
