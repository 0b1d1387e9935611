package sbatch

import (
	"strconv"
	"strings"
)

// mostHeartbeat bounds the name of a heartbeat file, in bytes.
const mostHeartbeat = 1024

// setHeartbeat takes a file name with patterns, of which %n or %N tells nodes apart.
func setHeartbeat(f *Fed, v string) (why string) {
	if why := InvalidHeartbeat(v); why != "" {
		return why
	}
	f.Heartbeat = v
	return ""
}

// InvalidHeartbeat says what is wrong with the FILE of --heartbeat; "": nothing.
func InvalidHeartbeat(v string) string {
	switch {
	case v == "" || len(v) > mostHeartbeat || strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "want a file name of 1 to " + strconv.Itoa(mostHeartbeat) + " bytes, such as /tmp/beat-%j-%n, got " + strconv.Quote(v[:min(len(v), 60)])
	case FileName(v, FileVars{Job: 1, NodeID: 1, Node: "a"}) == FileName(v, FileVars{Job: 1, NodeID: 2, Node: "b"}):
		return "want a file of its own for each node: a name with %n (the node's number in the job) or %N (its host name), such as /tmp/beat-%j-%n, got " + strconv.Quote(v)
	}
	return ""
}

// Heartbeat is the name, with patterns, of the file into which each node of the job writes the number of the step that it has done; "": it does not.
func (s *Spec) Heartbeat() string {
	if s == nil || s.Fed == nil {
		return ""
	}
	return s.Fed.Heartbeat
}
