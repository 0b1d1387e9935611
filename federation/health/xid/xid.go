// Package xid knows which of the errors that NVIDIA's driver reports, by their numbers (Xid), want more than another start of the program: [NeedsRepair].
package xid

// repair are the XIDs after which a GPU wants a reset, or its machine a reboot; all others are the application's, or may be ignored.
// NVIDIA's catalogue, by way of gpud and NVSentinel; 109 and 64, of which others think less, are among them.
var repair = map[int]bool{46: true, 48: true, 62: true, 64: true, 74: true, 79: true, 95: true, 109: true, 110: true, 119: true, 120: true, 136: true, 140: true, 143: true,
	144: true, 145: true, 146: true, 147: true, 148: true, 149: true, 150: true, 151: true, 155: true, 156: true, 158: true}

// NeedsRepair reports whether a GPU that has reported an XID is not to be used before it was reset.
func NeedsRepair(n int) bool { return repair[n] }
