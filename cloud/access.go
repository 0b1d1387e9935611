package cloud

import (
	"errors"
	"fmt"
	"log/slog"

	"fsub/cloud/provider"
	"fsub/federation"
)

// access is whether the cloud accepts our credentials, by the last answer that each loop had. While it refuses them nothing can be rented, and nothing that
// runs can be ended, so that Observe fails with what the cloud said. The controller then tells of it as of a site that refuses its token. It is under base.mu.
// Likewise while the machine is away that has the nodes: the site does not answer then.
type access struct {
	refused map[string]error // by what was asked
	again   chan struct{}    // they are accepted again: the loop that asks rarely is to ask now
}

func newAccess() *access { return &access{refused: map[string]error{}, again: make(chan struct{}, 1)} }

// note takes in the answer to a call. It reports whether credentials that were refused are accepted again.
func (a *access) note(what string, err error) (again bool) {
	if failsAll(err) {
		a.refused[what] = err
		return false
	}
	_, again = a.refused[what]
	if err == nil {
		delete(a.refused, what)
	}
	return again && err == nil
}

// err is why nothing can be done at the cloud; nil if it accepts the credentials.
func (a *access) err() error {
	for _, what := range []string{askList, askOffers} {
		if err := a.refused[what]; errors.Is(err, provider.ErrAway) {
			return err
		} else if err != nil {
			return fmt.Errorf("the cloud refuses the credentials: %w", err)
		}
	}
	return nil
}

const (
	askList   = "list machines"
	askOffers = "ask what can be rented"
	askDelete = "end machines"
)

// refusesAll reports whether the cloud refuses whatever we ask, and not only one kind of machine.
func refusesAll(err error) bool {
	return errors.Is(err, federation.ErrDenied) && provider.AsError(err).Scope == provider.ScopeCloud
}

// failsAll reports whether nothing can be asked at all, so that Observe fails.
func failsAll(err error) bool { return refusesAll(err) || errors.Is(err, provider.ErrAway) }

// attempt is a call to the cloud that is made again and again. A failure is logged when it begins and when it is over, not each time; one that Observe
// tells of is the controller's to log.
type attempt struct {
	what string
	is   string // the failure that was logged; "": none
}

func (a *attempt) note(log *slog.Logger, err error) {
	now := ""
	if err != nil && !failsAll(err) {
		e := provider.AsError(err)
		now = string(e.Kind) + " " + e.Code
	}
	switch {
	case now == a.is:
	case now != "":
		log.Error(a.what, "err", err)
	case err == nil:
		log.Info("over: " + a.what)
	}
	if err == nil || now != "" {
		a.is = now
	}
}
