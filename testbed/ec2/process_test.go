package ec2_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"fsub/testbed/ec2"
)

// booting asks for a spot instance that ends at its own shutdown, with a boot script.
func booting(script string) func(*sdk.RunInstancesInput) {
	return func(in *sdk.RunInstancesInput) {
		in.UserData = aws.String(base64.StdEncoding.EncodeToString([]byte(script)))
		in.InstanceInitiatedShutdownBehavior = types.ShutdownBehaviorTerminate
		in.InstanceMarketOptions = &types.InstanceMarketOptionsRequest{MarketType: types.MarketTypeSpot}
		in.MetadataOptions = &types.InstanceMetadataOptionsRequest{InstanceMetadataTags: types.InstanceMetadataTagsStateEnabled}
		in.TagSpecifications = []types.TagSpecification{{ResourceType: types.ResourceTypeInstance, Tags: []types.Tag{{Key: aws.String("Name"), Value: aws.String("node-1")}}}}
	}
}

// prelude has what a boot script needs to ask for metadata.
const prelude = `#!/bin/sh
md=$AWS_EC2_METADATA_SERVICE_ENDPOINT/latest
token=$(curl -sf -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' $md/api/token)
get() { curl -sf -H "X-aws-ec2-metadata-token: $token" $md/$1; }
`

// read waits for a file and returns what is in it, without its last newline.
func read(t *testing.T, path string) string {
	t.Helper()
	var text []byte
	until(t, path, func() bool {
		text, _ = os.ReadFile(path)
		return strings.HasSuffix(string(text), "\n")
	})
	return strings.TrimSuffix(string(text), "\n")
}

func needCurl(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("SKIPPED: no curl: a boot script cannot read metadata")
	}
}

// instance is the i-th instance of the cloud.
func instance(c *ec2.Cloud, i int) ec2.Instance { return c.Instances()[i] }

// needRoot skips a test whose instances run processes.
func needRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can give instances namespaces of their own")
	}
}

func TestBootScriptRuns(t *testing.T) {
	needRoot(t)
	needCurl(t)
	out := t.TempDir() // before the cloud, so that it is taken away after the instances
	os.Chmod(out, 0o777)
	c, client := newCloud(t, ec2.Config{Process: true, Grace: time.Minute})
	made := mustRun(t, client, 1, booting(prelude+fmt.Sprintf(`cd %s
curl -s -o /dev/null -w '%%{http_code}\n' $md/meta-data/instance-id > bare
echo "$(get meta-data/instance-id) $(get meta-data/tags/instance/Name) $(get meta-data/local-ipv4) $(get meta-data/placement/availability-zone)" > facts
get user-data > copy
get meta-data/spot/instance-action > early || echo none > early
uname -n > name
while ! get meta-data/spot/instance-action; do sleep 0.02; done > notice
echo >> notice
trap 'echo TERM > term; exit 0' TERM
echo > ready
while :; do sleep 0.02; done
`, out)))
	id := *made[0].InstanceId
	in := instance(c, 0)
	if got := read(t, out+"/facts"); got != fmt.Sprintf("%s node-1 %s %s", id, in.Addr, in.Zone) {
		t.Errorf("the instance knows of itself: %s", got)
	}
	if bare := read(t, out+"/bare"); bare != "401" {
		t.Errorf("without a token: %s", bare)
	}
	if early := read(t, out+"/early"); early != "none" {
		t.Errorf("notice before there is one: %s", early)
	}
	if copied, err := os.ReadFile(out + "/copy"); err != nil || string(copied) != in.UserData {
		t.Errorf("user data: %q, %v", copied, err)
	}
	if name, want := read(t, out+"/name"), "ip-"+strings.ReplaceAll(in.Addr, ".", "-"); name != want {
		t.Errorf("host name %s, want %s", name, want)
	}
	if err := c.SpotNotice(id, time.Hour); err != nil {
		t.Fatal(err)
	}
	if notice := read(t, out+"/notice"); !strings.Contains(notice, `"action":"terminate"`) {
		t.Errorf("notice: %s", notice)
	}
	read(t, out+"/ready")
	if err := c.SpotNotice(id, time.Millisecond); err != nil { // it comes sooner than was said
		t.Fatal(err)
	}
	read(t, out+"/term")
	until(t, "the instance is terminated", func() bool { return instance(c, 0).State == "terminated" })
	if reason := instance(c, 0).Reason; reason != "Server.SpotInstanceTermination" {
		t.Errorf("ended by %s", reason)
	}
	if name, _ := os.Hostname(); name == "ip-"+strings.ReplaceAll(in.Addr, ".", "-") {
		t.Fatal("the real machine was renamed")
	}
}

// TestShutdownEndsTheInstance calls each command by its name and by its real path: the instance ends, and this test goes on to say so.
func TestShutdownEndsTheInstance(t *testing.T) {
	needRoot(t)
	c, client := newCloud(t, ec2.Config{Process: true, Grace: 100 * time.Millisecond})
	commands := []string{"shutdown -h now", "poweroff -f", "halt", "$FSUB_POWEROFF", "systemctl poweroff"}
	for _, path := range []string{"/sbin/shutdown", "/usr/sbin/poweroff"} {
		if _, err := os.Stat(path); err == nil {
			commands = append(commands, path+" now")
		}
	}
	for i, command := range commands {
		mustRun(t, client, 1, booting("#!/bin/sh\nsetsid sleep 1000 &\n"+command+"\nsleep 1000\n"))
		until(t, command+" ends the instance", func() bool { return instance(c, i).State == "terminated" })
		if got := instance(c, i).Reason; got != "Client.InstanceInitiatedShutdown" {
			t.Errorf("%s: ended by %s", command, got)
		}
	}
	mustRun(t, client, 1, booting("#!/bin/sh\nshutdown\nshutdown -c\nsystemctl status || echo refused\n"))
	until(t, "the console", func() bool {
		text, _ := os.ReadFile(filepath.Join(instance(c, len(commands)).Dir, "console.log")) // not yet there at first
		return strings.Contains(string(text), "refused")
	})
	if state := instance(c, len(commands)).State; state != "running" {
		t.Errorf("%s after a shutdown that was taken back", state)
	}
}

// TestNothingIsLeft: processes that left their session, or that ignore SIGTERM, are gone when the instance is, and all is gone when the cloud is.
func TestNothingIsLeft(t *testing.T) {
	needRoot(t)
	out := t.TempDir() // before the cloud, so that it is taken away after the instances
	os.Chmod(out, 0o777)
	c, client := newCloud(t, ec2.Config{Process: true, Grace: 50 * time.Millisecond})
	script := fmt.Sprintf("#!/bin/sh\ncd %s\ntrap '' TERM\nsetsid sh -c 'trap \"\" TERM; (while :; do sleep 0.01; date +%%s%%N > alive.'$FSUB_EC2_INSTANCE'; done) &' &\nwhile :; do sleep 0.1; done\n", out)
	mustRun(t, client, 3, booting(script))
	var dirs []string
	for i := range 3 {
		path := out + "/alive." + instance(c, i).ID
		read(t, path)
		dirs = append(dirs, instance(c, i).Dir)
	}
	gone := func(i int) {
		path := out + "/alive." + instance(c, i).ID
		os.Remove(path)
		time.Sleep(50 * time.Millisecond)
		if _, err := os.Stat(path); err == nil {
			t.Errorf("instance %d has ended and its processes write on", i)
		}
	}
	if _, err := client.TerminateInstances(t.Context(), &sdk.TerminateInstancesInput{InstanceIds: []string{instance(c, 0).ID}}); err != nil {
		t.Fatal(err)
	}
	if err := c.Kill(instance(c, 1).ID); err != nil {
		t.Fatal(err)
	}
	until(t, "both terminated", func() bool { return instance(c, 0).State == "terminated" && instance(c, 1).State == "terminated" })
	gone(0)
	gone(1)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	gone(2)
	for _, dir := range dirs {
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s is left", dir)
		}
	}
	if _, err := os.Stat(filepath.Dir(dirs[0])); err == nil {
		t.Errorf("%s is left", filepath.Dir(dirs[0]))
	}
}

// TestWritesStayInTheInstance: what an agent changes of a machine that is its own is not changed of the machine below.
func TestWritesStayInTheInstance(t *testing.T) {
	needRoot(t)
	out := t.TempDir()
	c, client := newCloud(t, ec2.Config{Process: true})
	files := []string{"/etc/fsub-ec2-test", "/usr/local/bin/fsub-ec2-test", "/var/tmp/fsub-ec2-test", "/run/fsub-ec2-test"}
	mustRun(t, client, 1, booting("#!/bin/sh\nuseradd -M fsub-ec2-test\nfor f in "+strings.Join(files, " ")+"; do echo x > $f && cat $f; done > "+out+"/wrote; { id -u fsub-ec2-test; echo done; } > "+out+"/new; mv "+out+"/new "+out+"/user\n"))
	if user := read(t, out+"/user"); !strings.HasSuffix(user, "done") || len(user) < 8 {
		t.Errorf("the instance's user: %q", user)
	}
	if wrote := read(t, out+"/wrote"); wrote != "x\nx\nx\nx" {
		t.Errorf("written: %q", wrote)
	}
	for _, f := range files {
		if os.Remove(f) == nil {
			t.Errorf("%s was written on the real machine", f)
		}
	}
	if text, err := os.ReadFile("/etc/passwd"); err != nil || strings.Contains(string(text), "fsub-ec2-test") {
		t.Errorf("a user was made on the real machine: %v", err)
	}
	id := instance(c, 0).ID
	if _, err := client.TerminateInstances(t.Context(), &sdk.TerminateInstancesInput{InstanceIds: []string{id}}); err != nil {
		t.Fatal(err)
	}
	until(t, "the instance is terminated", func() bool { return instance(c, 0).State == "terminated" })
}
