package container

import (
	"slices"
	"strings"
)

// locale lists variables of the job that name files which the image may lack: pyxis leaves them out.
var locale = []string{"LANG", "LANGUAGE", "LC_ALL"}

// withheld are variables of the job that say nothing to the making of a container, or would mislead it.
var withheld = []string{"PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_TASK_PID", "PMIX_RANK", "PMI_FD", "ENROOT_LIBRARY_PATH",
	"ENROOT_SYSCONF_PATH", "ENROOT_RUNTIME_PATH", "ENROOT_CACHE_PATH", "ENROOT_DATA_PATH", "ENROOT_TEMP_PATH", "ENROOT_ZSTD_OPTIONS", "ENROOT_TRANSFER_RETRIES",
	"ENROOT_CONNECT_TIMEOUT", "ENROOT_MAX_CONNECTIONS", "ENROOT_ALLOW_HTTP"}

// Passed is what of a job's environment goes to the programs that make its container.
func Passed(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(e string) bool { return slices.Contains(withheld, nameOf(e)) })
}

// Environ is the environment of a task within a container: the job's, over it what the holder has,
// which is the image's, but for the names that the job keeps. Commands is the folder of our
// commands, which comes last in PATH; "": none.
func Environ(job, holder, keep []string, commands string) []string {
	own := make(map[string]string, len(holder))
	for _, e := range holder {
		own[nameOf(e)] = e
	}
	env := make([]string, 0, len(job)+len(holder))
	for _, e := range job {
		name := nameOf(e)
		kept := slices.Contains(keep, name)
		over, has := own[name]
		switch {
		case kept:
			delete(own, name)
			env = append(env, e)
		case has:
			delete(own, name)
			env = append(env, over)
		case !slices.Contains(locale, name):
			env = append(env, e)
		}
	}
	for _, e := range holder {
		if name := nameOf(e); own[name] == e && name != "" {
			delete(own, name)
			env = append(env, e)
		}
	}
	if commands != "" {
		env = withFolder(env, commands)
	}
	return torch(env)
}

// torch says to PyTorch which task it is, where the image is one of NVIDIA's PyTorch.
func torch(env []string) []string {
	if _, ok := Lookup(env, "PYTORCH_VERSION"); !ok {
		return env
	}
	for _, v := range [...][2]string{{"SLURM_PROCID", "RANK"}, {"SLURM_LOCALID", "LOCAL_RANK"}} {
		if value, ok := Lookup(env, v[0]); ok {
			env = slices.DeleteFunc(env, func(e string) bool { return nameOf(e) == v[1] })
			env = append(env, v[1]+"="+value)
		}
	}
	return env
}

// withFolder adds a folder to PATH, behind the image's own.
func withFolder(env []string, dir string) []string {
	for i, e := range env {
		if path, ok := strings.CutPrefix(e, "PATH="); ok {
			if !slices.Contains(strings.Split(path, ":"), dir) {
				env[i] = "PATH=" + path + ":" + dir
			}
			return env
		}
	}
	return append(env, "PATH="+defaultPath+":"+dir)
}

// defaultPath is the PATH of an image that has none.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

func nameOf(e string) string {
	name, _, _ := strings.Cut(e, "=")
	return name
}

// Lookup is a variable of env, and whether it is there.
func Lookup(env []string, name string) (string, bool) {
	for _, e := range slices.Backward(env) {
		if v, ok := strings.CutPrefix(e, name); ok && v != "" && v[0] == '=' {
			return v[1:], true
		}
	}
	return "", false
}

// ReadEnvironment reads an image's /etc/environment, as enroot writes it: NAME=value lines, in
// which ${NAME} is a variable of the host.
func ReadEnvironment(text string, host []string) (env []string) {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		name, value, ok := strings.Cut(line, "=")
		if !ok || name == "" || strings.ContainsFunc(name, notInName) {
			continue
		}
		if n := len(value); n > 1 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] { // as of Debian's and Ubuntu's own
			value = value[1 : n-1]
		}
		env = append(env, name+"="+substitute(value, host))
	}
	return env
}

// substitute replaces ${NAME}; nothing else is special.
func substitute(value string, host []string) string {
	var out strings.Builder
	for {
		i := strings.Index(value, "${")
		if i < 0 {
			break
		}
		name, rest, ok := strings.Cut(value[i+2:], "}")
		if !ok || name == "" || strings.ContainsFunc(name, notInName) {
			out.WriteString(value[:i+2])
			value = value[i+2:]
			continue
		}
		v, _ := Lookup(host, name)
		out.WriteString(value[:i] + v)
		value = rest
	}
	out.WriteString(value)
	return out.String()
}
