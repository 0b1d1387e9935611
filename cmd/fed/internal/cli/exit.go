package cli

import "fmt"

// ExitError ends the process with a status of its own, after everything was printed.
type ExitError int

func (e ExitError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }
