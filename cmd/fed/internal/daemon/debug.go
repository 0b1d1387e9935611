package daemon

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/pprof"
	"os"

	"github.com/goccy/go-yaml"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"fsub/cmd/fed/internal/config"
	"fsub/cmd/fed/internal/logging"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
)

// debugging answers below /debug/: profiles of the process, its log and the levels of that, its metrics, and its configuration. It answers for this process, whether that leads or
// not, and needs neither store nor leader, so that it can be asked when those fail. Who may ask is root, and the user whom the daemon runs as, on the socket.
func debugging(c *config.Config, log *logging.Log, metrics prometheus.Gatherer) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("POST /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.Handle("GET /debug/metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /debug/log", func(w http.ResponseWriter, _ *http.Request) { w.Write(log.Recent()) })
	mux.HandleFunc("GET /debug/config", func(w http.ResponseWriter, _ *http.Request) {
		shown, err := c.WithoutSecrets()
		if err == nil {
			err = yaml.NewEncoder(w, yaml.IndentSequence(true)).Encode(shown)
		}
		if err != nil {
			answer.Refusal(w, http.StatusInternalServerError, err)
		}
	})
	mux.HandleFunc("GET /debug/level", func(w http.ResponseWriter, _ *http.Request) { answer.JSON(w, log.Levels().Setting()) })
	mux.HandleFunc("POST /debug/level", func(w http.ResponseWriter, r *http.Request) {
		var s logging.Setting
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
		if err == nil {
			err = json.Unmarshal(body, &s)
		}
		if err == nil {
			err = log.Levels().Take(s)
		}
		if err != nil {
			answer.Refusal(w, http.StatusBadRequest, answer.BadBody(err.Error()))
			return
		}
		uid, _ := identity.LocalUID(r.Context())
		log.Logger().Info("levels of the log are set", "levels", fmt.Sprint(s.Levels), "seconds", s.Seconds, "by uid", uid)
		answer.JSON(w, log.Levels().Setting())
	})
	mux.HandleFunc("/debug/", func(w http.ResponseWriter, r *http.Request) {
		answer.Refusal(w, http.StatusNotFound, answer.NoRoute(r))
	})
	self := uint32(os.Geteuid())
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		uid, known := identity.LocalUID(r.Context())
		switch {
		case !known: // from elsewhere, or a browser
			answer.Refusal(w, http.StatusNotFound, answer.NoRoute(r))
		case uid != 0 && uid != self:
			answer.Refusal(w, http.StatusForbidden, answer.Detailed(answer.Denied, "only root, and the user whom the daemon runs as, may look into it"))
		default:
			mux.ServeHTTP(w, r)
		}
	})
}
