package show

import (
	"os"
	"strings"
)

// UserID is the number of a user in this machine's /etc/passwd. Package os/user would bring cgo along.
func UserID(name string) (uid string, ok bool) {
	text, err := os.ReadFile("/etc/passwd")
	if err != nil {
		return "", false
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.SplitN(line, ":", 4); len(f) == 4 && f[0] == name {
			return f[2], true
		}
	}
	return "", false
}

// ProperName is the name of the person that /etc/passwd has for a user; "" if it has none.
func ProperName(user string) string {
	text, err := os.ReadFile("/etc/passwd")
	if err != nil || user == "" {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.SplitN(line, ":", 6); len(f) == 6 && f[0] == user {
			name, _, _ := strings.Cut(f[4], ",")
			return name
		}
	}
	return ""
}
