package api

import (
	"net/http"
	"strings"

	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	"fsub/federation/api/restd"
	v1 "fsub/federation/api/v1"
)

// associations is GET /fed/v1/associations, for sacctmgr and sshare. The query's cluster names sites. Without it the answer is the federation's own tree,
// as one cluster, or all sites if there is none.
func (s *Server) associations(w http.ResponseWriter, r *http.Request, c identity.Caller, q v1.AssociationQuery) error {
	resp := v1.Associations{Reply: s.restd.Reply(r, c), Clusters: []v1.AccountingCluster{}, Associations: []v1.Association{}}
	if own := s.treeAssociations(c); own != nil && strings.Join(q.Cluster, "") == "" {
		var nodes []federation.Node
		for _, site := range s.lister.All() {
			if site.Seen != nil {
				nodes = append(nodes, site.Seen.Nodes...)
			}
		}
		resp.Clusters = append(resp.Clusters, v1.AccountingCluster{Name: s.cfg.Federation, Version: s.cfg.Version, TRES: restd.KindsOf(nodes)})
		resp.Associations = own
		return answer.JSON(w, resp)
	}
	for _, site := range s.lister.SitesOf(v1.URLQuery(&q)) {
		if site.Seen == nil {
			continue
		}
		resp.Clusters = append(resp.Clusters, v1.AccountingCluster{Name: string(site.Name), Version: site.Seen.Version, TRES: restd.KindsOf(site.Seen.Nodes),
			Enforced: site.Seen.Associations != nil})
		for _, a := range s.lister.Associations(site) {
			if s.accounts.Sees(c, a.Account, a.User) {
				resp.Associations = append(resp.Associations, a)
			}
		}
	}
	return answer.JSON(w, resp)
}

// treeAssociations are those of the account tree, with what the caller may see of it; nil if there is no tree.
func (s *Server) treeAssociations(c identity.Caller) []v1.Association {
	if s.accounts.Books == nil || s.accounts.Books.Tree().Empty() {
		return nil
	}
	standing := map[accounts.Key]*v1.ShareUsage{}
	if s.cfg.FairShare != nil {
		for _, row := range s.cfg.FairShare.Standing() {
			standing[row.Key] = &v1.ShareUsage{NormShares: row.NormShares, Raw: row.Usage, Norm: row.NormUsage, Effective: row.EffectiveUsage, FairShare: row.FairShare,
				LevelFS: v1.LevelFS(row.LevelFS)}
		}
	}
	var out []v1.Association
	for i, r := range s.accounts.Books.Tree().Records() {
		if r.Kind == accounts.QOS || r.Kind == accounts.User && !s.accounts.Sees(c, r.Account, r.Name) {
			continue
		}
		a := v1.Association{Cluster: s.cfg.Federation, Account: r.Name, ParentAccount: r.Parent, ID: int64(1 + i), Shares: int64(r.Shares()), DefaultQOS: r.Set["DefaultQOS"],
			Default: r.Default, Usage: standing[r.Key]}
		if r.Kind == accounts.User {
			a.Account, a.User = r.Account, r.Name
			if uid, _, err := s.users.UserIDs(r.Name); err == nil {
				a.UID = &uid
			}
		}
		if q := r.Set["QOS"]; q != "" {
			a.QOS = strings.Split(q, ",")
		}
		out = append(out, a)
	}
	return out
}
