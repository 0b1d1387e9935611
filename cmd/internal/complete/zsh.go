package complete

import (
	"fmt"
	"strings"

	"fsub/cmd/internal/commands"
	"fsub/sbatch/getopt"
)

const zshHead = `
# Completion of fsub and of Slurm's commands that fsub is, for zsh. Made from the tables of their options.

# _fsub_words adds words of the daemon, within a fifth of a second or not at all.
_fsub_words() {
  local -a all
  all=(${${(f)"$(${_fsub_command} --fed-words "$@" 2>/dev/null)"}%%$'\t'*})
  compset -P '*,'
  compadd -a all
}

_fsub_operands() {
  _fsub_words operands ${${(@)words[2,CURRENT-1]}:#-*}
}

_fsub_fixed() {
  compset -P '*,'
  compadd -- "$@"
}

_fsub_complete() {
  local _fsub_command=$words[1] of=${service:t}
  local -a specs
  [[ $of == fsub* && $CURRENT -gt 2 && $words[2] == login ]] && of='fsub login'
  case $of in
`

// Zsh is the script for zsh, for the commands of these names.
func Zsh(names []string) string {
	var b strings.Builder
	b.WriteString("#compdef " + strings.Join(withRemote(names), " ") + "\n" + zshHead)
	for _, name := range withLogin(names) {
		label := strings.Join(withRemote([]string{name}), "|")
		if name == login {
			label = quoted(name)
		}
		fmt.Fprintf(&b, "  %s)\n    specs=(\n", label)
		for _, e := range entries(name) {
			for _, spec := range e.zsh() {
				b.WriteString("      " + spec + "\n")
			}
		}
		if name == login { // which _arguments takes for an operand
			b.WriteString("      '1: :(login)'\n")
		}
		if action := zshOperands(commands.OperandKind(name)); action != "" {
			b.WriteString("      " + quoted(action) + "\n")
		}
		b.WriteString("    ) ;;\n")
	}
	b.WriteString("  esac\n  _arguments -s -S : $specs\n}\n\n")
	// Loaded by the function path the file is the function; sourced it names itself.
	fmt.Fprintf(&b, "if [ \"$funcstack[1]\" = _fsub ] || [ \"$funcstack[1]\" = _fsub-shims ]; then\n  _fsub_complete \"$@\"\nelse\n  compdef _fsub_complete %s\nfi\n",
		strings.Join(withRemote(names), " "))
	return b.String()
}

// zsh are the specifications of an option for _arguments, one for each of its names.
func (e *entry) zsh() (out []string) {
	about := "[" + strings.NewReplacer("]", `\]`, "[", `\[`).Replace(e.Help) + "]"
	value := ""
	if e.Arg != getopt.NoArg {
		value = ":" + strings.NewReplacer(":", `\:`, "[", "", "]", "").Replace(e.Value) + ":" + zshAction(e.kind)
	}
	if e.Arg == getopt.OptionalArg {
		value = ":" + value
	}
	for _, o := range e.names() {
		for _, form := range []struct{ dashes, name, joined string }{{"-", string(rune(o.Short)), "+"}, {"--", o.Name, "="}} {
			if form.name == "" || form.name == "\x00" {
				continue
			}
			how := map[getopt.Arg]string{getopt.RequiredArg: form.joined, getopt.OptionalArg: strings.TrimSuffix(form.joined, "+") + "-"}[e.Arg]
			out = append(out, quoted("*"+form.dashes+form.name+how+about+value))
		}
	}
	return out
}

// zshAction is what _arguments does for values of a kind.
func zshAction(kind string) string {
	if list, fixed := words(kind); fixed {
		for i := range list {
			list[i] = strings.ReplaceAll(list[i], ":", `\:`)
		}
		return " _fsub_fixed " + strings.Join(list, " ")
	}
	switch kind {
	case "":
		return " "
	case "files":
		return "_files"
	case "dirs":
		return "_files -/"
	}
	return " _fsub_words " + kind
}

func zshOperands(kind string) string {
	switch kind {
	case "":
		return ""
	case "commands":
		return "*::command: _normal"
	case "operands":
		return "*:word: _fsub_operands"
	}
	return "*:" + strings.TrimSuffix(kind, "s") + ":" + zshAction(kind)
}
