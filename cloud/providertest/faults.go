package providertest

import (
	"errors"
	"slices"

	"fsub/cloud/provider"
	"fsub/federation"
)

// means are the federation's errors that callers act on.
var means = map[provider.ErrorKind]error{
	provider.KindStockOut: federation.ErrCapacity, provider.KindQuota: federation.ErrCapacity, provider.KindDenied: federation.ErrDenied,
	provider.KindThrottled: federation.ErrUnavailable, provider.KindUnavailable: federation.ErrUnavailable,
}

// breakIt gives the cloud a fault, and skips where it cannot.
func (s *suite) breakIt(f Fault) (mend func()) {
	s.Helper()
	if s.Break == nil {
		s.Skip("SKIPPED: this cloud cannot be given faults")
	}
	mend, err := s.Break(s.T, f, s.offer)
	if err != nil {
		s.Skipf("SKIPPED: this cloud cannot be given the fault %s: %v", f, err)
	}
	return mend
}

// faulty: Create says what is wrong, makes nothing, and works as soon as it is mended: under the same token where the error proved nothing, and under a new one
// where it was final.
func faulty(f Fault, kind provider.ErrorKind) func(*suite) {
	return func(s *suite) {
		r := s.request(2)
		mend := s.breakIt(f)
		for range 2 {
			made, err := s.answered(&r)
			if err == nil {
				s.Fatalf("%s: Create made %+v", f, made)
			}
			s.refused(err, kind)
			if !errors.Is(err, means[kind]) {
				s.Errorf("%v is not the federation's %v", err, means[kind])
			}
		}
		mend()
		s.listed(r, 0)
		if kind == provider.KindThrottled || kind == provider.KindUnavailable {
			s.create(r)
			s.listed(r, 2)
			return
		}
		next := s.request(2)
		s.create(next)
		s.listed(next, 2)
		s.listed(r, 0)
	}
}

// answered is what a request comes to in the end, by the last answer.
func (s *suite) answered(r *provider.Request) (made []provider.Instance, err error) {
	s.Helper()
	s.until("the cloud answers what it has queued", func() bool {
		made, err = s.Provider.Create(s.ctx, *r)
		if err == nil || provider.AsError(err).Kind != provider.KindPending {
			return true
		}
		r.Resume = provider.AsError(err).Resume
		return false
	})
	r.Resume = ""
	return made, err
}

// faultsOfReads: a listing that was not to be had is no empty one.
func faultsOfReads(s *suite) {
	r := s.request(1)
	made := s.create(r)
	s.listed(r, 1)
	for f, kind := range map[Fault]provider.ErrorKind{Denied: provider.KindDenied, Throttled: provider.KindThrottled, Unavailable: provider.KindUnavailable} {
		mend := s.breakIt(f)
		if all, err := s.Provider.List(s.ctx); err == nil {
			s.Errorf("%s: List returned %v", f, all)
		} else {
			s.refused(err, kind)
		}
		if err := s.Provider.Delete(s.ctx, ids(made)); err == nil {
			s.Errorf("%s: Delete has gone well", f)
		} else {
			s.refused(err, kind)
		}
		mend()
	}
	s.listed(r, 1)
}

func lostReply(s *suite) {
	r := s.request(3)
	s.lose(r)
	s.create(r)
	s.listed(r, 3)
}

// lostReplyAndRestart: what was made before a crash is found by its tag, and by its token.
func lostReplyAndRestart(s *suite) {
	r := s.request(2)
	s.lose(r)
	s.restart()
	s.listed(r, 2)
	s.create(r)
	s.listed(r, 2)
}

// lose creates a gang without hearing of it.
func (s *suite) lose(r provider.Request) {
	s.Helper()
	mend := s.breakIt(LostReply)
	_, err := s.Provider.Create(s.ctx, r)
	mend()
	if err == nil {
		s.Fatal("the reply should have been lost")
	}
	s.refused(err, provider.KindUnavailable)
}

// offeringsOutOfStock: what is out of stock is offered all the same, at its price.
func offeringsOutOfStock(s *suite) {
	defer s.breakIt(StockOut)()
	all, err := s.Provider.Offerings(s.ctx)
	if err != nil {
		s.Fatal(err)
	}
	if !slices.ContainsFunc(all, func(o provider.Offering) bool { return o.ID == s.offer.ID && o.Price == s.offer.Price }) {
		s.Errorf("%s is not offered while it is out of stock", s.offer.ID)
	}
}

// queued: a request that the cloud has queued answers the same until its machines are there, and makes them once.
func queued(s *suite) {
	r := s.request(2)
	mend := s.queue(&r)
	s.queue(&r)
	mend()
	s.create(r)
	s.listed(r, 2)
}

// queuedAndRestart: another daemon goes on with it, whether what resumes it was kept or not.
func queuedAndRestart(s *suite) {
	r := s.request(2)
	mend := s.queue(&r)
	s.restart()
	s.queue(&r)
	r.Resume = ""
	mend()
	s.create(r)
	s.listed(r, 2)
}

// withdrawQueued: a request that was withdrawn makes no machines any more.
func withdrawQueued(s *suite) {
	r := s.request(2)
	mend := s.queue(&r)
	if err := s.Provider.Withdraw(s.ctx, r.Token); err != nil {
		s.Fatal(err)
	}
	mend()
	s.listed(r, 0)
	next := s.request(1)
	s.create(next)
	s.listed(next, 1)
	s.listed(r, 0)
}

// queue asks for a gang that the cloud queues.
func (s *suite) queue(r *provider.Request) (mend func()) {
	s.Helper()
	mend = s.breakIt(Queued)
	made, err := s.Provider.Create(s.ctx, *r)
	if err == nil {
		s.Fatalf("the request was to be queued, and made %+v", made)
	}
	s.refused(err, provider.KindPending)
	if resume := provider.AsError(err).Resume; resume != "" {
		r.Resume = resume
	}
	return mend
}
