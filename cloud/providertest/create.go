package providertest

import (
	"context"
	"slices"
	"sync"

	"fsub/cloud/provider"
)

func createOne(s *suite) {
	r := s.request(1)
	m := s.create(r)[0]
	if m.State != provider.InstancePending && m.State != provider.InstanceRunning {
		s.Errorf("a new machine is %q", m.State)
	}
	shown := s.listed(r, 1)[m.ID]
	if shown.Token != r.Token || shown.Offering != "" && shown.Offering != r.Offering.ID || shown.Name != "" && shown.Name != r.Names[0] {
		s.Errorf("the listing shows %+v", shown)
	}
}

func createGang(s *suite) {
	one, gang := s.request(1), s.request(3)
	first := s.create(one)
	made := s.create(gang)
	shown := s.listed(gang, 3)
	for i, m := range made {
		got, ok := shown[m.ID]
		if !ok || got.Name != "" && got.Name != gang.Names[i] {
			s.Errorf("machine %d is %s; the listing shows %+v", i, m.ID, got)
		}
	}
	if slices.Contains(ids(made), first[0].ID) {
		s.Error("two gangs share a machine")
	}
}

func createNear(s *suite) {
	r := s.request(2)
	r.Near = true
	if s.offer.MaxGang == 0 {
		_, err := s.Provider.Create(s.ctx, r)
		if err == nil {
			s.Skip("SKIPPED: the cloud has no placement, and does not mind")
		}
		s.refused(err, provider.KindInvalid)
		return
	}
	s.create(r)
	s.listed(r, 2)
	s.create(r) // again: what holds the machines together is there already
	s.listed(r, 2)
}

func machinesGetAddresses(s *suite) {
	r := s.request(2)
	s.create(r)
	s.until("running, with addresses of their own", func() bool {
		addrs := map[string]bool{}
		for _, m := range s.listed(r, 2) {
			if m.State == provider.InstanceRunning && m.Addr != "" && !m.Launched.IsZero() {
				addrs[m.Addr] = true
			}
		}
		return len(addrs) == 2
	})
}

func (s *suite) sameAgain(r provider.Request, made []provider.Instance) {
	s.Helper()
	again, err := s.Provider.Create(s.ctx, r)
	if err != nil {
		s.Fatalf("the same request again: %v", err)
	}
	s.isGang(r, again)
	if !slices.Equal(ids(again), ids(made)) {
		s.Errorf("the same request made %v, and then %v", ids(made), ids(again))
	}
}

func createAgain(s *suite) {
	r := s.request(3)
	made := s.create(r)
	s.sameAgain(r, made)
	s.listed(r, 3)
	s.sameAgain(r, made)
	s.listed(r, 3)
}

func createAgainAfterRestart(s *suite) {
	r := s.request(2)
	made := s.create(r)
	s.restart()
	s.sameAgain(r, made)
	s.listed(r, 2)
}

// createAgainAfterEnd: a gang that has ended does not come back under its token.
func createAgainAfterEnd(s *suite) {
	r := s.request(2)
	made := s.create(r)
	s.delete(ids(made)...)
	s.gone(ids(made))
	if _, err := s.Provider.Create(s.ctx, r); err != nil {
		s.refused(err, provider.KindConflict)
	} else {
		s.sameAgain(r, made)
	}
	s.gone(ids(made))
	s.listed(r, 0)
}

// createAtOnce: the same request from many sides makes one gang.
func createAtOnce(s *suite) {
	r := s.request(2)
	answers := make([][]provider.Instance, 8)
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() {
			var err error
			if answers[i], err = s.Provider.Create(s.ctx, r); err != nil {
				s.refused(err, provider.KindUnavailable, provider.KindThrottled, provider.KindPending)
			}
		})
	}
	wg.Wait()
	made := s.create(r)
	for _, a := range answers {
		if a != nil && !slices.Equal(ids(a), ids(made)) {
			s.Errorf("the same request was answered with %v and with %v", ids(a), ids(made))
		}
	}
	s.listed(r, 2)
}

func createConflict(s *suite) {
	r := s.request(2)
	made := s.create(r)
	s.listed(r, 2)
	other := r
	other.Count, other.Names = 3, append(slices.Clone(r.Names), "further")
	renamed := r
	renamed.Names = []string{"another", "name"}
	for what, wrong := range map[string]provider.Request{"count": other, "names": renamed} {
		_, err := s.Provider.Create(s.ctx, wrong)
		if err == nil {
			s.Fatalf("the token with another %s was taken", what)
		}
		s.refused(err, provider.KindConflict)
	}
	s.sameAgain(r, made)
	s.listed(r, 2)
}

func createInvalid(s *suite) {
	for what, spoil := range map[string]func(*provider.Request){
		"no machines":        func(r *provider.Request) { r.Count, r.Names = 0, nil },
		"a name too few":     func(r *provider.Request) { r.Names = r.Names[:1] },
		"no token":           func(r *provider.Request) { r.Token = "" },
		"a token with space": func(r *provider.Request) { r.Token = "a b" },
		"no such offering": func(r *provider.Request) {
			r.Offering = provider.Offering{ID: "no/such/thing", Type: "no.such", Region: r.Offering.Region, Zone: r.Offering.Zone}
		},
	} {
		r := s.request(2)
		spoil(&r)
		if _, err := s.Provider.Create(s.ctx, r); err == nil {
			s.Errorf("%s: was taken", what)
		} else {
			s.refused(err, provider.KindInvalid)
		}
	}
	if all := s.list(s.Provider); len(all) > 0 {
		s.Errorf("bad requests made %+v", all)
	}
}

// createCancelled: a caller who goes away proves nothing; asked again there is one gang.
func createCancelled(s *suite) {
	r := s.request(2)
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	if _, err := s.Provider.Create(ctx, r); err == nil {
		s.Error("a call that was cancelled beforehand has gone well")
	} else {
		s.refused(err, provider.KindUnavailable)
	}
	s.create(r)
	s.listed(r, 2)
}
