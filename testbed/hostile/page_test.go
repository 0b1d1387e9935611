package hostile

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	v1 "fsub/federation/api/v1"
)

// atBrowser is what an attacker has for the page: tickets of its own, and a browser that has signed in.
type atBrowser struct {
	once   sync.Once
	at     string // of the page; "": it gets no ticket
	used   string // a ticket that has signed in
	http   *http.Client
	stolen *http.Cookie // of a session that has ended
}

// ticket asks for one of the attacker's own.
func (a *attacker) ticket(ctx context.Context) (t v1.Ticket) {
	resp, err := a.send(ctx, "POST", "/fed/v1/web/tickets", v1.NewTicket{})
	if err != nil {
		return t
	}
	defer resp.Body.Close()
	_ = json.NewDecoder(resp.Body).Decode(&t)
	return t
}

func newBrowser() *http.Client {
	jar, _ := cookiejar.New(nil)
	return &http.Client{Jar: jar, Timeout: time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// signsIn reports whether a ticket does.
func signsIn(ctx context.Context, c *http.Client, at, ticket string) (bool, int) {
	r, err := http.NewRequestWithContext(ctx, "POST", at+"/login", strings.NewReader(url.Values{"ticket": {ticket}}.Encode()))
	if err != nil {
		return false, 0
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := c.Do(r)
	if err != nil {
		return false, 0
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode == http.StatusSeeOther, resp.StatusCode
}

// enter signs the attacker in twice, and ends one of the sessions again.
func (a *attacker) enter(ctx context.Context) *atBrowser {
	p := &a.page
	p.once.Do(func() {
		for i := range 2 {
			t, c := a.ticket(ctx), newBrowser()
			ok, _ := signsIn(ctx, c, t.Address, t.Ticket)
			if !ok {
				return
			}
			where, _ := url.Parse(t.Address)
			cookie := c.Jar.Cookies(where)[0]
			if i == 0 {
				p.stolen = cookie
				resp, err := c.Post(t.Address+"/logout", "application/x-www-form-urlencoded", nil)
				if err != nil {
					return
				}
				resp.Body.Close()
				continue
			}
			p.used, p.http, p.at = t.Ticket, c, t.Address
		}
	})
	return p
}

// browse tries the page with tickets that are forged, used, changed or another user's, with cookies that are made up or stolen, as another origin, and with names that are markup,
// escapes or 64 KB; and as itself.
func (a *attacker) browse(ctx context.Context, r *rand.Rand) string {
	p := a.enter(ctx)
	if p.at == "" {
		time.Sleep(10 * time.Millisecond)
		return "no ticket"
	}
	user, rest, _ := strings.Cut(p.used, ".")
	switch r.IntN(8) {
	case 0:
		return refused(signsIn(ctx, newBrowser(), p.at, p.used))
	case 1:
		b := []byte(rest)
		b[r.IntN(len(b))] ^= 1
		return refused(signsIn(ctx, newBrowser(), p.at, user+"."+string(b)))
	case 2:
		return refused(signsIn(ctx, newBrowser(), p.at, fmt.Sprintf("fsub%d.%s", r.IntN(hostileUsers), rest)))
	case 3:
		return refused(signsIn(ctx, newBrowser(), p.at, strings.Repeat("<script>\x1b[2J", r.IntN(6000))+"."+rest))
	case 4:
		cookie := *p.stolen
		if uid, secret, _ := strings.Cut(cookie.Value, "."); r.IntN(2) == 0 {
			cookie.Value = fmt.Sprintf("%d.%s", firstUID+r.IntN(hostileUsers), strings.ToUpper(secret))
		} else {
			cookie.Value = uid + "." + secret
		}
		return a.visit(ctx, p, "GET", "/jobs", &cookie, nil, http.StatusSeeOther)
	case 5:
		return a.visit(ctx, p, "POST", "/act", nil, http.Header{"Origin": {"https://evil.example"}}, http.StatusForbidden)
	case 6:
		names := []string{`<script>alert(1)</script>`, "\x1b[2J", "\u202e", strings.Repeat("x", 64<<10), "["}
		return a.visit(ctx, p, "GET", "/jobs?name="+url.QueryEscape(names[r.IntN(len(names))]), nil, nil, 0)
	}
	pages := []string{"/jobs?user=", "/jobs?user=&state=ended", fmt.Sprintf("/job/%d", a.one(r)), "/now", "/team.json", "/operate.live", "/jobs.csv"}
	return a.visit(ctx, p, "GET", pages[r.IntN(len(pages))], nil, nil, 0)
}

// taken is an answer that stands for a defect: it fails the test.
const taken = "500 {what must be refused was taken}"

func refused(ok bool, status int) string {
	if ok {
		return taken
	}
	return fmt.Sprint(status)
}

// visit asks the page for something. want is the status that it must have, if it is answered; 0: any.
func (a *attacker) visit(ctx context.Context, p *atBrowser, method, path string, cookie *http.Cookie, head http.Header, want int) string {
	r, err := http.NewRequestWithContext(ctx, method, p.at+path, nil)
	if err != nil {
		return "no address"
	}
	c := p.http
	if head != nil {
		r.Header = head
	}
	if cookie != nil {
		c = newBrowser()
		r.AddCookie(cookie)
	}
	resp, err := c.Do(r)
	if err != nil {
		return "cut"
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	if resp.StatusCode == http.StatusOK && want != 0 || strings.Contains(string(text), "<script>alert") {
		return taken
	}
	return fmt.Sprint(resp.StatusCode)
}

// look signs the honest user in at the page every other second, as a person does by fed web, and looks at the jobs. It returns when each look was done, and what went wrong.
func (w *world) look(span time.Duration) (s times) {
	for end := time.Now().Add(span); time.Now().Before(end); time.Sleep(2 * time.Second) {
		began := time.Now()
		if err := w.lookOnce(); err != nil {
			s.failed, s.failure = s.failed+1, err.Error()
		}
		s.took = append(s.took, time.Since(began))
	}
	slices.Sort(s.took)
	return s
}

func (w *world) lookOnce() error {
	cmd := exec.Command(w.file("fed"), "web", "--print")
	cmd.Dir, cmd.Env = "/", []string{"PATH=/usr/bin:/bin", "HOME=/", "FSUB_SOCKET=" + w.socket}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: firstUID, Gid: firstUID}}
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("fed web: %w", err)
	}
	at, ticket, _ := strings.Cut(strings.TrimSpace(string(out)), "/login#")
	c := newBrowser()
	if ok, status := signsIn(context.Background(), c, at, ticket); !ok {
		return fmt.Errorf("sign in: %d", status)
	}
	resp, err := c.Get(at + "/jobs")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(text), "My jobs") {
		return fmt.Errorf("the page: %d %w", resp.StatusCode, err)
	}
	return nil
}
