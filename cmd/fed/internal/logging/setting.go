package logging

import (
	"errors"
	"log/slog"
	"time"
)

// Setting is what of the log is written: what GET /debug/level answers, and POST takes.
type Setting struct {
	// Levels are those that are set for some time, by component, by site ("site:NAME") and of all ("all"). To set none ends that.
	Levels map[string]slog.Level `json:"levels,omitempty"`
	Until  *time.Time            `json:"until,omitempty"`
	// Seconds are for how long they are set. 0: ten minutes. At most a day.
	Seconds int64 `json:"seconds,omitempty"`
	// Least is the default level, from the configuration. Known are the components and sites whose level can be set. Both are read only.
	Least slog.Level `json:"least"`
	Known []string   `json:"known,omitempty"`
}

// usual is for how long levels are set if nobody says, longest for how long they may be.
const (
	usual   = 10 * time.Minute
	longest = 24 * time.Hour
)

// Setting is what is in force.
func (l *Levels) Setting() (s Setting) {
	var until time.Time
	s.Least, s.Levels, until = l.State()
	s.Known = l.Known()
	if s.Levels != nil {
		s.Until = &until
	}
	return s
}

// Take sets what is asked for.
func (l *Levels) Take(s Setting) error {
	long := time.Duration(s.Seconds) * time.Second
	switch {
	case s.Seconds < 0 || s.Seconds > int64(longest/time.Second):
		return errors.New("levels are set for a day at most: log_level of the configuration is for good")
	case s.Seconds == 0:
		long = usual
	}
	return l.SetFor(s.Levels, long)
}
