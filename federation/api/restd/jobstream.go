package restd

import (
	"encoding/json"
	"net/http"
	"slices"

	"fsub/federation/api/answer"
)

// writePages answers with a list of jobs, page by page: in slurmrestd's shape a hundred thousand jobs are 600 MB. records makes the records of a page, and each is written by
// its own encoder, nil for that of the version; rest is called at the end for the answer with an empty list.
func writePages(w http.ResponseWriter, r *http.Request, pages Pages, records func([]Part) ([]any, error), rest func(n int) any) error {
	encode := func(v any) (json.RawMessage, error) { return json.Marshal(v) }
	whole := encode
	if s := shapeOf(r); s != nil {
		encode = s.fields["jobs"].elem.json
		others := &shape{kind: '{', fields: s.fields, names: slices.DeleteFunc(slices.Clone(s.names), func(name string) bool { return name == "jobs" })}
		whole = others.json
	}
	out, n := answer.NewList(w, "jobs"), 0
	for page, err := range pages {
		if err != nil {
			return out.Fail(err)
		}
		list, err := records(page)
		if err != nil {
			return out.Fail(err)
		}
		for _, v := range list {
			text, err := encode(v)
			if err != nil {
				return out.Fail(err)
			}
			out.Add(text)
		}
		n += len(list)
		if err := out.Send(); err != nil {
			return err
		}
	}
	text, err := whole(rest(n))
	if err != nil {
		return out.Fail(err)
	}
	return out.End(text)
}
