package api

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"math"
	"slices"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
	"fsub/sbatch"
)

// calls reads what programs ask for in sbatch's words.
type calls struct {
	now     func() time.Time
	options func(context.Context, identity.Caller, v1.None) ([]v1.PluginOption, error) // that plugins of sites add
}

// read reads a call by sbatch's rules, and puts the result in its place. A request without a call stays as it is.
func (s *calls) read(ctx context.Context, c identity.Caller, req *v1.SubmitRequest) error {
	call := req.Call
	switch {
	case call == nil:
		return nil
	case !strings.HasPrefix(call.Dir, "/"):
		return answer.BadBody("call: dir: want the absolute path of a directory")
	case call.Script != "" && !strings.HasPrefix(call.Script, "/"):
		return answer.BadBody("call: script: want an absolute path")
	case call.Script == "" && len(req.Payload.Argv) > 0:
		return answer.BadBody("call: a script without a path takes no arguments")
	}
	in := sbatch.Input{
		Args: slices.Clone(call.Args), Env: req.Payload.Environment, Dir: call.Dir, Host: req.SubmitHost, Root: c.UID == 0,
		Now:   s.now().In(time.FixedZone("", call.UTCOffset)),
		Umask: call.Umask, Nice: call.Nice, Limits: limitsOf(call),
		Files: scriptAlone{call.Script, req.Payload.Script},
		Stdin: func() ([]byte, error) { return []byte(req.Payload.Script), nil },
	}
	if call.Script != "" {
		in.Args = append(append(in.Args, call.Script), req.Payload.Argv...)
	}
	parsed, err := sbatch.Parse(in)
	if exit := (*sbatch.Exit)(nil); errors.As(err, &exit) && exit.Unknown {
		known, listErr := s.options(ctx, c, v1.None{})
		if listErr != nil {
			return listErr
		}
		for i := range known {
			in.Plugins = append(in.Plugins, known[i].Plugin())
		}
		if in.Plugins != nil {
			parsed, err = sbatch.Parse(in)
		}
	}
	if err != nil {
		return refusedCall(err)
	}
	req.Spec, req.Payload = parsed.Spec, parsed.Payload
	req.TestOnly, req.Explain = req.TestOnly || parsed.TestOnly, req.Explain || parsed.Explain
	return nil
}

// limitsOf are the soft limits of a call in the order of their names.
func limitsOf(call *v1.Call) func() []sbatch.Limit {
	if len(call.Limits) == 0 {
		return nil
	}
	return func() (all []sbatch.Limit) {
		for name, value := range call.Limits {
			limit := sbatch.Limit{Name: name, Value: math.MaxUint64}
			if value >= 0 {
				limit.Value = uint64(value)
			}
			all = append(all, limit)
		}
		slices.SortFunc(all, func(a, b sbatch.Limit) int { return cmp.Compare(a.Name, b.Name) })
		return all
	}
}

// scriptAlone is the script of a call as a file: the only one that there is for the daemon.
type scriptAlone struct{ path, text string }

func (f scriptAlone) Exists(name string) bool { return name == f.path }

func (f scriptAlone) Read(name string, limit int) ([]byte, error) {
	if name != f.path {
		return nil, fs.ErrNotExist
	}
	return []byte(f.text[:min(len(f.text), limit)]), nil
}

// refusedCall is what sbatch would have printed: its last line is the error, what stands before it the details.
func refusedCall(err error) error {
	exit := (*sbatch.Exit)(nil)
	if !errors.As(err, &exit) {
		return answer.BadBody(err.Error())
	}
	var lines []string
	for _, line := range exit.Stderr {
		lines = append(lines, strings.TrimPrefix(strings.TrimPrefix(line, "sbatch: "), "error: "))
	}
	if len(lines) == 0 {
		return answer.BadBody("call: args: an option that only prints something, and submits nothing")
	}
	return &federation.SlurmError{Kind: federation.ErrInvalid, Text: lines[0], Detail: strings.Join(lines[1:], "\n"), Alone: true}
}
