package slurm

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"fsub/federation"
)

// operatorCommand runs a command that the operator has configured, with more words, and returns what it says. It counts as a call to the site.
func (at *site) operatorCommand(ctx context.Context, command, words []string) (said string, err error) {
	if err := at.c.budget.wait(ctx); err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, command[0], slices.Concat(command[1:], words)...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// commandRefusal is the error of a command of the operator's that has failed with err, or, where that is nil, has only said so. missing is what scontrol says of what is not
// there.
func commandRefusal(ctx context.Context, setting, said, missing string, err error) error {
	kind := federation.ErrConflict
	var exit *exec.ExitError
	switch {
	case err != nil && !errors.As(err, &exit) || ctx.Err() != nil || strings.Contains(said, "Unable to contact") || exit != nil && exit.ExitCode() == 255: // ssh's own
		kind = federation.ErrUnavailable
	case strings.Contains(said, missing):
		kind = federation.ErrNotFound
	case strings.Contains(said, "Invalid user id") || strings.Contains(said, "denied"):
		kind = federation.ErrDenied
	}
	if err == nil {
		return fmt.Errorf("%w: %s: %s", kind, setting, said)
	}
	return fmt.Errorf("%w: %s: %w: %s", kind, setting, err, said)
}
