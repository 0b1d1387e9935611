package sbatch

import (
	"bytes"
	"strings"
)

// maxEnvironmentFile bounds --export-file and --bbf.
const maxEnvironmentFile = 16 << 20

// readFiles reads the files that --bbf and --export-file name.
func (p *parser) readFiles() (err error) {
	if name := p.own.burstBuffer; name != "" {
		if p.bbText, err = p.in.Files.Read(absolute(p.in.Dir, name), maxEnvironmentFile); err != nil {
			return errorLine(p.exitError, "Invalid --bbf specification")
		}
	}
	return p.env.readFile(p.exitError)
}

// readFile reads the file that --export-file names, once.
func (j *jobEnvironment) readFile(code int) error {
	if j.file == "" || j.vars != nil {
		return nil
	}
	name := absolute(j.in.Dir, j.file)
	if digits(j.file) {
		name = "/dev/fd/" + j.file
	}
	body, err := j.in.Files.Read(name, maxEnvironmentFile)
	if err != nil {
		return errorLine(code, "Could not open user environment file ", j.file)
	}
	j.vars = strings.Split(string(body), "\x00")
	return nil
}

// withBurstBuffer is the script with the burst buffer's directives behind its first line, as sbatch
// puts them there.
func withBurstBuffer(script string, directives []byte) string {
	first, rest, _ := strings.Cut(script, "\n")
	if !bytes.HasSuffix(directives, []byte("\n")) {
		first += "\n" + string(directives)
		directives = nil
	}
	return first + "\n" + string(directives) + rest
}
