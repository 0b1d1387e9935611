package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// explainArguments has cmd and all commands below it say in our words what is wrong with a command line.
func explainArguments(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			switch {
			case check(cmd, args) == nil:
				return nil
			case cmd.HasSubCommands():
				return unknownCommand(cmd, args[0])
			}
			return wrongArguments(cmd, args)
		}
	}
	cmd.SetFlagErrorFunc(wrongFlag)
	for _, c := range cmd.Commands() {
		explainArguments(c)
	}
}

// checkVerb refuses an unknown verb of a group, for which cobra prints the group's help and succeeds.
func checkVerb(root *cobra.Command, args []string) error {
	if len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd) {
		return nil // the shell's question, a command that cobra adds later
	}
	cmd, rest, _ := root.Find(args)
	verb := slices.IndexFunc(rest, func(word string) bool { return !strings.HasPrefix(word, "-") })
	if cmd.Runnable() || !cmd.HasSubCommands() || verb < 0 || rest[verb] == "help" {
		return nil
	}
	return unknownCommand(cmd, rest[verb])
}

func unknownCommand(cmd *cobra.Command, word string) error {
	text := fmt.Sprintf("unknown command %q of %s", word, cmd.CommandPath())
	cmd.SuggestionsMinimumDistance = 2
	alike := meant(cmd, word)
	if len(alike) == 0 {
		alike = cmd.SuggestionsFor(word)
	}
	if len(alike) > 0 {
		return fmt.Errorf("%s; did you mean: %s", text, strings.Join(alike, ", "))
	}
	return fmt.Errorf("%s; see: %s --help", text, cmd.CommandPath())
}

// meant are the commands of that very name, or of its singular, in cmd and in its groups: "job" for jobs, "report cost" for cost.
func meant(cmd *cobra.Command, word string) (all []string) {
	word = strings.ToLower(word)
	for _, c := range cmd.Commands() {
		if c.Name()+"s" == word || c.Name() == word {
			return []string{c.Name()}
		}
		for _, verb := range c.Commands() {
			if verb.Name() == word && !verb.Hidden {
				all = append(all, c.Name()+" "+verb.Name())
			}
		}
	}
	const most = 6
	return all[:min(len(all), most)]
}

// wrongArguments names the argument that is missing or too much, by the line of the command's usage.
func wrongArguments(cmd *cobra.Command, args []string) error {
	words := strings.Fields(cmd.Use)[1:]
	if i := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "-") }); i >= 0 { // flags follow
		words = words[:i]
	}
	needed := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return strings.HasPrefix(w, "[") })
	var text string
	switch {
	case len(args) < len(needed):
		text = strings.TrimSuffix(needed[len(args)], "...") + " is missing"
	case cmd.Flags().Lookup("config") != nil && len(words) == 0:
		text = fmt.Sprintf("unexpected argument %q: a configuration file is named by --config", args[0])
	default:
		text = fmt.Sprintf("unexpected argument %q", args[min(len(words), len(args)-1)])
	}
	return fmt.Errorf("%s; usage: %s", text, cmd.UseLine())
}

// wrongFlag says what is wrong with a flag.
func wrongFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var bare *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	see := "; see: " + cmd.CommandPath() + " --help"
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "":
		return fmt.Errorf("unknown flag -%s%s", unknown.GetSpecifiedShortnames(), see)
	case errors.As(err, &unknown):
		return fmt.Errorf("unknown flag --%s%s", unknown.GetSpecifiedName(), see)
	case errors.As(err, &bare):
		return fmt.Errorf("--%s needs a value%s", bare.GetFlag().Name, see)
	case errors.As(err, &invalid):
		return fmt.Errorf("invalid --%s %q: want %s", invalid.GetFlag().Name, invalid.GetValue(), valuesOf(invalid))
	}
	return err
}

// valuesOf are the values that a flag takes, in words.
func valuesOf(e *pflag.InvalidValueError) string {
	switch t := e.GetFlag().Value.Type(); t {
	case "bool":
		return "true or false"
	case "duration":
		return "a time such as 90s, 30m or 4h"
	case "int", "int64", "uint", "uint32", "uint64":
		return "a whole number"
	case "float64":
		return "a number"
	}
	return e.Unwrap().Error()
}
