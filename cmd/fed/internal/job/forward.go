package job

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/hashicorp/yamux"
	"github.com/spf13/cobra"

	"fsub/cloud/steps/wire"
	"fsub/cmd/fed/internal/cli"
	"fsub/cmd/internal/srun"
	"fsub/federation/api/identity"
	"fsub/federation/tunnel"
)

func NewForwardCommand() *cobra.Command {
	var c cli.Connection
	cmd := &cobra.Command{
		Use:   "forward JOB [LOCAL:]PORT",
		Short: "Reach a port of your running job from here, such as a notebook's",
		Long: `forward listens on a port of this machine's 127.0.0.1 and connects what calls there to a port of the first machine of a job of yours that runs: a notebook, a dashboard. It goes on
until it is interrupted, or the job ends. The machine opens no port for it, and only processes of yours on this machine are let through. LOCAL is the port here, 0 for one that is free;
without it, it is the same port.

From a laptop without a token: ssh -L 8888:127.0.0.1:8888 LOGIN fed forward JOB 8888`,
		Example: "  fed forward 30000017 8888\n  fed forward 30000017 0:6006",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			local, port, err := ports(args[1])
			if err != nil {
				return err
			}
			return forward(cmd, &c, args[0], local, port)
		},
	}
	cmd.Flags().StringVar(&c.Socket, "socket", cli.DefaultSocket(), "the daemon's socket (environment: FSUB_SOCKET)")
	return cmd
}

// ports reads [LOCAL:]PORT.
func ports(text string) (local, port int, err error) {
	before, after, both := strings.Cut(text, ":")
	if !both {
		after = before
	}
	local, bad1 := strconv.Atoi(before)
	port, bad2 := strconv.Atoi(after)
	if err := errors.Join(bad1, bad2); err != nil || port < 1 || port > 65535 || local < 0 || local > 65535 || !both && local == 0 {
		return 0, 0, fmt.Errorf("invalid port %q: want PORT or LOCAL:PORT, from 1 to 65535, such as 8888 or 8889:8888", text)
	}
	return local, port, nil
}

func forward(cmd *cobra.Command, at *cli.Connection, job string, local, port int) error {
	env, err := srun.Environment(job, connect(at))
	switch {
	case err != nil:
		return fmt.Errorf("job %s: %w", job, err)
	case env == nil:
		return fmt.Errorf("job %[1]s is at a Slurm cluster, whose ports fed does not reach: ssh -L %[2]d:NODE:%[2]d to the cluster's login node; fed job show %[1]s has its nodes", job, port)
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(local)))
	if err != nil {
		return fmt.Errorf("listen here: %w; another port here: fed forward %s 0:%d", err, job, port)
	}
	defer l.Close()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	far := exec.CommandContext(cmd.Context(), self, "attach", job, wire.Relay, strconv.Itoa(port))
	if named(at) {
		far.Args = slices.Insert(far.Args, 2, "--socket", at.Socket)
	}
	far.Stderr = cmd.ErrOrStderr()
	far.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM} // Ctrl-C is for this process
	in, err := far.StdinPipe()
	if err != nil {
		return err
	}
	out, err := far.StdoutPipe()
	if err != nil {
		return err
	}
	if err := far.Start(); err != nil {
		return err
	}
	session, err := yamux.Client(tunnel.Stdio(out, in), tunnel.Streams())
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "http://%s is port %d of job %s; Ctrl-C ends it\n", l.Addr(), port, job)
	go func() {
		<-session.CloseChan()
		l.Close()
	}()
	err = accept(l, session, cmd.ErrOrStderr())
	session.Close()
	ended := far.Wait()
	if cmd.Context().Err() != nil {
		return nil
	}
	if err == nil && ended != nil {
		return fmt.Errorf("the connection to job %s has ended: the job is over, or the daemon is", job)
	}
	return err
}

// accept passes on the connections of this user.
func accept(l net.Listener, session *yamux.Session, stderr io.Writer) error {
	for {
		c, err := l.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return nil
		case err != nil:
			return err
		}
		if uid, err := identity.OwnerOf(c); err != nil || uid != uint32(os.Geteuid()) {
			fmt.Fprintln(stderr, "a process of another user was refused")
			c.Close()
			continue
		}
		s, err := session.OpenStream()
		if err != nil {
			c.Close()
			return nil
		}
		go tunnel.Pipe(c, s)
	}
}
