package sbatch

import (
	"bytes"
	"strings"
)

// maxEnvironmentFile bounds --export-file and --bbf.
const maxEnvironmentFile = 16 << 20

// readFiles reads the files that --bbf and --export-file name.
func (p *parser) readFiles() error {
	if p.bbFile != "" {
		body, err := p.in.Files.Read(absolute(p.in.Dir, p.bbFile), maxEnvironmentFile)
		if err != nil {
			return p.errorLine(p.exitError, "Invalid --bbf specification")
		}
		p.bbText = body
	}
	if p.exportFile != "" && p.exported == nil {
		name := absolute(p.in.Dir, p.exportFile)
		if digits(p.exportFile) {
			name = "/dev/fd/" + p.exportFile
		}
		body, err := p.in.Files.Read(name, maxEnvironmentFile)
		if err != nil {
			return p.errorLine(p.exitError, "Could not open user environment file ", p.exportFile)
		}
		p.exported = strings.Split(string(body), "\x00")
	}
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
