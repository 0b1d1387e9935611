package simsite

import (
	"strconv"
	"strings"
	"time"
)

// Behaviour is what a job's script does at the node.
type Behaviour struct {
	Run  time.Duration
	Exit int32 // as wait(2) gives it: exit code << 8 | signal
	// Traps maps a signal's name to what the batch shell does on it; a signal without a trap ends the shell.
	Traps map[string]Trap
	// Steps: the script runs srun, so that a signal to the steps has somebody to reach.
	Steps bool
	// KillsNode: the node goes down when the script would have ended.
	KillsNode bool
}

// Trap is the action of a shell's trap.
type Trap struct {
	Exits bool
	Code  int32 // wait(2) status, if Exits
}

// Forever is the run time of a script that does not end by itself.
const Forever = 1000 * time.Hour

// ParseScript tells what a script does. A line "#SIM run=30s exit=3 node=down" says it outright. Otherwise the lines are
// read as shell of which sleep, exit, false, kill -N $$, trap, wait, srun and endless loops are understood, and
// the rest takes no time. A script that says nothing runs for one second.
func ParseScript(script string) Behaviour {
	b := Behaviour{}
	timed := false
	if !strings.HasPrefix(script, "#!") {
		b.Exit = 8 << 8 // "Exec format error", as seen on 24.11
		return b
	}
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "#SIM"); ok {
			return parseSim(rest)
		}
		if line == "" || line[0] == '#' {
			continue
		}
		for _, cmd := range splitCommands(line) {
			t, done := b.step(strings.Fields(cmd))
			timed = timed || t
			if done {
				return b.finish(timed)
			}
		}
	}
	return b.finish(timed)
}

func (b Behaviour) finish(timed bool) Behaviour {
	if !timed {
		b.Run = time.Second
	}
	return b
}

func parseSim(rest string) Behaviour {
	b := Behaviour{Run: time.Second}
	for _, f := range strings.Fields(rest) {
		k, v, _ := strings.Cut(f, "=")
		switch k {
		case "run":
			if d, err := time.ParseDuration(v); err == nil {
				b.Run = d
			}
		case "exit":
			n, _ := strconv.Atoi(v)
			b.Exit = int32(n&255) << 8
		case "signal":
			b.Exit = int32(signalNumber(v))
		case "steps":
			b.Steps = true
		case "node":
			b.KillsNode = v == "down"
		}
	}
	return b
}

// splitCommands cuts a line at ";", "&&" and "&" outside quotes.
func splitCommands(line string) []string {
	var out []string
	var quote rune
	start := 0
	for i, r := range line {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '\'' || r == '"':
			quote = r
		case r == ';' || r == '&':
			if i > 0 && (line[i-1] == '>' || line[i-1] == '<') {
				continue
			}
			out = append(out, line[start:i])
			start = i + 1
		}
	}
	return append(out, line[start:])
}

// step adds one command; it reports whether the command says something of the time, and whether the script ends there.
func (b *Behaviour) step(w []string) (timed, done bool) {
	for len(w) > 0 && (w[0] == "exec" || w[0] == "srun" || w[0] == "do" || strings.HasPrefix(w[0], "-")) {
		b.Steps = b.Steps || w[0] == "srun"
		w = w[1:]
	}
	if len(w) == 0 {
		return false, false
	}
	switch w[0] {
	case "sleep":
		if len(w) > 1 {
			b.Run += sleepTime(w[1])
		}
		return true, false
	case "while", "until":
		b.Run = Forever
		return true, true
	case "false":
		b.Exit = 1 << 8
	case "exit":
		if len(w) > 1 {
			n, _ := strconv.Atoi(w[1])
			b.Exit = int32(n&255) << 8
		}
		return false, true
	case "kill":
		if len(w) == 3 && strings.Contains(w[2], "$$") {
			b.Exit = int32(signalNumber(strings.TrimPrefix(w[1], "-")))
			return false, true
		}
	case "trap":
		b.trap(strings.Join(w[1:], " "))
	default:
		b.Exit = 0
	}
	return false, false
}

func sleepTime(s string) time.Duration {
	if s == "infinity" {
		return Forever
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		return time.Duration(f * float64(time.Second))
	}
	d, _ := time.ParseDuration(s)
	return d
}

// trap reads "'action' SIG SIG".
func (b *Behaviour) trap(arg string) {
	if arg == "" {
		return
	}
	action, sigs, ok := arg, "", false
	if q := arg[0]; q == '\'' || q == '"' {
		action, sigs, ok = strings.Cut(arg[1:], string(q))
	} else {
		action, sigs, ok = strings.Cut(arg, " ")
	}
	if !ok {
		return
	}
	t := Trap{}
	for _, cmd := range splitCommands(action) {
		if w := strings.Fields(cmd); len(w) > 0 && w[0] == "exit" {
			t.Exits = true
			if len(w) > 1 {
				n, _ := strconv.Atoi(w[1])
				t.Code = int32(n&255) << 8
			}
		}
	}
	if b.Traps == nil {
		b.Traps = map[string]Trap{}
	}
	for _, s := range strings.Fields(sigs) {
		b.Traps[signalName(s)] = t
	}
}

var signals = map[string]int{"HUP": 1, "INT": 2, "QUIT": 3, "ABRT": 6, "KILL": 9, "USR1": 10, "SEGV": 11, "USR2": 12,
	"PIPE": 13, "ALRM": 14, "TERM": 15, "CONT": 18, "STOP": 19, "TSTP": 20, "URG": 23, "XCPU": 24}

// signalNumber reads "USR1", "SIGUSR1" or "10"; 0 if it is none of them.
func signalNumber(s string) int {
	if n, err := strconv.Atoi(s); err == nil {
		return n
	}
	return signals[strings.TrimPrefix(strings.ToUpper(s), "SIG")]
}

func signalName(s string) string {
	n := signalNumber(s)
	for name, m := range signals {
		if m == n {
			return name
		}
	}
	return s
}
