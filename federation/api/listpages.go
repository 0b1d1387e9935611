package api

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"strings"

	"fsub/federation/api/answer"
	v1 "fsub/federation/api/v1"
)

// pageParams are the words that a noun's list takes beside those of its query. A list without keys has a limit of its own, if any.
func pageParams[T, Q any](n *v1.Noun[T, Q]) []v1.Param {
	all := v1.QueryParams(new(v1.PageQuery))
	if n.Key == nil {
		all = slices.DeleteFunc(all, func(p v1.Param) bool { return p.Name != "fields" })
	}
	return all
}

// writeNoun is the answer with a noun's list, or with the page of it that the request asks for.
func writeNoun[T, Q any](w http.ResponseWriter, r *http.Request, n *v1.Noun[T, Q], all []T) error {
	var q v1.PageQuery
	if n.Key == nil {
		q.Fields = r.URL.Query().Get("fields")
	} else {
		var err error
		if q, err = readPageQuery(r); err != nil {
			return err
		}
	}
	fields, err := fieldsOf[T](q.Fields)
	switch {
	case err != nil:
		return err
	case !q.Paged() && fields == nil:
		return answer.JSON(w, all)
	case !q.Paged():
		return writeList(w, all, fields)
	}
	p, err := pageOf(n, all, &q)
	if err != nil {
		return err
	}
	out := v1.Page[json.RawMessage]{Prev: p.Prev, Next: p.Next, Items: make([]json.RawMessage, len(p.Items))}
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

// pageOf is a page of all things of a noun, in order of their keys: one that is there throughout is in one page of a list that changes.
func pageOf[T, Q any](n *v1.Noun[T, Q], all []T, q *v1.PageQuery) (*v1.Page[T], error) {
	at, err := readKeyCursor(n.Path, q.After+q.Before)
	if err != nil {
		return nil, err
	}
	type keyed struct {
		key   string
		thing *T
	}
	order := make([]keyed, len(all))
	for i := range all {
		order[i] = keyed{n.Key(&all[i]), &all[i]}
	}
	slices.SortStableFunc(order, func(a, b keyed) int { return cmp.Compare(a.key, b.key) })
	begin, end := 0, 0
	place, found := slices.BinarySearchFunc(order, at, func(k keyed, at string) int { return cmp.Compare(k.key, at) })
	if q.Before != "" {
		begin, end = max(0, place-q.Size()), place
	} else {
		if begin = place; found && q.After != "" {
			begin++
		}
		end = min(begin+q.Size(), len(order))
	}
	p := &v1.Page[T]{Items: make([]T, 0, end-begin)}
	for _, k := range order[begin:end] {
		p.Items = append(p.Items, *k.thing)
	}
	if begin > 0 && begin < end {
		p.Prev = keyCursor(n.Path, order[begin].key)
	}
	if end > begin && end < len(order) {
		p.Next = keyCursor(n.Path, order[end-1].key)
	}
	return p, nil
}

// keyCursor is the cursor of a thing in the list of that path.
func keyCursor(path, key string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(path + "\n" + key))
}

// mostKeyCursor bounds a cursor: a key is made of a few names.
const mostKeyCursor = 4 << 10

func readKeyCursor(path, text string) (key string, err error) {
	if text == "" {
		return "", nil
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	key, ok := strings.CutPrefix(string(b), path+"\n")
	if err != nil || !ok || len(text) > mostKeyCursor {
		return "", answer.BadBody("invalid cursor: want one that a page of the same list has given; begin again without one")
	}
	return key, nil
}
