package providertest

import (
	"slices"

	"fsub/cloud/provider"
)

func offeringsAreWhole(s *suite) {
	all, err := s.Provider.Offerings(s.ctx)
	if err != nil {
		s.Fatal(err)
	}
	seen := map[string]bool{}
	for _, o := range all {
		switch {
		case o.ID == "" || seen[o.ID] || o.Type == "":
			s.Errorf("no ID of its own, or no type: %+v", o)
		case o.CPUs < 1 || o.Mem < 1:
			s.Errorf("%s has %d CPUs and %d MiB", o.ID, o.CPUs, o.Mem)
		case o.GPUs < 0 || o.GPUs == 0 && o.GPUType != "":
			s.Errorf("%s has %d GPUs of type %q", o.ID, o.GPUs, o.GPUType)
		case o.Price < 0 || o.PriceFrom == "":
			s.Errorf("%s costs %v, from %q", o.ID, o.Price, o.PriceFrom)
		case o.Market != provider.OnDemand && o.Market != provider.Spot && o.Market != provider.Reserved && o.Market != provider.Block && o.Market != provider.Flex:
			s.Errorf("%s is of market %q", o.ID, o.Market)
		case o.Market == provider.Flex && o.Queue <= 0:
			s.Errorf("%s is not queued", o.ID)
		case o.Market == provider.Spot && o.Interrupts <= 0:
			s.Errorf("%s is never taken back", o.ID)
		case (o.Market == provider.Reserved || o.Market == provider.Block) && o.Reservation == "":
			s.Errorf("%s names no reservation", o.ID)
		}
		seen[o.ID] = true
	}
}

func offeringsStayTheSame(s *suite) {
	names := func() []string {
		all, err := s.Provider.Offerings(s.ctx)
		if err != nil {
			s.Fatal(err)
		}
		var out []string
		for _, o := range all {
			out = append(out, o.ID)
		}
		slices.Sort(out)
		return out
	}
	first := names()
	if second := names(); !slices.Equal(first, second) {
		s.Errorf("one look shows %v, the next %v", first, second)
	}
	s.restart()
	if third := names(); !slices.Equal(first, third) {
		s.Errorf("one look shows %v, one after a restart %v", first, third)
	}
}

func listForeign(s *suite) {
	if s.Stranger == nil {
		s.Skip("SKIPPED: this cloud has one site only")
	}
	r := s.request(1)
	s.create(r)
	s.listed(r, 1)
	if all := s.list(s.Stranger(s.T)); len(all) > 0 {
		s.Errorf("another site sees %+v", all)
	}
}

func listAfterRestart(s *suite) {
	r := s.request(2)
	made := s.create(r)
	s.listed(r, 2)
	s.restart()
	found := map[provider.InstanceID]provider.Instance{}
	for _, m := range s.list(s.Provider) {
		found[m.ID] = m
	}
	for _, m := range made {
		if found[m.ID].Token != r.Token {
			s.Errorf("after a restart the listing shows %s as %+v", m.ID, found[m.ID])
		}
	}
}

func deleteAll(s *suite) {
	r, other := s.request(3), s.request(1)
	made := s.create(r)
	s.create(other)
	s.listed(r, 3)
	s.delete(ids(made)...)
	s.gone(ids(made))
	s.listed(other, 1)
}

func deleteTwice(s *suite) {
	made := s.create(s.request(1))
	s.delete(made[0].ID)
	s.delete(made[0].ID)
	s.gone(ids(made))
	s.delete(made[0].ID, made[0].ID)
}

func deletePart(s *suite) {
	r := s.request(3)
	made := s.create(r)
	s.listed(r, 3)
	s.delete(made[1].ID)
	s.gone([]provider.InstanceID{made[1].ID})
	left := s.listed(r, 2)
	if left[made[0].ID].ID == "" || left[made[2].ID].ID == "" {
		s.Errorf("of %v the second was ended, and %v is left", ids(made), left)
	}
}

func deleteUnknown(s *suite) {
	s.delete(s.Unknown)
	s.restart()
	s.delete(s.Unknown)
}

// deleteUnknownAmong: one that nobody knows does not keep the others alive.
func deleteUnknownAmong(s *suite) {
	r := s.request(3)
	made := s.create(r)
	s.listed(r, 3)
	s.delete(made[0].ID, s.Unknown, made[1].ID, made[2].ID)
	s.gone(ids(made))
}

func deleteNothing(s *suite) {
	r := s.request(1)
	s.create(r)
	s.delete()
	s.listed(r, 1)
}

func deleteAfterRestart(s *suite) {
	r := s.request(2)
	made := s.create(r)
	s.listed(r, 2)
	s.restart()
	s.delete(ids(made)...)
	s.gone(ids(made))
}

func topology(s *suite) {
	p, ok := s.Provider.(provider.Topologist)
	if !ok {
		s.Skip("SKIPPED: this cloud does not tell where machines are")
	}
	r := s.request(2)
	made := s.create(r)
	var found map[provider.InstanceID][]string
	s.until("all running", func() bool {
		for _, m := range s.listed(r, 2) {
			if m.State != provider.InstanceRunning {
				return false
			}
		}
		return true
	})
	found, err := p.Topology(s.ctx, append(ids(made), s.Unknown))
	if err != nil {
		s.Fatalf("Topology, one of three unknown: %v", err)
	}
	for id, groups := range found {
		if !slices.Contains(ids(made), id) || len(groups) == 0 || slices.Contains(groups, "") {
			s.Errorf("%s is in %q", id, groups)
		}
	}
	if found, err := p.Topology(s.ctx, nil); err != nil || len(found) > 0 {
		s.Errorf("Topology of nothing: %v, %v", found, err)
	}
}

// wrapKeepsIt: the wrapper with which the daemon calls a Provider changes none of this.
func wrapKeepsIt(s *suite) {
	_, had := s.Provider.(provider.Topologist)
	s.Provider = provider.Wrap(s.Provider, provider.WrapConfig{Site: s.Site, Retries: 1})
	if _, has := s.Provider.(provider.Topologist); has != had {
		s.Errorf("a Topologist before: %v, after: %v", had, has)
	}
	r := s.request(3)
	made := s.create(r)
	s.sameAgain(r, made)
	s.listed(r, 3)
	s.delete(made[0].ID, s.Unknown, made[1].ID, made[2].ID)
	s.gone(ids(made))
}

func withdrawUnknown(s *suite) {
	if err := s.Provider.Withdraw(s.ctx, "gang-that-nobody-asked-for"); err != nil {
		s.Error(err)
	}
}

// withdrawMade: what has been made is no request any more, and stays.
func withdrawMade(s *suite) {
	r := s.request(1)
	made := s.create(r)
	if err := s.Provider.Withdraw(s.ctx, r.Token); err != nil {
		s.Error(err)
	}
	s.sameAgain(r, made)
	s.listed(r, 1)
}
