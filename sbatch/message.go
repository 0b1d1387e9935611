package sbatch

import "strings"

// exit refuses a call with lines that are complete with their prefix.
func exit(code int, lines ...string) error { return &Exit{Code: code, Stderr: lines} }

// errorLine refuses with one line of the form "sbatch: error: ...".
func errorLine(code int, parts ...string) error {
	return exit(code, "sbatch: error: "+strings.Join(parts, ""))
}

func fatal(text string) error { return exit(exitFatal, "sbatch: fatal: "+text) }

// notices are lines for stderr that fail nothing, and what decides which of them are printed.
type notices struct {
	lines   []string
	quiet   bool // -Q
	verbose int  // the number of -v
	explain bool // keep what -v would print, too
}

// warn keeps a line that is always printed.
func (n *notices) warn(line string) { n.lines = append(n.lines, line) }

// inform keeps a line that -Q suppresses.
func (n *notices) inform(line string) {
	if !n.quiet {
		n.warn(line)
	}
}

// informVerbose keeps a line that only -v prints.
func (n *notices) informVerbose(line string) {
	if n.verbose > 0 || n.explain {
		n.inform("sbatch: " + line)
	}
}

// before returns err with the notices before its own lines, as stderr has them. A call for help has no lines and gets none.
func (n *notices) before(err error) error {
	if e, ok := err.(*Exit); ok && len(e.Stderr) > 0 && len(n.lines) > 0 {
		e.Stderr = append(n.lines[:len(n.lines):len(n.lines)], e.Stderr...)
	}
	return err
}
