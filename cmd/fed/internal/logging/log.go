// Package logging is the daemon's log: lines of text or JSON, whose level can be changed while the daemon runs, for all of it, for a component or for what is about a site.
package logging

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"
)

// Log writes what the daemon's parts log.
type Log struct {
	levels Levels
	recent recent
	root   handler
}

// Formats are the words of --log-format.
const (
	Text = "text" // key=value, as slog's TextHandler writes it
	JSON = "json" // an object in each line
)

// New returns a log that writes to a stream, in one of the formats.
func New(to io.Writer, format string) (*Log, error) {
	l := new(Log)
	l.levels.now = time.Now
	out := &repeats{to: io.MultiWriter(to, &l.recent), json: format == JSON, now: time.Now}
	all := &slog.HandlerOptions{Level: slog.Level(-1 << 16)} // handler sees to the levels
	switch format {
	case Text:
		l.root = handler{Handler: slog.NewTextHandler(out, all), levels: &l.levels}
	case JSON:
		l.root = handler{Handler: slog.NewJSONHandler(out, all), levels: &l.levels}
	default:
		return nil, fmt.Errorf("invalid --log-format %q: want text or json", format)
	}
	return l, nil
}

// Logger is that of the daemon's main part.
func (l *Log) Logger() *slog.Logger { return slog.New(&l.root) }

// Levels says what is written.
func (l *Log) Levels() *Levels { return &l.levels }

// Recent are the last lines that were written, some hundred KB at most.
func (l *Log) Recent() []byte { return l.recent.bytes() }

// Component is the attribute that names the part of the daemon which logs, Site the one that names a site. Both have levels of their own.
const (
	Component = "component"
	Site      = "site"
)

// handler drops what is below the level of its component and its site.
type handler struct {
	slog.Handler
	levels          *Levels
	component, site string // keys of Levels; "": none
	grouped         bool   // attributes are a group's
}

// Enabled implements slog.Handler.
func (h *handler) Enabled(_ context.Context, l slog.Level) bool {
	return l >= h.levels.of(h.component, h.site)
}

// WithAttrs implements slog.Handler.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *h
	next.Handler = h.Handler.WithAttrs(attrs)
	for _, a := range attrs {
		switch {
		case h.grouped:
		case a.Key == Component:
			next.component = a.Value.String()
			h.levels.know(next.component)
		case a.Key == Site:
			next.site = sitePrefix + a.Value.String()
			h.levels.know(next.site)
		}
	}
	return &next
}

// WithGroup implements slog.Handler.
func (h *handler) WithGroup(name string) slog.Handler {
	next := *h
	next.Handler, next.grouped = h.Handler.WithGroup(name), true
	return &next
}
