package api

import (
	"context"
	"encoding/json"
	"net/http"

	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
)

// usualBody bounds the body of a request that says nothing else.
const usualBody = 1 << 20

// list adds the route of a noun's list, which is there page by page if things have a key. f lists what the caller may see of what the query chooses.
func list[T, Q any](t *table, n *v1.Noun[T, Q], f func(ctx context.Context, c identity.Caller, q Q) ([]T, error)) {
	route := t.add("GET", n.Path, n.Who, nil, []T{}, n.Doc, append(v1.QueryParams(new(Q)), pageParams(n)...), func(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
		q, err := queryOf[Q](r)
		if err != nil {
			return err
		}
		page, err := readListQuery[Q](r)
		if err != nil {
			return err
		}
		asOf := asOf(t, n, r, page.Paged())
		all, err := f(r.Context(), c, q)
		if err != nil {
			return err
		}
		if all == nil {
			all = []T{}
		}
		return writeNoun(w, r, n, all, &page, asOf)
	})
	route.Pages, route.Marked = n.Key != nil, n.Logged
}

// queryOf reads the query of a request.
func queryOf[Q any](r *http.Request) (q Q, err error) {
	if err := v1.ReadQuery(r.URL.Query(), &q); err != nil {
		return q, answer.BadBody(err.Error())
	}
	return q, nil
}

// ask adds a GET with the query Q, which writes its answer itself.
func ask[Q any](t *table, path string, who v1.Who, out any, doc string, f func(w http.ResponseWriter, r *http.Request, c identity.Caller, q Q) error) *route {
	return t.get(path, who, out, doc, v1.QueryParams(new(Q)), func(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
		q, err := queryOf[Q](r)
		if err != nil {
			return err
		}
		return f(w, r, c, q)
	})
}

// doAsked adds a request with the query Q, which has no body.
func doAsked[Q, Out any](t *table, method, path string, who v1.Who, doc string, f func(r *http.Request, c identity.Caller, q Q) (Out, error)) {
	do(t, method, path, who, doc, func(r *http.Request, c identity.Caller) (out Out, err error) {
		q, err := queryOf[Q](r)
		if err != nil {
			return out, err
		}
		return f(r, c, q)
	}).Query = v1.QueryParams(new(Q))
}

// do adds a request that has no body.
func do[Out any](t *table, method, path string, who v1.Who, doc string, f func(r *http.Request, c identity.Caller) (Out, error)) *route {
	var out Out
	return t.add(method, path, who, nil, out, doc, nil, answered(f))
}

// post adds a POST with a body, which has at most usualBody bytes.
func post[In, Out any](t *table, path string, who v1.Who, doc string, f func(r *http.Request, c identity.Caller, in *In) (Out, error)) {
	postLarge(t, usualBody, path, who, doc, f)
}

// postLarge is post with a body of at most so many bytes.
func postLarge[In, Out any](t *table, most int64, path string, who v1.Who, doc string, f func(r *http.Request, c identity.Caller, in *In) (Out, error)) {
	var in In
	var out Out
	t.add("POST", path, who, in, out, doc, nil, func(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
		in := new(In)
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, most)).Decode(in); err != nil {
			return answer.BadBody(err.Error())
		}
		out, err := f(r, c, in)
		if err != nil {
			return err
		}
		return answer.JSON(w, out)
	})
}

// answered writes what f returns.
func answered[Out any](f func(r *http.Request, c identity.Caller) (Out, error)) answer.Handler {
	return func(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
		out, err := f(r, c)
		if err != nil {
			return err
		}
		return answer.JSON(w, out)
	}
}
