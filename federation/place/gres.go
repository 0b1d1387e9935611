package place

import (
	"strconv"
	"strings"
)

// gresAsk is one GRES that is asked for: two gpu of type h100. Type "" takes any.
type gresAsk struct {
	Name, Type string
	Count      int
}

// parseGRES reads --gres: "gpu:h100:2,nvme" with or without a "gres/" or "gres:" before each. A count of zero asks for nothing.
// What it cannot read is left to the site (ok is false).
func parseGRES(s string) (asks []gresAsk, ok bool) {
	ok = true
	for _, item := range strings.Split(s, ",") {
		item = strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(item), "gres/"), "gres:")
		if item == "" || item == "none" {
			continue
		}
		name, rest, _ := strings.Cut(strings.Replace(item, "=", ":", 1), ":")
		a, good := parseTypeCount(name, rest)
		ok = ok && good
		if good && a.Count > 0 {
			asks = append(asks, a)
		}
	}
	return asks, ok
}

// parseGPUs reads the value of --gpus and its brothers: "4", "h100:4", "h100", or several of these with commas.
func parseGPUs(s string) (asks []gresAsk, ok bool) {
	ok = true
	for _, item := range strings.Split(s, ",") {
		item = strings.TrimPrefix(item, "gpu:")
		if item == "" {
			continue
		}
		a, good := parseTypeCount("gpu", item)
		ok = ok && good
		if good && a.Count > 0 {
			asks = append(asks, a)
		}
	}
	return asks, ok
}

// parseTypeCount reads "", "2", "h100", "h100:2".
func parseTypeCount(name, s string) (gresAsk, bool) {
	a := gresAsk{Name: name, Count: 1}
	if s == "" {
		return a, name != ""
	}
	kind, count, typed := strings.Cut(s, ":")
	if !typed {
		if n, good := gresCount(s); good {
			a.Count = n
			return a, name != ""
		}
	}
	a.Type = kind
	if typed {
		n, good := gresCount(count)
		if !good {
			return a, false
		}
		a.Count = n
	}
	return a, name != ""
}

// gresCount reads a count with Slurm's suffixes k and m (1024 and 1024 squared).
func gresCount(s string) (int, bool) {
	times := 1
	if s != "" {
		switch s[len(s)-1] {
		case 'k', 'K':
			times, s = 1<<10, s[:len(s)-1]
		case 'm', 'M':
			times, s = 1<<20, s[:len(s)-1]
		}
	}
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil || int64(n)*int64(times) > 1<<31-1 {
		return 0, false
	}
	return int(n) * times, true
}

// putGRES puts more into asks; of two of one kind the later one counts, as sbatch has it.
func putGRES(asks []gresAsk, more ...gresAsk) []gresAsk {
next:
	for _, m := range more {
		for i := range asks {
			if asks[i].Name == m.Name && asks[i].Type == m.Type {
				asks[i] = m
				continue next
			}
		}
		asks = append(asks, m)
	}
	return asks
}

// addGRES adds more to asks, joining equal kinds.
func addGRES(asks []gresAsk, more ...gresAsk) []gresAsk {
next:
	for _, m := range more {
		for i := range asks {
			if asks[i].Name == m.Name && asks[i].Type == m.Type {
				asks[i].Count += m.Count
				continue next
			}
		}
		asks = append(asks, m)
	}
	return asks
}

func (a gresAsk) String() string {
	if a.Type == "" {
		return a.Name
	}
	return a.Name + ":" + a.Type
}
