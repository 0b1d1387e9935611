package cli

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// Confirm asks on the terminal whether to go on. Where nobody can be asked, the error is why with the flag that answers yes.
func Confirm(cmd *cobra.Command, why string) error {
	in, ok := cmd.InOrStdin().(*os.File)
	if ok {
		_, err := unix.IoctlGetTermios(int(in.Fd()), unix.TCGETS)
		ok = err == nil
	}
	if !ok {
		return errors.New(why + ": add --yes")
	}
	fmt.Fprint(cmd.ErrOrStderr(), "Go on? [y/N] ")
	answer, _ := bufio.NewReader(in).ReadString('\n')
	if !slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer))) {
		return errors.New("nothing was done")
	}
	return nil
}
