package identity

import (
	"encoding/binary"
	"errors"
	"net"
	"strconv"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// sourceOf is who has the other end of a TCP connection, as far as its share of the connections goes: the user, if it is a process of this machine, and else the address. Users
// of one machine do not share what one of them takes up.
func sourceOf(c net.Conn) string {
	there, ok1 := c.RemoteAddr().(*net.TCPAddr)
	here, ok2 := c.LocalAddr().(*net.TCPAddr)
	if ok1 && ok2 && there.IP.IsLoopback() {
		if uid, err := ownerOf(there, here); err == nil {
			return "uid " + strconv.FormatUint(uint64(uid), 10)
		}
	}
	if ok1 {
		return there.IP.String()
	}
	return ""
}

// OwnerOf is the uid of the process of this machine that has the other end of a connection over TCP.
func OwnerOf(c net.Conn) (uint32, error) {
	there, ok1 := c.RemoteAddr().(*net.TCPAddr)
	here, ok2 := c.LocalAddr().(*net.TCPAddr)
	if !ok1 || !ok2 {
		return 0, errors.New("the connection is not one over TCP")
	}
	return ownerOf(there, here)
}

// diagRequest asks for one socket: struct inet_diag_req_v2 of Linux.
type diagRequest []byte

// Len implements nl.NetlinkRequestData.
func (r diagRequest) Len() int { return len(r) }

// Serialize implements nl.NetlinkRequestData.
func (r diagRequest) Serialize() []byte { return r }

const (
	diagRequestSize = 56
	diagUID         = 64 // where the uid is in struct inet_diag_msg
)

// ownerOf is the uid of who has the socket from one address of this machine to another.
func ownerOf(from, to *net.TCPAddr) (uint32, error) {
	q := make(diagRequest, diagRequestSize)
	q[1] = unix.IPPROTO_TCP
	binary.NativeEndian.PutUint32(q[4:], 0xffffffff) // in whatever state
	binary.BigEndian.PutUint16(q[8:], uint16(from.Port))
	binary.BigEndian.PutUint16(q[10:], uint16(to.Port))
	if a, b := from.IP.To4(), to.IP.To4(); a != nil && b != nil {
		q[0] = unix.AF_INET
		copy(q[12:], a)
		copy(q[28:], b)
	} else {
		q[0] = unix.AF_INET6
		copy(q[12:], from.IP.To16())
		copy(q[28:], to.IP.To16())
	}
	copy(q[48:], []byte{255, 255, 255, 255, 255, 255, 255, 255}) // no cookie
	req := nl.NewNetlinkRequest(nl.SOCK_DIAG_BY_FAMILY, 0)
	req.AddData(q)
	answer, err := req.Execute(unix.NETLINK_INET_DIAG, nl.SOCK_DIAG_BY_FAMILY)
	if err != nil {
		return 0, err
	}
	if len(answer) != 1 || len(answer[0]) < diagUID+4 {
		return 0, errors.New("the kernel does not say whose it is")
	}
	return binary.NativeEndian.Uint32(answer[0][diagUID:]), nil
}
