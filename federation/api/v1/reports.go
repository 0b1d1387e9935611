package v1

import (
	"strings"
	"time"

	"fsub/accounting/report"
)

// SavedReport is a report that is made again and again. When it is saved, what is below Mail is not looked at, nor is User.
type SavedReport struct {
	User   string   `json:"user"` // whose it is: it shows what he may see when it is made
	Name   string   `json:"name"`
	Report string   `json:"report"`          // usage, cost ...: see docs/books.md
	By     []string `json:"by,omitempty"`    // site, account, user, qos, partition, gpu, name
	Every  string   `json:"every,omitempty"` // day, week or month
	Last   string   `json:"last,omitempty"`  // "30d", "4w", "12m"; without it, of the day, week or month before it is sent
	Where  []string `json:"where,omitempty"` // KEY=VALUE[,VALUE...]
	Format string   `json:"format"`          // table, csv, json, parquet or html
	Send   string   `json:"send,omitempty"`  // day, week or month; not set: when it is run
	At     string   `json:"at,omitempty"`    // HH:MM, UTC
	Mail   []string `json:"mail,omitempty"`  // addresses; none: it becomes a file

	Saved  time.Time `json:"saved,omitzero"`
	Sent   time.Time `json:"sent,omitzero"`     // last
	SentTo string    `json:"sent_to,omitempty"` // addresses, or a file
	Next   time.Time `json:"next,omitzero"`
	Tries  int       `json:"tries,omitempty"` // that failed since
	Error  string    `json:"error,omitempty"` // of the last of them
}

// Spec is what is asked for.
func (s *SavedReport) Spec() report.Spec {
	return report.Spec{Kind: s.Report, By: s.By, Every: s.Every, Last: s.Last, Where: s.Where}
}

// DeliveredReport says where a report was delivered.
type DeliveredReport struct {
	To string `json:"to"` // addresses, or a file
}

// SavedReports are those of the caller; an operator sees all.
var SavedReports = Noun[SavedReport, None]{
	Path: "/fed/v1/reports", Who: ForAnybody, Doc: "Reports that are made again and again; a user's own, an operator all",
	Columns: []Column[SavedReport]{
		{"NAME", func(x *SavedReport) string { return x.Name }},
		{"USER", func(x *SavedReport) string { return x.User }},
		{"REPORT", func(x *SavedReport) string { return x.Report }},
		{"FORMAT", func(x *SavedReport) string { return x.Format }},
		{"SEND", func(x *SavedReport) string { return x.When() }},
		{"TO", func(x *SavedReport) string { return x.Receivers() }},
		{"SENT", func(x *SavedReport) string { return ReportTime(x.Sent) }},
		{"NEXT", func(x *SavedReport) string { return ReportTime(x.Next) }},
		{"ERROR", func(x *SavedReport) string { return x.Error }},
	},
}

// When is how often and when it is sent, for people.
func (s *SavedReport) When() string {
	if s.Send == "" {
		return "by hand"
	}
	return s.Send + " " + s.At
}

// Receivers are its addresses with commas, or that it becomes a file.
func (s *SavedReport) Receivers() string {
	if len(s.Mail) == 0 {
		return "file"
	}
	return strings.Join(s.Mail, ",")
}

// ReportTime is a time of a report for people: in UTC, as At is; "" if it is not set.
func ReportTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04")
}
