package restd

import (
	"net/http"
	"strings"

	"fsub/federation"
	"fsub/federation/api/identity"
	"fsub/slurm/hostlist"
	"fsub/slurm/wire"
)

// licenses is GET /licenses: those of all sites, or of those that the query's cluster names.
func (s *Server) licenses(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	return write(w, r, wire.LicensesResponse{Reply: s.Reply(r, c), LastUpdate: wire.Time(s.Now()), Licenses: LicensesOf(s.Lister.SitesOf(r.URL.Query()))})
}

// reservations is GET /reservations and GET /reservation/{name}: those of all sites, or of those that the query's cluster names.
func (s *Server) reservations(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	resp := wire.ReservationsResponse{Reply: s.Reply(r, c), LastUpdate: wire.Time(s.Now()), Reservations: wire.List[wire.Reservation]{}}
	name := r.PathValue("name")
	for _, site := range s.Lister.SitesOf(r.URL.Query()) {
		if site.Seen == nil {
			continue
		}
		for i := range site.Seen.Reservations {
			if v := &site.Seen.Reservations[i]; name == "" || v.Name == name {
				resp.Reservations = append(resp.Reservations, reservationRecord(site, v))
			}
		}
	}
	if name != "" && len(resp.Reservations) == 0 {
		return absentReservation()
	}
	return write(w, r, resp)
}

func reservationRecord(site *federation.Site, v *federation.Reservation) wire.Reservation {
	out := wire.Reservation{
		Name: v.Name, NodeList: hostlist.Compress(v.Nodes), NodeCount: int64(len(v.Nodes)), StartTime: wire.Time(v.Start), EndTime: wire.Time(v.End),
		Users: strings.Join(v.Users, ","), Accounts: strings.Join(v.Accounts, ","), Flags: wire.Strings{},
	}
	if v.Maint {
		out.Flags = wire.Strings{"MAINT"}
	}
	for i := range site.Seen.Nodes {
		for _, name := range v.Nodes {
			if n := &site.Seen.Nodes[i]; n.Name == name {
				out.CoreCount += int64(max(n.Sockets*n.Cores, 1))
			}
		}
	}
	return out
}
