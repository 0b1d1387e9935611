package api

import (
	"net/http"

	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	"fsub/federation/api/listing"
	v1 "fsub/federation/api/v1"
)

// associations is GET /fed/v1/associations, for sacctmgr and sshare. The query's cluster names sites, none all.
func (s *Server) associations(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	resp := v1.Associations{Reply: s.restd.Reply(r, c), Clusters: []v1.AccountingCluster{}, Associations: []v1.Association{}}
	for _, site := range s.lister.SitesOf(r.URL.Query()) {
		if site.Seen == nil {
			continue
		}
		resp.Clusters = append(resp.Clusters, v1.AccountingCluster{Name: string(site.Name), Version: site.Seen.Version, TRES: listing.KindsOf(site.Seen.Nodes),
			Enforced: site.Seen.Associations != nil})
		resp.Associations = append(resp.Associations, s.lister.Associations(site)...)
	}
	return answer.JSON(w, resp)
}
