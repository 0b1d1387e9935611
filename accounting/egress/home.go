package egress

import (
	"fmt"
	"strconv"
	"time"
)

// Store is a store of objects by which results come home.
type Store struct {
	Place      string        // region of a cloud: "aws:us-east-1"; "": it is in none, and costs nothing
	PerGBMonth float64       // dollars for a GB that is kept for a month
	Keep       time.Duration // how long it is kept
}

// AssumedPerGBMonth is the list price of S3 Standard in us-east-1, the highest of the usual classes of the three clouds.
const AssumedPerGBMonth = 0.023

const month = 730 * time.Hour

// Home is what it costs to bring results home from a site by way of a store: what leaves the site, what leaves the store, and what is kept there. ok is false where that costs
// nothing, or where it costs nothing by what is known: a site in no cloud has its price set, or none.
func Home(from Site, by Store, bytes int64) (m Move, ok bool) {
	if bytes <= 0 {
		return Move{}, false
	}
	add := func(one Move) {
		if ok {
			m.Detail += " + "
		}
		m.Dollars, m.Detail, m.Assumed, ok = m.Dollars+one.Dollars, m.Detail+one.Detail, m.Assumed || one.Assumed, true
	}
	if from.Place != "" || from.PerGB != nil {
		if one, far := Between(from, Site{Name: "home", Place: by.Place}, bytes); far {
			add(one)
		}
	}
	if by.Place == "" {
		return m, ok
	}
	if one, far := Between(Site{Place: by.Place}, Site{Name: "home"}, bytes); far {
		add(one)
	}
	if one, costs := by.room(bytes, by.Keep); costs {
		add(one)
	}
	return m, ok
}

// room is what the store asks to keep so much for so long.
func (s *Store) room(bytes int64, span time.Duration) (m Move, ok bool) {
	if m.Dollars = float64(bytes) / GB * s.PerGBMonth * span.Hours() / month.Hours(); m.Dollars <= 0 {
		return Move{}, false
	}
	m.Detail = fmt.Sprintf("%s kept for %.4g h at $%s/GB a month", Text(bytes), span.Hours(), strconv.FormatFloat(s.PerGBMonth, 'f', -1, 64))
	return m, true
}
