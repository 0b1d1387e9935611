//go:build !remote

package main

import (
	"os"
	"strings"
	"syscall"

	"fsub/cmd/internal/conn"
)

// far becomes fsub-remote if that lies beside this program and the daemon is on another machine: there it has to speak TLS, which this program leaves out. It
// returns otherwise.
func far(env []string) {
	home, named := "", false
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, "FSUB_SOCKET="); ok && v != "" {
			if !strings.HasPrefix(v, "tls://") {
				return
			}
			named = true
		}
		if v, ok := strings.CutPrefix(e, "FSUB_SERVER="); ok && v != "" {
			named = true
		}
		if v, ok := strings.CutPrefix(e, "HOME="); ok {
			home = v
		}
	}
	if !named && (exists(conn.DefaultSocket) || exists(home+conn.OwnSocket)) {
		return
	}
	if self, err := os.Readlink("/proc/self/exe"); err == nil {
		syscall.Exec(self[:strings.LastIndexByte(self, '/')+1]+"fsub-remote", os.Args, env) // returns if there is none
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
