package v1

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// PageQuery asks for one page of a list; every list of /fed/v1 takes it. Without any of its fields but Fields, the answer is the whole list.
type PageQuery struct {
	Limit  int    `query:"limit" min:"1" max:"1000" doc:"maximum number of things; the answer is one page of the list, and its header Link has the address of the next. 100 where only another of the words of a page is given"`
	After  string `query:"after" doc:"the cursor of an earlier page: begin behind it"`
	Before string `query:"before" doc:"the cursor of an earlier page: end before it"`
	Fields string `query:"fields" doc:"names of fields with commas: the answer has only these"`
}

// Bounds of a page.
const (
	UsualPage = 100
	MostPage  = 1000
)

// Paged reports whether q asks for a page.
func (q *PageQuery) Paged() bool { return q.Limit > 0 || q.After != "" || q.Before != "" }

// Size is the maximum number of things in the page.
func (q *PageQuery) Size() int {
	if q.Limit == 0 {
		return UsualPage
	}
	return q.Limit
}

// Page is one page of a list. On the wire it is the list alone; the rest is in headers.
type Page[T any] struct {
	Items []T
	// Prev and Next are cursors: what comes before the page, and behind it; "": nothing does. They are the addresses of rel="prev" and rel="next" in the header Link.
	Prev, Next string
	// AsOf is a mark of the log of changes, as GET /fed/v1/events takes it: what was written before it is in the page. 0: it is not known. It is the header [AsOfHeader].
	AsOf int64
	// ETag names what the page was made of: who sends it as If-None-Match is answered 304 as long as nothing has changed. "": there is none.
	ETag string
}

// AsOfHeader is the header of an answer with the mark of the log of changes as of which it is.
const AsOfHeader = "Fsub-As-Of"

// header is a net/http.Header, which the small client does without.
type header interface {
	Get(name string) string
	Set(name, value string)
}

// SetHeaders writes what of a page is in headers. u is the address that was asked for.
func (p *Page[T]) SetHeaders(h header, u *url.URL) {
	var links []string
	for _, l := range []struct{ rel, name, cursor string }{{"prev", "before", p.Prev}, {"next", "after", p.Next}} {
		if l.cursor == "" {
			continue
		}
		q := u.Query()
		q.Del("after")
		q.Del("before")
		q.Set(l.name, l.cursor)
		links = append(links, fmt.Sprintf("<%s?%s>; rel=%q", u.Path, q.Encode(), l.rel))
	}
	if links != nil {
		h.Set("Link", strings.Join(links, ", "))
	}
	if p.AsOf != 0 {
		h.Set(AsOfHeader, strconv.FormatInt(p.AsOf, 10))
	}
	if p.ETag != "" {
		h.Set("ETag", p.ETag)
		h.Set("Cache-Control", "private, no-cache")
	}
}

// ReadHeaders reads what SetHeaders has written.
func (p *Page[T]) ReadHeaders(h header) {
	for link := range strings.SplitSeq(h.Get("Link"), ", ") {
		address, rel, _ := strings.Cut(link, "; ")
		u, err := url.Parse(strings.Trim(address, "<>"))
		if err != nil {
			continue
		}
		switch rel {
		case `rel="prev"`:
			p.Prev = u.Query().Get("before")
		case `rel="next"`:
			p.Next = u.Query().Get("after")
		}
	}
	p.AsOf, _ = strconv.ParseInt(h.Get(AsOfHeader), 10, 64)
	p.ETag = h.Get("ETag")
}
