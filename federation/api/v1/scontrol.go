package v1

import "fsub/federation"

// Switch is one switch of one site: GET /fed/v1/topology -> []Switch. Nodes and Switches are host lists; of a switch above
// others Nodes are all those below it.
type Switch struct {
	Site     federation.SiteName `json:"site"`
	Name     string              `json:"name"`
	Level    int                 `json:"level"`
	Nodes    string              `json:"nodes"`
	Switches string              `json:"switches,omitempty"`
}

// ConfigValue is one line of "scontrol show config": GET /fed/v1/config -> []ConfigValue, in the order of the lines.
type ConfigValue struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	Time  bool   `json:"time,omitempty"` // Value is a Unix time
}

// ConfigValues are what scontrol show config shows.
var ConfigValues = Noun[ConfigValue, None]{Key: func(x *ConfigValue) string { return key(x.Key) }, Path: "/fed/v1/config", Who: ForAnybody, Doc: "What scontrol show config shows, in its order"}

// Switches are the switches of the sites.
var Switches = Noun[Switch, None]{Key: func(x *Switch) string { return key(x.Site, x.Name) }, Path: "/fed/v1/topology", Who: ForAnybody, Doc: "The switches of the sites"}
