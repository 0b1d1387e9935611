package sbatch

import (
	"bytes"
	"strconv"
	"strings"
)

// readScript gets the script's text: from --wrap, from the file that the first operand names, or
// from stdin. file is its name in messages.
func (p *parser) readScript(line commandLine) (script []byte, file string, err error) {
	if p.wrap != nil {
		return []byte("#!/bin/sh\n# This script was created by sbatch --wrap.\n\n" + *p.wrap + "\n"), "wrap", nil
	}
	if len(line.operands) == 0 {
		file = "stdin"
		if script, err = p.in.Stdin(); err != nil {
			return nil, "", errorLine(p.exitError, "Unable to read the script from stdin: ", err.Error())
		}
		return script, file, checkScript(script, p.exitError)
	}
	found := p.in.findScript(line.operands[0], line.dir)
	if script, err = p.in.Files.Read(absolute(p.in.Dir, found), MaxScript+1); err != nil {
		return nil, "", errorLine(p.exitError, "Unable to open file ", found)
	}
	p.req.Spec.Command = found
	return script, line.operands[0], checkScript(script, p.exitError)
}

// findScript looks for a script whose name begins with neither / nor a dot: in dir, then in PATH. Any other name, and one that is found nowhere, stays as
// it is and is opened from here.
func (in *Input) findScript(name, dir string) string {
	if strings.HasPrefix(name, "/") || strings.HasPrefix(name, ".") {
		return name
	}
	if here := absolute(dir, name); in.Files.Exists(here) {
		return here
	}
	path, _ := lookup(in.Env, "PATH")
	for _, dir := range strings.Split(path, ":") {
		if dir != "" && in.Files.Exists(absolute(dir, name)) {
			return absolute(dir, name)
		}
	}
	return name
}

// checkScript refuses what no controller takes.
func checkScript(script []byte, code int) error {
	say := func(lines ...string) error {
		for i := range lines {
			lines[i] = "sbatch: error: " + lines[i]
		}
		return exit(code, lines...)
	}
	switch {
	case len(script) == 0:
		return say("Batch script is empty!")
	case len(bytes.Trim(script, " \t\n\v\f\r")) == 0:
		return say("Batch script contains only whitespace!")
	case !bytes.HasPrefix(script, []byte("#!")):
		return say("This does not look like a batch script.  The first",
			"line must start with #! followed by the path to an interpreter.", "For instance: #!/bin/sh")
	case bytes.IndexByte(script, 0) >= 0:
		return say("The Slurm controller does not allow scripts that", `contain a NULL character '\0'.`)
	case bytes.Contains(script, []byte("\r\n")):
		return say(`Batch script contains DOS line breaks (\r\n)`, `instead of expected UNIX line breaks (\n).`)
	case len(script) > MaxScript:
		return say("Batch job submission failed: Pathname of a file, directory or other parameter too long",
			"the script is larger than "+strconv.Itoa(MaxScript>>20)+" MiB; keep data in separate files")
	}
	return nil
}
