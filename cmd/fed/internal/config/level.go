package config

import (
	"fmt"
	"log/slog"
)

// ParseLevel reads the least level that is logged, which a key or flag has; "" is info.
func ParseLevel(where, text string) (l slog.Level, err error) {
	if text != "" && l.UnmarshalText([]byte(text)) != nil {
		err = fmt.Errorf("invalid %s %q: want debug, info, warn or error", where, text)
	}
	return l, err
}

// Level is the level that the configuration, which was checked, has.
func (c *Config) Level() slog.Level {
	l, _ := ParseLevel("log_level", c.LogLevel)
	return l
}
