package submit

import (
	"errors"

	"fsub/cmd/internal/conn"
	"fsub/sbatch"
)

// Allocate submits the job that args and env describe to sbatch, as called by line, and returns its number. Without one, code is the exit code. The lines are for stderr, in
// sbatch's words; what is to be said while it waits goes to say.
func Allocate(line string, args, env []string, c *conn.Conn, say func(line string)) (id string, code int, lines []string) {
	in, err := caller(args, env)
	if err != nil {
		return "", 1, []string{"sbatch: error: " + err.Error()}
	}
	req, err := parse(in, c)
	if exit := (*sbatch.Exit)(nil); errors.As(err, &exit) {
		return "", exit.Code, exit.Stderr
	} else if err != nil {
		return "", 1, []string{"sbatch: error: " + err.Error()}
	}
	req.Spec.SubmitLine = line
	id, _, more, ok := send(in.Host, req, c, false, say)
	lines = append(req.Warnings, more...)
	if !ok {
		return "", req.ExitError, lines
	}
	return id, 0, lines
}

// Line is a call of a command as sacct shows it, in one line.
func Line(name string, args []string) string { return submitLine(name, args) }
