package provider

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/slurm/hostlist"
)

// Hash is the same for equal requests, whatever the configuration says by then. Providers write it to what they make, so its form stays.
func (r *Request) Hash() string {
	h := sha256.New()
	o := &r.Offering
	fmt.Fprintf(h, "%q\n", []string{r.Token, string(r.Site), o.ID, o.Type, o.Region, o.Zone, string(o.Market), o.Reservation, strconv.FormatBool(r.Near)})
	fmt.Fprintf(h, "%d %q\n%s", r.Count, r.Names, r.Boot.Lines())
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// HostList is Names as a host list that expands to them in their order, since a machine's place in the gang gives its name.
func (r *Request) HostList() string {
	list := hostlist.Compress(r.Names)
	if back, err := hostlist.Expand(list); err != nil || !slices.Equal(back, r.Names) {
		return strings.Join(r.Names, ",")
	}
	return list
}

// RetryAfter is how long the header of an answer asks to wait, in whole seconds; 0: it does not.
func RetryAfter(h http.Header) time.Duration {
	n, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || n < 0 {
		return 0
	}
	return time.Duration(n) * time.Second
}
