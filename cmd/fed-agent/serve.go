package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"fsub/cloud/agent"
	"fsub/cloud/agentapi"
	"fsub/cloud/steps"
	"fsub/cmd/internal/build"
)

// serve is the agent, from its boot data to the machine's end. It returns 0 if the machine was one
// of the daemon's, and 1 if it never became one; either way its boot script ends the machine.
func serve(file string, stderr io.Writer) int {
	log := slog.New(slog.NewTextHandler(stderr, nil))
	// A machine's memory is its jobs': the agent is idle most of the time, and small.
	debug.SetGCPercent(50)
	debug.SetMemoryLimit(64 << 20)
	syscall.Umask(0o022)
	if err := live(file, log); err != nil {
		fmt.Fprintln(stderr, "fed-agent: error:", err)
		return 1
	}
	return 0
}

func live(file string, log *slog.Logger) error {
	boot, err := readBoot(file)
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	service, err := steps.New(steps.Config{Addr: net.JoinHostPort(agent.Addr(ctx, boot), "0"), Logger: log, Daemon: []string{"/proc/self/exe", stepDaemon}})
	if err != nil {
		return err
	}
	defer service.Close()
	a, err := agent.New(agent.Config{Boot: boot, Dir: dir, Program: program, Version: cmp.Or(build.Read().Commit, build.Read().Version), Steps: service, Logger: log, Alone: true})
	if err != nil {
		return err
	}
	return a.Run(ctx)
}

// readBoot reads the boot data and removes the file, since it has a token.
func readBoot(file string) (agentapi.Boot, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return agentapi.Boot{}, err
	}
	boot, err := agentapi.ParseBoot(text)
	return boot, errors.Join(err, os.Remove(file))
}
