package admin

import (
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fsub/cmd/fed/internal/cli"
	"fsub/cmd/fed/internal/config"
	"fsub/cmd/fed/internal/logging"
)

func newDebugLevelCommand() *cobra.Command {
	var c cli.Connection
	var long time.Duration
	var reset bool
	cmd := &cobra.Command{
		Use:   "level [all|COMPONENT|site:NAME]=LEVEL ...",
		Short: "What the daemon writes to its log, and for some time more or less of it; administrators only",
		Long: `Without arguments it shows what the daemon at the socket writes to its log, and the names that may have a level of their own. With arguments it sets levels (debug, info, warn,
error) for some time, in place of those that were set so before; --reset ends that at once. site:NAME is what the driver of a site logs. What is to last stands in the
configuration: log_level.`,
		Example: "  fed debug level\n  fed debug level controller=debug site:alpha=debug --for 1h\n  fed debug level --reset",
		RunE: func(cmd *cobra.Command, args []string) error {
			levels, err := parseLevels(args)
			switch {
			case err != nil:
				return err
			case reset && len(args) > 0:
				return fmt.Errorf("--reset ends what is set: give no levels with it")
			case cmd.Flags().Changed("for") && (len(args) == 0 || long < time.Second):
				return fmt.Errorf("--for is how long levels are set, a second or more: such as fed debug level all=debug --for 10m")
			}
			var s logging.Setting
			if len(args) == 0 && !reset {
				err = c.Client().Do(cmd.Context(), "GET", "/debug/level", nil, &s)
			} else {
				err = c.Client().Do(cmd.Context(), "POST", "/debug/level", logging.Setting{Levels: levels, Seconds: int64(long / time.Second)}, &s)
			}
			if err != nil {
				return err
			}
			return printLevels(cmd.OutOrStdout(), &s)
		},
	}
	c.Flags(cmd)
	cmd.Flags().DurationVar(&long, "for", 10*time.Minute, "for how long, a day at most")
	cmd.Flags().BoolVar(&reset, "reset", false, "write again what the configuration says")
	return cmd
}

func parseLevels(args []string) (map[string]slog.Level, error) {
	levels := map[string]slog.Level{}
	for _, a := range args {
		key, word, ok := strings.Cut(a, "=")
		if !ok || key == "" || word == "" {
			return nil, fmt.Errorf("invalid level %q: want all, a component or site:NAME, then = and debug, info, warn or error", a)
		}
		l, err := config.ParseLevel("level of "+key, word)
		if err != nil {
			return nil, err
		}
		levels[key] = l
	}
	return levels, nil
}

func printLevels(w io.Writer, s *logging.Setting) error {
	word := func(l slog.Level) string { return strings.ToLower(l.String()) }
	fmt.Fprintf(w, "all  %s, by the configuration\n", word(s.Least))
	for _, key := range slices.Sorted(maps.Keys(s.Levels)) {
		fmt.Fprintf(w, "%s  %s until %s\n", key, word(s.Levels[key]), cli.When(*s.Until))
	}
	_, err := fmt.Fprintf(w, "names: %s\n", strings.Join(s.Known, " "))
	return err
}
