package store_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/journal"
	"fsub/federation/store"
	"fsub/sbatch"
	"fsub/testbed/postgres"
)

// cutter forwards connections to a server, and cuts all of them when so many more bytes have gone in one direction.
type cutter struct {
	listener net.Listener
	server   string

	mu   sync.Mutex
	open map[net.Conn]bool
	left [2]int // bytes that may go to the server, and from it; below 0: any number
	went [2]int
}

const toServer, fromServer = 0, 1

func newCutter(t *testing.T, server string) *cutter {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{listener: l, server: server, open: map[net.Conn]bool{}, left: [2]int{-1, -1}}
	t.Cleanup(func() {
		l.Close()
		c.cut()
	})
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", c.server)
			if err != nil {
				client.Close()
				continue
			}
			c.mu.Lock()
			c.open[client], c.open[server] = true, true
			c.mu.Unlock()
			go c.copy(toServer, server, client)
			go c.copy(fromServer, client, server)
		}
	}()
	return c
}

// url is the address of a database through the cutter.
func (c *cutter) url(database string) string {
	return fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", postgres.Role, c.listener.Addr(), database)
}

func (c *cutter) copy(direction int, to io.Writer, from net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			c.close(from, to.(net.Conn))
			return
		}
		may, cut := c.allow(direction, n)
		_, err = to.Write(buffer[:may])
		if cut {
			c.cut()
		}
		if err != nil || cut {
			return
		}
	}
}

// allow counts n bytes, and returns how many of them may pass and whether the line is cut after them.
func (c *cutter) allow(direction, n int) (int, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.went[direction] += n
	if c.left[direction] < 0 {
		return n, false
	}
	if n < c.left[direction] {
		c.left[direction] -= n
		return n, false
	}
	n, c.left[direction] = c.left[direction], -1
	return n, true
}

// arm has the line cut when n more bytes have gone in a direction.
func (c *cutter) arm(direction, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left, c.went = [2]int{-1, -1}, [2]int{}
	if n >= 0 {
		c.left[direction] = n
	}
}

// passed is how many bytes went in each direction since arm.
func (c *cutter) passed() [2]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.went
}

func (c *cutter) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.open {
		conn.Close()
	}
	clear(c.open)
}

func (c *cutter) close(all ...net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range all {
		conn.Close()
		delete(c.open, conn)
	}
}

// TestCutAtEachByte cuts the line at each byte of what a submission, a batch and jobs that are submitted together say and hear. What was acknowledged is there, once; what was refused is not; and
// nothing is left open while the database can be asked. Without FSUB_FULL it cuts at each nineteenth.
func TestCutAtEachByte(t *testing.T) {
	server := postgres.Start(t)
	server.Exec("CREATE DATABASE cut OWNER " + postgres.Role)
	line := newCutter(t, server.Listen())
	s := openPostgres(t, line.url("cut"))

	stride := 19
	if os.Getenv("FSUB_FULL") != "" {
		stride = 1
	}
	must(t, s.CreateJob(ctx, &federation.Job{User: "first"}, &sbatch.Payload{}))
	began := sure(s.Changes(ctx, 0, 0)).Mark
	n, done, refused := 0, 0, 0
	try := func(what string, jobs int, do func(user string) error) {
		line.arm(toServer, -1)
		for range 2 { // the second is prepared
			n++
			must(t, do(fmt.Sprint("user", n)))
		}
		line.arm(toServer, -1)
		n++
		must(t, do(fmt.Sprint("user", n)))
		all := line.passed()
		t.Logf("%s: %d bytes to the server, %d from it", what, all[toServer], all[fromServer])
		for direction := range all {
			for at := 0; at < all[direction]; at += stride {
				n++
				user := fmt.Sprint("user", n)
				must(t, do("warm")) // on the connection that is cut, with all prepared
				line.arm(direction, at)
				err := do(user)
				line.arm(direction, -1)
				if errors.Is(err, store.ErrOpen) || err != nil && !errors.Is(err, federation.ErrUnavailable) {
					t.Fatalf("%s, cut at byte %d of direction %d: %v", what, at, direction, err)
				}
				found := jobsOf(t, s, user)
				switch {
				case err == nil && found != jobs:
					t.Fatalf("%s, cut at byte %d of direction %d: acknowledged, and %d jobs are there", what, at, direction, found)
				case err != nil && found != 0:
					t.Fatalf("%s, cut at byte %d of direction %d: refused (%v), and %d jobs are there", what, at, direction, err, found)
				case err == nil:
					done++
				default:
					refused++
				}
			}
		}
	}
	try("submission", 1, func(user string) error {
		return s.CreateJob(ctx, &federation.Job{User: user, UID: 1000}, &sbatch.Payload{Script: "#!/bin/sh"})
	})
	try("batch", 1, func(user string) error {
		ids, err := s.ReserveIDs(ctx, 1)
		if err != nil {
			return err
		}
		return s.Commit(ctx, &journal.Batch{
			Create: []*federation.Job{{ID: ids[0], User: user, State: federation.Pending}}, Events: []federation.Event{{Job: ids[0], At: time.Now(), Text: "created"}},
		})
	})
	try("jobs together", 3, func(user string) error {
		ids, err := s.ReserveIDs(ctx, 3)
		if err != nil {
			return err
		}
		var all []*federation.Job
		for _, id := range ids {
			all = append(all, &federation.Job{ID: id, User: user, UID: 1000})
		}
		_, err = s.CreateJobs(ctx, all, func(int) *sbatch.Payload { return &sbatch.Payload{Script: "#!/bin/sh"} }, user)
		return err
	})
	t.Logf("%d done, %d refused", done, refused)
	if done == 0 || refused == 0 {
		t.Error("each must happen")
	}
	wholeLog(t, s, began)
}

// jobsOf counts the jobs of a user. What is read first after a cut may meet a connection that is gone.
func jobsOf(t *testing.T, s *store.Store, user string) int {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; {
		jobs, err := s.Jobs(ctx, federation.JobQuery{User: user})
		if err == nil {
			return len(jobs)
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// wholeLog makes sure that the log of changes tells of each job after the first once, and has no gap.
func wholeLog(t *testing.T, s *store.Store, mark journal.Mark) {
	t.Helper()
	told := map[federation.JobID]int{}
	for {
		log, err := s.Changes(ctx, mark, 0)
		must(t, err)
		for _, c := range log.Commits {
			if c.Mark != mark+1 {
				t.Fatalf("after commit %d comes %d", mark, c.Mark)
			}
			mark = c.Mark
			for _, x := range c.Changes {
				if x.Kind == journal.ChangeJob && x.How == journal.Created {
					told[x.Job]++
				}
			}
		}
		if len(log.Commits) == 0 {
			break
		}
	}
	jobs := sure(s.Jobs(ctx, federation.JobQuery{AfterID: federation.FirstJobID}))
	for _, j := range jobs {
		if told[j.ID] != 1 {
			t.Errorf("the log tells %d times of job %d", told[j.ID], j.ID)
		}
	}
	if len(told) != len(jobs) {
		t.Errorf("the log tells of %d jobs, there are %d", len(told), len(jobs))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
