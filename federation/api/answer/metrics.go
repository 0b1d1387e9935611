package answer

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"fsub/httpmetrics"
)

func NewMetrics(r prometheus.Registerer) *httpmetrics.Requests {
	return httpmetrics.New(r, "fsub_api_request", "Requests answered, by route and class of status.", "Time to answer a request, by route.",
		[]float64{.0005, .001, .002, .005, .01, .02, .05, .1, .25, 1, 5})
}

func MetricsHandler(g prometheus.Gatherer) http.Handler {
	return promhttp.HandlerFor(g, promhttp.HandlerOpts{})
}
