// Package lists asks the clouds' public price lists over HTTP: [Azure] its Retail Prices API, [Google] its Cloud Billing Catalog. Each is a [prices.Source].
// Amazon's list needs Amazon's signatures: package aws asks it.
package lists

import (
	"fmt"
	"net/http"
	"time"

	"github.com/go-resty/resty/v2"
)

// client makes a client that asks politely: few tries, and a pause as long as the list wants it.
func client(h *http.Client, base string) *resty.Client {
	c := resty.New()
	if h != nil {
		c = resty.NewWithClient(h)
	}
	return c.SetLogger(quiet{}).SetBaseURL(base).SetTimeout(time.Minute).SetRetryCount(2).SetRetryWaitTime(time.Second).SetRetryMaxWaitTime(time.Minute).
		AddRetryCondition(func(r *resty.Response, err error) bool {
			return err == nil && (r.StatusCode() == http.StatusTooManyRequests || r.StatusCode() >= 500)
		})
}

// quiet is a log that nobody reads: what went wrong is in the error.
type quiet struct{}

func (quiet) Errorf(string, ...any) {}
func (quiet) Warnf(string, ...any)  {}
func (quiet) Debugf(string, ...any) {}

// answered is the error of an answer that is none.
func answered(r *resty.Response, err error) error {
	if err != nil {
		return err
	}
	if r.IsError() {
		text := r.String()
		if len(text) > 200 {
			text = text[:200] + "..."
		}
		return fmt.Errorf("%s: %s", r.Status(), text)
	}
	return nil
}

// mostPages bounds how much of a list is read: none of them is as long.
const mostPages = 200
