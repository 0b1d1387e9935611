package providertest

import (
	"errors"

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
		s.Skip("this cloud cannot be given faults")
	}
	mend, err := s.Break(s.T, f, s.offer)
	if err != nil {
		s.Skipf("this cloud cannot be given the fault %s: %v", f, err)
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
			made, err := s.Provider.Create(s.ctx, r)
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
