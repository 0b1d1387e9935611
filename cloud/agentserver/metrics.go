package agentserver

import (
	"github.com/prometheus/client_golang/prometheus"

	"fsub/httpmetrics"
)

// newMetrics counts requests by the first element of their path below /agent/v1/.
func newMetrics(r prometheus.Registerer) *httpmetrics.Requests {
	return httpmetrics.New(r, "fsub_agent_request", "Requests of agents, by route and class of status.",
		"Time to answer an agent's request, by route. Polls mostly wait.", []float64{.001, .005, .02, .1, .5, 2, 10, 60})
}
