package complete

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"fsub/cmd/internal/commands"
	"fsub/sbatch/getopt"
)

const bashHead = `# Completion of fsub and of Slurm's commands that fsub is, for bash. Made from the tables of their options.

# _fsub_words prints words of the daemon, within a fifth of a second or not at all.
_fsub_words() {
    local word
    "${COMP_WORDS[0]}" --fed-words "$@" 2>/dev/null | while IFS=$'\t' read -r word _; do printf '%s\n' "$word"; done
}

_fsub_complete() {
    local command=${COMP_WORDS[0]##*/} cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} eq= kind= operands= options= words list= word
    [[ $command == fsub* && $COMP_CWORD -gt 1 && ${COMP_WORDS[1]} == login ]] && command="fsub login"
    if [[ $cur == "=" ]]; then
        eq== cur=
    elif [[ $prev == "=" ]]; then
        eq== prev=${COMP_WORDS[COMP_CWORD-2]}
    fi
    case $command in
`

const bashTail = `    esac
    if [[ -z $kind && $cur == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
        [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace
        return
    fi
    [[ -z $kind ]] && kind=$operands
    case $kind in
    "" | none) return ;;
    files) compopt -o default; return ;;
    dirs) mapfile -t COMPREPLY < <(compgen -d -- "$cur"); return ;;
    commands) mapfile -t COMPREPLY < <(compgen -c -- "$cur"); return ;;
    operands)
        local before=()
        for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do [[ $word == -* ]] || before+=("$word"); done
        words=$(_fsub_words operands "${before[@]}") ;;
    "="*) words=${kind#=} ;;
    *) words=$(_fsub_words "$kind") ;;
    esac
    [[ $cur == *,* ]] && list=${cur%,*},
    mapfile -t COMPREPLY < <(compgen -P "$list" -W "$words" -- "${cur#"$list"}")
    [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[=:] ]] && compopt -o nospace
}

`

// Bash is the script for bash, for the commands of these names.
func Bash(names []string) string {
	var b strings.Builder
	b.WriteString(bashHead)
	for _, name := range withLogin(names) {
		all := entries(name)
		fmt.Fprintf(&b, "    %s)\n        operands=%s\n        options=%s\n", bashNames(name), quoted(commands.OperandKind(name)), quoted(strings.Join(bashOptions(all), " ")))
		b.WriteString("        case $prev$eq in\n")
		kinds := bashValues(all)
		for _, kind := range slices.Sorted(maps.Keys(kinds)) {
			fmt.Fprintf(&b, "        %s) kind=%s ;;\n", strings.Join(kinds[kind], " | "), quoted(kind))
		}
		b.WriteString("        esac ;;\n")
	}
	b.WriteString(bashTail)
	fmt.Fprintf(&b, "complete -F _fsub_complete %s\n", strings.Join(withRemote(names), " "))
	return b.String()
}

// bashNames are the names by which a command is called: fsub-remote is fsub.
func bashNames(name string) string {
	if name == login {
		return quoted(name)
	}
	return strings.Join(withRemote([]string{name}), " | ")
}

func withRemote(names []string) []string {
	if slices.Contains(names, "fsub") {
		return append(slices.Clone(names), "fsub-remote")
	}
	return names
}

// bashOptions are options as they are typed: those with a value end with =.
func bashOptions(all []entry) (out []string) {
	for i := range all {
		for _, o := range all[i].names() {
			if o.Short != 0 {
				out = append(out, "-"+string(rune(o.Short)))
			}
			if o.Name != "" && all[i].Arg == getopt.NoArg {
				out = append(out, "--"+o.Name)
			} else if o.Name != "" {
				out = append(out, "--"+o.Name+"=")
			}
		}
	}
	return out
}

// bashValues are the options that take a value, by the kind of it.
func bashValues(all []entry) map[string][]string {
	kinds := map[string][]string{}
	for i := range all {
		kind := all[i].kind
		if kind == "" {
			kind = "none"
		}
		for _, o := range all[i].names() {
			long, short := "--"+o.Name, "-"+string(rune(o.Short))
			switch {
			case all[i].Arg == getopt.NoArg:
			case o.Name == "":
				kinds[kind] = append(kinds[kind], short)
			case all[i].Arg == getopt.OptionalArg:
				kinds[kind] = append(kinds[kind], long+"=")
			case o.Short != 0:
				kinds[kind] = append(kinds[kind], short, long, long+"=")
			default:
				kinds[kind] = append(kinds[kind], long, long+"=")
			}
		}
	}
	return kinds
}
