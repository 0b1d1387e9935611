package v1

import (
	"strings"
	"time"

	"fsub/accounting/report"
)

// SavedReport is a report that is made again and again. When it is saved, what is below Mail is not looked at, nor is User.
type SavedReport struct {
	User   string `json:"user"` // whose it is: it shows what he may see when it is made
	Name   string `json:"name"`
	Report string `json:"report" arg:"REPORT"` // usage, cost ...: see docs/books.md
	// By is what it tells apart.
	By    []string `json:"by,omitempty" flag:"by" default:"account" usage:"what to tell apart: site, account, user, qos, partition, gpu, name, group; several with commas, or none"`
	Every string   `json:"every,omitempty" flag:"every" usage:"tell the time apart: day, week or month"`
	// Last is "30d", "4w" or "12m"; without it, the report is of the day, week or month before it is sent.
	Last  string   `json:"last,omitempty" flag:"last" usage:"days, weeks or months: \"30d\", \"4w\", \"12m\" (default: the period that is over)"`
	Where []string `json:"where,omitempty" flag:"where" split:"no" usage:"KEY=VALUE[,VALUE...]: only runs of which this is true; keys are those of --by"`
	// Format is table, csv, json, parquet or html.
	Format string   `json:"format" flag:"format" default:"html" usage:"table, csv, json, parquet or html"`
	Send   string   `json:"send,omitempty" flag:"send" usage:"day, week (on Mondays) or month (on its first day); without it, only by fed report run"`
	At     string   `json:"at,omitempty" flag:"at" usage:"time of the day, HH:MM, UTC (default: 06:00)"`
	Mail   []string `json:"mail,omitempty" flag:"mail" usage:"addresses, with commas (default: it becomes a file)"`

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
var SavedReports = Owned[SavedReport]{
	Noun: Noun[SavedReport, None]{
		Key:  func(x *SavedReport) string { return key(x.User, x.Name) },
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
		More: []Column[SavedReport]{
			{"BY", func(x *SavedReport) string { return strings.Join(x.By, ",") }},
			{"EVERY", func(x *SavedReport) string { return x.Every }},
			{"LAST", func(x *SavedReport) string { return x.Last }},
			{"WHERE", func(x *SavedReport) string { return strings.Join(x.Where, " ") }},
			{"SENT TO", func(x *SavedReport) string { return x.SentTo }},
			{"TRIES", func(x *SavedReport) string { return count(x.Tries) }},
		},
	},
	Word: "report", Add: "save", Most: 50,
	Key:   func(x *SavedReport) (user, name *string) { return &x.User, &x.Name },
	About: func(x *SavedReport) string { return x.Report },
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
