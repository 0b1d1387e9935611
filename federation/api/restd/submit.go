package restd

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	"fsub/federation/api/submission"
	"fsub/sbatch"
	"fsub/sbatch/bounded"
	"fsub/slurm/hostlist"
	"fsub/slurm/wire"
	"fsub/slurm/words"
)

// slurmSubmit is POST /job/submit. As in slurmrestd an unknown field is a warning; a known one that a federated job cannot
// carry is an error that names it.
func (s *Server) slurmSubmit(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	body, err := answer.ReadBody(r)
	if err != nil {
		return err
	}
	defer answer.PutBody(body)
	var req struct {
		Script string          `json:"script"`
		Jobs   json.RawMessage `json:"jobs"`
		Job    *struct {
			wire.JobDesc
		} `json:"job"`
	}
	if err := json.Unmarshal(body.Bytes(), &req); err != nil {
		return answer.BadBody(err.Error())
	}
	switch {
	case bounded.Count(req.Jobs) > 0:
		return notSupported("jobs: heterogeneous jobs are not supported yet")
	case req.Job == nil:
		return answer.BadBody("job is missing")
	}
	desc := &req.Job.JobDesc
	unknown := unknownFields(body.Bytes())
	job := &federation.Job{User: c.Name, UID: c.UID, GID: c.GID, SubmitHost: s.Host}
	if err := s.onBehalf(job, desc, c); err != nil {
		return err
	}
	p := sbatch.Payload{Script: req.Script, Environment: desc.Environment}
	if p.Script == "" {
		p.Script = desc.Script
	}
	if len(desc.Argv) > 1 {
		p.Argv = desc.Argv[1:] // the first stands for the script's name
	}
	if len(p.Environment) == 0 {
		return answer.NewError(federation.ErrInvalid, wire.ErrEnvironment)
	}
	spec, err := specOf(desc)
	if err != nil {
		return err
	}
	job.Spec = &spec
	named, err := s.Gate.Accept(r.Context(), c, job, &p, r.Header.Get(submission.HeaderKey))
	if err != nil {
		return err
	}
	resp := wire.JobSubmitResponse{JobID: int64(job.ID), StepID: "batch", Reply: s.Reply(r, c)}
	for _, name := range unknown {
		resp.Warnings = append(resp.Warnings, wire.Warning{Description: "Ignoring unknown field \"" + name + "\"", Source: "#/job/" + name})
	}
	for _, text := range named.Warnings {
		resp.Warnings = append(resp.Warnings, wire.Warning{Description: text, Source: "#/job/clusters"})
	}
	return write(w, r, resp)
}

// onBehalf makes job another user's where the caller, an administrator, asks for that.
func (s *Server) onBehalf(job *federation.Job, d *wire.JobDesc, c identity.Caller) error {
	if d.UserID == "" {
		return nil
	}
	uid, gid, err := s.Users.UserIDs(string(d.UserID))
	if err != nil {
		return answer.Detailed(answer.NotYourJob, fmt.Sprintf("no user %q on this machine", d.UserID))
	}
	if uid == c.UID {
		return nil
	}
	if c.Role < identity.RoleAdministrator {
		return answer.Detailed(answer.NotYourJob, fmt.Sprintf("%s cannot submit as %s", c.Name, d.UserID))
	}
	if d.GroupID != "" {
		n, err := strconv.ParseUint(string(d.GroupID), 10, 32)
		if err != nil {
			return answer.BadBody("group_id must be a number: " + strconv.Quote(string(d.GroupID)))
		}
		gid = uint32(n)
	}
	job.UID, job.GID = uid, gid
	job.User, err = s.Users.UserName(uid)
	return err
}

// specOf translates what a federated job can carry of d, and refuses the rest by name.
func specOf(d *wire.JobDesc) (sbatch.Spec, error) {
	var more sbatch.More
	names := append(notCarried(d), readMore(&more, d)...)
	if len(names) > 0 {
		slices.Sort(names)
		return sbatch.Spec{}, notSupported("a federated job cannot carry " + strings.Join(names, ", "))
	}
	if err := checkTimes(d); err != nil {
		return sbatch.Spec{}, err
	}
	sp := sbatch.Spec{
		Partition: d.Partition, Dependency: d.Dependency, Clusters: d.Clusters,
		MinNodes: d.MinNodes, MaxNodes: d.MaxNodes, NTasks: d.Tasks,
		Input: d.StdIn, Output: d.StdOut, Error: d.StdErr, MailType: strings.Join(d.MailType, ","), MailUser: d.MailUser,
		NodeList: hostlist.Compress(d.RequiredNodes), Exclude: hostlist.Compress(d.ExcludedNodes),
		Switches: int(d.RequiredSwitches.Value()), SwitchesWait: time.Duration(d.WaitForSwitch) * time.Second,
		TimeLimit: limit(d.TimeLimit), TimeMin: limit(d.TimeMinimum),
		Begin: unixTime(d.BeginTime.Value()), Deadline: unixTime(d.Deadline),
		Hold: d.Hold != nil && *d.Hold || d.Priority.Set && d.Priority.Number == 0,
	}
	words.Read(&sp, d)
	if more != (sbatch.More{}) {
		sp.More = &more
	}
	if len(d.OpenMode) > 0 {
		sp.OpenMode = strings.ToLower(d.OpenMode[0])
	}
	if len(d.Shared) > 0 {
		sp.Exclusive = d.Shared[0]
		if sp.Exclusive == "none" {
			sp.Exclusive = "exclusive"
		}
	}
	setMem(&sp, d)
	return sp, errors.Join(setNodes(&sp, d.Nodes), setTRES(&sp, d), setSignal(&sp, d))
}

// notCarried names the fields of d that are set and that a Spec has no place for.
func notCarried(d *wire.JobDesc) []string {
	set := map[string]bool{
		"job_id": d.JobID != 0, "admin_comment": d.AdminComment != "", "minimum_cpus": d.MinCPUs > d.Tasks*max(d.CPUsPerTask, 1), "maximum_cpus": d.MaxCPUs != 0,
		"priority": d.Priority.Set && d.Priority.Number != 0, "memory_binding": d.MemBind != "" || len(d.MemBindType) > 0, "oom_kill_step": d.OOMKillStep == 1,
		"reboot": d.Reboot != nil && *d.Reboot,
	}
	maps.DeleteFunc(set, func(_ string, on bool) bool { return !on })
	return slices.Sorted(maps.Keys(set))
}

// readMore sets the rarer options that d asks for. It returns the names of the fields that no option has a word for.
func readMore(m *sbatch.More, d *wire.JobDesc) (left []string) {
	left = words.ReadMore(m, d)
	for _, n := range [...]struct {
		name string
		from int
		into *int
	}{
		{"sockets_per_node", d.SocketsPerNode, &m.SocketsPerNode}, {"cores_per_socket", d.CoresPerSocket, &m.CoresPerSocket},
		{"threads_per_core", d.ThreadsPerCore, &m.ThreadsPerCore}, {"tasks_per_core", d.TasksPerCore, &m.NTasksPerCore}, {"ntasks_per_tres", d.NTasksPerTRES, &m.NTasksPerTRES},
	} {
		switch {
		case n.from < 0:
			left = append(left, n.name)
		case n.from < words.NoValue:
			*n.into = n.from
		}
	}
	m.Distribution, m.TRESBind = d.Distribution, d.TRESBind
	switch {
	case d.DelayBoot < 0:
		left = append(left, "delay_boot")
	case d.DelayBoot < math.MaxUint32-1: // Slurm's words for no value and for no end
		m.DelayBoot = time.Duration(d.DelayBoot) * time.Second
	}
	m.Profile = strings.ToLower(strings.Join(d.Profile, ","))
	if d.MinCPUsPerNode > max(d.CPUsPerTask, 1) && d.MinCPUsPerNode < words.NoValue {
		m.MinCPUs = d.MinCPUsPerNode
	}
	m.NoKill = d.KillOnNodeFail != nil && !*d.KillOnNodeFail
	if all := d.WaitAllNodes; all != nil {
		m.WaitAllNodes = sbatch.No
		if *all {
			m.WaitAllNodes = sbatch.Yes
		}
	}
	return left
}

// mostMinutes is the longest time that a limit can say, some hundred years; above it, Slurm's NO_VAL and INFINITE stand for no number.
const mostMinutes = int64(math.MaxInt64 / time.Minute)

// checkTimes refuses numbers that a time cannot hold, before they become another time.
func checkTimes(d *wire.JobDesc) error {
	for _, t := range []struct {
		field string
		n     wire.Number
		most  int64
		unit  string
	}{
		{"time_limit", d.TimeLimit, mostMinutes, "minutes"},
		{"time_minimum", d.TimeMinimum, mostMinutes, "minutes"},
		{"wait_for_switch", wire.Num(int64(d.WaitForSwitch)), mostMinutes * 60, "seconds"},
	} {
		if t.n.Set && !t.n.Infinite && (t.n.Number < 0 || t.n.Number > t.most) {
			return answer.BadBody(fmt.Sprintf("%s %d: want 0 to %d %s", t.field, t.n.Number, t.most, t.unit))
		}
	}
	return nil
}

func limit(n wire.Number) time.Duration {
	switch {
	case n.Infinite:
		return sbatch.Unlimited
	case !n.Set:
		return 0
	case n.Number == 0:
		return sbatch.Unlimited // sbatch's --time=0
	}
	return time.Duration(n.Number) * time.Minute
}

func unixTime(n int64) time.Time {
	if n <= 0 {
		return time.Time{}
	}
	return time.Unix(n, 0).UTC()
}

func setMem(sp *sbatch.Spec, d *wire.JobDesc) {
	switch {
	case d.MemoryPerNode.Set && d.MemoryPerNode.Number == 0:
		sp.MemPerNode = sbatch.MemAll
	case d.MemoryPerNode.Set:
		sp.MemPerNode = sbatch.MemMiB(d.MemoryPerNode.Number)
	case d.MemoryPerCPU.Set:
		sp.MemPerCPU = sbatch.MemMiB(d.MemoryPerCPU.Number)
	}
}

// setNodes reads "2" or "2-4"; lists and steps cannot be carried.
func setNodes(sp *sbatch.Spec, text string) error {
	if text == "" {
		return nil
	}
	least, most, ranged := strings.Cut(text, "-")
	if !ranged {
		most = least
	}
	var err1, err2 error
	sp.MinNodes, err1 = strconv.Atoi(least)
	sp.MaxNodes, err2 = strconv.Atoi(most)
	if err := errors.Join(err1, err2); err != nil {
		return answer.Invalid(wire.ErrNodeCount, "nodes "+strconv.Quote(text))
	}
	return nil
}

// setTRES sorts "gres/gpu:h100:4,gres/nvme:1" into the options that ask for it.
func setTRES(sp *sbatch.Spec, d *wire.JobDesc) error {
	gres, err := tresItems(d.TRESPerNode, "")
	sp.GRES = gres
	if err != nil {
		return err
	}
	for _, t := range []struct {
		text string
		into *string
	}{{d.TRESPerJob, &sp.GPUs}, {d.TRESPerTask, &sp.GPUsPerTask}} {
		if *t.into, err = tresItems(t.text, "gpu:"); err != nil {
			return err
		}
	}
	if d.MemoryPerTRES != "" {
		mem, err := strconv.ParseInt(strings.TrimSuffix(d.MemoryPerTRES[strings.LastIndexAny(d.MemoryPerTRES, ":=")+1:], "M"), 10, 64)
		if err != nil {
			return answer.Invalid(wire.ErrTRES, "memory_per_tres "+strconv.Quote(d.MemoryPerTRES))
		}
		sp.MemPerGPU = sbatch.MemMiB(mem)
	}
	return nil
}

// tresItems takes the "gres/" and then the given prefix from every item of a TRES list; each must have both.
func tresItems(text, prefix string) (string, error) {
	var out []string
	for item := range strings.SplitSeq(text, ",") {
		if item == "" {
			continue
		}
		name, ok := strings.CutPrefix(strings.Replace(item, "gres:", "gres/", 1), "gres/")
		name = strings.Replace(name, "=", ":", 1)
		if ok && prefix != "" {
			name, ok = strings.CutPrefix(name, prefix)
		}
		if !ok {
			return "", answer.Invalid(wire.ErrTRES, fmt.Sprintf("%q in %q", item, text))
		}
		out = append(out, name)
	}
	return strings.Join(out, ","), nil
}

func setSignal(sp *sbatch.Spec, d *wire.JobDesc) error {
	if d.KillWarningSignal == "" {
		return nil
	}
	name := strings.TrimPrefix(strings.ToUpper(d.KillWarningSignal), "SIG")
	if !submission.ValidSignal(name) {
		return answer.BadBody("kill_warning_signal " + strconv.Quote(d.KillWarningSignal))
	}
	sp.Signal = &sbatch.Signal{
		Name: name, Before: time.Duration(d.KillWarningDelay.Or(60)) * time.Second,
		BatchOnly: d.KillWarningFlags.Has("BATCH_JOB"), Reservation: d.KillWarningFlags.Has("RESERVATION_JOB"),
	}
	return nil
}

// unknownFields names the fields of a submission's job that no version of the shape has.
func unknownFields(body []byte) []string {
	var req struct {
		Job map[string]json.RawMessage `json:"job"`
	}
	json.Unmarshal(body, &req)
	known := jobDescFields()
	var out []string
	for name := range req.Job {
		if !known[name] {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// jobDescFields are the JSON names of wire.JobDesc.
var jobDescFields = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	for f := range reflect.TypeFor[wire.JobDesc]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names[name] = true
	}
	return names
})
