package v1

// Login is a sign-in that has begun on a machine without a browser: the user confirms Code at Page, or opens Direct, in a browser of any machine.
type Login struct {
	Secret   string `json:"secret"` // for [LoginPoll]; it stays on the machine that signs in
	Code     string `json:"code"`
	Page     string `json:"page"`
	Direct   string `json:"direct,omitempty"` // the page with the code in it
	Expires  int    `json:"expires"`          // in seconds
	Interval int    `json:"interval"`         // between two polls, in seconds
}

// LoginPoll asks whether the user has confirmed the code, and for a token if so.
type LoginPoll struct {
	Secret string `json:"secret"`
	Name   string `json:"name"`            // of the token; one of the same name is revoked
	Scope  string `json:"scope,omitempty"` // at most what the daemon's configuration says; not set: that
}

// LoginState is how a sign-in stands. Without a Token it waits for the user.
type LoginState struct {
	Slower bool   `json:"slower,omitempty"` // polls are to come five seconds later each from now on
	Token  *Token `json:"token,omitempty"`
}
