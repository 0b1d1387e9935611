package agent

import (
	"context"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"fsub/cloud/agent/keeper"
)

// orphanAge is how long a child must have been dead before the agent collects it: those that
// somebody waits for are collected at once.
const orphanAge = 10 * time.Second

// reapOrphans collects dead processes that the agent has inherited, as PID 1 of a machine or from a
// keeper that was killed.
func reapOrphans(ctx context.Context) {
	seen := map[int]bool{}
	for {
		select {
		case <-time.After(orphanAge):
		case <-ctx.Done():
			return
		}
		dead := map[int]bool{}
		for _, pid := range deadChildren() {
			if seen[pid] {
				syscall.Wait4(pid, nil, syscall.WNOHANG|syscall.WALL, nil)
				continue
			}
			dead[pid] = true
		}
		seen = dead
	}
}

// deadChildren are the children that have ended and were not waited for.
func deadChildren() (dead []int) {
	for pid, state := range children() {
		if state == 'Z' {
			dead = append(dead, pid)
		}
	}
	return dead
}

// children are the agent's, with their states.
func children() map[int]byte {
	list := map[int]byte{}
	for _, pid := range keeper.Children(os.Getpid()) {
		if _, state := keeper.Parent(pid); state != 0 {
			list[pid] = state
		}
	}
	return list
}

// killStrays kills what a run has left to the agent, which only happens if its user has killed a
// keeper or a step's daemon: the children that have an entry in their environment which only
// processes of the run have, until there are none.
func killStrays(entry string) {
	for range 1000 {
		found := false
		for pid, state := range children() {
			text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
			if err == nil && state != 'Z' && slices.Contains(strings.Split(string(text), "\x00"), entry) {
				syscall.Kill(pid, syscall.SIGKILL)
				found = true
			}
		}
		if !found {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
