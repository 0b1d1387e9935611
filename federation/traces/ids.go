package traces

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strings"

	"fsub/federation"
)

// Identity is where a job's spans stand.
type Identity struct {
	Trace  [16]byte
	Parent [8]byte // the span that the job was submitted in; zero: none that we know of
	asked  bool    // whoever submitted the job has its trace sampled
}

// variable carries the identity of a span to programs: see the specification of W3C's trace context, and OpenTelemetry's of environment variables as carriers.
const variable = "TRACEPARENT"

// IdentityOf is the identity of a job of a federation: the submitter's if the job's environment has one, else one that the job always has, whoever asks.
func IdentityOf(name string, j *federation.Job, env []string) Identity {
	for _, e := range env {
		if text, found := strings.CutPrefix(e, variable+"="); found {
			if id, ok := parse(text); ok {
				return id
			}
		}
	}
	var id Identity
	sum := sha256.Sum256(fmt.Appendf(nil, "fsub job of %s: %d at %d", name, j.ID, j.Submit.UnixMilli()))
	copy(id.Trace[:], sum[:])
	return id
}

// parse reads a traceparent of version 00: 00-TRACE-PARENT-FLAGS. Of later versions what comes behind the flags is left out, as the specification wants it.
func parse(text string) (id Identity, ok bool) {
	parts := strings.Split(text, "-")
	if len(parts) < 4 || len(parts[0]) != 2 || parts[0] == "ff" || parts[0] == "00" && len(parts) > 4 {
		return id, false
	}
	var version, flags [1]byte
	for i, to := range [][]byte{version[:], id.Trace[:], id.Parent[:], flags[:]} {
		if len(parts[i]) != 2*len(to) || strings.ToLower(parts[i]) != parts[i] {
			return Identity{}, false
		}
		if _, err := hex.Decode(to, []byte(parts[i])); err != nil {
			return Identity{}, false
		}
	}
	id.asked = flags[0]&1 != 0
	return id, id.Trace != [16]byte{} && id.Parent != [8]byte{}
}

// Sampled reports whether the trace is among a share of all traces. All of one trace are, or none.
func (id *Identity) Sampled(share float64) bool {
	return id.asked || share >= 1 || float64(binary.BigEndian.Uint64(id.Trace[8:])>>11) < share*math.Exp2(53)
}

// span is the identity of a part of a job's life.
func (id *Identity) span(job federation.JobID, words ...any) (out [8]byte) {
	sum := sha256.Sum256(fmt.Append(id.Trace[:], append([]any{" ", job, " "}, words...)...))
	copy(out[:], sum[:])
	return out
}

// attempt is the span of an attempt. It is known before the attempt begins, and given to the job.
func (id *Identity) attempt(j federation.JobID, number int) [8]byte {
	return id.span(j, "attempt ", number)
}

// Environment returns the environment of a job's attempt, in which programs find the attempt's span as their parent. env is not changed.
func Environment(name string, share float64, j *federation.Job, env []string) []string {
	id := IdentityOf(name, j, env)
	flags := 0
	if id.Sampled(share) {
		flags = 1
	}
	out := make([]string, 0, len(env)+1)
	for _, e := range env {
		if !strings.HasPrefix(e, variable+"=") {
			out = append(out, e)
		}
	}
	return append(out, fmt.Sprintf("%s=00-%x-%x-%02x", variable, id.Trace, id.attempt(j.ID, j.Attempt), flags))
}
