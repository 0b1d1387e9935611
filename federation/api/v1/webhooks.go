package v1

import (
	"strconv"
	"strings"
	"time"
)

// Webhook is an address that events are posted to: those of the jobs that its owner may see, of all things for operators. When one is added, URL and Where are looked at, beside the name.
type Webhook struct {
	User string `json:"user"` // whose it is
	Name string `json:"name"`
	URL  string `json:"url" arg:"URL"` // https://HOST/PATH
	// Where are conditions as of GET /fed/v1/events, all of which must be met.
	Where []string `json:"where,omitempty" flag:"where" split:"no" usage:"only these: event=end, state=failed, name=train* ...; may be repeated"`

	Added     time.Time `json:"added,omitzero"`
	Mark      int64     `json:"mark,omitempty"`  // of the log of changes, up to which all is delivered
	Delivered int64     `json:"delivered"`       // events
	Last      time.Time `json:"last,omitzero"`   // delivery
	Tries     int       `json:"tries,omitempty"` // of the event that comes next, which failed
	Next      time.Time `json:"next,omitzero"`   // try
	Error     string    `json:"error,omitempty"` // of the last of them
	Off       string    `json:"off,omitempty"`   // why nothing is sent any more
	// Secret signs what is posted, as Standard Webhooks says; in the answer to its creation and rotation only.
	Secret string `json:"secret,omitempty"`
}

// WebhookTry is one try to deliver an event.
type WebhookTry struct {
	Time   time.Time `json:"time"`
	ID     string    `json:"id"` // of the event: the same at each try
	Type   string    `json:"type"`
	Try    int       `json:"try"`
	Took   float64   `json:"took_seconds"`
	Good   bool      `json:"delivered"`
	Result string    `json:"result"` // what was answered, or why nothing was
}

// ReplayWebhook says from when on events are delivered again. An endpoint that was off is on again.
type ReplayWebhook struct {
	Since time.Time `json:"since,omitzero"` // not set: what was not delivered yet
}

// Webhooks are those of the caller; an operator sees all.
var Webhooks = Owned[Webhook]{
	Noun: Noun[Webhook, None]{
		Key:  func(x *Webhook) string { return key(x.User, x.Name) },
		Path: "/fed/v1/webhooks", Who: ForAnybody, Doc: "Addresses that events are posted to; a user's own, an operator all",
		Empty: "there are no webhooks; see: fed webhook add --help",
		Columns: []Column[Webhook]{
			{"NAME", func(x *Webhook) string { return x.Name }},
			{"USER", func(x *Webhook) string { return x.User }},
			{"URL", func(x *Webhook) string { return x.URL }},
			{"WHERE", func(x *Webhook) string { return strings.Join(x.Where, " ") }},
			{"STATE", func(x *Webhook) string { return x.state() }},
			{"DELIVERED", func(x *Webhook) string { return strconv.FormatInt(x.Delivered, 10) }},
			{"LAST", func(x *Webhook) string { return moment(x.Last) }},
			{"ERROR", func(x *Webhook) string { return x.Error }},
		},
		More: []Column[Webhook]{
			{"ADDED", func(x *Webhook) string { return moment(x.Added) }},
			{"TRIES", func(x *Webhook) string { return count(x.Tries) }},
			{"NEXT TRY", func(x *Webhook) string { return moment(x.Next) }},
			{"SECRET, SHOWN ONCE", func(x *Webhook) string { return x.Secret }},
		},
	},
	Word: "webhook", Add: "add", Most: 20,
	Key:   func(x *Webhook) (user, name *string) { return &x.User, &x.Name },
	About: func(x *Webhook) string { return x.URL },
}

func (x *Webhook) state() string {
	switch {
	case x.Off != "":
		return "off"
	case x.Tries > 0:
		return "failing"
	}
	return "on"
}
