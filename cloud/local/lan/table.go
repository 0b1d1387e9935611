package lan

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

const tablePrefix = "fsub-"

func tableOf(bridge string) string { return tablePrefix + bridge }
func bridgeOf(table string) string { return strings.TrimPrefix(table, tablePrefix) }

// tables are the tables of LANs.
func tables() ([]string, error) {
	all, err := allTables()
	return slices.DeleteFunc(all, func(t string) bool { return !strings.HasPrefix(t, tablePrefix) || !bridgeName.MatchString(bridgeOf(t)) }), err
}

func allTables() ([]string, error) {
	c, err := nftables.New()
	if err != nil {
		return nil, err
	}
	all, err := c.ListTablesOfFamily(nftables.TableFamilyIPv4)
	var out []string
	for _, t := range all {
		out = append(out, t.Name)
	}
	return out, err
}

func deleteTable(name string) error {
	c, err := nftables.New()
	if err != nil {
		return err
	}
	c.DelTable(&nftables.Table{Family: nftables.TableFamilyIPv4, Name: name})
	if err := c.Flush(); !errors.Is(err, unix.ENOENT) {
		return err
	}
	return nil
}

// replaceTable replaces a table, in one transaction with what fill adds.
func replaceTable(name string, fill func(*nftables.Conn, *nftables.Table) error) error {
	c, err := nftables.New()
	if err != nil {
		return err
	}
	t := &nftables.Table{Family: nftables.TableFamilyIPv4, Name: name}
	c.AddTable(t)
	c.DelTable(t)
	c.AddTable(t)
	if err := fill(c, t); err != nil {
		return err
	}
	return c.Flush()
}

// ensureTable makes the LAN's table: what leaves the bridge for elsewhere gets the host's address,
// and nothing comes in that does not answer.
func (n *LAN) ensureTable() error {
	all, err := tables()
	if err != nil || slices.Contains(all, tableOf(n.bridge)) {
		return err
	}
	return replaceTable(tableOf(n.bridge), func(c *nftables.Conn, t *nftables.Table) error {
		nat := c.AddChain(&nftables.Chain{Name: "postrouting", Table: t, Type: nftables.ChainTypeNAT, Hooknum: nftables.ChainHookPostrouting, Priority: nftables.ChainPriorityNATSource})
		c.AddRule(&nftables.Rule{Table: t, Chain: nat, Exprs: join(from(n.Subnet()), name(expr.MetaKeyOIFNAME, expr.CmpOpNeq, n.bridge), []expr.Any{&expr.Masq{}})})
		forward := c.AddChain(&nftables.Chain{Name: "forward", Table: t, Type: nftables.ChainTypeFilter, Hooknum: nftables.ChainHookForward, Priority: nftables.ChainPriorityFilter})
		for _, rule := range [][]expr.Any{
			join(name(expr.MetaKeyIIFNAME, expr.CmpOpEq, n.bridge), verdict(expr.VerdictAccept)),
			join(name(expr.MetaKeyOIFNAME, expr.CmpOpEq, n.bridge), noAnswer(), verdict(expr.VerdictDrop)),
		} {
			c.AddRule(&nftables.Rule{Table: t, Chain: forward, Exprs: rule})
		}
		return nil
	})
}

func join(parts ...[]expr.Any) []expr.Any { return slices.Concat(parts...) }

func verdict(kind expr.VerdictKind) []expr.Any { return []expr.Any{&expr.Verdict{Kind: kind}} }

// name compares an interface's name.
func name(key expr.MetaKey, op expr.CmpOp, want string) []expr.Any {
	return []expr.Any{&expr.Meta{Key: key, Register: 1}, &expr.Cmp{Op: op, Register: 1, Data: nameKey(want)}}
}

// nameKey is an interface's name as nf_tables keeps it: 16 bytes.
func nameKey(s string) []byte { return append([]byte(s), make([]byte, unix.IFNAMSIZ-len(s))...) }

// from matches packets whose source is of a network.
func from(p netip.Prefix) []expr.Any {
	const source, size = 12, net.IPv4len // in the header
	return []expr.Any{
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: source, Len: size},
		&expr.Bitwise{SourceRegister: 1, DestRegister: 1, Len: size, Mask: net.CIDRMask(p.Bits(), 32), Xor: make([]byte, size)},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: p.Addr().AsSlice()},
	}
}

// noAnswer matches packets that neither belong to a connection that was let through when it began,
// nor are about one.
func noAnswer() []expr.Any {
	const size = 4
	return []expr.Any{
		&expr.Ct{Register: 1, Key: expr.CtKeySTATE},
		&expr.Bitwise{SourceRegister: 1, DestRegister: 1, Len: size, Mask: binaryutil.NativeEndian.PutUint32(expr.CtStateBitESTABLISHED | expr.CtStateBitRELATED), Xor: make([]byte, size)},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: binary.NativeEndian.AppendUint32(nil, 0)},
	}
}
