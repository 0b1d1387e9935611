package books

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fsub/testbed/bed"
)

// people are the users with each of their accounts.
func people() (all [][2]string) {
	for _, u := range bed.Users {
		for _, a := range u.Accounts {
			if u.Name != "dave" || full { // who is not at every site of the small bed
				all = append(all, [2]string{u.Name, a})
			}
		}
	}
	return all
}

// submitThere submits n jobs by the site's own sbatch, and does to them what users and nodes do. In a full run many are on their way at once, most of them plain.
func (s *story) submitThere(n, first int) {
	if !full {
		for i := range n {
			s.submit(i, (i+first)%8)
		}
		return
	}
	numbers := make(chan int)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range numbers {
				if kind := i % 40; kind < 9 {
					s.submit(i, kind)
				} else {
					s.submit(i, kind%4)
				}
			}
		})
	}
	for i := range n {
		numbers <- i
	}
	close(numbers)
	all.Wait()
}

// alive are the states of jobs that have not ended.
var alive = []string{"PENDING", "CONFIGURING", "RUNNING", "SUSPENDED", "COMPLETING", "REQUEUED"}

// submit submits the i-th job, of one of nine kinds.
func (s *story) submit(i, kind int) {
	who := people()[i%len(people())]
	user, account := who[0], who[1]
	sbatch := func(args ...string) string {
		return s.as(user, append([]string{"sbatch", "--parsable", "-A", account, "-o", "/dev/null", "-t", "5", "-D", "/tmp"}, args...)...)
	}
	try := func(user string, args ...string) bool { // what may come too late
		_, err := world.Bed.Output(context.Background(), s.site, user, args...)
		return err == nil
	}
	await := func(id, state string) { // or that it has ended otherwise: a node may have failed
		s.eventually("job "+id+" "+state, func() string {
			if st := s.state(id); st != state && slices.Contains(alive, st) {
				return "it is " + st
			}
			return ""
		})
	}
	switch kind {
	case 0:
		sbatch("-n2", "--wrap", fmt.Sprint("sleep ", i%3))
	case 1:
		sbatch("--mem=100", "--wrap", "exit 3")
	case 2:
		sbatch("-a", "0-2", "--wrap", "sleep 1")
	case 3:
		sbatch("--gres=gpu:2", "--wrap", fmt.Sprint("sleep ", i%3))
	case 4:
		id := sbatch("--wrap", "sleep 300")
		await(id, "RUNNING")
		try(user, "scancel", id)
	case 5:
		id := sbatch("-N2", "--wrap", "sleep 300")
		await(id, "RUNNING")
		if try("", "scontrol", "requeue", id) {
			await(id, "PENDING")
		}
		try(user, "scancel", id)
	case 6:
		id := sbatch("--wrap", "sleep 4")
		await(id, "RUNNING")
		try("", "scontrol", "suspend", id)
		time.Sleep(2 * time.Second)
		try("", "scontrol", "resume", id)
		try("", "scontrol", "release", id) // one whose node failed while it was suspended is held at 22.05
	case 7: // its node fails
		id := sbatch("--exclusive", "--no-requeue", "--wrap", "sleep 300")
		await(id, "RUNNING")
		if node := s.node(id); node != "" {
			try("", "scontrol", "update", "nodename="+node, "state=down", "reason=test")
			await(id, "NODE_FAIL")
			try("", "scontrol", "update", "nodename="+node, "state=resume") // it may have come back by itself
		} else {
			try(user, "scancel", id)
		}
	case 8: // its time is over
		sbatch("-t", "1", "--wrap", "sleep 300")
	}
}

// submitHere submits n jobs by fsub: to the sites, and to a pool of rented machines.
func submitHere(t *testing.T, n int) {
	places := append([]string{rented}, sites...)
	for i := range n {
		who := people()[i%len(people())]
		args := []string{"fsub", "-t5", "-o", "/dev/null", "-D", "/tmp", "--fed-sites=" + places[i%len(places)]}
		switch i / len(places) % 4 {
		case 0:
			args = append(args, "--gres=gpu:1", "--wrap", "sleep 2")
		case 1:
			args = append(args, "-a", "1-3", "--wrap", "sleep 1")
		case 2:
			args = append(args, "--wrap", "exit 7")
		case 3:
			args = append(args, "-n3", "--wrap", "sleep 3")
		}
		var said strings.Builder
		err := world.Bed.Exec(t.Context(), bed.Cmd{Site: bed.Login, User: who[0], Args: args, Stdout: &said, Stderr: &said,
			Env: []string{"PATH=" + world.Bin + ":/usr/bin:/bin", "FSUB_SOCKET=" + world.Daemon.Socket()}})
		if err != nil {
			t.Fatalf("%v: %v: %s", args, err, said.String())
		}
	}
}
