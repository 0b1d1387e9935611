package machines

import (
	"fmt"
	"strings"
	"time"
)

// parseShutdown understands the words of shutdown(8): "-c", "-r", "now", "+N" minutes. The command's name comes first.
func parseShutdown(args []string) (delay time.Duration, cancel, reboot bool) {
	for i, a := range args {
		var minutes int
		switch {
		case i == 0:
			reboot = a == "reboot"
			if a == "shutdown" {
				delay = time.Minute // its default
			}
		case a == "-c":
			cancel = true
		case a == "-r" || a == "--reboot":
			reboot = true
		case a == "now":
			delay = 0
		case strings.HasPrefix(a, "+"):
			if _, err := fmt.Sscanf(a, "+%d", &minutes); err == nil {
				delay = time.Duration(minutes) * time.Minute
			}
		}
	}
	return delay, cancel, reboot
}
