package driver

import "context"

// CheckResult is how one check of a site went.
type CheckResult string

const (
	CheckOK      CheckResult = "ok"
	CheckWarning CheckResult = "warning" // it works, and could be better
	CheckFailed  CheckResult = "failed"
	CheckSkipped CheckResult = "skipped" // it could not be tried, or says nothing here
)

// SiteCheck is one thing that was tried at a site.
type SiteCheck struct {
	Name   string
	Result CheckResult
	Detail string // what was found
	Advice string // what to do; "": nothing
}

// Checker is a driver that can try everything that it needs of its site. Nothing is changed by that.
type Checker interface {
	Check(ctx context.Context) []SiteCheck
}
