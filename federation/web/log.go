package web

import (
	"net/http"
	"strconv"

	"fsub/federation/api/client"
)

// Headers of a part of an output: where the next begins, and whether there may be more.
const (
	headerNext = "Fsub-Next"
	headerWord = "Fsub-Word"
)

// log is what a job has written, from an offset on, as text: app.js asks for it again and again. What is in a file that the daemon does not read is said in words.
func (s *server) log(w http.ResponseWriter, r *http.Request) {
	id, err := idOf(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	ref := client.LogRef{Job: id, Task: r.FormValue("task"), Stderr: r.FormValue("stream") == "stderr"}
	offset, _ := strconv.ParseInt(r.FormValue("offset"), 10, 64)
	text, word, err := s.api.LogText(r.Context(), ref, max(offset, 0))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if word == "none" {
		info, err := s.api.Log(r.Context(), ref)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		if !info.Staged && info.Site != "" {
			text = []byte("The output is in " + info.File + ", which its user reads by: fed logs " + id.String() + "\n")
			word = "file"
		}
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set(headerNext, strconv.FormatInt(offset+int64(len(text)), 10))
	w.Header().Set(headerWord, word)
	_, _ = w.Write(text)
}
