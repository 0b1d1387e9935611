package sbatch

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Retry says when a job that has ended badly is run again by itself, and with how much more. The zero value of a field: it was not asked for.
type Retry struct {
	Most int      `json:"most,omitempty"` // how often at most
	On   []string `json:"on,omitempty"`   // after which ends: "exit" (any code but 0), "exit=3", "exit=100-120", "oom", "timeout", "node"; nil: exit, oom and timeout
	Mem  float64  `json:"mem,omitempty"`  // by what memory is multiplied after "oom"
	Time float64  `json:"time,omitempty"` // by what the time limit is multiplied after "timeout"
}

// Bounds of a Retry.
const (
	mostRetries = 20
	mostGrowth  = 10
	mostRetryOn = 32
)

// Ends after which a job may be run again.
const (
	RetryExit    = "exit"
	RetryMemory  = "oom"
	RetryTimeout = "timeout"
	RetryNode    = "node"
)

// After reports whether a job is run again after an end of that kind; code is the exit code of RetryExit.
func (r *Retry) After(kind string, code int) bool {
	if r == nil || r.Most == 0 {
		return false
	}
	if r.On == nil {
		return kind != RetryNode
	}
	return slices.ContainsFunc(r.On, func(on string) bool {
		on, codes, some := strings.Cut(on, "=")
		if on != kind || !some {
			return on == kind
		}
		first, last, ok := exitCodes(codes)
		return ok && first <= code && code <= last
	})
}

// exitCodes reads "3" or "100-120".
func exitCodes(text string) (first, last int, ok bool) {
	from, to, span := strings.Cut(text, "-")
	if !span {
		to = from
	}
	a, err1 := strconv.ParseUint(from, 10, 8)
	b, err2 := strconv.ParseUint(to, 10, 8)
	return int(a), int(b), err1 == nil && err2 == nil && a > 0 && a <= b
}

// Why says what is wrong with r; "": nothing.
func (r *Retry) Why() string {
	switch {
	case r == nil:
		return ""
	case r.Most == 0 && (r.Mem != 0 || r.Time != 0 || r.On != nil):
		return "--retry-mem and --retry-time say how a job grows that --retry runs again: give --retry=N"
	case r.Most < 0 || r.Most > mostRetries:
		return "want 1 to " + strconv.Itoa(mostRetries) + " retries, got " + strconv.Itoa(r.Most)
	case len(r.On) > mostRetryOn:
		return "want at most " + strconv.Itoa(mostRetryOn) + " kinds of end"
	}
	for _, on := range r.On {
		if why := invalidEnd(on); why != "" {
			return why
		}
	}
	for _, f := range [...]float64{r.Mem, r.Time} {
		if f != 0 && !(f > 1 && f <= mostGrowth) {
			return "want a factor above 1, and at most " + strconv.Itoa(mostGrowth) + ", such as x1.5, got " + strconv.FormatFloat(f, 'g', -1, 64)
		}
	}
	return ""
}

func invalidEnd(on string) string {
	kind, codes, some := strings.Cut(on, "=")
	_, _, ok := exitCodes(codes)
	if some && kind == RetryExit && ok || !some && slices.Contains([]string{RetryExit, RetryMemory, RetryTimeout, RetryNode}, kind) {
		return ""
	}
	return "want N, or N: and some of exit, exit=CODE, exit=CODE-CODE, oom, timeout and node with commas, such as 3:exit=75,oom, got " + strconv.Quote(on)
}

// ownRetry is a copy of the Retry of f, to be changed.
func (f *Fed) ownRetry() *Retry {
	r := Retry{}
	if f.Retry != nil {
		r = *f.Retry
	}
	f.Retry = &r
	return f.Retry
}

// setRetry takes N or N:END,END...; of exit=1,2 the second is an exit code, too.
func setRetry(f *Fed, v string) (why string) {
	r := f.ownRetry()
	number, ends, some := strings.Cut(v, ":")
	n, err := strconv.ParseUint(number, 10, 8)
	if err != nil || n == 0 {
		return invalidEnd(v)
	}
	if r.Most, r.On = int(n), nil; some {
		codes := false
		for end := range strings.SplitSeq(ends, ",") {
			if _, _, code := exitCodes(end); codes && code {
				end = RetryExit + "=" + end
			}
			codes = strings.HasPrefix(end, RetryExit+"=")
			r.On = append(r.On, end)
		}
	}
	return r.Why()
}

func setRetryMem(f *Fed, v string) (why string)  { return factor(&f.ownRetry().Mem, v) }
func setRetryTime(f *Fed, v string) (why string) { return factor(&f.ownRetry().Time, v) }

// factor takes x1.5 or 1.5.
func factor(field *float64, v string) (why string) {
	n, err := strconv.ParseFloat(strings.TrimPrefix(v, "x"), 64)
	if err != nil || !(n > 1 && n <= mostGrowth) {
		return "want a factor above 1, and at most " + strconv.Itoa(mostGrowth) + ", such as x1.5, got " + strconv.Quote(v)
	}
	*field = n
	return ""
}

// options writes r as words of a command line.
func (r *Retry) options(w *words) {
	if r == nil {
		return
	}
	if r.Most != 0 {
		w.text("fed-retry", r.text())
	}
	if r.Mem != 0 {
		w.add("fed-retry-mem", "x"+strconv.FormatFloat(r.Mem, 'f', -1, 64))
	}
	if r.Time != 0 {
		w.add("fed-retry-time", "x"+strconv.FormatFloat(r.Time, 'f', -1, 64))
	}
}

func (r *Retry) text() string {
	text := strconv.Itoa(r.Most)
	if r.On != nil {
		text += ":" + strings.Join(r.On, ",")
	}
	return text
}

// String is r for people: "3 times at most, after oom or timeout; memory x2, time x1.5".
func (r *Retry) String() string {
	text := strconv.Itoa(r.Most) + " times at most"
	if r.Most == 1 {
		text = "once at most"
	}
	if r.On != nil {
		text += ", after " + strings.Join(r.On, " or ")
	}
	var grows []string
	for _, g := range []struct {
		what string
		by   float64
	}{{"memory", r.Mem}, {"time", r.Time}} {
		if g.by != 0 {
			grows = append(grows, g.what+" x"+strconv.FormatFloat(g.by, 'f', -1, 64))
		}
	}
	if grows != nil {
		text += "; " + strings.Join(grows, ", ")
	}
	return text
}

// Retries is when the job is run again; nil: never by itself.
func (s *Spec) Retries() *Retry {
	if s == nil || s.Fed == nil {
		return nil
	}
	return s.Fed.Retry
}

// Grow multiplies what the job asks for of memory or time, as its Retry says of an end of that kind, and says how; "": nothing grows.
func (s *Spec) Grow(kind string) (how string) {
	r := s.Retries()
	switch {
	case r == nil:
	case kind == RetryMemory && r.Mem > 0:
		for _, m := range [...]struct {
			what string
			is   *MemMiB
		}{{"memory of a node", &s.MemPerNode}, {"memory of a CPU", &s.MemPerCPU}, {"memory of a GPU", &s.MemPerGPU}} {
			if *m.is > 0 {
				was := *m.is
				*m.is = MemMiB(math.Ceil(float64(was) * r.Mem))
				return m.what + " from " + strconv.FormatInt(int64(was), 10) + "M to " + strconv.FormatInt(int64(*m.is), 10) + "M"
			}
		}
	case kind == RetryTimeout && r.Time > 0 && s.TimeLimit > 0 && s.TimeLimit != Unlimited:
		was := s.TimeLimit
		s.TimeLimit = time.Duration(math.Ceil(was.Minutes()*r.Time)) * time.Minute
		return "time limit from " + was.String() + " to " + s.TimeLimit.String()
	}
	return ""
}
