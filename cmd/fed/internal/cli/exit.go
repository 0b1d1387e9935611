package cli

import "fmt"

// ExitError ends the process with its own status, after everything was printed.
type ExitError int

func (e ExitError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }
