package chromium

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// Page is a tab with cookies of its own. Its methods end the test where they fail.
type Page struct {
	b       *Browser
	session string

	mu     sync.Mutex
	faults []string
}

type object = map[string]any

// Open opens an empty page.
func (b *Browser) Open() *Page {
	b.t.Helper()
	var context struct{ BrowserContextID string }
	var target struct{ TargetID string }
	var attached struct{ SessionID string }
	b.must(b.call("", "Target.createBrowserContext", object{}, &context))
	b.must(b.call("", "Target.createTarget", object{"url": "about:blank", "browserContextId": context.BrowserContextID, "width": 1280, "height": 900}, &target))
	b.must(b.call("", "Target.attachToTarget", object{"targetId": target.TargetID, "flatten": true}, &attached))
	p := &Page{b: b, session: attached.SessionID}
	b.mu.Lock()
	b.pages[p.session] = p
	b.mu.Unlock()
	for _, domain := range []string{"Page", "Runtime", "Log", "Network", "Audits"} {
		p.do(domain+".enable", nil)
	}
	return p
}

func (b *Browser) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (p *Page) do(method string, params any) {
	p.b.t.Helper()
	p.b.must(p.b.call(p.session, method, params, nil))
}

// note keeps what an event complains of.
func (p *Page) note(m *message) {
	var fault string
	switch m.Method {
	case "Runtime.exceptionThrown":
		var e struct {
			ExceptionDetails struct {
				Text, URL string
				Exception struct{ Description string }
			}
		}
		_ = json.Unmarshal(m.Params, &e)
		fault = "exception: " + e.ExceptionDetails.Text + " " + e.ExceptionDetails.Exception.Description
	case "Runtime.consoleAPICalled":
		var e struct{ Type string }
		if _ = json.Unmarshal(m.Params, &e); e.Type == "error" || e.Type == "warning" || e.Type == "assert" {
			fault = "console: " + string(m.Params)
		}
	case "Log.entryAdded":
		var e struct {
			Entry struct{ Source, Level, Text, URL string }
		}
		if _ = json.Unmarshal(m.Params, &e); e.Entry.Level == "error" || e.Entry.Level == "warning" {
			fault = strings.Join([]string{"log:", e.Entry.Source, e.Entry.Text, e.Entry.URL}, " ")
		}
	case "Audits.issueAdded":
		var e struct{ Issue struct{ Code string } }
		if _ = json.Unmarshal(m.Params, &e); e.Issue.Code == "ContentSecurityPolicyIssue" || e.Issue.Code == "CookieIssue" || e.Issue.Code == "MixedContentIssue" {
			fault = "issue: " + string(m.Params)
		}
	}
	if fault != "" {
		p.mu.Lock()
		p.faults = append(p.faults, fault)
		p.mu.Unlock()
	}
}

// Faults are the errors of the console, and what the Content-Security-Policy stopped, since they were asked for last.
func (p *Page) Faults() []string {
	p.Eval("0", nil) // what it has said comes before the answer
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.faults
	p.faults = nil
	return out
}

// Go opens an address, and waits until all of it is there.
func (p *Page) Go(to string) {
	p.b.t.Helper()
	for {
		var answer struct{ ErrorText string }
		p.b.must(p.b.call(p.session, "Page.navigate", object{"url": to}, &answer))
		if answer.ErrorText == "net::ERR_NETWORK_CHANGED" { // a bed's interfaces came or went meanwhile
			continue
		}
		if answer.ErrorText != "" {
			p.b.t.Fatalf("open %s: %s", to, answer.ErrorText)
		}
		break
	}
	p.Loaded()
}

// Loaded waits until all of the page is there.
func (p *Page) Loaded() {
	p.b.t.Helper()
	p.Await(`document.readyState === "complete" && location.href !== "about:blank"`)
}

// Eval evaluates JavaScript, which may return a promise, and decodes what comes of it into out; nil: that does not matter.
func (p *Page) Eval(script string, out any) {
	p.b.t.Helper()
	if err := p.eval(script, out); err != nil {
		p.b.t.Fatalf("%.200s: %v", script, err)
	}
}

func (p *Page) eval(script string, out any) error {
	var answer struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	err := p.b.call(p.session, "Runtime.evaluate", object{"expression": script, "awaitPromise": true, "returnByValue": true}, &answer)
	switch {
	case err != nil:
		return err
	case answer.ExceptionDetails != nil:
		return fmt.Errorf("%s %s", answer.ExceptionDetails.Text, answer.ExceptionDetails.Exception.Description)
	case out != nil && answer.Result.Value != nil:
		return json.Unmarshal(answer.Result.Value, out)
	}
	return nil
}

// Await waits until an expression is true. A page that is exchanged for another meanwhile is none.
func (p *Page) Await(condition string) {
	p.b.t.Helper()
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		var met bool
		err := p.eval("Boolean("+condition+")", &met)
		if err == nil && met {
			return
		}
		if time.Since(began) > patience {
			p.b.t.Fatalf("%s: not within %s (%v); the page: %.2000s", condition, patience, err, p.Text())
		}
	}
}

// Text is what the page shows.
func (p *Page) Text() (text string) {
	_ = p.eval("document.body.innerText", &text)
	return text
}

// At is the address of the page.
func (p *Page) At() (address string) {
	p.Eval("location.href", &address)
	return address
}

// Scripts lets the page run JavaScript, or not. It counts from the next page on; Eval works all the same.
func (p *Page) Scripts(on bool) {
	p.b.t.Helper()
	p.do("Emulation.setScriptExecutionDisabled", object{"value": !on})
}

// Look sets the size of the window, and whether its user likes it dark.
func (p *Page) Look(width, height int, dark bool) {
	p.b.t.Helper()
	scheme := map[bool]string{false: "light", true: "dark"}[dark]
	p.do("Emulation.setDeviceMetricsOverride", object{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false})
	p.do("Emulation.setEmulatedMedia", object{"features": []object{{"name": "prefers-color-scheme", "value": scheme}}})
}

// keys are those that write nothing, with their codes.
var keys = map[string]int{"Tab": 9, "Enter": 13, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38, "End": 35}

// Press presses keys, one after the other: Tab, Enter, " ", or "Shift+Tab".
func (p *Page) Press(names ...string) {
	p.b.t.Helper()
	for _, name := range names {
		shift := 0
		if rest, is := strings.CutPrefix(name, "Shift+"); is {
			name, shift = rest, 8
		}
		event := object{"type": "keyDown", "key": name, "code": name, "modifiers": shift}
		switch {
		case name == "Enter":
			event["text"] = "\r"
			fallthrough
		case keys[name] != 0:
			event["windowsVirtualKeyCode"] = keys[name]
		case name == " ":
			event["text"], event["code"], event["windowsVirtualKeyCode"] = " ", "Space", 32
		default:
			p.b.t.Fatalf("no key %q", name)
		}
		p.do("Input.dispatchKeyEvent", event)
		event["type"] = "keyUp"
		delete(event, "text")
		p.do("Input.dispatchKeyEvent", event)
	}
}

// Type writes into what has the focus.
func (p *Page) Type(text string) {
	p.b.t.Helper()
	p.do("Input.insertText", object{"text": text})
}

// Click clicks the first element that a selector of CSS names.
func (p *Page) Click(selector string) {
	p.b.t.Helper()
	var at struct{ X, Y float64 }
	name, _ := json.Marshal(selector)
	p.Eval(`(() => { const e = document.querySelector(`+string(name)+`); e.scrollIntoView({block: "center"}); const r = e.getBoundingClientRect(); return {X: r.x + r.width / 2, Y: r.y + r.height / 2}; })()`, &at)
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		p.do("Input.dispatchMouseEvent", object{"type": kind, "x": at.X, "y": at.Y, "button": "left", "clickCount": 1})
	}
}

// Picture writes all of the page to a file, as PNG.
func (p *Page) Picture(file string) {
	p.b.t.Helper()
	var shot struct{ Data string }
	p.b.must(p.b.call(p.session, "Page.captureScreenshot", object{"captureBeyondViewport": true}, &shot))
	data, err := base64.StdEncoding.DecodeString(shot.Data)
	if err == nil {
		err = os.WriteFile(file, data, 0o644)
	}
	p.b.must(err)
}
