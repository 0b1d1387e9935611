package daemon

import (
	"bytes"
	"fmt"
	"time"

	"fsub/cloud/steps/wire"
	"fsub/federation/tunnel"
)

// idleTunnels ends sessions in jobs that are idle for so long. Their users are told by the protocol of steps, which goes through tunnels.
func idleTunnels(after time.Duration) tunnel.Idle {
	var last bytes.Buffer
	text := fmt.Sprintf("\r\nfsub: nothing was typed, printed or sent for %s: the daemon ends this connection (limits: idle_session); the job goes on\r\n", after)
	_ = wire.NewWriter(&last).Write(wire.Stderr, wire.All, []byte(text)) // a buffer takes all
	return tunnel.Idle{After: after, Last: last.Bytes()}
}
