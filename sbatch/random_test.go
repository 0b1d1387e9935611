package sbatch

import (
	"math/rand/v2"
	"slices"
	"strings"

	"fsub/sbatch/getopt"
)

// pools of values, good and bad, by kind of option; the fuzzing is in how they are cut up and put together.
var valuePools = map[string][]string{
	"time":  {"5", "90:00", "1:2:3", "1-2", "1-2:3", "1-2:3:4", "0", "-1", "-7", "UNLIMITED", "infinite", "1h", "5:", ":5", "1-", "1:2:3:4", "99999999", "", "1-:5", "0:1", "00:00:59", "2-0"},
	"mem":   {"4G", "100", "0", "1k", "1025K", "2tb", "7MB", "4GiB", "4.5G", "-1", "G", "", " 5", "+6", "1b", "1P", "12g"},
	"count": {"1", "4", "16", "0", "-1", "4k", "2-4", "4.0", "", " 3", "+2", "99999999999", "2147483648", "0x10", "007"},
	"nodes": {"2", "2-4", "4-2", "1k", "2m-3M", "0", "-3", "1,2", "1-4:2", "a", "1x", "2.", "1-", "", "1,a", "2-3-4", " 2", "2 ", "+2", "1,1", "3,1", "1-6:2", "1:2", "99999999999", "2k-"},
	"begin": {"now", "+", "-", "5", "10", "3", "hour", "hours", "minutes", "day", "weeks", "sec", "seconds", "16:00", "8:30", "pm", "am", "23:59:59", "24:00", "today", "tomorrow", "noon", "midnight", "fika", "teatime", "elevenses", "12/25", "1/2/27", "122526", "12.25.26", "2027-01-02", "T", " ", "10:20", "2027-01-02T03:04:05", "uts1800000000", "x", "123", "7", "/", ".", ":", "11/20", "11/21", "2026-11-20"},
	"mail":  {"END", "begin", "ALL", "NONE", "FAIL,END", "TIME_LIMIT_50", "bogus", "ARRAY_TASKS", "BEGIN,bogus", "", "end,", "TIMEOUT", "stage_out,requeue"},
	"signal": {"USR1", "B:USR1@60", "R:TERM", "BR:10@5", "SIGINT", "9", "@5", "usr2@65536", "TERM@", "B:", "X:1", "BUSR1", "40", "HUP@5x",
		"BB:1", ":INT", "RTTOU@7", "b:cont", "64", "SEGV", "", "B", "R", "BTERM@3", "B@4", "10x", "INT@-1", "USR1@ 5"},
	"switches":   {"2", "2@10", "2@1:30", "0", "x", "2@", "3@abc", "1@UNLIMITED", "@5", ""},
	"hint":       {"nomultithread", "multithread", "compute_bound", "Memory_Bound", "bogus"},
	"-B":         {"1", "2:4", "1:*:1", "*:2", "*:*:2", "1-2:4", "a", "1:b", "1:2:3:4", "-1", "2:4:1"},
	"-m":         {"block", "cyclic", "*", "block:*", "cyclic:*:fcyclic", "block:fcyclic", "*:*:*", "plane=4", "plane", "plane=0", "block,Pack", "Cyclic:Block,nopack", "fcyclic", "block:cyclic:block:x", "block,foo"},
	"choice":     {"yes", "no", "0", "1", "2", "set", "off", "", "x", "NO"},
	"profile":    {"all", "none", "task", "energy,task", "x", "task,none", "Network,LUSTRE", "task,x", ""},
	"flags":      {"enforce-binding", "disable-binding", "enforce-binding,disable-binding", "x", "Disable-Binding", ""},
	"freq":       {"30", "task=30", "task=30,energy=60", "x", "task=x", "network=0", "30,task=10", ""},
	"cpu-freq":   {"low", "HighM1", "medium", "ondemand", "perf", "powersave", "low-high", "low-high:ondemand", "1000-high:performance", "1000-2000:userspace", "2000-1000:ondemand", "high:userspace", "1000:performance", "12x", "0", "x", "low-x:ondemand", "low-high:x", "2000000", ":ondemand", "low-"},
	"gpu-freq":   {"low", "high,memory=low", "1500", "x", "verbose", "verbose,1500", "memory=", "memory=5", "LOW", "low,", "", "highm1", "memory=x", "5,x"},
	"gpu-bind":   {"closest", "None", "single:2", "per_task:1", "map_gpu:0,1", "mask_gpu:0x3", "map:1", "mask:f", "verbose,closest", "x", "verbose", "single", "map_gpu:x", "mask_gpu:g", "gpu:closest", "", "closest,x", "map_gpu:0*2"},
	"mem-bind":   {"local", "rank", "none", "verbose", "quiet", "v,local", "prefer,rank", "sort", "nosort,local", "map_mem:0,1", "mask_mem:0x1,2", "map_mem", "map_mem:x", "x", "", ",", "local,x", "q", "rank,local"},
	"mem-update": {"5@10", "5", "5@", "@5", "x@5", "0@0"},
	"power":      {"level", "x", "level,x", ""},
	"tres":       {"cpu=2", "gres/gpu=1", "gres/gpu:a100=2", "cpu=2,gres/gpu=1", "license/x=1", "gres/gpu:1", "gres/nvme=1", "x"},
	"text":       {"x", "a b", "", "none", "NONE", "/dev/null", "a/b", "%x-%j.out", "gpu:2", "h100:1,nvme:2", "gres/gpu:1", "a,b", "é", "~", "$HOME", "0", "user", "truncate", "append", "t", "5", "-5", "x:y", "ALL", "n[1-3]"},
}

func poolOf(o *option) []string {
	switch o.name {
	case "time", "time-min", "delay-boot":
		return valuePools["time"]
	case "mem", "mem-per-cpu", "mem-per-gpu", "tmp":
		return valuePools["mem"]
	case "nodes", "mail-type", "signal", "switches":
		return valuePools[strings.TrimSuffix(o.name, "-type")]
	case "begin", "deadline":
		return valuePools["begin"]
	case "hint", "profile":
		return valuePools[o.name]
	case "extra-node-info":
		return valuePools["-B"]
	case "distribution":
		return valuePools["-m"]
	case "no-kill", "wait-all-nodes", "oom-kill-step", "kill-on-invalid-dep":
		return valuePools["choice"]
	case "gres-flags":
		return valuePools["flags"]
	case "cpu-freq", "gpu-freq", "gpu-bind", "mem-bind", "mem-update", "power":
		return valuePools[o.name]
	case "acctg-freq":
		return valuePools["freq"]
	case "tres-per-task":
		return valuePools["tres"]
	case "ntasks", "cpus-per-task", "ntasks-per-node", "tasks-per-node", "mincpus", "core-spec", "nice", "thread-spec",
		"threads-per-core", "cores-per-socket", "sockets-per-node", "ntasks-per-core", "ntasks-per-socket", "ntasks-per-gpu", "cpus-per-gpu",
		"segment", "priority":
		return valuePools["count"]
	}
	return valuePools["text"]
}

func pick(r *rand.Rand, list []string) string { return list[r.IntN(len(list))] }

func randomValue(r *rand.Rand, o *option) string {
	v := pick(r, poolOf(o))
	if o.name == "begin" || o.name == "deadline" {
		for range r.IntN(4) {
			v += pick(r, poolOf(o))
		}
	}
	if r.IntN(12) == 0 && v != "" { // one character changed
		i := r.IntN(len(v))
		v = v[:i] + string("0159-:+,xG. @T"[r.IntN(14)]) + v[i+1:]
		v = strings.ToValidUTF8(v, "?") // sbatch's JSON has no other bytes
	}
	return v
}

// skipped are options that end the call, or that depend on the machine.
var skipped = map[string]bool{"autocomplete": true, "uid": true, "gid": true, "help": true, "usage": true, "version": true,
	"quiet": true, "verbose": true, "wrap": true, "external": true}

// randomWords is an option as it may be written.
func randomWords(r *rand.Rand, release Release) []string {
	var o *option
	for o == nil || skipped[o.name] {
		o = &options[r.IntN(len(options))]
		if !o.in(release) {
			o = nil
			continue
		}
		if o.class == refused && r.IntN(3) > 0 {
			o = nil // the carried ones matter most
		}
	}
	v := randomValue(r, o)
	name := o.name
	if r.IntN(10) == 0 {
		name = name[:1+r.IntN(len(name))]
	}
	short := o.short != 0 && r.IntN(2) == 0
	if o.arg == getopt.NoArg && r.IntN(20) > 0 {
		if short {
			return []string{"-" + string(rune(o.short))}
		}
		return []string{"--" + name}
	}
	switch {
	case short && o.arg == getopt.RequiredArg && r.IntN(2) == 0:
		return []string{"-" + string(rune(o.short)), v}
	case short:
		return []string{"-" + string(rune(o.short)) + v}
	case o.arg == getopt.RequiredArg && r.IntN(3) == 0:
		return []string{"--" + name, v}
	case o.arg == getopt.OptionalArg && r.IntN(3) == 0:
		return []string{"--" + name}
	}
	return []string{"--" + name + "=" + v}
}

func randomCall(r *rand.Rand, release Release) call {
	c := call{release: release, script: "#!/bin/sh\n"}
	for range r.IntN(4) {
		c.script += randomDirective(r, release)
	}
	for range r.IntN(3) {
		c.args = append(c.args, randomWords(r, release)...)
	}
	if r.IntN(3) == 0 {
		c.env = append(c.env, randomVariable(r, release))
	}
	// Any word that is no option would be the script's name.
	c.args = slices.DeleteFunc(c.args, func(w string) bool { return w == ":" }) // what sbatch makes of such a value is odd
	_, operands, err := newOptionSet(release, nil).Parse(c.args, getopt.StopAtFirst)
	if err == nil && len(operands) > 0 {
		c.args = c.args[:len(c.args)-len(operands)]
	}
	return c
}

func randomVariable(r *rand.Rand, release Release) string {
	for {
		o := &options[r.IntN(len(options))]
		if o.env == "" || !o.in(release) || skipped[o.name] {
			continue
		}
		v := randomValue(r, o)
		if o.arg == getopt.NoArg {
			v = pick(r, []string{"", "yes", "no", "0", "1", "x", "YES", "2x"})
		}
		return strings.Fields(o.env)[0] + "=" + v
	}
}

// randomDirective writes some options as one #SBATCH line, with quotes, comments and other noise.
func randomDirective(r *rand.Rand, release Release) string {
	line := pick(r, []string{"#SBATCH", "#SBATCH ", "#SBATCH\t", "#SBATCH  ", "#SBATCH ", "#SBATCH ", " #SBATCH ", "##SBATCH ", "# SBATCH "})
	for range 1 + r.IntN(2) {
		for _, w := range randomWords(r, release) {
			line += " " + quoted(r, w)
		}
	}
	if r.IntN(6) == 0 {
		line += pick(r, []string{" # it's", "#x", " \\", " \\#y", " '", " \"\"", " \"a", " ''", " a", " \\ ", "\\", " \\\\", " \\'x"})
	}
	if r.IntN(20) == 0 {
		line += pick(r, []string{"\nX=1", "\n\n", "\n   # c", "\n\f"})
	}
	return line + "\n"
}

func quoted(r *rand.Rand, w string) string {
	switch r.IntN(8) {
	case 0:
		return `"` + w + `"`
	case 1:
		return `'` + w + `'`
	case 2:
		if i := strings.IndexByte(w, '='); i > 0 {
			return w[:i+1] + `"` + w[i+1:] + `"`
		}
	case 3:
		if len(w) > 2 {
			i := 1 + r.IntN(len(w)-1)
			return w[:i] + pick(r, []string{`\`, `"`, `'`, `#`, `""`, `\"`}) + w[i:]
		}
	}
	return w
}
