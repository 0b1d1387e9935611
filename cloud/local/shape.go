package local

import (
	"bufio"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"fsub/sbatch"
)

const nvidiaDir = "/proc/driver/nvidia/gpus"

// ThisMachine is the shape that is all of this machine: its CPUs, as far as the daemon may use
// them, its memory and its GPUs. There is one of it.
func ThisMachine() Shape {
	s := Shape{Type: "node", CPUs: runtime.NumCPU(), Mem: memory(), Max: 1}
	s.GPUs, s.GPUType = nvidia(nvidiaDir)
	return s
}

// memory is what the machine has, or what the daemon's control group may have if that is less.
func memory() sbatch.MemMiB {
	mem := memTotal("/proc/meminfo")
	for _, limit := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, err := os.ReadFile(limit)
		if err != nil {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if mib := sbatch.MemMiB(n >> 20); err == nil && mib > 0 && mib < mem {
			mem = mib
		}
	}
	return mem
}

func memTotal(path string) sbatch.MemMiB {
	f, err := os.Open(path)
	if err != nil {
		return 1024 // no Linux that we know
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) > 1 && fields[0] == "MemTotal:" {
			kib, _ := strconv.ParseInt(fields[1], 10, 64)
			return sbatch.MemMiB(kib >> 10)
		}
	}
	return 1024
}

// nvidia counts the GPUs that the driver shows below dir. Their type is the word of the model's
// name that people know it by: "NVIDIA H100 80GB HBM3" is an h100. If they differ, they have none.
func nvidia(dir string) (count int, kind string) {
	files, _ := filepath.Glob(filepath.Join(dir, "*", "information"))
	for n, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		this := ""
		for line := range strings.Lines(string(text)) {
			if model, ok := strings.CutPrefix(line, "Model:"); ok {
				this = gpuType(model)
			}
		}
		if n > 0 && this != kind {
			this = ""
		}
		count, kind = count+1, this
	}
	return count, kind
}

// gpuType is the first word of a model's name that has a digit.
func gpuType(model string) string {
	for _, word := range strings.Fields(strings.ReplaceAll(model, "-", " ")) {
		if strings.ContainsAny(word, "0123456789") {
			return strings.ToLower(word)
		}
	}
	return ""
}

// arch is the machine's architecture as uname says it.
func arch() string {
	switch runtime.GOARCH {
	case "amd64":
		return "x86_64"
	default:
		return runtime.GOARCH
	}
}
