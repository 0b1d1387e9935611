// Package trace reads traces of jobs for package replay: the Standard Workload Format of the Parallel Workloads Archive, what "sacct -P" prints, and CSV with
// a header. [Read] finds out which it is; compressed files (gzip) are read as they are.
package trace

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/demand"
	"fsub/federation/replay"
	"fsub/sbatch"
)

// Shape is how a trace is read.
type Shape struct {
	// GPUsPerNode is how many GPUs of a job share a node, where the trace does not say how many nodes it had. 0: 8.
	GPUsPerNode int
	// Partitions: jobs keep the partitions that they asked for. Else any will do.
	Partitions bool
	// NoLimits: the trace's time limits are left out.
	NoLimits bool
	// Max is how many jobs are read; 0: all.
	Max int
}

// line is one job as a trace tells it. What is zero is not told.
type line struct {
	row                 int // of the file, the first is 1; set with an error too
	submit              time.Time
	run                 time.Duration
	nodes, cpus, gpus   int
	kind                string // of GPU
	mem                 sbatch.MemMiB
	user, account, name string
	partition, qos      string
	limit               time.Duration
}

// What a job can be: beyond it times overflow and sums mean nothing.
const (
	longest = 100 * 365 * 24 * time.Hour
	most    = 1 << 30 // nodes, CPUs, GPUs, and MiB of a node
)

// check says what of a line no job can have.
func (l *line) check() error {
	if y := l.submit.Year(); y < 1970 || y > 2200 {
		return fmt.Errorf("it was submitted at %s: want a time between 1970 and 2200", l.submit.Format(time.RFC3339))
	}
	for what, d := range map[string]time.Duration{"duration": l.run, "time limit": l.limit} {
		if d < 0 || d > longest {
			return fmt.Errorf("invalid %s: want no more than a hundred years", what)
		}
	}
	for what, n := range map[string]int{"nodes": l.nodes, "cpus": l.cpus, "gpus": l.gpus, "memory": int(l.mem)} {
		if n < 0 || n > most {
			return fmt.Errorf("invalid number %d of %s", n, what)
		}
	}
	return nil
}

// errSkip: a line is about a job that has not run. errStep: it is about a part of one.
var errSkip, errStep = errors.New("not a run"), errors.New("not a job")

// Read reads the trace in a file, in order of submission. left is how many jobs were left out because they never ran.
func Read(path string, s Shape) (jobs []replay.Job, left int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, reason(path, err)
	}
	defer f.Close()
	if jobs, left, err = From(f, path, s); err != nil {
		return nil, left, reason(path, err)
	}
	return jobs, left, nil
}

// reason is err, or, of one of the file system, only what is wrong: not which call has failed.
func reason(path string, err error) error {
	if e := (*os.PathError)(nil); errors.As(err, &e) {
		return fmt.Errorf("%s: %w", path, e.Err)
	}
	return err
}

// lines reads the next job of a trace, or says why it cannot: errSkip, io.EOF, or what is wrong with it.
type lines func() (line, error)

// open finds out of which form a trace is.
func open(r io.Reader) (lines, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	if magic, _ := in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("not gzip, though it begins like that: %w", err)
		}
		in = bufio.NewReaderSize(z, 1<<16)
	}
	if mark, _ := in.Peek(3); string(mark) == "\ufeff" { // spreadsheets put it before UTF-8
		in.Discard(3)
	}
	head, err := in.Peek(4096)
	if err != nil && err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) { // who reads the lines comes to it again
		return nil, err
	}
	first, rest, _ := strings.Cut(strings.TrimLeft(string(head), "\r\n"), "\n")
	switch {
	case len(bytes.TrimSpace(head)) == 0:
		return nil, fmt.Errorf("%w: it is empty", replay.ErrNoJobs)
	case bytes.IndexByte(head, 0) >= 0, strings.HasPrefix(first, "{"), strings.HasPrefix(first, "["):
		return nil, errForm
	case strings.Count(first, "|") >= 3:
		return sacctLines(in)
	case strings.HasPrefix(strings.TrimSpace(rest), "-----"):
		return nil, fmt.Errorf("no | between its columns: run %s", sacctCommand)
	case strings.HasPrefix(first, ";"):
		return swfLines(in), nil
	case strings.Contains(first, ","):
		return csvLines(in, ',')
	case startsSWF(first):
		return swfLines(in), nil
	case strings.Contains(first, ";"):
		return csvLines(in, ';')
	case strings.Contains(first, "\t"):
		return csvLines(in, '\t')
	}
	return nil, errForm
}

// startsSWF reports whether the first line of a trace is a comment, or begins with a number.
func startsSWF(first string) bool {
	fields := strings.Fields(first)
	if len(fields) == 0 || strings.HasPrefix(fields[0], ";") {
		return true
	}
	_, err := strconv.ParseFloat(fields[0], 64)
	return err == nil
}

// errForm: nobody knows what this is.
var errForm = errors.New("not a trace: want the Standard Workload Format (18 numbers in a line), what sacct -P prints, or CSV with the names of its columns in the first line")

// From reads a trace; name says whose errors are about.
func From(r io.Reader, name string, s Shape) (jobs []replay.Job, left int, err error) {
	next, err := open(r)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", name, err)
	}
	var all []line
	for {
		l, err := next()
		switch {
		case err == io.EOF && len(all) == 0 && left > 0:
			return nil, left, fmt.Errorf("%s: %w: of %d none ever ran", name, replay.ErrNoJobs, left)
		case err == io.EOF && len(all) == 0:
			return nil, left, fmt.Errorf("%s: %w", name, replay.ErrNoJobs)
		case err == io.EOF:
			return s.jobs(all), left, nil
		case err == errStep:
			continue
		case err == errSkip:
			left++
			continue
		case err == nil:
			err = l.check()
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = fmt.Errorf("the file ends in the middle of it: %w", err)
		}
		if err != nil {
			return nil, left, fmt.Errorf("%s: line %d: %w", name, l.row, err)
		}
		if all = append(all, l); s.Max > 0 && len(all) >= s.Max {
			next = func() (line, error) { return line{}, io.EOF }
		}
	}
}

// jobs makes jobs of what was read. They get numbers of their own, in order of submission.
func (s *Shape) jobs(lines []line) []replay.Job {
	slices.SortStableFunc(lines, func(a, b line) int { return a.submit.Compare(b.submit) })
	out := make([]replay.Job, len(lines))
	for i := range lines {
		l := &lines[i]
		out[i] = replay.Job{Job: s.job(l, federation.JobID(i+1)), Run: max(l.run, time.Second)}
	}
	return out
}

func (s *Shape) job(l *line, id federation.JobID) *federation.Job {
	spec := &sbatch.Spec{Name: l.name, Account: l.account, QOS: l.qos, MemPerNode: 1, TimeLimit: l.limit}
	if s.NoLimits {
		spec.TimeLimit = 0
	}
	if s.Partitions {
		spec.Partition = l.partition
	}
	perNode := s.GPUsPerNode
	if perNode <= 0 {
		perNode = 8
	}
	nodes := max(l.nodes, 1)
	if least := (l.gpus + perNode - 1) / perNode; nodes < least {
		nodes = least
	}
	spec.MinNodes, spec.MaxNodes = nodes, nodes
	if l.gpus > 0 {
		spec.GPUsPerNode = fmt.Sprint((l.gpus + nodes - 1) / nodes)
		if l.kind != "" {
			spec.GPUsPerNode = l.kind + ":" + spec.GPUsPerNode
		}
	}
	cpus := max(l.cpus, l.gpus, 1)
	spec.NTasks, spec.NTasksPerNode, spec.CPUsPerTask = nodes, 1, (cpus+nodes-1)/nodes
	if l.nodes == 0 && l.gpus == 0 { // processors, wherever they are
		spec.MinNodes, spec.MaxNodes, spec.NTasks, spec.NTasksPerNode, spec.CPUsPerTask = 0, 0, cpus, 0, 1
		spec.MemPerNode, spec.MemPerCPU = 0, 1
	}
	if l.mem > 0 {
		spec.MemPerNode, spec.MemPerCPU = l.mem, 0
	}
	j := &federation.Job{ID: id, User: l.user, State: federation.Pending, Submit: l.submit, Spec: spec}
	j.Demand = demand.Of(spec)
	return j
}
