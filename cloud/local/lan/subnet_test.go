package lan

import (
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCheckRange(t *testing.T) {
	for text, want := range map[string]string{
		"10.254.0.0/16":  "",
		"10.0.0.0/8":     "",
		"169.254.0.0/16": "",
		"100.64.0.0/10":  "",
		"172.30.16.0/20": "",
		"10.254.0.1/16":  "invalid IPv4 network",
		"fd00::/64":      "invalid IPv4 network",
		"10.1.2.0/24":    "too small",
		"8.8.0.0/16":     "not private",
	} {
		err := CheckRange(netip.MustParsePrefix(text))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
	for _, p := range DefaultRanges() {
		if err := CheckRange(p); err != nil {
			t.Error(err)
		}
	}
	if CheckRange(netip.Prefix{}) == nil {
		t.Error("nothing is a range")
	}
}

// TestFreeBlock: what is found lies in a range and overlaps with nothing; nothing is found only if there is nothing.
func TestFreeBlock(t *testing.T) {
	prefix := func(text string) netip.Prefix { return netip.MustParsePrefix(text) }
	rapid.Check(t, func(t *rapid.T) {
		ranges := []netip.Prefix{prefix("10.254.0.0/18"), prefix("172.30.0.0/19")}
		var used []netip.Prefix
		for range rapid.IntRange(0, 8).Draw(t, "used") {
			r := rapid.SampledFrom(ranges).Draw(t, "range")
			bits := rapid.IntRange(r.Bits(), 32).Draw(t, "bits")
			addr := add(r.Addr(), rapid.Uint32Range(0, 1<<(32-r.Bits())-1).Draw(t, "addr"))
			used = append(used, netip.PrefixFrom(addr, bits).Masked())
		}
		block, ok := freeBlock(ranges, Bits, rapid.Uint32().Draw(t, "start"), used)
		free := 0
		for _, r := range ranges {
			for i := range uint32(1) << (Bits - r.Bits()) {
				if !overlaps(netip.PrefixFrom(add(r.Addr(), i<<(32-Bits)), Bits), used) {
					free++
				}
			}
		}
		if ok != (free > 0) {
			t.Fatalf("found %v %s, and %d are free", ok, block, free)
		}
		if ok && (overlaps(block, used) || block != block.Masked() || !overlaps(block, ranges)) {
			t.Fatalf("found %s beside %v", block, used)
		}
	})
}
