package lan

import (
	"github.com/google/nftables"
	"github.com/google/nftables/expr"
)

// dropForwarded is a firewall that lets no packet through the host.
func dropForwarded() error {
	return replaceTable("firewall", func(c *nftables.Conn, t *nftables.Table) error {
		chain := c.AddChain(&nftables.Chain{Name: "forward", Table: t, Type: nftables.ChainTypeFilter, Hooknum: nftables.ChainHookForward, Priority: nftables.ChainPriorityFilter})
		c.AddRule(&nftables.Rule{Table: t, Chain: chain, Exprs: verdict(expr.VerdictDrop)})
		return nil
	})
}
