package srun

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"fsub/cloud/steps/wire"
)

// session is one step, seen from srun. Everything but input and signals happens in one goroutine.
type session struct {
	env            []string
	dial           func() (io.ReadWriteCloser, error) // the step service
	lost           string                             // what is said when it has gone
	stdin          *os.File
	stdout, stderr io.Writer

	calls  []*call
	first  *call
	layout wire.Layout
	out    *wire.Writer // to the service
	sinks  [2]*sink     // stdout, stderr

	mu         sync.Mutex
	state      []taskState // by rank
	left       int
	aborted    bool // "Job step aborted" was printed
	quietAbort bool // do not print it
	lastInt    time.Time
	credit     *credit
	exit       exitCode
	asked      int       // exit code that an MPI program has asked for
	exited     time.Time // when the first task did
	forced     bool      // a task was killed or terminated
	finished   chan struct{}
}

type taskState uint8

const (
	unstarted taskState = iota
	running
	exited
	exitedBadly
)

func (s *session) run(args []string) (int, error) {
	if err := s.parse(args); err != nil {
		return 0, err
	}
	if err := s.checkJob(); err != nil {
		return 0, err
	}
	req, err := request(s.calls)
	if err != nil {
		return 0, err
	}
	restore := s.terminal(req)
	defer restore()
	c, err := s.dial()
	if err != nil {
		return 0, err
	}
	defer c.Close()
	s.out, s.finished = wire.NewWriter(c), make(chan struct{})
	signals := s.catchSignals()
	defer signals()
	if err := s.out.WriteJSON(wire.Create, 0, req); err != nil {
		return 0, err
	}
	in := wire.NewReader(bufio.NewReaderSize(c, 256<<10))
	if err := s.created(in); err != nil {
		return 0, err
	}
	return s.follow(in)
}

func (s *session) parse(args []string) error {
	parts := components(args)
	for i, part := range parts {
		group := -1
		if n, _ := strconv.Atoi(envOf(s.env, "SLURM_HET_SIZE")); n > 1 {
			group = min(i, n-1)
		}
		c, err := parse(part, s.env, group)
		if c != nil {
			for _, line := range c.notices {
				fmt.Fprintln(s.stderr, line)
			}
		}
		if err != nil {
			return err
		}
		if i > 0 { // 24.11 keeps these from one component to the next
			c.ask.Exact, c.ask.Overlap = c.ask.Exact || s.calls[i-1].ask.Exact, c.ask.Overlap || s.calls[i-1].ask.Overlap
		}
		s.calls = append(s.calls, c)
	}
	s.first = s.calls[0]
	return nil
}

func envOf(env []string, name string) string {
	v, _ := lookup(env, name)
	return v
}

// checkJob: the step service knows of this job only.
func (s *session) checkJob() error {
	own := envOf(s.env, "SLURM_JOB_ID")
	if job := s.first.job; job != "" && own != "" && job != own && job != envOf(s.env, "SLURM_JOBID") {
		return &exit{1, "", fmt.Sprintf("srun: error: Unable to confirm allocation for job %s: Invalid job id specified\n"+
			"srun: Check SLURM_JOB_ID environment variable. Expired or invalid job %s\n", job, job)}
	}
	return nil
}

// created waits for the step.
func (s *session) created(in *wire.Reader) error {
	f, err := in.Read()
	if err != nil {
		return fmt.Errorf("%s: %w", s.lost, err)
	}
	if f.Kind == wire.Refused {
		lines := ""
		for line := range strings.SplitSeq(string(f.Payload), "\n") {
			lines += "srun: error: " + line + "\n"
		}
		return &exit{1, "", lines}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.layout, err = wire.JSON[wire.Layout](f); err != nil {
		return err
	}
	for _, n := range s.layout.Nodes {
		s.left += len(n.Ranks)
	}
	s.state = make([]taskState, s.left)
	if s.layout.Waited && s.first.verbose > 0 {
		s.info(fmt.Sprintf("Step completed in JobId=%d, retrying", s.layout.Job))
	}
	if s.layout.Waited {
		s.info("Step created for StepId=" + s.name())
	}
	s.sayLaunch()
	return nil
}

// name is "JOB.STEP".
func (s *session) name() string { return fmt.Sprintf("%d.%d", s.layout.Job, s.layout.Step) }

// follow does what the service tells until the step is over.
func (s *session) follow(in *wire.Reader) (int, error) {
	s.credit = newCredit(len(s.layout.Nodes))
	if s.first.testOnly {
		s.sayTest()
		return 0, nil
	}
	if err := s.openSinks(); err != nil {
		s.out.Write(wire.Kill, 0, nil)
		return 0, err
	}
	feeding, err := s.openInput()
	if err != nil {
		s.out.Write(wire.Kill, 0, nil)
		return 0, err
	}
	if feeding != nil {
		go s.feed(feeding)
	}
	defer close(s.finished)
	for {
		f, err := in.Read()
		if err != nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.error(s.lost + ": " + err.Error())
			return max(s.exit.code(), 1), nil
		}
		if f.Kind == wire.End {
			break
		}
		s.take(f)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.sinks {
		k.close()
	}
	if s.forced && !s.aborted {
		s.info("Force Terminated StepId=" + s.name())
	}
	if s.asked != 0 {
		return s.asked, nil
	}
	return s.exit.code(), nil
}

// take does what one frame says.
func (s *session) take(f wire.Frame) {
	switch f.Kind {
	case wire.Stdout:
		s.sinks[0].write(f.N, f.Payload)
	case wire.Stderr:
		s.sinks[1].write(f.N, f.Payload)
	case wire.Taken:
		n, _ := wire.JSON[uint64](f)
		s.credit.give(int(f.N), n)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch f.Kind {
	case wire.Cancelled:
		s.sinks[1].write(wire.All, f.Payload)
		s.abortWords()
	case wire.Started:
		s.startedNode(int(f.N))
	case wire.Exits:
		exits, _ := wire.JSON[[]wire.Exit](f)
		s.ended(int(f.N), exits)
	case wire.Abort:
		s.asked = int(f.N)
	case wire.NodeEnd:
		s.credit.gone(int(f.N))
	case wire.NodeLost:
		s.lostNode(int(f.N), string(f.Payload))
	}
}

func (s *session) startedNode(i int) {
	if i < len(s.layout.Nodes) {
		for _, r := range s.layout.Nodes[i].Ranks {
			if s.state[r] == unstarted {
				s.state[r] = running
			}
		}
	}
}

// lostNode: a node is not there any more. Its tasks count as killed, and the others are ended, unless --no-kill.
func (s *session) lostNode(i int, why string) {
	s.credit.gone(i)
	if i >= len(s.layout.Nodes) {
		return
	}
	n := s.layout.Nodes[i]
	alive := false
	for _, r := range n.Ranks {
		if s.state[r] <= running {
			s.state[r] = exitedBadly
			s.left--
			alive = true
		}
	}
	if !alive {
		return
	}
	s.error("Node failure on " + n.Name)
	if s.first.verbose > 0 {
		s.info(n.Name + ": " + why)
	}
	s.exit.add(uint32(syscall.SIGKILL))
	if !s.first.noKill {
		s.kill(time.Duration(s.layout.GraceMS) * time.Millisecond)
	}
}

// kill ends the step.
func (s *session) kill(grace time.Duration) {
	go s.out.Write(wire.Kill, uint32(grace/time.Millisecond), nil)
}

func (s *session) info(text string) {
	if !s.first.quiet {
		io.WriteString(s.stderr, "srun: "+text+"\n")
	}
}

func (s *session) error(text string) { io.WriteString(s.stderr, "srun: error: "+text+"\n") }
