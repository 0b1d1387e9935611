package aws

import (
	"debug/elf"
	"fmt"
)

// agentArches are the architectures, in Amazon's words, that the agent's program is for.
func agentArches(path string) ([]string, error) {
	program, err := elf.Open(path)
	if err != nil {
		return nil, nil // a script, which chooses by itself
	}
	defer program.Close()
	switch program.Machine {
	case elf.EM_X86_64:
		return []string{"x86_64"}, nil
	case elf.EM_AARCH64:
		return []string{"arm64"}, nil
	}
	return nil, fmt.Errorf("%s is for %s: machines of EC2 are x86_64 or arm64", path, program.Machine)
}
