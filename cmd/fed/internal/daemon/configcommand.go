package daemon

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"fsub/cmd/fed/internal/cli"
	"fsub/cmd/fed/internal/config"
	"fsub/slurm"
)

func NewConfigCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "The configuration file"}
	var file config.Flag
	var as string
	var quiet, fileOnly bool
	check := &cobra.Command{
		Use:   "check",
		Short: "Check the configuration and print what was understood, with all defaults",
		Long: `Check the configuration, the files with secrets, programs and directories that it names, and print what was understood, with all defaults.

root checks as the user who serves: the one of --user, else the owner of state_dir if it is there.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if fileOnly {
				c, err := file.Read()
				if err == nil && !quiet {
					err = printConfig(cmd, &c)
				}
				return err
			}
			if as != "" && os.Geteuid() == 0 && as != "root" {
				return again(as)
			}
			c, err := file.Read()
			if err != nil {
				return err
			}
			if name := serverOf(&c); as == "" && name != "" {
				return again(name)
			}
			if err := c.CheckHere(); err != nil {
				return err
			}
			for _, doubt := range c.Doubts() {
				fmt.Fprintf(cmd.ErrOrStderr(), "warning: %s\n", doubt)
			}
			for _, s := range c.Sites {
				if s.Rented() {
					continue
				}
				if _, err := openSite(c, s, nil, nil); err != nil {
					return err
				}
				if clear := slurm.ClearText(s.URL); clear != "" {
					fmt.Fprintf(cmd.ErrOrStderr(), "warning: site %s: %s\n", s.Name, clear)
				}
			}
			if quiet {
				return nil
			}
			return printConfig(cmd, &c)
		},
	}
	file.Add(check)
	check.Flags().StringVar(&as, "user", "", "check as this user, who will run the daemon; for root")
	check.Flags().BoolVarP(&quiet, "quiet", "q", false, "print what is wrong, and nothing else")
	check.Flags().BoolVar(&fileOnly, "file-only", false, "check what the file says, as a reload does, and nothing that it names")
	cmd.AddCommand(check)
	return cmd
}

func printConfig(cmd *cobra.Command, c *config.Config) error {
	return yaml.NewEncoder(cmd.OutOrStdout(), yaml.IndentSequence(true)).Encode(c)
}

// serverOf is the user who serves a configuration, as far as that can be told: the owner of its state directory. "": nobody but the caller.
func serverOf(c *config.Config) string {
	info, err := os.Stat(c.StateDir)
	if err != nil || os.Geteuid() != 0 {
		return ""
	}
	if s, ok := info.Sys().(*syscall.Stat_t); ok && s.Uid != 0 {
		return strconv.FormatUint(uint64(s.Uid), 10)
	}
	return ""
}

// again runs this command as another user, by name or uid.
func again(name string) error {
	u, err := user.Lookup(name)
	if err != nil {
		if u, err = user.LookupId(name); err != nil {
			return fmt.Errorf("there is no user %q", name)
		}
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	names, err3 := u.GroupIds()
	if err := cmp.Or(err1, err2, err3); err != nil {
		return err
	}
	var groups []uint32
	for _, g := range names {
		if n, err := strconv.ParseUint(g, 10, 32); err == nil {
			groups = append(groups, uint32(n))
		}
	}
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid), Groups: groups}}
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return cli.ExitError(exit.ExitCode())
	}
	if err != nil {
		return fmt.Errorf("check as %s: %w", u.Username, err)
	}
	return nil
}
