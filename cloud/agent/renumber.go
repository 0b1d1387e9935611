package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"fsub/cloud/agentapi"
)

// renumbered is added to the number of a user whose own is taken by an account of the image.
const renumbered = 1 << 24

// apart is u as he is to be on a machine that is alone, where no number of his may be that of an account of the image: he would own its files, its
// authorized_keys first of all. Where no file system is shared another number does as well: the same on all machines of the image. On a shared one his files
// would be another's, so that the job is refused.
func apart(etc string, u agentapi.User, shared bool) (agentapi.User, error) {
	text, err := os.ReadFile(filepath.Join(etc, "passwd"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return u, err
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Split(line, ":")
		if len(f) < 4 || f[0] == u.Name || f[2] != strconv.FormatUint(uint64(u.UID), 10) || u.UID < firstUser {
			continue // numbers below that are refused whoever has them
		}
		if shared {
			return u, fmt.Errorf("user ID %d is %s's on this machine, an account of its image: %s, or use an image without that account", u.UID, f[0], cure)
		}
		if u.UID += renumbered; f[3] == strconv.FormatUint(uint64(u.GID), 10) {
			u.GID += renumbered
		}
		return u, nil
	}
	return u, nil
}
