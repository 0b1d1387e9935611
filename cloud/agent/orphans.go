package agent

import (
	"context"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// orphanAge is how long a child must have been dead before the agent collects it: those that somebody waits for are collected at once.
const orphanAge = 10 * time.Second

// reapOrphans collects dead processes that the agent has inherited, as PID 1 of a machine or from a keeper that was killed.
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
	self := " " + strconv.Itoa(os.Getpid()) + " "
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		// PID (NAME) STATE PPID ...; the name may hold anything.
		if after := string(text[strings.LastIndexByte(string(text), ')')+1:]); strings.HasPrefix(after, " Z"+self) {
			dead = append(dead, pid)
		}
	}
	return dead
}
