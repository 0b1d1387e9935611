package sbatch

import (
	"strings"
)

// Values that say what binds to what and how fast it runs. Found by trying sbatch 22.05.8, 24.11.5 and 26.05.5.

// checkGPUBind looks at [verbose,]TYPE[:LIST]. What follows single: and per_task: is looked at by
// nobody before the job runs.
func checkGPUBind(release Release, v string) error {
	kind := v
	if first, rest, ok := strings.Cut(v, ","); ok && strings.EqualFold(first, "verbose") {
		kind = rest
	}
	word, list, listed := strings.Cut(strings.ToLower(kind), ":")
	said, letters := v, 7
	if release < Slurm2411 {
		said, letters = "gpu:"+v, 1
	}
	invalid := "sbatch: error: Invalid --gpu-bind argument: " + said
	switch {
	case strings.HasPrefix(word, "closest"[:letters]), strings.HasPrefix(word, "none"[:min(letters, 4)]): // whatever follows
		return nil
	case listed && (word == "single" || word == "per_task"):
		if n, _, _ := number(list); n >= 0 {
			return nil
		}
	case listed && (word == "map_gpu" || word == "mask_gpu" || release >= Slurm2411 && (word == "map" || word == "mask")):
		bad, c := badNumber(list, strings.HasPrefix(word, "mask"))
		if c == "" {
			return nil
		}
		return exit(exitBadOption, "sbatch: error: Failed to validate "+bad+", offending character is "+c, invalid)
	}
	return exit(exitBadOption, invalid)
}

// badNumber returns the first item of a list that is not a number (or mask of hexadecimal digits),
// and its first wrong character. "*N" may follow one.
func badNumber(list string, mask bool) (item, char string) {
	for _, item := range strings.Split(list, ",") {
		n, _, _ := strings.Cut(item, "*")
		if mask {
			n = strings.TrimPrefix(n, "0x")
		}
		for i := 0; i < len(n); i++ {
			if c := n[i]; (c < '0' || c > '9') && (!mask || c|0x20 < 'a' || c|0x20 > 'f') {
				return item, n[i : i+1]
			}
		}
	}
	return "", ""
}

// setGPUFreq takes [memory=]VALUE items with commas, among which verbose may stand.
func setGPUFreq(p *parser, o *option, v string) error {
	for _, item := range strings.Split(v, ",") {
		if item == "" {
			continue
		}
		switch value := strings.TrimPrefix(item, "memory="); {
		case item == "verbose" || digits(value):
		case value == "low" || value == "medium" || value == "high" || value == "highm1":
		default:
			return errorLine(exitBadOption, "Invalid --gpu-freq argument: gpu:", v)
		}
	}
	if v == "" {
		return errorLine(exitBadOption, "Invalid --gpu-freq argument: gpu:", v)
	}
	return text(&p.more().GPUFreq, v)
}

// memBind is --mem-bind while it is read: of several ones the flags add up and the last type counts.
type memBind struct {
	verbose, sorted, prefer bool
	kind, list              string
}

// setMemBind takes flags and one type, with commas; the list of a map or mask takes the rest.
func setMemBind(p *parser, o *option, v string) error {
	m := &p.own.memBind
	if strings.Trim(v, ",") == "" {
		return errorLine(exitBadOption, `unrecognized --mem-bind argument "`, v, `"`)
	}
	for rest := v; rest != ""; {
		var word string
		word, rest, _ = strings.Cut(rest, ",")
		name, list, listed := strings.Cut(strings.ToLower(word), ":")
		sorts := p.release < Slurm2605
		switch {
		case name == "help":
			return &Exit{Code: 0, Stdout: memBindHelp(sorts)}
		case name == "q" || name == "quiet":
			m.verbose = false
		case name == "v" || name == "verbose":
			m.verbose = true
		case name == "p" || name == "prefer":
			m.prefer = true
		case sorts && (name == "sort" || name == "nosort"):
			m.sorted = name == "sort"
		case name == "no" || name == "none":
			m.kind, m.list = "none", ""
		case name == "rank" || name == "local":
			m.kind, m.list = name, ""
		case name == "map_mem" || name == "mapmem" || name == "mask_mem" || name == "maskmem":
			kind := name[:strings.Index(name, "mem")]
			kind = strings.TrimSuffix(kind, "_") + "_mem"
			if rest != "" {
				list, rest = list+","+rest, ""
			}
			if !listed || list == "" {
				return errorLine(exitBadOption, `missing list for "--mem-bind=`, kind, `:<list>"`)
			}
			if bad, c := badNumber(list, kind == "mask_mem"); c != "" {
				return errorLine(exitBadOption, "Failed to validate number: ", bad, ", the offending character is ", c)
			}
			if kind == "mask_mem" {
				list = strings.ReplaceAll(","+list, ",0x", ",")[1:]
			}
			m.kind, m.list = kind, ":"+list
		case name == "" && !listed:
		default:
			return errorLine(exitBadOption, `unrecognized --mem-bind argument "`, word, `"`)
		}
	}
	return text(&p.more().MemBind, m.String())
}

// String is sbatch's form: "verbose,local".
func (m *memBind) String() string {
	s := ""
	for _, f := range [...]struct {
		on   bool
		word string
	}{{m.verbose, "verbose"}, {m.sorted, "sort"}, {m.prefer, "prefer"}, {m.kind != "", m.kind + m.list}} {
		if f.on {
			s += "," + f.word
		}
	}
	return strings.TrimPrefix(s, ",")
}

func memBindHelp(sorts bool) string {
	text := "Memory bind options:\n    --mem-bind=         Bind memory to locality domains (ldom)\n"
	if sorts {
		text += "        nosort          avoid sorting pages at startup\n        sort            sort pages at startup\n"
	}
	return text + "        q[uiet]         quietly bind before task runs (default)\n" +
		"        v[erbose]       verbosely report binding before task runs\n" +
		"        no[ne]          don't bind tasks to memory (default)\n" +
		"        rank            bind by task rank\n" +
		"        local           bind to memory local to processor\n" +
		"        map_mem:<list>  specify a memory binding for each task\n" +
		"                        where <list> is <cpuid1>,<cpuid2>,...<cpuidN>\n" +
		"        mask_mem:<list> specify a memory binding mask for each tasks\n" +
		"                        where <list> is <mask1>,<mask2>,...<maskN>\n" +
		"        help            show this help message\n"
}
