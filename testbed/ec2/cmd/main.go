// Command cmd serves the stand-in for EC2 on an address, for demos and for tests of whole programs:
//
//	go run ./testbed/ec2/cmd --listen 127.0.0.1:0 --dir /tmp/ec2 --types g6.xlarge,c7i.large
//
// It prints where it is ("endpoint") and the file with its credentials, in the form of ~/.aws/credentials. SIGTERM or SIGINT ends it with all
// instances.
package main

import (
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"fsub/testbed/ec2"
)

type options struct {
	listen, dir, types string
}

func main() {
	var o options
	flag.StringVar(&o.listen, "listen", "127.0.0.1:0", "address to serve")
	flag.StringVar(&o.dir, "dir", "", "directory for the credentials and the instances; a new one, removed at the end, if empty")
	flag.StringVar(&o.types, "types", "", "instance types, by comma; all that the stand-in knows if empty")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "ec2:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	if o.dir == "" {
		dir, err := os.MkdirTemp("", "fsub-ec2-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		o.dir = dir
	}
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return err
	}
	if err := os.Chmod(o.dir, 0o755); err != nil { // users of the instances' jobs must get through
		return err
	}
	cfg := ec2.Config{Process: true, Dir: filepath.Join(o.dir, "instances"), Log: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	if o.types != "" {
		var err error
		if cfg.Types, err = ec2.FindTypes(strings.Split(o.types, ",")...); err != nil {
			return err
		}
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, os.Interrupt)
	c := ec2.New(cfg)
	credentials := filepath.Join(o.dir, "credentials")
	text := fmt.Sprintf("[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n", c.AccessKey(), c.SecretKey())
	if err := os.WriteFile(credentials, []byte(text), 0o600); err != nil {
		return err
	}
	defer os.Remove(credentials)
	defer os.Remove(cfg.Dir)
	l, err := net.Listen("tcp", o.listen)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: c, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
	go server.Serve(l)
	fmt.Printf("endpoint: http://%s\nregion: %s\ncredentials: %s\n", l.Addr(), c.Region(), credentials)
	<-stop
	server.Close()
	return c.Close()
}
