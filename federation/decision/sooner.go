package decision

import (
	"time"

	"fsub/federation/ident"
)

// Sooner is something that would have a waiting job start sooner than it will as things are.
type Sooner struct {
	Change string         `json:"change"` // in words: "without --switches"
	Site   ident.SiteName `json:"site"`
	Pool   string         `json:"pool"`
	Start  time.Time      `json:"start"`
	Wait   time.Duration  `json:"wait"`
	Total  Dollars        `json:"total"`          // what it would come to, with what its waiting is worth
	Price  Dollars        `json:"price"`          // of that, what is paid: see [Offer.Price]
	More   Dollars        `json:"more,omitempty"` // that is paid more than where it would run now; 0: not worked out
}
