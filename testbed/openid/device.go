package openid

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"sync"
	"sync/atomic"
)

// Devices are the sign-ins of devices by RFC 8628: POST /device begins one, POST /token polls it. Fields are set before the provider is asked.
type Devices struct {
	Off      bool         // the provider has none
	Secret   string       // that the client fsub must have, by HTTP's basic authentication; "": it is a public one
	Interval int          // in seconds, between two polls; 0: it says none
	Says     string       // what it answers to polls instead of an ID token, as "access_denied"; "": by Confirm
	Auto     string       // user who has confirmed each sign-in at once; "": nobody has
	Page     string       // of the provider, as it names it; "": /activate
	Polls    atomic.Int32 // how often it was polled

	mu    sync.Mutex
	begun map[string]*device // by device_code
}

type device struct {
	code   string
	claims map[string]any // once it is confirmed
}

// Confirm is the user at a browser, who confirms a code: the device's ID token differs from a good one by change, as [Provider.Sign] has it. It reports whether the code is known.
func (d *Devices) Confirm(code string, change map[string]any) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, one := range d.begun {
		if one.code == code {
			if one.claims = change; change == nil {
				one.claims = map[string]any{}
			}
			return true
		}
	}
	return false
}

// serve answers the two requests; it reports whether this was one of them.
func (d *Devices) serve(p *Provider, w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodPost || r.URL.Path != "/device" && r.URL.Path != "/token" {
		return false
	}
	w.Header().Set("Content-Type", "application/json")
	refuse := func(why string) {
		w.WriteHeader(http.StatusBadRequest)
		json.NewEncoder(w).Encode(map[string]string{"error": why})
	}
	id, secret, _ := r.BasicAuth()
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case p.Down.Load():
		w.WriteHeader(http.StatusBadGateway)
	case d.Secret != "" && (id != "fsub" || secret != d.Secret), r.PostFormValue("client_id") != "fsub":
		refuse("invalid_client")
	case r.URL.Path == "/device":
		key, code := rand.Text(), rand.Text()[:4]+"-"+rand.Text()[:4]
		if d.begun == nil {
			d.begun = map[string]*device{}
		}
		d.begun[key] = &device{code: code}
		if d.Auto != "" {
			d.begun[key].claims = map[string]any{"preferred_username": d.Auto}
		}
		page := d.Page
		if page == "" {
			page = p.Issuer + "/activate"
		}
		about := map[string]any{"device_code": key, "user_code": code, "verification_uri": page, "verification_uri_complete": page + "?user_code=" + code, "expires_in": 600}
		if d.Interval > 0 {
			about["interval"] = d.Interval
		}
		json.NewEncoder(w).Encode(about)
	case r.PostFormValue("grant_type") == "authorization_code":
		p.Browsers.token(p, w, r, refuse)
	default:
		d.poll(p, w, r, refuse)
	}
	return true
}

// poll answers one poll; a confirmed sign-in is completed once.
func (d *Devices) poll(p *Provider, w http.ResponseWriter, r *http.Request, refuse func(string)) {
	d.Polls.Add(1)
	key := r.PostFormValue("device_code")
	one := d.begun[key]
	switch {
	case r.PostFormValue("grant_type") != "urn:ietf:params:oauth:grant-type:device_code":
		refuse("unsupported_grant_type")
	case d.Says != "":
		refuse(d.Says)
	case one == nil:
		refuse("invalid_grant")
	case one.claims == nil:
		refuse("authorization_pending")
	default:
		delete(d.begun, key)
		answer := map[string]any{"access_token": "x", "token_type": "Bearer"}
		if _, none := one.claims["no ID token"]; !none {
			answer["id_token"] = p.Sign(one.claims)
		}
		json.NewEncoder(w).Encode(answer)
	}
}
