package admin

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"fsub/cmd/fed/internal/cli"
	"fsub/cmd/internal/conn"
	sbatchcmd "fsub/cmd/internal/submit"
	"fsub/sbatch"
)

func NewDebugCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "debug", Short: "See how fsub reads what it is given, and what the daemon does"}
	cmd.AddCommand(newDebugParseCommand(), newDebugLevelCommand())
	return cmd
}

func newDebugParseCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "parse [--slurm 22.05|24.11|26.05] SBATCH-ARGUMENTS",
		Short: "Print what a call of sbatch asks for",
		Long: `Reads the rest of the line, the script (a file, stdin or --wrap) and the SBATCH_* variables as sbatch reads them, and prints
the options of each component of the job as sbatch -v lists them: a JSON array with one object for each component. What sbatch
would say, with its notices of -v, is on stderr; the exit status is sbatch's own. No controller is asked, so that what only a
controller refuses is accepted here.

--slurm, before all else, is the release whose sbatch is followed; 24.11 if it is not given. Submissions follow 24.11.`,
		Example:            "  fed debug parse job.sh\n  fed debug parse --slurm 22.05 -N 2 --wrap hostname",
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && (args[0] == "--help" || args[0] == "-h") {
				return cmd.Help()
			}
			release, args, err := releaseArg(args)
			if err != nil {
				return err
			}
			in, err := debugInput(args)
			if err != nil {
				return err
			}
			in.Slurm = release
			return debugParse(os.Stdout, os.Stderr, in)
		},
	}
}

// releaseArg takes --slurm off the front of args.
func releaseArg(args []string) (sbatch.Release, []string, error) {
	if len(args) == 0 || args[0] != "--slurm" && !strings.HasPrefix(args[0], "--slurm=") {
		return sbatch.Following, args, nil
	}
	name, given := strings.CutPrefix(args[0], "--slurm=")
	args = args[1:]
	if !given {
		if len(args) == 0 {
			return "", nil, errors.New("--slurm needs a release: 22.05, 24.11 or 26.05")
		}
		name, args = args[0], args[1:]
	}
	r := sbatch.Release(name)
	if !slices.Contains(sbatch.Releases(), r) {
		return "", nil, fmt.Errorf("--slurm %s: the rules of 22.05, 24.11 and 26.05 are known; give the one that is nearest", name)
	}
	return r, args, nil
}

// debugInput is what decides about a call: that of this process.
func debugInput(args []string) (sbatch.Input, error) {
	dir, err := os.Getwd()
	if err != nil {
		return sbatch.Input{}, fmt.Errorf("the current directory cannot be told: %w", err)
	}
	host, _ := os.Hostname()
	return sbatch.Input{
		Args: args, Env: os.Environ(), Dir: dir, Host: host, Now: time.Now(), Files: osFiles{}, // as for any user: scripts are written by those
		Stdin: sync.OnceValues(func() ([]byte, error) { return io.ReadAll(io.LimitReader(os.Stdin, sbatch.MaxScript+1)) }), // it is read again with the options of plugins
	}, nil
}

// debugParse prints what was understood, also of a call that is refused.
func debugParse(stdout, stderr io.Writer, in sbatch.Input) error {
	got, err := sbatch.Understand(in)
	var exit *sbatch.Exit
	if errors.As(err, &exit) && exit.Unknown { // an option of some site's plugins, as --container-image
		if c := conn.FromEnv(in.Env); c != nil {
			in.Plugins = sbatchcmd.Plugins(c)
			c.Close()
		}
		if len(in.Plugins) > 0 {
			exit = nil
			got, err = sbatch.Understand(in)
		}
	}
	lines := got.Notices
	if errors.As(err, &exit) {
		lines = exit.Stderr
	}
	for _, l := range lines {
		fmt.Fprintln(stderr, l)
	}
	if len(got.Late) > 0 {
		fmt.Fprintf(stderr, "fed: line %s: #SBATCH after the first command is a comment to sbatch: move it up\n", strings.Trim(fmt.Sprint(got.Late), "[]"))
	}
	if exit != nil && exit.Stdout != "" { // --help and the like, or a list of values with a refusal
		if exit.Code == 0 {
			_, err := io.WriteString(stdout, exit.Stdout)
			return err
		}
		io.WriteString(stderr, exit.Stdout)
	}
	if got.Components == nil {
		got.Components = []map[string]string{}
	}
	return errors.Join(cli.PrintJSON(stdout, got.Components), exitCode(exit))
}

// exitCode is nil for 0.
func exitCode(exit *sbatch.Exit) error {
	if exit == nil || exit.Code == 0 {
		return nil
	}
	return cli.ExitError(exit.Code)
}

// osFiles reads files with the rights of the process.
type osFiles struct{}

func (osFiles) Exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

func (osFiles) Read(name string, limit int) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if fi, err := f.Stat(); err == nil && fi.IsDir() {
		return nil, nil // sbatch finds a directory empty
	}
	return io.ReadAll(io.LimitReader(f, int64(limit)))
}
