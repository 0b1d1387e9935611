// Package lan is a network for the machines of a local pool: a bridge, a link from it to the
// network namespace of each machine, and a way out by masquerade. It takes root and a kernel with
// nf_tables, and no program. [Probe] finds out by trying whether all of it works on this machine.
//
// What a [LAN] makes is the bridge, a table of nf_tables of its own, and forwarding for the bridge
// and for the interfaces that the machine's routes use; never net.ipv4.ip_forward. Where forwarding
// of an interface was off, the table "fsub-forwarding" names it, and lets in only what answers the
// machines: the host does not become a router for others. That table is the record, too: when no
// LAN is left on the machine those interfaces are as they were. If somebody turns forwarding on for
// all meanwhile, as Docker does, it is theirs.
//
// It exists for pools of this machine whose nodes have addresses of their own (network: namespace in docs/configuration.md), as machines of a cloud have.
//
// From without, nobody but the host can begin to talk to a machine. IPv6 goes no further than the
// bridge: machine and host have link-local addresses only.
//
// All of it survives the daemon, since machines do. The next LAN of the same name takes it over;
// what nobody owns any more [Sweep] removes.
package lan
