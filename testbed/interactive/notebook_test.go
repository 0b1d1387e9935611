package interactive

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fsub/testbed/chromium"
)

// TestNotebook opens a notebook's server, which runs in a job, in a browser of the job's owner through a forwarded port: its kernel answers over a WebSocket. Where
// jupyter is not installed (FSUB_JUPYTER names another one), Python's own server of files stands for it.
func TestNotebook(t *testing.T) {
	jupyter := os.Getenv("FSUB_JUPYTER")
	if jupyter == "" {
		jupyter, _ = exec.LookPath("jupyter")
	}
	if _, err := exec.LookPath("python3"); err != nil && jupyter == "" {
		t.Skip("SKIPPED: neither jupyter nor python3 is here")
	}
	b := chromium.Start(t)
	w := newWorld(t)
	id := w.job(t, "-n1", "-c2", "--mem=1500M")
	port, work := freePort(t), filepath.Join(w.dir, "work")
	if err := os.WriteFile(filepath.Join(work, "cells.txt"), []byte("six times seven\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"attach", id, "python3", "-m", "http.server", "--bind", "127.0.0.1", port}
	if jupyter != "" {
		args = []string{"attach", id, jupyter, "lab", "--no-browser", "--ip=127.0.0.1", "--port=" + port, "--ServerApp.port_retries=0", "--IdentityProvider.token=secret"}
	}
	server := w.as(w.uid, "fed", args...)
	said := new(lockedText)
	server.Stdout, server.Stderr = said, said
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Process.Kill()
		server.Wait()
		if t.Failed() {
			t.Logf("the server said:\n%s", said)
		}
	})
	f := w.forward(t, id, "0:"+port)
	until(t, "the server answers", func() bool { return f.curl("/").Run() == nil })
	page := b.Open()
	if jupyter == "" {
		page.Go(f.url + "/")
		if text := page.Text(); !strings.Contains(text, "cells.txt") {
			t.Errorf("the page shows %q", text)
		}
		return
	}
	page.Go(f.url + "/lab?token=secret")
	page.Await(`document.title.includes("JupyterLab")`)
	var got string
	page.Eval(kernelAnswers, &got)
	if got != "42" {
		t.Errorf("the kernel answers %q", got)
	}
}

// kernelAnswers has a new kernel of the server work something out, as the page's own notebooks do.
const kernelAnswers = `(async () => {
	const xsrf = (document.cookie.match(/_xsrf=([^;]+)/) || [])[1];
	const kernel = await (await fetch("/api/kernels", {method: "POST", headers: {"X-XSRFToken": xsrf}, body: "{}"})).json();
	const socket = new WebSocket(location.origin.replace("http", "ws") + "/api/kernels/" + kernel.id + "/channels");
	await new Promise((ok, no) => { socket.onopen = ok; socket.onerror = no; });
	const answer = new Promise(ok => socket.onmessage = m => {
		const said = JSON.parse(m.data);
		if (said.msg_type === "execute_result") ok(said.content.data["text/plain"]);
	});
	socket.send(JSON.stringify({channel: "shell", parent_header: {}, metadata: {}, buffers: [],
		header: {msg_id: "1", username: "", session: "1", msg_type: "execute_request", version: "5.3", date: new Date().toISOString()},
		content: {code: "6*7", silent: false, store_history: false, user_expressions: {}, allow_stdin: false, stop_on_error: true}}));
	return await answer;
})()`
