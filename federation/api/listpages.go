package api

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"fsub/federation/api/answer"
	v1 "fsub/federation/api/v1"
)

// pageParams are the words that a noun's list takes beside those of its query. Of a list without keys they are not those of a page.
func pageParams[T, Q any](n *v1.Noun[T, Q]) []v1.Param {
	own := v1.QueryParams(new(Q))
	return slices.DeleteFunc(v1.QueryParams(new(v1.PageQuery)), func(p v1.Param) bool {
		return n.Key == nil && p.Name != "fields" || slices.ContainsFunc(own, func(o v1.Param) bool { return o.Name == p.Name })
	})
}

// listQuery is what a query says of a page of a noun's list.
type listQuery struct {
	v1.PageQuery
	Sort string
}

// Paged reports whether q asks for a page.
func (q *listQuery) Paged() bool { return q.Sort != "" || q.PageQuery.Paged() }

// readListQuery reads the words of a page. A limit that is a word of the query Q may be higher than that of other pages.
func readListQuery[Q any](r *http.Request) (q listQuery, err error) {
	values, limit := r.URL.Query(), 0
	for _, p := range v1.QueryParams(new(Q)) {
		switch p.Name {
		case "limit":
			limit, _ = strconv.Atoi(values.Get("limit")) // it was read as a word of Q, which says what is wrong with it
			values.Del("limit")
		case "sort":
			q.Sort = values.Get("sort")
		}
	}
	if q.PageQuery, err = pageQueryOf(values); err != nil {
		return q, err
	}
	q.Limit = cmp.Or(limit, q.Limit)
	return q, nil
}

// asOf is the mark of the log of changes for a page that is read after the call; 0: there is none, or it cannot be told.
func asOf[T, Q any](t *table, n *v1.Noun[T, Q], r *http.Request, paged bool) int64 {
	if !paged || !n.Logged {
		return 0
	}
	mark, err := t.mark(r.Context())
	if err != nil {
		return 0 // the page itself is read from the store, and says what is wrong with it
	}
	return int64(mark)
}

// writeNoun is the answer with a noun's list, or with the page of it that the request asks for.
func writeNoun[T, Q any](w http.ResponseWriter, r *http.Request, n *v1.Noun[T, Q], all []T, q *listQuery, asOf int64) error {
	fields, err := fieldsOf[T](q.Fields)
	switch paged := n.Key != nil && q.Paged(); {
	case err != nil:
		return err
	case !paged && fields == nil:
		return answer.JSON(w, all)
	case !paged:
		return writeList(w, all, fields)
	}
	p, err := pageOf(n, all, q)
	if err != nil {
		return err
	}
	p.AsOf = asOf
	return writeTagged(w, r, p, fields)
}

// writeTagged is the answer with a page whose ETag is made of what is in it.
func writeTagged[T any](w http.ResponseWriter, r *http.Request, p *v1.Page[T], fields []string) (err error) {
	out := v1.Page[json.RawMessage]{Prev: p.Prev, Next: p.Next, AsOf: p.AsOf, Items: make([]json.RawMessage, len(p.Items))}
	tag := fnv.New64a()
	fmt.Fprintf(tag, "%q%q", p.Prev, p.Next)
	for i := range p.Items {
		if out.Items[i], err = only(&p.Items[i], fields); err != nil {
			return err
		}
		tag.Write(append(out.Items[i], '\n'))
	}
	out.ETag = fmt.Sprintf("%q", fmt.Sprintf("%x", tag.Sum64()))
	return writePage(w, r, &out, nil)
}

// listOrder is an order of the things of a noun: by the text of a word of sort, then by their keys.
type listOrder[T any] struct {
	key  func(*T) string
	down bool   // from the last to the first
	list string // names the list and its order in cursors
}

func orderOf[T, Q any](n *v1.Noun[T, Q], sort string) (o listOrder[T], err error) {
	word := cmp.Or(sort, n.Usual)
	if word == "" {
		return listOrder[T]{n.Key, false, n.Path}, nil
	}
	name, down := strings.CutPrefix(word, "-")
	first := n.Orders[name]
	if first == nil {
		return o, invalidSort(sort, slices.Sorted(maps.Keys(n.Orders)))
	}
	return listOrder[T]{func(x *T) string { return first(x) + "\x00" + n.Key(x) }, down, n.Path + " " + word}, nil
}

func invalidSort(sort string, words []string) error {
	return answer.BadBody(fmt.Sprintf("invalid sort %q: want one of %s, with - before it from the last to the first", sort, strings.Join(words, ", ")))
}

func (o *listOrder[T]) compare(a, b string) int {
	if o.down {
		a, b = b, a
	}
	return cmp.Compare(a, b)
}

// pageOf is a page of all things of a noun. One that is there throughout, and whose place in the order does not change, is in one page of a list that changes.
func pageOf[T, Q any](n *v1.Noun[T, Q], all []T, q *listQuery) (*v1.Page[T], error) {
	by, err := orderOf(n, q.Sort)
	if err != nil {
		return nil, err
	}
	at, err := readKeyCursor(by.list, q.After+q.Before)
	if err != nil {
		return nil, err
	}
	type keyed struct {
		key   string
		thing *T
	}
	order := make([]keyed, len(all))
	for i := range all {
		order[i] = keyed{by.key(&all[i]), &all[i]}
	}
	slices.SortStableFunc(order, func(a, b keyed) int { return by.compare(a.key, b.key) })
	begin, end := 0, len(order)
	place, found := slices.BinarySearchFunc(order, at, func(k keyed, at string) int { return by.compare(k.key, at) })
	switch {
	case q.Before != "":
		begin, end = max(0, place-q.Size()), place
	case q.After != "":
		if begin = place; found {
			begin++
		}
		fallthrough
	default:
		end = min(begin+q.Size(), end)
	}
	p := &v1.Page[T]{Items: make([]T, 0, end-begin)}
	for _, k := range order[begin:end] {
		p.Items = append(p.Items, *k.thing)
	}
	if begin > 0 && begin < end {
		p.Prev = keyCursor(by.list, order[begin].key)
	}
	if end > begin && end < len(order) {
		p.Next = keyCursor(by.list, order[end-1].key)
	}
	return p, nil
}

// keyCursor is the cursor of a thing in a list.
func keyCursor(list, key string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(list + "\n" + key))
}

var errKeyCursor = answer.BadBody("invalid cursor: want one that a page of the same list and the same sort has given; begin again without one")

// mostKeyCursor bounds a cursor: a key is made of a few names.
const mostKeyCursor = 4 << 10

func readKeyCursor(list, text string) (key string, err error) {
	if text == "" {
		return "", nil
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	key, ok := strings.CutPrefix(string(b), list+"\n")
	if err != nil || !ok || len(text) > mostKeyCursor {
		return "", errKeyCursor
	}
	return key, nil
}
